//! Whether the server's keys agree with its answers. Pure.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Serialize;

use crate::answers::Answers;
use crate::plan::{Plan, user_id};
use crate::sale::{Order, State};
use crate::shards::{Moves, Shards};

/// What is known after a rush, whether its sale is managed or not.
pub struct Facts {
    pub plan: Arc<Plan>,
    /// How many tries of the plan were sent, all of them answered.
    pub sent: u32,
    pub answers: Answers,
    pub shards: Shards,
    /// None where the sale is not over shards.
    pub moves: Option<Moves>,
    /// Each of the shards before the first try.
    pub before: Vec<State>,
    /// All of them after the last one.
    pub after: State,
    /// The voucher's orders appended during the rush; None if the server keeps no stream.
    pub orders: Option<Vec<Order>>,
}

impl Facts {
    /// Nobody had tried before.
    pub fn is_fresh(&self) -> bool {
        self.before.iter().all(|shard| shard.buyers == 0 && shard.booked == 0)
    }

    /// The units that a fresh sale sells, one to each user who tried, in whatever order they came.
    /// None where that can't be said: of a sale that went on, after errors, or where units were
    /// moved between shards.
    pub fn units_to_sell(&self) -> Option<i64> {
        let was_moved = self.moves.is_some_and(|moves| moves.any);
        if !self.is_fresh() || was_moved || self.answers.error_count() > 0 {
            return None;
        }
        let users: HashSet<u32> = (0..self.sent).filter_map(|try_| self.plan.user(try_)).collect();
        let mut wanted = vec![0_i64; self.before.len()];
        users.into_iter().for_each(|user| wanted[self.shards.of_user(&user_id(user))] += 1);
        let sold = wanted.iter().zip(&self.before).map(|(wanted, shard)| *wanted.min(&shard.stock));
        Some(sold.fold(0, i64::saturating_add))
    }
}

/// One comparison. All must hold for the outcome to be consistent.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    pub what: &'static str,
    pub expected: i64,
    pub found: i64,
}

impl Check {
    pub fn holds(&self) -> bool {
        self.expected == self.found
    }
}

/// The comparisons, in the order in which they are shown.
pub fn checks(facts: &Facts) -> Vec<Check> {
    let accepted = count(facts.answers.accepted.len());
    let (before, after) = (State::sum(&facts.before), &facts.after);
    let mut checks = Vec::new();
    let mut check = |what, expected, found| checks.push(Check { what, expected, found });

    if let Some(expected) = facts.units_to_sell() {
        check("units sold", expected, accepted);
    }
    check("stock left", before.stock.saturating_sub(accepted), after.stock);
    check("buyers", before.buyers.saturating_add(accepted), after.buyers);
    check("accepted twice", 0, repeated(accepted_users(facts)));
    if let Some(orders) = &facts.orders {
        check("orders in the stream", accepted, count(orders.len()));
        check("users ordered twice", 0, repeated(orders.iter().map(|order| order.user.clone())));
        check("orders of accepted tries", accepted, orders_matched(facts, orders));
    }
    checks.extend(of_shards(facts));
    checks
}

/// The comparisons of a sale that is spread over shards.
pub fn of_shards(facts: &Facts) -> Vec<Check> {
    let Some(moves) = facts.moves else { return Vec::new() };
    let is_wrong = |order: &&Order| facts.shards.voucher_of(&order.user) != order.voucher;
    let wrong = facts.orders.iter().flatten().filter(is_wrong).count();
    vec![
        Check { what: "units on their way", expected: 0, found: moves.on_the_way },
        Check { what: "orders on a wrong shard", expected: 0, found: count(wrong) },
    ]
}

fn accepted_users(facts: &Facts) -> impl Iterator<Item = String> {
    let accepted = facts.answers.accepted.iter();
    accepted.filter_map(|&number| facts.plan.user(number)).map(user_id)
}

/// How many accepted tries have their own order, of the same user, in the stream.
fn orders_matched(facts: &Facts, orders: &[Order]) -> i64 {
    let accepted: HashSet<u32> = facts.answers.accepted.iter().copied().collect();
    let matched: HashSet<u32> = orders
        .iter()
        .filter_map(|order| {
            let number = facts.plan.number(&order.order_id)?;
            let user = user_id(facts.plan.user(number)?);
            (accepted.contains(&number) && user == order.user).then_some(number)
        })
        .collect();
    count(matched.len())
}

/// How many items appeared before.
pub fn repeated(items: impl Iterator<Item = String>) -> i64 {
    let mut seen = HashSet::new();
    count(items.filter(|item| !seen.insert(item.clone())).count())
}

pub fn count(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::answers::Errors;

    pub fn state(stock: i64, buyers: i64) -> State {
        State { stock, buyers, ..State::default() }
    }

    /// The orders of tries.
    pub fn orders(plan: &Plan, numbers: impl IntoIterator<Item = u32>) -> Vec<Order> {
        let order = |number| Order {
            user: user_id(plan.user(number).unwrap()),
            order_id: plan.order_id(number),
            voucher: "rush".to_owned(),
            waited: false,
        };
        numbers.into_iter().map(order).collect()
    }

    /// Ten tries by ten users for three units, of which the first three sold.
    pub fn facts() -> Facts {
        let plan = Arc::new(Plan::new("run".to_owned(), 10, 10, 0.0, 1));
        let outcomes = [3, 7, 0, 0, 0, 0, 0];
        Facts {
            sent: 10,
            answers: Answers { outcomes, accepted: vec![0, 1, 2], ..Answers::default() },
            shards: Shards(vec!["rush".to_owned()]),
            moves: None,
            before: vec![state(3, 0)],
            after: state(0, 3),
            orders: Some(orders(&plan, 0..3)),
            plan,
        }
    }

    /// The names of the comparisons that don't hold.
    pub fn differing(checks: &[Check]) -> Vec<&'static str> {
        checks.iter().filter(|check| !check.holds()).map(|check| check.what).collect()
    }

    impl Facts {
        fn orders(&mut self) -> &mut Vec<Order> {
            self.orders.as_mut().unwrap()
        }
    }

    #[test]
    fn a_sound_sale_is_consistent() {
        let checks = checks(&facts());
        assert_eq!((differing(&checks), checks.len()), (vec![], 7));
    }

    #[test]
    fn whatever_differs_shows() {
        type Case = (fn(&mut Facts), &'static [&'static str]);
        let cases: [Case; 5] = [
            // An oversold unit.
            (
                |sale| {
                    sale.answers.accepted.push(3);
                    sale.after = state(-1, 4);
                    *sale.orders() = orders(&sale.plan.clone(), 0..4);
                },
                &["units sold"],
            ),
            // A lost unit.
            (|sale| sale.before = vec![state(4, 0)], &["units sold", "stock left"]),
            // A missing order, and that of another rush.
            (|sale| _ = sale.orders().pop(), &["orders in the stream", "orders of accepted tries"]),
            (
                |sale| sale.orders()[2].order_id = "other-2".to_owned(),
                &["orders of accepted tries"],
            ),
            // A user who was sold three units.
            (
                |sale| {
                    sale.plan = Arc::new(Plan::new("run".to_owned(), 10, 1, 0.0, 1));
                    *sale.orders() = orders(&sale.plan.clone(), 0..3);
                    sale.after.buyers = 1;
                },
                &["units sold", "buyers", "accepted twice", "users ordered twice"],
            ),
        ];
        for (number, (change, differences)) in cases.into_iter().enumerate() {
            let mut sale = facts();
            change(&mut sale);
            assert_eq!(differing(&checks(&sale)), differences, "{number}");
        }
    }

    #[test]
    fn a_sale_that_went_on_is_measured_from_where_it_stood() {
        let mut sale = facts();
        (sale.before, sale.after) = (vec![state(5, 40)], state(2, 43));
        let checks = checks(&sale);
        assert!(checks.iter().all(Check::holds), "{checks:?}");
        assert!(checks.iter().all(|check| check.what != "units sold"));
    }

    #[test]
    fn a_rush_stopped_early_sells_to_those_who_tried() {
        let mut sale = facts();
        sale.sent = 2;
        sale.answers.accepted = vec![0, 1];
        sale.after = state(1, 2);
        sale.orders().truncate(2);
        assert_eq!(differing(&checks(&sale)), [""; 0]);
    }

    #[test]
    fn failed_tries_leave_the_number_sold_open() {
        let mut sale = facts();
        for (count, wanted) in [(0, 7), (1, 6)] {
            let errors = Errors { count, first: String::new() };
            sale.answers.errors.insert("OOM".to_owned(), errors);
            assert_eq!(checks(&sale).len(), wanted);
        }
    }

    #[test]
    fn shards_sell_what_they_have_and_their_users_want() {
        let mut sale = facts();
        sale.shards = Shards((0..4).map(|shard| format!("rush#{shard}")).collect());
        sale.before = [3, 3, 2, 2].map(|stock| state(stock, 0)).into();
        sale.moves = Some(Moves { any: false, on_the_way: 0 });
        let many = Plan::new("run".to_owned(), 1_000, 1_000, 0.0, 1);
        (sale.plan, sale.sent) = (Arc::new(many), 1_000);
        assert_eq!(sale.units_to_sell(), Some(10));
        sale.sent = 1;
        assert_eq!(sale.units_to_sell(), Some(1));
        sale.moves = Some(Moves { any: true, on_the_way: 2 });
        assert_eq!(sale.units_to_sell(), None);
        let differing = differing(&of_shards(&sale));
        assert_eq!(differing, ["units on their way", "orders on a wrong shard"]);
    }
}

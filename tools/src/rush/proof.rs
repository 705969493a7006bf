//! Whether the server's keys agree with its answers. Pure.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Serialize;

use crate::answers::Answers;
use crate::plan::{Plan, user_id};
use crate::sale::{Order, State};
use crate::spread::Spread;

/// What is known after a rush, whether its sale is managed or not.
pub struct Facts {
    pub plan: Arc<Plan>,
    /// Whether the sale was opened by this run, so that nobody had bought before.
    pub fresh: bool,
    /// How many tries of the plan were sent, all of them answered.
    pub sent: u32,
    pub answers: Answers,
    pub spread: Spread,
    /// Moves between shards that nobody has finished.
    pub on_the_way: i64,
    /// The voucher's orders appended during the rush; None if the server keeps no stream.
    pub orders: Option<Vec<Order>>,
}

/// One comparison. All must hold for the outcome to be proved.
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
pub fn checks(facts: &Facts, before: &State, after: &State) -> Vec<Check> {
    let accepted = count(facts.answers.accepted.len());
    let mut checks = Vec::new();
    let mut check = |what, expected, found| checks.push(Check { what, expected, found });

    if let Some(expected) = units_to_sell(facts) {
        check("units sold", expected, accepted);
    }
    check("stock left", before.stock.saturating_sub(accepted), after.stock);
    check("buyers", count(before.buyers).saturating_add(accepted), count(after.buyers));
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
    if !facts.spread.is_spread() {
        return Vec::new();
    }
    let vouchers = facts.spread.vouchers();
    let is_wrong = |order: &&Order| vouchers[facts.spread.shard_of(&order.user)] != order.voucher;
    let wrong = facts.orders.iter().flatten().filter(is_wrong).count();
    vec![
        Check { what: "moves on their way", expected: 0, found: facts.on_the_way },
        Check { what: "orders on a wrong shard", expected: 0, found: count(wrong) },
    ]
}

/// A fresh sale sells all its units, or one to everybody who tried when there are more.
/// None where that can't be said: errors, or a sale that went on before.
fn units_to_sell(facts: &Facts) -> Option<i64> {
    if !facts.fresh || facts.answers.error_count() > 0 {
        return None;
    }
    let users: HashSet<u32> = (0..facts.sent).filter_map(|try_| facts.plan.user(try_)).collect();
    facts.spread.units_to_sell(users.into_iter().map(|user| (user, 1)))
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
    use crate::options::Options;
    use clap::Parser;

    /// Ten tries by ten users for three units, of which the first three sold.
    struct Sale {
        facts: Facts,
        before: State,
        after: State,
    }

    fn state(stock: i64, buyers: u64) -> State {
        State { stock, buyers, last_entry: "0".to_owned(), last_released: "0".to_owned() }
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

    /// Ten tries by ten users, of which the first three were accepted.
    pub fn facts(options: &str) -> Facts {
        let plan = Arc::new(Plan::new("run".to_owned(), 10, 10, 0.0, 1));
        let outcomes = [3, 7, 0, 0, 0, 0, 0];
        Facts {
            fresh: true,
            sent: 10,
            answers: Answers { outcomes, accepted: vec![0, 1, 2], ..Answers::default() },
            spread: Spread::of(&Options::parse_from(options.split(' '))),
            on_the_way: 0,
            orders: Some(orders(&plan, 0..3)),
            plan,
        }
    }

    /// The names of the comparisons that don't hold.
    pub fn differing(checks: &[Check]) -> Vec<&'static str> {
        checks.iter().filter(|check| !check.holds()).map(|check| check.what).collect()
    }

    fn sale() -> Sale {
        Sale { facts: facts("rush --stock 3"), before: state(3, 0), after: state(0, 3) }
    }

    impl Sale {
        fn checks(&self) -> Vec<Check> {
            checks(&self.facts, &self.before, &self.after)
        }

        fn orders(&mut self) -> &mut Vec<Order> {
            self.facts.orders.as_mut().unwrap()
        }
    }

    #[test]
    fn a_sound_sale_is_proved() {
        let checks = sale().checks();
        assert_eq!((differing(&checks), checks.len()), (vec![], 7));
    }

    #[test]
    fn whatever_differs_shows() {
        type Case = (fn(&mut Sale), &'static [&'static str]);
        let cases: [Case; 5] = [
            // An oversold unit.
            (
                |sale| {
                    sale.facts.answers.accepted.push(3);
                    sale.after = state(-1, 4);
                    *sale.orders() = orders(&sale.facts.plan.clone(), 0..4);
                },
                &["units sold"],
            ),
            // A lost unit.
            (
                |sale| {
                    sale.facts.spread.stocks = vec![4];
                    sale.before.stock = 4;
                },
                &["units sold", "stock left"],
            ),
            // A missing order, and that of another rush.
            (|sale| _ = sale.orders().pop(), &["orders in the stream", "orders of accepted tries"]),
            (
                |sale| sale.orders()[2].order_id = "other-2".to_owned(),
                &["orders of accepted tries"],
            ),
            // A user who was sold three units.
            (
                |sale| {
                    sale.facts.plan = Arc::new(Plan::new("run".to_owned(), 10, 1, 0.0, 1));
                    *sale.orders() = orders(&sale.facts.plan.clone(), 0..3);
                    sale.after.buyers = 1;
                },
                &["units sold", "buyers", "accepted twice", "users ordered twice"],
            ),
        ];
        for (number, (change, differences)) in cases.into_iter().enumerate() {
            let mut sale = sale();
            change(&mut sale);
            assert_eq!(differing(&sale.checks()), differences, "{number}");
        }
    }

    #[test]
    fn a_sale_that_went_on_is_measured_from_where_it_stood() {
        let mut sale = sale();
        (sale.before, sale.after, sale.facts.fresh) = (state(5, 40), state(2, 43), false);
        let checks = sale.checks();
        assert!(checks.iter().all(Check::holds), "{checks:?}");
        assert!(checks.iter().all(|check| check.what != "units sold"));
    }

    #[test]
    fn a_rush_stopped_early_sells_to_those_who_tried() {
        let mut sale = sale();
        sale.facts.sent = 2;
        sale.facts.answers.accepted = vec![0, 1];
        sale.after = state(1, 2);
        sale.orders().truncate(2);
        assert_eq!(differing(&sale.checks()), [""; 0]);
    }

    #[test]
    fn failed_tries_leave_the_number_sold_open() {
        let mut sale = sale();
        for (count, checks) in [(0, 7), (1, 6)] {
            let errors = Errors { count, first: String::new() };
            sale.facts.answers.errors.insert("OOM".to_owned(), errors);
            assert_eq!(sale.checks().len(), checks);
        }
    }
}

//! Whether the server's keys agree with its answers. Pure.

use std::collections::HashSet;

use serde::Serialize;

use crate::answers::Answers;
use crate::plan::{Plan, user_id};
use crate::sale::{Order, State};
use crate::spread::Spread;

/// What is known after a rush, whether its sale is managed or not.
pub struct Facts<'a> {
    pub plan: &'a Plan,
    /// Whether the sale was opened by this run, so that nobody had bought before.
    pub fresh: bool,
    /// How many tries of the plan were sent, all of them answered.
    pub sent: u32,
    pub answers: &'a Answers,
    pub spread: &'a Spread,
    /// Moves between shards that nobody has finished.
    pub on_the_way: i64,
    /// The voucher's orders appended during the rush; None if the server keeps no stream.
    pub orders: Option<&'a [Order]>,
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
pub fn checks(facts: &Facts<'_>, before: &State, after: &State) -> Vec<Check> {
    let accepted = count(facts.answers.accepted.len());
    let mut checks = Vec::new();
    let mut check = |what, expected, found| checks.push(Check { what, expected, found });

    if let Some(expected) = units_to_sell(facts) {
        check("units sold", expected, accepted);
    }
    check("stock left", before.stock.saturating_sub(accepted), after.stock);
    check("buyers", count(before.buyers).saturating_add(accepted), count(after.buyers));
    check("accepted twice", 0, repeated(accepted_users(facts)));
    if let Some(orders) = facts.orders {
        check("orders in the stream", accepted, count(orders.len()));
        check("users ordered twice", 0, repeated(orders.iter().map(|order| order.user.clone())));
        check("orders of accepted tries", accepted, orders_matched(facts, orders));
    }
    checks.extend(of_shards(facts));
    checks
}

/// The comparisons of a sale that is spread over shards.
pub fn of_shards(facts: &Facts<'_>) -> Vec<Check> {
    if !facts.spread.is_spread() {
        return Vec::new();
    }
    let vouchers = facts.spread.vouchers();
    let is_wrong = |order: &&Order| vouchers[facts.spread.shard_of(&order.user)] != order.voucher;
    let wrong = facts.orders.unwrap_or_default().iter().filter(is_wrong).count();
    vec![
        Check { what: "moves on their way", expected: 0, found: facts.on_the_way },
        Check { what: "orders on a wrong shard", expected: 0, found: count(wrong) },
    ]
}

/// A fresh sale sells all its units, or one to everybody who tried when there are more.
/// None where that can't be said: errors, or a sale that went on before.
fn units_to_sell(facts: &Facts<'_>) -> Option<i64> {
    if !facts.fresh || facts.answers.error_count() > 0 {
        return None;
    }
    let users: HashSet<u32> = (0..facts.sent).filter_map(|try_| facts.plan.user(try_)).collect();
    facts.spread.units_to_sell(users.into_iter().map(|user| (user, 1)))
}

fn accepted_users<'a>(facts: &'a Facts<'_>) -> impl Iterator<Item = String> + 'a {
    let accepted = facts.answers.accepted.iter();
    accepted.filter_map(|&number| facts.plan.user(number)).map(user_id)
}

/// How many accepted tries have their own order, of the same user, in the stream.
fn orders_matched(facts: &Facts<'_>, orders: &[Order]) -> i64 {
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
        plan: Plan,
        sent: u32,
        answers: Answers,
        before: State,
        after: State,
        orders: Vec<Order>,
    }

    fn state(stock: i64, buyers: u64) -> State {
        State { stock, buyers, last_entry: "0".to_owned(), last_released: "0".to_owned() }
    }

    /// The order of a try.
    pub fn order(plan: &Plan, number: u32) -> Order {
        let user = user_id(plan.user(number).unwrap());
        let voucher = "rush".to_owned();
        Order { user, order_id: plan.order_id(number), voucher, waited: false }
    }

    fn sale() -> Sale {
        let plan = Plan::new("run".to_owned(), 10, 10, 0.0, 1);
        let answers = Answers {
            outcomes: [3, 7, 0, 0, 0, 0, 0],
            accepted: vec![0, 1, 2],
            ..Default::default()
        };
        let orders = (0..3).map(|number| order(&plan, number)).collect();
        Sale { plan, sent: 10, answers, before: state(3, 0), after: state(0, 3), orders }
    }

    impl Sale {
        /// The names of the comparisons that don't hold.
        fn differences(&self) -> Vec<&'static str> {
            let checks = self.checks(true);
            checks.iter().filter(|check| !check.holds()).map(|check| check.what).collect()
        }

        fn checks(&self, fresh: bool) -> Vec<Check> {
            let mut spread = Spread::of(&Options::parse_from(["rush"]));
            spread.stocks = vec![self.before.stock];
            let facts = Facts {
                plan: &self.plan,
                fresh,
                sent: self.sent,
                answers: &self.answers,
                spread: &spread,
                on_the_way: 0,
                orders: Some(&self.orders),
            };
            checks(&facts, &self.before, &self.after)
        }
    }

    #[test]
    fn a_sound_sale_is_proved() {
        let sale = sale();
        assert_eq!(sale.differences(), [""; 0]);
        assert_eq!(sale.checks(true).len(), 7);
    }

    #[test]
    fn an_oversold_unit_shows() {
        let mut sale = sale();
        sale.answers.accepted.push(3);
        sale.answers.outcomes = [4, 6, 0, 0, 0, 0, 0];
        sale.after = state(-1, 4);
        sale.orders.push(order(&sale.plan, 3));
        assert_eq!(sale.differences(), ["units sold"]);
    }

    #[test]
    fn a_lost_unit_shows() {
        let mut sale = sale();
        sale.before.stock = 4;
        assert_eq!(sale.differences(), ["units sold", "stock left"]);
    }

    #[test]
    fn a_missing_or_foreign_order_shows() {
        let mut sale = sale();
        sale.orders.pop();
        assert_eq!(sale.differences(), ["orders in the stream", "orders of accepted tries"]);
        sale.orders.push(Order { order_id: "other-2".to_owned(), ..order(&sale.plan, 2) });
        assert_eq!(sale.differences(), ["orders of accepted tries"]);
    }

    #[test]
    fn a_user_served_twice_shows() {
        let mut sale = sale();
        sale.plan = Plan::new("run".to_owned(), 10, 1, 0.0, 1);
        sale.answers.accepted = vec![0, 1, 2];
        sale.orders = (0..3).map(|number| order(&sale.plan, number)).collect();
        sale.after.buyers = 1;
        let differences = ["units sold", "buyers", "accepted twice", "users ordered twice"];
        assert_eq!(sale.differences(), differences);
    }

    #[test]
    fn a_sale_that_went_on_is_measured_from_where_it_stood() {
        let mut sale = sale();
        sale.before = state(5, 40);
        sale.after = state(2, 43);
        let checks = sale.checks(false);
        assert!(checks.iter().all(Check::holds), "{checks:?}");
        assert!(checks.iter().all(|check| check.what != "units sold"));
    }

    #[test]
    fn a_rush_stopped_early_sells_to_those_who_tried() {
        let mut sale = sale();
        sale.sent = 2;
        sale.answers.accepted = vec![0, 1];
        sale.answers.outcomes = [2, 0, 0, 0, 0, 0, 0];
        sale.after = state(1, 2);
        sale.orders.truncate(2);
        assert_eq!(sale.differences(), [""; 0]);
    }

    #[test]
    fn failed_tries_leave_the_number_sold_open() {
        let mut sale = sale();
        sale.answers.errors.insert("OOM".to_owned(), Errors::default());
        assert_eq!(sale.checks(true).len(), 7);
        sale.answers.errors.insert("OOM".to_owned(), Errors { count: 1, first: String::new() });
        assert_eq!(sale.checks(true).len(), 6);
    }
}

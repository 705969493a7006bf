//! Whether the keys of a managed sale agree with the server's answers, and with its own audit.
//! Pure.

use std::collections::{HashMap, HashSet};

use domain::book::{Reason, State as In};
use domain::confirm::Confirmation;
use domain::orders::Cancellation;

use crate::decisions;
use crate::managed::{BookedOrder, Ledger};
use crate::options::Options;
use crate::plan::user_id;
use crate::proof::{Check, Facts, count, of_shards, repeated};
use crate::sale::{Order, State};

/// What is known of a managed sale besides.
pub struct Managed<'a> {
    pub options: &'a Options,
    /// Units that a user may have.
    pub limit: i64,
    pub ledger: Ledger,
    /// All holds were waited for.
    pub waited: bool,
    /// The voucher's releases appended during the rush; None if the server keeps no stream.
    pub released: Option<Vec<Order>>,
}

/// The comparisons, in the order in which they are shown.
pub fn checks(facts: &Facts, managed: &Managed<'_>) -> Vec<Check> {
    let Managed { options, ledger: Ledger { audit, book }, .. } = managed;
    let (payments, fresh) = (&facts.answers.payments, facts.is_fresh());
    let before = State::sum(&facts.before);
    let accepted: HashSet<u32> = facts.answers.accepted.iter().copied().collect();
    let in_queue: HashSet<u32> = facts.answers.waiting.iter().copied().collect();
    let promoted = decisions::promoted(&facts.plan, &facts.answers.waiting, book);
    let in_state = |state| count(book.iter().filter(|entry| entry.state == state).count());
    let mut checks = Vec::new();
    let mut check = |what, expected, found| checks.push(Check { what, expected, found });

    if fresh {
        check("total", before.stock, audit.total);
    }
    let sum = audit.left.saturating_add(audit.held).saturating_add(audit.sold);
    check("left + held + sold", audit.total, sum);
    check("differences in the audit", 0, count(audit.differences.len()));
    check("stock left", audit.left, facts.after.stock);
    // Where nothing comes back and the window is open.
    let rules = &options.managed;
    let nothing_returns = rules.hold.is_none() && rules.cancel_share == 0.0;
    let is_certain = nothing_returns && rules.begin_in.is_none() && rules.end_in.is_none();
    if let Some(expected) = facts.units_to_sell().filter(|_| is_certain) {
        check("orders accepted", expected, count(accepted.len()));
    }
    let tried = count(accepted.union(&in_queue).count());
    check("orders in the book", before.booked.saturating_add(tried), count(book.len()));
    check("accepted orders in it", count(accepted.len()), booked(facts, book, &accepted));
    if rules.waitlist {
        check("orders in the queue in it", count(in_queue.len()), booked(facts, book, &in_queue));
        // While somebody waits nothing is left for others, as each of them wants a single unit.
        let idle = if in_state(In::Waiting) > 0 { facts.after.stock } else { 0 };
        check("left while some wait", 0, idle);
    }
    let users = units_by_user(book);
    let over = users.values().filter(|units| **units > managed.limit).count();
    check("users over the limit", 0, count(over));
    check("buyers", count(users.len()), facts.after.buyers);
    if fresh && rules.hold.is_some() {
        check(
            "orders paid",
            count(payments.confirmed(Confirmation::Confirmed)),
            in_state(In::Sold),
        );
    }
    if fresh {
        check(
            "orders cancelled",
            count(payments.cancelled(Cancellation::Released)),
            in_state(In::Released(Reason::Cancelled)),
        );
    }
    if managed.waited {
        check("holds left over", 0, in_state(In::Held));
    }
    if let Some(orders) = &facts.orders {
        check(
            "orders in the stream",
            count(accepted.union(&promoted).count()),
            count(orders.len()),
        );
        check("ids ordered twice", 0, repeated(orders.iter().map(|o| o.order_id.clone())));
    }
    // Meanwhile more holds may have expired than the book said.
    if let Some(released) = managed.released.as_ref().filter(|_| fresh && managed.waited) {
        let gone =
            book.iter().filter(|entry| entry.state.is_released() && entry.was_accepted).count();
        check("releases in the stream", count(gone), count(released.len()));
    }
    checks.extend(of_shards(facts));
    checks
}

/// How many of the tries' orders are in the book, of the same user.
fn booked(facts: &Facts, book: &[BookedOrder], tries: &HashSet<u32>) -> i64 {
    let is_ours = |order_id: &str, user: &str| {
        let number = facts.plan.number(order_id).filter(|number| tries.contains(number))?;
        (user_id(facts.plan.user(number)?) == user).then_some(())
    };
    count(book.iter().filter(|entry| is_ours(&entry.order_id, &entry.user).is_some()).count())
}

/// Units of live orders.
fn units_by_user(book: &[BookedOrder]) -> HashMap<&str, i64> {
    let mut users: HashMap<&str, i64> = HashMap::new();
    for entry in book.iter().filter(|entry| entry.state.is_live()) {
        let units = users.entry(&entry.user).or_default();
        *units = units.saturating_add(entry.units);
    }
    users
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::decisions::Payments;
    use crate::managed::Audit;
    use crate::plan::Plan;
    use crate::proof::tests::{differing, facts, orders, state};
    use clap::Parser;

    const LINE: &str = "rush --managed --hold 9ms --stock 5";

    /// Five units, ten users: the first paid, the second cancelled, the third expired.
    struct Sale {
        options: Options,
        facts: Facts,
        ledger: Ledger,
        released: Vec<Order>,
    }

    fn entry(plan: &Plan, number: u32, state: In) -> BookedOrder {
        let user = user_id(plan.user(number).unwrap());
        let (order_id, was_accepted) = (plan.order_id(number), state != In::Waiting);
        BookedOrder { order_id, state, was_accepted, units: 1, user }
    }

    fn sale(line: &str) -> Sale {
        let mut facts = facts();
        (facts.before, facts.after) = (vec![state(5, 0)], state(4, 1));
        facts.answers.payments = Payments { confirmed: [0, 1, 0, 0], cancelled: [0, 1, 0] };
        let audit = Audit { total: 5, left: 4, held: 0, sold: 1, buyers: 1, ..Audit::default() };
        let states = [In::Sold, In::Released(Reason::Cancelled), In::Released(Reason::Expired)];
        let book = (0..3).map(|n| entry(&facts.plan, n, states[n as usize])).collect();
        Sale {
            options: Options::parse_from(line.split(' ')),
            ledger: Ledger { audit, book },
            released: orders(&facts.plan, 1..3),
            facts,
        }
    }

    impl Sale {
        fn checks(&self) -> Vec<Check> {
            let managed = Managed {
                options: &self.options,
                limit: 1,
                ledger: self.ledger.clone(),
                waited: true,
                released: Some(self.released.clone()),
            };
            checks(&self.facts, &managed)
        }

        fn entry(&self, number: u32, state: In) -> BookedOrder {
            entry(&self.facts.plan, number, state)
        }
    }

    #[test]
    fn a_sound_sale_is_consistent() {
        let sale = sale(LINE);
        assert_eq!((differing(&sale.checks()), sale.checks().len()), (vec![], 14));
    }

    /// The third was in the queue and was promoted; the fourth still is; the sale of the fifth has
    /// ended.
    #[test]
    fn a_queue_is_consistent() {
        let mut sale = sale(&format!("{LINE} --waitlist"));
        sale.facts.answers.accepted = vec![0, 1];
        sale.facts.answers.waiting = vec![2, 3, 4];
        let ended = sale.entry(4, In::Released(Reason::Expired));
        let waits = sale.entry(3, In::Waiting);
        sale.ledger.book.extend([waits, BookedOrder { was_accepted: false, ..ended }]);
        assert_eq!(differing(&sale.checks()), ["left while some wait"]);
        sale.ledger.audit = Audit { left: 0, sold: 5, ..sale.ledger.audit };
        sale.facts.after.stock = 0;
        assert_eq!(differing(&sale.checks()), [""; 0]);
        sale.facts.orders.as_mut().unwrap().pop();
        assert_eq!(differing(&sale.checks()), ["orders in the stream"]);
    }

    #[test]
    fn whatever_differs_shows() {
        type Case = (fn(&mut Sale), &'static [&'static str]);
        let cases: [Case; 4] = [
            // A lost unit.
            (
                |sale| {
                    (sale.ledger.audit.left, sale.facts.after.stock) = (3, 3);
                    sale.ledger.audit.differences.push("total is 5".to_owned());
                },
                &["left + held + sold", "differences in the audit"],
            ),
            // An order that was sold twice.
            (
                |sale| sale.facts.orders = Some(orders(&sale.facts.plan, [0, 1, 2, 0])),
                &["orders in the stream", "ids ordered twice"],
            ),
            // Somebody over the limit.
            (
                |sale| {
                    let more = sale.entry(1, In::Sold);
                    sale.ledger.book[1] = BookedOrder { user: "u0".to_owned(), ..more };
                },
                &[
                    "accepted orders in it", "users over the limit", "orders paid",
                    "orders cancelled", "releases in the stream",
                ],
            ),
            // A hold that stays.
            (
                |sale| sale.ledger.book[2] = sale.entry(2, In::Held),
                &["buyers", "holds left over", "releases in the stream"],
            ),
        ];
        for (number, (change, differences)) in cases.into_iter().enumerate() {
            let mut sale = sale(LINE);
            change(&mut sale);
            assert_eq!(differing(&sale.checks()), differences, "{number}");
        }
    }

    #[test]
    fn where_nothing_returns_the_number_of_orders_is_certain() {
        let mut sale = sale("rush --managed --stock 5");
        sale.facts.answers.payments = Payments::default();
        let accepted = |sale: &Sale| {
            let check = sale.checks().into_iter().find(|check| check.what == "orders accepted");
            check.map(|check| (check.expected, check.found))
        };
        assert_eq!(accepted(&sale), Some((5, 3)));
    }
}

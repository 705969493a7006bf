//! Small books, and what is said of them.

mod differences;

use super::*;
use crate::book::{Reason, State};

const CANCELLED: State = State::Released(Reason::Cancelled);

/// Order id, user, and what is known of it.
type Known3 = (&'static str, &'static str, Known<String>);

fn known(state: State, units: i64, reference: &str) -> Known<String> {
    let reference = Some(reference.to_owned()).filter(|text| !text.is_empty());
    let was = matches!(state, State::Released(_)).then_some(State::Sold);
    Known::new(state, was, units, reference)
}

fn sold(order: &'static str, user: &'static str, units: i64) -> Known3 {
    (order, user, known(State::Sold, units, ""))
}

/// A managed sale of ten, in which the books agree.
struct Shop {
    book: Vec<Known3>,
    rows: Vec<Known3>,
    /// What a person has kept, and what the server said.
    kept: BTreeMap<&'static str, &'static str>,
    outside: BTreeMap<&'static str, i64>,
    lines: Vec<Line<'static>>,
    payments: Vec<Payment<'static>>,
    /// What the server says that payments are for.
    paid: BTreeMap<&'static str, i64>,
    limit: i64,
    left: Option<i64>,
    is_untold: bool,
}

impl Shop {
    fn of(orders: Vec<Known3>) -> Self {
        Self {
            book: orders.clone(),
            rows: orders,
            kept: BTreeMap::new(),
            outside: BTreeMap::new(),
            lines: Vec::new(),
            payments: Vec::new(),
            paid: BTreeMap::new(),
            limit: 9,
            left: None,
            is_untold: false,
        }
    }

    fn judge(&self) -> Judgement {
        judge(&[self.sale(true)])
    }

    fn sale(&self, is_on: bool) -> Sale<'_> {
        fn fact((order, user, known): &Known3) -> (&str, Fact<'_>) {
            (order, Fact { user, known })
        }
        let is_live = |one: &&Known3| one.2.state.is_live();
        let held: i64 = self.book.iter().filter(is_live).map(|one| one.2.units).sum();
        let total = 10 - self.outside.values().sum::<i64>();
        let live = Live {
            is_managed: true,
            orders: self.book.iter().map(fact).collect(),
            total: Some(total),
            left: self.left.unwrap_or(total - held),
            limit: self.limit,
            outside: self.outside.clone(),
            paid: self.paid.clone(),
            is_steady: true,
            ..Live::default()
        };
        let row = |one| {
            let (order, fact) = fact(one);
            let disputed = self.kept.get(order).copied().unwrap_or_default();
            let is_settled = !disputed.is_empty();
            (order, Row { fact, is_note: false, disputed, is_settled, is_untold: self.is_untold })
        };
        Sale {
            voucher: "7",
            sale: "5",
            server: if is_on { Server::On(live) } else { Server::Over },
            rows: self.rows.iter().map(row).collect(),
            sum: self.rows.iter().filter(is_live).map(|one| one.2.units).sum(),
            lines: self.lines.clone(),
            payments: self.payments.clone(),
            is_closed: false,
        }
    }
}

fn kinds(found: &Judgement) -> Vec<(Kind, &str)> {
    found.findings.iter().map(|one| (one.kind, &*one.order)).collect()
}

#[test]
fn books_that_agree_are_proved() {
    let shop = Shop::of(vec![sold("1", "ann", 2), sold("2", "ben", 1)]);
    let found = shop.judge();
    assert_eq!((found.verdict(), found.units_sold()), (Verdict::Proved, 3), "{found:?}");
    // A sale with its whole stock.
    assert_eq!(Shop::of(vec![]).judge().verdict(), Verdict::NothingSold);
}

#[test]
fn each_book_is_compared() {
    let all = vec![sold("1", "ann", 2), sold("2", "ben", 1)];
    for number in 0..2 {
        let mut shop = Shop::of(all.clone());
        let (order, ..) = shop.rows.remove(number);
        assert_eq!(kinds(&shop.judge()), [(Kind::Missing, order)]);
        let mut shop = Shop::of(all.clone());
        shop.book.remove(number);
        let found = shop.judge();
        assert_eq!((kinds(&found), found.verdict().code()), (vec![(Kind::Contradicts, order)], 1));
    }
    let mut shop = Shop::of(all);
    shop.left = Some(8);
    let found = shop.judge();
    assert_eq!((kinds(&found), found.verdict()), (vec![], Verdict::Different), "a unit appears");
}

#[test]
fn nothing_is_proved_without_a_book() {
    let shop = Shop::of(vec![sold("1", "ann", 2)]);
    let sale = shop.sale(false);
    let found = judge(std::slice::from_ref(&sale));
    let (voucher, name) = ("7".to_owned(), "5".to_owned());
    let doubt = Doubt::NoBook { voucher, sale: name, orders: 1 };
    assert_eq!((found.verdict(), found.doubts.first()), (Verdict::Unproved, Some(&doubt)));
    assert_eq!(judge(&[Sale { is_closed: true, ..sale }]).verdict(), Verdict::Proved);
}

#[test]
fn a_kept_order_must_be_off_the_sale() {
    let mut shop = Shop::of(vec![sold("1", "ann", 2), sold("2", "ben", 1)]);
    shop.book.pop();
    shop.kept.insert("2", "no such order");
    assert_eq!(kinds(&shop.judge()), [(Kind::Oversold, "2")]);
    shop.outside.insert("2", 1);
    let found = shop.judge();
    assert_eq!((found.verdict(), found.settled), (Verdict::Proved, 1), "{found:?}");
    // The server says something else than what was settled.
    shop.kept.insert("2", "expired, units 1, was held, no ref");
    assert_eq!(kinds(&shop.judge()), [(Kind::Contradicts, "2")]);
    // The server has it again: its unit is off the sale for nobody.
    shop.kept.clear();
    shop.book.push(sold("2", "ben", 1));
    assert_eq!(kinds(&shop.judge()), [(Kind::Outside(1), "2")]);
}

#[test]
fn a_lowered_limit_is_no_difference() {
    let mut shop = Shop::of(vec![sold("1", "ann", 2)]);
    shop.limit = 1;
    let found = shop.judge();
    assert_eq!((found.verdict(), found.above), (Verdict::Proved, 1));
    // A second row of the user, which the server did not sell.
    shop.rows.push(sold("3", "ann", 1));
    let found = shop.judge();
    assert!(found.totals.contains(&("users beyond the limit", 0, 1)), "{found:?}");
}

#[test]
fn payments_are_in_a_row_or_on_a_line() {
    use Outcome::{First, Late, Second, Unknown};
    let paid = ("1", "ann", known(State::Sold, 2, "p"));
    let line = |to, reference| Line { order: "1", to, units: 1, reference };
    for (outcome, reference, to, verdict) in [
        (First, "p", "", Verdict::Proved),
        (First, "q", "", Verdict::Different),
        (Late, "q", "", Verdict::Different),
        (Late, "q", "late", Verdict::Proved),
        (Second, "q", "late", Verdict::Different),
        (Late, "p", "", Verdict::Different),
        (Unknown, "q", "unknown", Verdict::Unproved),
        (Unknown, "q", "", Verdict::Different),
        // The server has lost that it paid the order.
        (Unknown, "p", "", Verdict::Proved),
    ] {
        let mut shop = Shop::of(vec![paid.clone()]);
        shop.payments.push(Payment { reference, outcome, order: "1", use_: Use::None });
        shop.lines.extend(Some(line(to, "q")).filter(|line| !line.to.is_empty()));
        let found = shop.judge();
        assert_eq!(found.verdict(), verdict, "{outcome:?} {reference} {to}: {found:?}");
    }
}

#[test]
fn what_a_release_refunds_is_refunded_once() {
    use Outcome::{Late, Second};
    for outcome in [Late, Second] {
        let mut shop = Shop::of(vec![("1", "ann", known(CANCELLED, 2, "p"))]);
        shop.payments.push(Payment { reference: "p", outcome, order: "1", use_: Use::None });
        let cancelled = Line { order: "1", to: "cancelled", units: 2, reference: "p" };
        shop.lines.push(cancelled);
        assert_eq!(shop.judge().verdict(), Verdict::Proved, "{outcome:?}");
        shop.lines.push(Line { to: outcome.word(), units: 1, ..cancelled });
        assert_eq!(kinds(&shop.judge()), [(Kind::Twice, "1")], "{outcome:?}");
    }
}

#[test]
fn a_payment_of_an_earlier_sale_counts_once() {
    let judged = |use_| {
        let (reference, outcome) = ("q", Outcome::Unknown);
        let mut shop = Shop::of(vec![sold("2", "ben", 1)]);
        shop.payments.push(Payment { reference, outcome, order: "1", use_ });
        shop.judge()
    };
    assert_eq!(judged(Use::Itself).verdict(), Verdict::Proved);
    let found = judged(Use::Other("9"));
    assert_eq!((found.verdict(), kinds(&found)), (Verdict::Different, vec![(Kind::Claimed, "1")]));
}

#[test]
fn nobody_has_goods_and_money() {
    let line = |to, units| Line { order: "1", to, units, reference: "p" };
    let kept = known(State::Sold, 2, "p");
    let gone = known(CANCELLED, 2, "p");
    for (known, lines, verdict) in [
        (&kept, vec![], Verdict::Proved),
        (&kept, vec![line("reduced", 1)], Verdict::Proved),
        (&kept, vec![line("late", 1)], Verdict::Different),
        (&kept, vec![line("cancelled", 2)], Verdict::Different),
        (&kept, vec![line("late", 1), line(NOT_REFUNDED, 2)], Verdict::Proved),
        (&gone, vec![], Verdict::Different),
        (&gone, vec![line("cancelled", 1)], Verdict::Different),
        (&gone, vec![line("reduced", 1), line("cancelled", 2)], Verdict::Proved),
        (&gone, vec![line("cancelled", 3)], Verdict::Different),
        (&gone, vec![line("late", 1)], Verdict::Proved),
        (&gone, vec![line("second", 1), line("cancelled", 2)], Verdict::Different),
        (&gone, vec![line("reduced", 1), line("late", 1)], Verdict::Different),
        // It was not refunded as a whole: then its units are.
        (&gone, vec![line("late", 1), line(NOT_REFUNDED, 2)], Verdict::Different),
        (
            &gone,
            vec![line("late", 1), line(NOT_REFUNDED, 2), line("cancelled", 2)],
            Verdict::Proved,
        ),
    ] {
        let mut shop = Shop::of(vec![("1", "ann", known.clone())]);
        shop.lines = lines;
        let found = shop.judge();
        assert_eq!(found.verdict(), verdict, "{known:?} {:?}: {found:?}", shop.lines);
    }
}

#[test]
fn what_nobody_tells_of_a_payment_is_not_proved() {
    for (state, lines, units) in [(State::Sold, 0, 2), (State::Sold, 1, 3), (CANCELLED, 2, 2)] {
        let mut shop = Shop::of(vec![("1", "ann", known(state, 2, "p"))]);
        let to = if state == CANCELLED { "cancelled" } else { "reduced" };
        shop.lines.push(Line { order: "1", to, units: lines, reference: "p" });
        shop.is_untold = true;
        let found = shop.judge();
        let line = found.doubts.first().expect("a doubt").line();
        assert_eq!(found.verdict(), Verdict::Unproved, "{found:?}");
        assert!(line.contains(&format!("for {units} units or more")), "{line}");
    }
}

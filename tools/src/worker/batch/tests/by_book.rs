//! Orders of managed vouchers: their rows follow the book.

use super::*;

fn one(event: &Heard) -> &[Heard] {
    std::slice::from_ref(event)
}

/// An event of sale 5, whose orders have a book.
fn of_sale(mut event: Event) -> Heard {
    event.key.sale = "5".to_owned();
    (event, Sole::No)
}

fn book(event: &Heard, state: State, was: Option<State>, units: i64, paid: &str) -> Answers {
    let reference = Some(paid.to_owned()).filter(|paid| !paid.is_empty());
    let known = Known::new(state, was, units, reference);
    let fact = Fact::of(event.0.user.clone(), known);
    Answers::from([(event.0.key.clone(), Answer::Has(fact))])
}

impl Rows {
    fn row(&self, event: &Heard) -> &Row {
        &self.rows[&event.0.key]
    }

    fn told(&self, event: &Heard) -> Vec<&str> {
        let told = self.told.get(&event.0.key);
        told.map(|told| told.iter().map(String::as_str).collect()).unwrap_or_default()
    }
}

const CANCELLED: State = State::Released(Reason::Cancelled);
const EXPIRED: State = State::Released(Reason::Expired);

#[test]
fn a_row_follows_the_book_and_the_shop_is_told_each_change_once() {
    let mut rows = Rows::default();
    let held = of_sale(held_of("alice", "1", 1, 3));
    // Paid, and partly cancelled, before the order is read.
    let paid = of_sale(event("alice", "1", 2, 3, Kind::Confirmed));
    let now = book(&held, State::Sold, None, 2, "p");
    assert_eq!(rows.apply_by(one(&held), &now), [Inserted]);
    assert_eq!(rows.told(&held), ["on_held - held", "on_confirmed held sold"]);
    assert_eq!((rows.row(&held).known.units, rows.sold()), (2, 2));
    assert_eq!(rows.row(&held).known.reference.as_deref(), Some("p"));
    let fewer = Kind::Released { reason: Reason::Cancelled, was: Some(State::Sold), kept: Some(2) };
    let fewer = of_sale(event("alice", "1", 3, 1, fewer));
    rows.apply_by(&[paid, fewer.clone()], &now);
    assert_eq!((rows.told(&held).len(), rows.sold()), (2, 2));
    // One unit less, of which no entry was read.
    let now = book(&held, State::Sold, None, 1, "p");
    rows.apply_by(&[fewer], &now);
    assert_eq!((rows.told(&held)[2], rows.sold()), ("on_reduced sold sold", 1));
    // Accepted, lost, accepted again, cancelled: the book counts, not the entries.
    let again = of_sale(held_of("alice", "1", 9, 3));
    let now = book(&held, CANCELLED, Some(State::Sold), 1, "p");
    rows.apply_by(&[again], &now);
    assert_eq!((rows.row(&held).known.state, rows.sold()), (CANCELLED, 0));
    assert_eq!(rows.told(&held)[3..], ["on_released sold cancelled"]);
}

#[test]
fn a_paid_row_is_disputed_and_stays_when_the_server_says_less() {
    let mut rows = Rows::default();
    let order = of_sale(held_of("alice", "1", 1, 2));
    rows.apply_by(one(&order), &book(&order, State::Sold, None, 2, "p"));
    let told = rows.told(&order).len();
    let expired = Kind::Released { reason: Reason::Expired, was: Some(State::Held), kept: None };
    let expired = of_sale(event("alice", "1", 7, 2, expired));
    // Also when the sale was dropped, and only the entry is left.
    for answers in [book(&order, EXPIRED, Some(State::Held), 2, ""), Answers::new()] {
        let mut rows =
            Rows { rows: rows.rows.clone(), sales: rows.sales.clone(), ..Rows::default() };
        assert_eq!(rows.apply_by(one(&expired), &answers), [Released]);
        let row = rows.row(&order);
        assert_eq!((row.known.state, rows.sold()), (State::Sold, 2));
        assert!(row.is_disputed() && row.disputed.contains("expired"), "{}", row.disputed);
        assert!(rows.told.is_empty(), "the shop's tables stay as they are");
        assert!(rows.records.iter().any(|record| record.to == "disputed"), "{:?}", rows.records);
        // Nothing but a person changes it, and what comes is recorded.
        let cancelled = of_sale(cancel("alice", "1", 8).0);
        let now = book(&order, CANCELLED, Some(State::Sold), 2, "p");
        rows.apply_by(&[cancelled], &now);
        assert_eq!(rows.row(&order).known.state, State::Sold);
    }
    assert_eq!(rows.told(&order).len(), told);
}

#[test]
fn what_a_person_has_settled_is_not_disputed_again() {
    let mut rows = Rows::default();
    let order = of_sale(held_of("alice", "1", 1, 2));
    rows.apply_by(one(&order), &book(&order, State::Sold, None, 2, "p"));
    let look = (Event { kind: Kind::Look, ..order.0.clone() }, Sole::No);
    let lost = book(&order, State::Held, None, 2, "");
    rows.apply_by(one(&look), &lost);
    assert!(rows.row(&order).is_disputed());
    rows.rows.get_mut(&order.0.key).unwrap().is_settled = true;
    rows.apply_by(one(&look), &lost);
    assert!(!rows.row(&order).is_disputed());
    rows.apply_by(&[look], &book(&order, EXPIRED, None, 2, ""));
    assert!(rows.row(&order).is_disputed(), "the server says something else now");
}

#[test]
fn a_payment_to_give_back_is_recorded_and_sells_nothing() {
    let mut rows = Rows::default();
    let order = of_sale(held_of("alice", "1", 1, 2));
    rows.apply_by(one(&order), &book(&order, EXPIRED, Some(State::Held), 2, ""));
    let mut late = event("alice", "1", 7, 2, Kind::Payment("late".to_owned()));
    late.reference = Some("p".to_owned());
    let unknown = event("eve", "9", 8, 1, Kind::Payment("unknown".to_owned()));
    rows.apply(&[of_sale(late), of_sale(unknown)]);
    assert_eq!((rows.row(&order).known.state, rows.rows.len()), (EXPIRED, 1));
    let told: Vec<_> = rows.records.iter().map(|record| (&*record.to, &record.reference)).collect();
    let begun = ("expired", &None);
    assert_eq!(told, [begun, ("late", &Some("p".to_owned())), ("unknown", &None)]);
}

#[test]
fn a_held_row_has_the_deadline_of_the_book() {
    let mut rows = Rows::default();
    let order = of_sale(held_of("alice", "1", 1, 2));
    let until = |deadline_ms| {
        let mut answers = book(&order, State::Held, None, 2, "");
        let Some(Answer::Has(fact)) = answers.get_mut(&order.0.key) else { unreachable!() };
        fact.deadline_ms = Some(deadline_ms);
        answers
    };
    // Extended before the order is read, and again before it is read once more.
    for deadline_ms in [700, 900] {
        rows.apply_by(one(&order), &until(deadline_ms));
        assert_eq!(rows.row(&order).deadline_ms, Some(deadline_ms));
    }
    rows.apply_by(one(&order), &book(&order, State::Sold, None, 2, "p"));
    assert_eq!(rows.row(&order).deadline_ms, Some(900), "the last one that it had");
    assert_eq!(rows.told(&order), ["on_held - held", "on_confirmed held sold"]);
}

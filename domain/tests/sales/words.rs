//! What a confirmation with `UNITS` is answered, and what `NORESTOCK` and `REFUNDED` write: tables
//! of more units than the explored courses have.

use crate::extremes::{asked, plan, refused, request, with_order};
use crate::flat::Flat;
use crate::requests::ALL;
use crate::world::{Error, World};
use domain::book::{Entry, Reason, Spans, State};
use domain::confirm::{self, Confirmation, Given};
use domain::facts::Refusal;
use domain::orders::{self, Cancel, Cancellation};
use domain::payments::{Outcome, Payment};
use domain::plan::{Append, Decision};
use domain::sale::Units;

const CANCELLED: State = State::Released(Reason::Cancelled);

fn units(units: i64) -> Option<Units> {
    Units::new(units)
}

/// A sale of 9 with one order, which has a payment, or had, for so many units, if that was said.
fn paid(state: State, has: i64, reference: Option<u8>, said: i64) -> World {
    let mut world = with_order(state, has, Some(9 - has), 9);
    let was = state.is_released().then_some(State::Sold);
    world.book[0] = world.book[0].map(|it| Entry { reference, paid: units(said), was, ..it });
    if let (Some(reference), Some(sale)) = (reference, world.sale()) {
        let outcome = if state.is_released() { Outcome::Released } else { Outcome::First };
        let (paid, user, id) = (units(said), Some(0), 0);
        world.payments[usize::from(reference)] = Some(Payment { outcome, sale, paid, user, id });
    }
    world
}

/// The answer, and what is on record of the payment then.
fn confirmed(world: World, reference: u8, said: i64) -> Result<(Confirmation, Flat), Error> {
    let given = Given { reference, is_refunded: false, units: units(said) };
    let decided = asked(world, |facts| confirm::confirm(facts, &request(), Some(given)))?;
    let Decision::Do(answer, plan) = decided else { panic!("{decided:?}") };
    Ok((answer, plan.into()))
}

#[test]
fn a_payment_pays_an_order_of_as_many_units_or_fewer() {
    use Confirmation::{Confirmed, DuplicatePayment, NoSuchOrder, ReleasedSince, TooLate, WasSold};
    use Outcome::{Duplicate, First, Late, Released, Unmatched};
    let held = with_order(State::Held, 3, Some(6), 9);
    let sold = with_order(State::Sold, 3, Some(6), 9);
    let expired = with_order(State::Released(Reason::Expired), 3, Some(9), 9);
    let released = paid(CANCELLED, 3, None, 0);
    for (world, said, answer, outcome, is_in_book) in [
        (held, 0, Confirmed, First, true),
        (held, 2, NoSuchOrder, Unmatched, false),
        (held, 3, Confirmed, First, true),
        (held, 4, Confirmed, First, true),
        (sold, 2, NoSuchOrder, Unmatched, false),
        (sold, 3, WasSold, First, true),
        (sold, i64::MAX, WasSold, First, true),
        (paid(State::Sold, 3, Some(1), 3), 1, DuplicatePayment, Duplicate, false),
        (expired, 1, TooLate, Late, false),
        (expired, 0, TooLate, Late, false),
        (released, 0, ReleasedSince, Released, true),
        (released, 1, ReleasedSince, Released, true),
        (paid(CANCELLED, 3, Some(1), 0), 3, TooLate, Late, false),
    ] {
        let (got, plan) = confirmed(world, 0, said).unwrap();
        let (reference, record) = plan.payment.unwrap();
        assert_eq!((got, reference), (answer, 0), "{said} {world:?}");
        assert_eq!((record.outcome, record.paid), (outcome, units(said)), "{said} {world:?}");
        assert_eq!(plan.appends, [Some(Append::Payment(outcome)), None], "{said} {world:?}");
        let book = plan.entry.map(|it| (it.reference, it.paid, it.units.get()));
        assert_eq!(book, is_in_book.then_some((Some(0), units(said), 3)), "{said} {world:?}");
    }
}

#[test]
fn the_units_of_a_payment_that_is_final_stay() {
    let again = |code| Ok((code, [None; 2]));
    for (world, said, want) in [
        (paid(State::Sold, 3, Some(0), 3), 0, again(Confirmation::WasSold)),
        (paid(State::Sold, 3, Some(0), 3), 3, again(Confirmation::WasSold)),
        (paid(State::Sold, 3, Some(0), 3), 2, refused(Refusal::Units)),
        (paid(State::Sold, 3, Some(0), 5), 5, again(Confirmation::WasSold)),
        (paid(State::Sold, 3, Some(0), 5), 3, refused(Refusal::Units)),
        // Without a word it was for the units that the order has.
        (paid(State::Sold, 3, Some(0), 0), 3, again(Confirmation::WasSold)),
        (paid(State::Sold, 3, Some(0), 0), 4, refused(Refusal::Units)),
        (paid(CANCELLED, 3, Some(0), 4), 4, again(Confirmation::ReleasedSince)),
        (paid(CANCELLED, 3, Some(0), 4), 3, refused(Refusal::Units)),
    ] {
        // Also if only the book has it.
        for world in [world, World { payments: [None; 2], ..world }] {
            let got = confirmed(world, 0, said).map(|(answer, plan)| (answer, plan.appends));
            assert_eq!(got, want, "{said} {world:?}");
        }
        let kept = confirmed(world, 0, 0).unwrap().1.payment;
        assert_eq!(kept.and_then(|(_, it)| it.paid), world.book[0].and_then(|it| it.paid));
    }
    // Of a sale that is over nothing tells how many units the order had.
    let mut over = paid(State::Sold, 3, Some(0), 0);
    (over.rules, over.book) = (None, [None; 3]);
    assert_eq!(confirmed(over, 0, 3).map(|_| ()), refused(Refusal::Units));
    assert_eq!(confirmed(over, 0, 0).map(|(answer, _)| answer), Ok(Confirmation::WasSold));
}

#[test]
fn the_units_of_an_unmatched_payment_are_what_was_said_last() {
    let mut world = with_order(State::Held, 3, Some(6), 9);
    let sale = world.sale().unwrap();
    let unmatched =
        Payment { outcome: Outcome::Unmatched, sale, paid: units(2), user: Some(0), id: 0 };
    world.payments[0] = Some(unmatched);
    for (said, answer, paid, is_told) in [
        (0, Confirmation::NoSuchOrder, 2, false),
        (2, Confirmation::NoSuchOrder, 2, false),
        (1, Confirmation::NoSuchOrder, 1, true),
        (3, Confirmation::Confirmed, 3, true),
    ] {
        let (got, plan) = confirmed(world, 0, said).unwrap();
        let record = plan.payment.unwrap().1;
        assert_eq!((got, record.paid), (answer, units(paid)), "{said}");
        assert_eq!(plan.appends[0].is_some(), is_told, "{said}");
    }
    // The order has lost some of its units meanwhile.
    world.book[0] = world.book[0].map(|it| Entry { units: Units::new(2).unwrap(), ..it });
    assert_eq!(confirmed(world, 0, 0).unwrap().0, Confirmation::Confirmed);
}

#[test]
fn units_leave_a_sale_or_are_refunded_elsewhere() {
    use Cancellation::{InAnotherState, Released, WasReleased};
    let held = with_order(State::Held, 3, Some(6), 9);
    let sold = with_order(State::Sold, 3, Some(6), 9);
    let with_ref = paid(State::Sold, 3, Some(0), 0);
    let over = paid(CANCELLED, 3, Some(0), 0);
    let gone = Cancel { norestock: true, ..ALL };
    let elsewhere = Cancel { refunded: true, ..ALL };
    let both = Cancel { norestock: true, ..elsewhere };
    let part = |cancel| Cancel { kept: units(2), ..cancel };
    for (world, cancel, answer, total, left, spans) in [
        (held, ALL, Released, 9, 9, ""),
        (held, gone, Released, 6, 6, ""),
        (held, part(gone), Released, 8, 6, ""),
        (held, elsewhere, InAnotherState, 9, 6, ""),
        (sold, both, InAnotherState, 9, 6, ""),
        (sold, gone, Released, 6, 6, ""),
        (with_ref, gone, Released, 6, 6, ""),
        (with_ref, elsewhere, Released, 9, 9, "1-3"),
        (with_ref, part(elsewhere), Released, 9, 7, "3-3"),
        (with_ref, both, Released, 6, 6, "1-3"),
        (with_ref, part(both), Released, 8, 6, "3-3"),
        (with_ref, Cancel { kept: units(3), ..both }, WasReleased, 9, 6, ""),
        (over, both, WasReleased, 9, 6, ""),
        (over, part(both), WasReleased, 9, 6, ""),
    ] {
        let decided = asked(world, |facts| orders::cancel(facts, &request(), cancel));
        let Ok(Decision::Do(got, plan)) = decided else { panic!("{decided:?}") };
        let plan = Flat::from(plan);
        assert_eq!(got, answer, "{cancel:?} {world:?}");
        assert_eq!(plan.rules.or(world.rules).unwrap().total, total, "{cancel:?} {world:?}");
        assert_eq!(plan.stock.map_or(6, |it| it.after), left, "{cancel:?} {world:?}");
        let book = plan.entry.or(world.book[0]).unwrap();
        assert_eq!(String::from_utf8(book.refunded.text()).unwrap(), spans, "{cancel:?}");
        let is_said = plan.appends[0].is_some_and(|it| {
            let of = (cancel.norestock, cancel.refunded);
            matches!(it, Append::Release { norestock, refunded, .. } if of == (norestock, refunded))
        });
        assert_eq!(is_said, answer == Released, "{cancel:?}");
    }
    // A total that somebody has edited.
    let mut edited = held;
    edited.rules.iter_mut().for_each(|rules| rules.total = 1);
    let plan = plan(asked(edited, |facts| orders::cancel(facts, &request(), gone)));
    assert_eq!(plan.rules.unwrap().total, 0);
}

#[test]
fn the_book_has_room_for_a_few_parts_that_were_refunded_elsewhere() {
    let mut world = paid(State::Sold, 9, Some(0), 0);
    let mut cancel = |kept, refunded| {
        let cancel = Cancel { kept: units(kept), refunded, ..ALL };
        let decided = asked(world, |facts| orders::cancel(facts, &request(), cancel))?;
        let Decision::Do(_, plan) = decided else { panic!("{decided:?}") };
        world.book[0] = Flat::from(plan).entry.or(world.book[0]);
        Ok(String::from_utf8(world.book[0].map_or(Spans::NONE, |it| it.refunded).text()).unwrap())
    };
    let text = |text: &str| Ok(text.to_owned());
    for kept in [8, 6, 4, 2] {
        assert!(cancel(kept, true).is_ok());
        cancel(kept - 1, false).unwrap();
    }
    assert_eq!(cancel(1, true), text("3-3,5-5,7-7,9-9"));
    assert_eq!(cancel(0, true), refused::<String>(Refusal::Parts));
    assert_eq!(cancel(0, false), text("3-3,5-5,7-7,9-9"));
}

#[test]
fn unmanaged_vouchers_have_no_total_and_no_payments() {
    let world = World { buyers: [true, false], stock: Some(1), ..World::EMPTY };
    for cancel in [Cancel { norestock: true, ..ALL }, Cancel { refunded: true, ..ALL }] {
        let got = asked(world, |facts| orders::cancel(facts, &request(), cancel));
        assert_eq!(got, refused(Refusal::NotManaged), "{cancel:?}");
    }
}

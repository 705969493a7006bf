//! Sales on a managed voucher, and the life of an order.
//!
//! Everything is a pure function of the terms, the facts found in the keys and one `now`.

use crate::book::{Entry, State};
use crate::sale::{Outcome, Units};
use crate::terms::{Millis, Terms};

/// The state of the window of a sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    NotStarted,
    Open,
    Ended,
}

/// The window at `now`: it begins at `begin` and is over at `end`.
pub fn window(terms: &Terms, now: Millis) -> Window {
    if terms.begin.is_some_and(|begin| now < begin) {
        Window::NotStarted
    } else if terms.end.is_some_and(|end| now >= end) {
        Window::Ended
    } else {
        Window::Open
    }
}

/// The answer to a try whose order id is in the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The try is a repeat, and has this outcome.
    Repeated(Outcome),
    /// The order is still held, but its deadline has passed: it must be released.
    Overdue,
    /// The order belongs to another user, or has other units: the try is not a repeat.
    Another,
}

/// Answers a try whose order id is in the book. Checked before anything else.
///
/// For a released order, the units don't matter: its id never sells again.
pub fn known(entry: &Entry<'_>, user: &[u8], units: Units, now: Millis) -> Known {
    if entry.user != user {
        Known::Another
    } else if entry.state == State::Held && now >= entry.deadline {
        Known::Overdue
    } else if !entry.state.is_live() {
        Known::Repeated(Outcome::Released)
    } else if entry.units != units {
        Known::Another
    } else {
        Known::Repeated(Outcome::Accepted)
    }
}

/// Why a try with a new order id is refused before the stock is read; none if it is not.
pub fn refuse(terms: &Terms, now: Millis, has: i64, units: Units) -> Option<Outcome> {
    match window(terms, now) {
        Window::NotStarted => Some(Outcome::NotStarted),
        Window::Ended => Some(Outcome::Ended),
        Window::Open if !terms.allows(has, units) => Some(Outcome::AlreadyBought),
        Window::Open => None,
    }
}

/// How an accepted order begins: held until the deadline, or sold.
pub fn accepted(terms: &Terms, now: Millis) -> (State, Millis) {
    match terms.hold {
        Some(hold) => (State::Held, now.saturating_add(hold)),
        None => (State::Sold, 0),
    }
}

/// The answer to a confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    NoSuchOrder = 0,
    Confirmed = 1,
    WasSold = 2,
    TooLate = 3,
}

/// Decides a confirmation. A hold whose deadline has passed counts as released, even if the timer
/// has not processed it yet: whether a payment is late must not depend on how busy the server is.
pub fn confirm(entry: Option<&Entry<'_>>, user: &[u8], now: Millis) -> Confirmation {
    match entry {
        None => Confirmation::NoSuchOrder,
        Some(entry) if entry.user != user => Confirmation::NoSuchOrder,
        Some(entry) => match entry.state {
            State::Held if now >= entry.deadline => Confirmation::TooLate,
            State::Held => Confirmation::Confirmed,
            State::Sold => Confirmation::WasSold,
            State::Cancelled | State::Expired | State::Rejected => Confirmation::TooLate,
        },
    }
}

/// A confirmation's payment reference, if any, compared with that of the sold order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payment {
    /// Nothing new: no reference, or the recorded one.
    Known,
    /// The first reference of an order that was sold without one: it must be recorded.
    First,
    /// A different reference than the recorded one: the user may have been charged twice.
    Another,
}

/// Compares a given reference with the recorded one.
pub fn payment(entry: &Entry<'_>, reference: Option<&[u8]>) -> Payment {
    match (entry.reference, reference) {
        (_, None) => Payment::Known,
        (None, Some(_)) => Payment::First,
        (Some(known), Some(given)) if known == given => Payment::Known,
        (Some(_), Some(_)) => Payment::Another,
    }
}

/// A held order with its deadline moved to `ms` from now; unchanged if that would be earlier.
pub fn extended<'a>(entry: &Entry<'a>, now: Millis, ms: Millis) -> Entry<'a> {
    Entry { deadline: entry.deadline.max(now.saturating_add(ms)), ..*entry }
}

/// The answer to a cancellation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancellation {
    NoSuchOrder = 0,
    Released = 1,
    WasReleased = 2,
    InAnotherState = 3,
}

/// Decides a cancellation, of an order in any live state, or `only` in one state.
pub fn cancel(entry: Option<&Entry<'_>>, user: &[u8], only: Option<State>) -> Cancellation {
    match entry {
        None => Cancellation::NoSuchOrder,
        Some(entry) if entry.user != user => Cancellation::NoSuchOrder,
        Some(entry) if !entry.state.is_live() => Cancellation::WasReleased,
        Some(entry) if only.is_some_and(|only| only != entry.state) => Cancellation::InAnotherState,
        Some(_) => Cancellation::Released,
    }
}

/// The stock after `units` are released: not above the total, and never less than before.
pub fn stock_after_return(left: i64, units: Units, total: i64) -> i64 {
    left.saturating_add(units.get()).min(total.max(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms =
        Terms { total: 9, begin: Some(10), end: Some(20), limit: 2, hold: Some(5), sale: None };

    fn units(units: i64) -> Units {
        Units::new(units).unwrap()
    }

    fn entry(state: State) -> Entry<'static> {
        let deadline = if state == State::Held { 15 } else { 0 };
        Entry { state, units: units(1), deadline, reference: None, user: b"ann" }
    }

    #[test]
    fn the_window_is_half_open() {
        let at = |now| window(&TERMS, now);
        assert_eq!([at(9), at(10), at(19), at(20)].map(|w| w as i32), [0, 1, 1, 2]);
        let endless = Terms { begin: None, end: None, ..TERMS };
        assert_eq!(window(&endless, 0), Window::Open);
        assert_eq!(window(&endless, i64::MAX), Window::Open);
    }

    #[test]
    fn refusals_by_precedence() {
        let rows = [
            (9, 2, 1, Some(Outcome::NotStarted)),
            (20, 2, 1, Some(Outcome::Ended)),
            (15, 2, 1, Some(Outcome::AlreadyBought)),
            (15, 1, 2, Some(Outcome::AlreadyBought)),
            (15, 0, 3, Some(Outcome::AlreadyBought)),
            (15, 1, 1, None),
            (15, 0, 2, None),
        ];
        for (now, has, n, want) in rows {
            assert_eq!(refuse(&TERMS, now, has, units(n)), want, "now {now} has {has} wants {n}");
        }
    }

    #[test]
    fn a_known_id_is_answered_again() {
        use Outcome::{Accepted, Released};
        for (state, want) in [
            (State::Held, Accepted),
            (State::Sold, Accepted),
            (State::Cancelled, Released),
            (State::Expired, Released),
            (State::Rejected, Released),
        ] {
            let one = |user, now| known(&entry(state), user, units(1), now);
            assert_eq!(one(b"ann", 14), Known::Repeated(want));
            assert_eq!(one(b"bob", 14), Known::Another);
            // Other units mean another order, unless this one was released.
            let other = if want == Accepted { Known::Another } else { Known::Repeated(Released) };
            assert_eq!(known(&entry(state), b"ann", units(2), 14), other);
        }
        for other in [1, 2] {
            let held = |user| known(&entry(State::Held), user, units(other), 15);
            assert_eq!((held(b"ann"), held(b"bob")), (Known::Overdue, Known::Another));
        }
        assert_eq!(known(&entry(State::Sold), b"ann", units(1), 99), Known::Repeated(Accepted));
    }

    #[test]
    fn an_order_is_confirmed_once_and_in_time() {
        use Confirmation::{Confirmed, NoSuchOrder, TooLate, WasSold};
        for (state, now, want) in [
            (State::Held, 14, Confirmed),
            (State::Held, 15, TooLate),
            (State::Sold, 99, WasSold),
            (State::Cancelled, 1, TooLate),
            (State::Expired, 1, TooLate),
            (State::Rejected, 1, TooLate),
        ] {
            assert_eq!(confirm(Some(&entry(state)), b"ann", now), want, "{state:?} at {now}");
            assert_eq!(confirm(Some(&entry(state)), b"bob", now), NoSuchOrder);
        }
        assert_eq!(confirm(None, b"ann", 1), NoSuchOrder);
    }

    #[test]
    fn an_order_is_paid_under_one_reference() {
        let sold = entry(State::Sold);
        assert_eq!(payment(&sold, None), Payment::Known);
        assert_eq!(payment(&sold, Some(b"p1")), Payment::First);
        let paid = Entry { reference: Some(b"p1"), ..sold };
        assert_eq!(payment(&paid, None), Payment::Known);
        assert_eq!(payment(&paid, Some(b"p1")), Payment::Known);
        assert_eq!(payment(&paid, Some(b"p2")), Payment::Another);
    }

    #[test]
    fn a_deadline_never_comes_nearer() {
        let held = entry(State::Held);
        for (now, ms, want) in [(10, 4, 15), (10, 5, 15), (10, 6, 16), (14, 1, 15), (14, 99, 113)] {
            let longer = extended(&held, now, ms);
            assert_eq!(longer, Entry { deadline: want, ..held }, "{ms} from {now}");
        }
        assert_eq!(extended(&held, i64::MAX, 1).deadline, i64::MAX);
    }

    #[test]
    fn an_order_is_given_back_once() {
        use Cancellation::{InAnotherState, NoSuchOrder, Released, WasReleased};
        for (state, want) in [
            (State::Held, Released),
            (State::Sold, Released),
            (State::Cancelled, WasReleased),
            (State::Expired, WasReleased),
            (State::Rejected, WasReleased),
        ] {
            let one = |user, only| cancel(Some(&entry(state)), user, only);
            assert_eq!(one(b"ann", None), want);
            assert_eq!(one(b"bob", None), NoSuchOrder);
            for only in [State::Held, State::Sold] {
                let is_other = want == Released && only != state;
                let want = if is_other { InAnotherState } else { want };
                assert_eq!(one(b"ann", Some(only)), want, "{state:?} only {only:?}");
                assert_eq!(one(b"bob", Some(only)), NoSuchOrder);
            }
        }
        assert_eq!(cancel(None, b"ann", Some(State::Held)), NoSuchOrder);
    }

    #[test]
    fn units_never_return_above_the_total() {
        assert_eq!(stock_after_return(3, units(2), 9), 5);
        assert_eq!(stock_after_return(8, units(2), 9), 9);
        assert_eq!(stock_after_return(12, units(2), 9), 12);
        assert_eq!(stock_after_return(-1, units(2), 9), 1);
        assert_eq!(stock_after_return(i64::MAX, units(1), i64::MAX), i64::MAX);
    }

    #[test]
    fn a_hold_ends_in_time() {
        assert_eq!(accepted(&TERMS, 12), (State::Held, 17));
        assert_eq!(accepted(&Terms { hold: None, ..TERMS }, 12), (State::Sold, 0));
    }
}

//! Entries of the book as they are written and read.

use super::{Entry, Garbled, Reason, Span, Spans, State};
use crate::rules::{MILLIS_MAX, Rules, SaleId};
use crate::sale::Units;

fn units(units: i64) -> Units {
    Units::new(units).unwrap()
}

#[test]
fn entries_are_read_as_written() {
    let made = |state, count, deadline| Entry::made(state, units(count), deadline, &b"a:b\0:"[..]);
    assert_eq!(made(State::Held, 2, 99).write(), b"held:2:99:a:b\0:");
    for state in State::ALL {
        let is_unpaid = matches!(state, State::Held | State::Waiting);
        for (was, asked, user) in [
            (State::Held, 1, &b""[..]),
            (State::Sold, 1, b"alice"),
            (State::Waiting, 1, b"alice"),
            (State::Held, 2, b":"),
            (State::Sold, i64::MAX, b"\xff\0"),
        ] {
            let entry = Entry { user, ..made(state, 1, if is_unpaid { 7 } else { 0 }) };
            let is_told = was != State::Held;
            let was = Some(was).filter(|_| is_told || state.is_released());
            let entry = Entry { was, asked: units(asked), ..entry };
            let is_sound = !is_told || state.is_released();
            let wanted = if is_sound { Ok(entry) } else { Err(Garbled) };
            assert_eq!(Entry::parse(&entry.write()), wanted);
            for reference in [&b"p"[..], b"pay:1", b":", b"12:", b"\xff\0"] {
                let paid = Entry { reference: Some(reference), ..entry };
                let wanted = wanted.map(|_| paid).ok().filter(|_| !is_unpaid).ok_or(Garbled);
                assert_eq!(Entry::parse(&paid.write()), wanted);
            }
        }
    }
    let paid = Entry { reference: Some(&b"pay:1"[..]), ..made(State::Sold, 2, 0) };
    let paid = Entry { user: &b"ann"[..], ..paid };
    assert_eq!(paid.write(), b"sold:2:0,ref5:pay:1:ann");
    let part = Entry { units: units(1), asked: units(3), ..paid }.released(Reason::Cancelled);
    assert_eq!(part.write(), b"cancelled:1:0,sold,asked3,ref5:pay:1:ann");
    let of = |first, last| Span { first: units(first), last: units(last) };
    let refunded = Spans::NONE.before(of(5, 5)).unwrap().before(of(2, 3)).unwrap();
    let told = Entry { asked: units(5), paid: Some(units(6)), refunded, ..part };
    assert_eq!(
        told.write(),
        b"cancelled:1:0,sold,asked5,paid6,refunded2-3,refunded5-5,ref5:pay:1:ann"
    );
    assert_eq!(Entry::parse(&told.write()), Ok(told));
    let sold = Entry { state: State::Sold, was: None, ..told };
    assert_eq!(Entry::parse(&sold.write()), Ok(sold));
    assert_eq!(Entry::parse(&Entry { units: units(2), ..sold }.write()), Err(Garbled));
    assert_eq!((part.was, paid.was), (Some(State::Sold), None));
    let waits = made(State::Waiting, 2, 99);
    assert_eq!(waits.write(), b"waiting:2:99:a:b\0:");
    assert_eq!(waits.released(Reason::Expired).write(), b"expired:2:0,waiting:a:b\0:");
    assert_eq!(made(State::Held, 2, 9).released(Reason::Expired).was, Some(State::Held));
}

#[test]
fn states_and_reasons_have_words() {
    let words = ["waiting", "held", "sold", "cancelled", "expired", "rejected"];
    assert_eq!(State::ALL.map(State::word), words);
    for (state, word) in State::ALL.into_iter().zip(words) {
        assert_eq!(State::parse(word.as_bytes()), Some(state));
        let reason = match state {
            State::Released(reason) => Some(reason),
            _ => None,
        };
        assert_eq!(Reason::parse(word.as_bytes()), reason);
        assert_eq!(reason.map_or(word, Reason::word), word);
    }
    for word in ["", "Held", "lost", "cancelled "] {
        assert_eq!((State::parse(word.as_bytes()), Reason::parse(word.as_bytes())), (None, None));
    }
}

#[test]
fn only_held_orders_are_overdue_from_their_deadline_on() {
    for state in State::ALL {
        let entry = Entry::made(state, Units::ONE, 7, b"ann");
        let overdue = [6, 7, 8].map(|now| entry.is_overdue(now));
        assert_eq!(overdue, [false, state == State::Held, state == State::Held], "{state:?}");
    }
}

#[test]
fn waits_end_with_the_sale_and_are_shown_so() {
    let rules = Rules {
        total: 1,
        begin: None,
        end: Some(7),
        limit: 1,
        hold: Some(1),
        sale: SaleId::created_at(1),
    };
    for state in State::ALL {
        let entry = Entry::made(state, Units::ONE, 5, b"ann");
        let (held, waits) = (state == State::Held, state == State::Waiting);
        let over = [4, 5, 6, 7].map(|now| entry.is_over(&rules, now));
        assert_eq!(over, [false, held, held, held || waits], "{state:?}");
        let shown = [6, 7].map(|now| entry.seen(&rules, now));
        let expired = if waits { State::Released(Reason::Expired) } else { state };
        assert_eq!(shown.map(|entry| entry.state), [state, expired], "{state:?}");
        assert_eq!(shown.map(|entry| entry.has_had_units()), [!waits; 2], "{state:?}");
    }
}

#[test]
fn a_deadline_is_at_most_the_last_moment_and_the_longest_hold() {
    let last = Entry::made(State::Held, Units::ONE, 2 * MILLIS_MAX, &b"ann"[..]);
    assert_eq!(Entry::parse(&last.write()), Ok(last));
    let later = Entry { deadline: 2 * MILLIS_MAX + 1, ..last };
    assert_eq!(Entry::parse(&later.write()), Err(Garbled));
}

#[test]
fn garbled_bytes_are_refused() {
    for text in [
        "",
        "held",
        "held:1",
        "held:1:5",
        "lost:1:0:u",
        "held:0:5:u",
        "held:-1:5:u",
        "held:x:5:u",
        "held:1:0:u",
        "held:1:-5:u",
        "sold:1:5:u",
        "sold:1::u",
        "Sold:1:0:u",
        "sold:1:0,",
        "sold:1:0,ref",
        "sold:1:0,ref:u",
        "sold:1:0,ref0::u",
        "sold:1:0,ref1:u",
        "sold:1:0,ref1:pu",
        "sold:1:0,ref01:p:u",
        "sold:1:0,ref-1:p:u",
        "sold:1:0,ref9223372036854775807:p:u",
        "sold:1:0,ref1,ref1:p:u",
        "sold:1:0,ref1,asked2:p:u",
        "sold:1:ref1:p:u",
        "sold:1:0,sold:u",
        "sold:1:0,asked1:u",
        "sold:2:0,asked1:u",
        "sold:1:0,asked0:u",
        "sold:1:0,asked2,asked3:u",
        "expired:1:0,sold,sold:u",
        "expired:1:0,asked2,sold:u",
        "expired:1:0,ref1,sold:p:u",
        "held:1:7,sold:u",
        "held:1:7,ref1:p:u",
        "waiting:1:0:u",
        "waiting:1:7,ref1:p:u",
        "waiting:1:7,waiting:u",
        "sold:1:0,waiting:u",
        "expired:1:0,held:u",
        "expired:1:0,expired:u",
        "expired:1:0,waiting,sold:u",
        "sold:1:0,paid1:u",
        "held:1:7,paid1:u",
        "sold:1:0,refunded1-1:u",
        "sold:1:0,paid0,ref1:p:u",
        "sold:1:0,paid01,ref1:p:u",
        "sold:1:0,paid,ref1:p:u",
        "sold:1:0,paid1,paid1,ref1:p:u",
        "sold:1:0,ref1,paid1:p:u",
        "sold:1:0,paid2,asked2,ref1:p:u",
        "expired:1:0,paid1,sold,ref1:p:u",
        "sold:1:0,refunded1-1,ref1:p:u",
        "sold:1:0,asked2,refunded1-2,ref1:p:u",
        "sold:1:0,asked2,refunded2-3,ref1:p:u",
        "sold:1:0,asked2,refunded2,ref1:p:u",
        "sold:1:0,asked2,refunded02-2,ref1:p:u",
        "sold:1:0,asked2,ref1,refunded2-2:p:u",
        "sold:1:0,asked4,refunded4-3,ref1:p:u",
        "sold:1:0,asked4,refunded2-2,refunded3-4,ref1:p:u",
        "sold:1:0,asked4,refunded4-4,refunded2-2,ref1:p:u",
        "sold:1:0,asked4,refunded4-4,paid4,ref1:p:u",
        "sold:1:0,asked9,refunded2-2,refunded4-4,refunded6-6,refunded8-8,refunded10-10,ref1:p:u",
    ] {
        assert_eq!(Entry::parse(text.as_bytes()), Err(Garbled), "{text}");
    }
}

//! Audits in steps compared with the audit in one step, on books that are sound, damaged, or
//! changed meanwhile.

use super::{Figures, Progress, Stage};
use crate::audit::{Books, Report, audit};
use crate::book::Entry;
use std::collections::HashMap;

type Bytes = Vec<u8>;

fn bytes(pairs: &[(&str, &str)]) -> Vec<(Bytes, Bytes)> {
    pairs.iter().map(|(a, b)| (a.as_bytes().to_vec(), b.as_bytes().to_vec())).collect()
}

fn sound() -> Books {
    Books {
        total: 19,
        left: Some(14),
        orders: bytes(&[
            ("o1", "held:1:70:ann"),
            ("o2", "sold:2:0:ann"),
            ("o3", "sold:1:0:bob"),
            ("o4", "expired:1:0:cid"),
            ("o5", "held:1:71:dan"),
        ]),
        holdings: bytes(&[("ann", "3:o2"), ("bob", "1:o3"), ("dan", "1:o5")]),
        holds: vec![(b"o1".to_vec(), 70), (b"o5".to_vec(), 71)],
        extra: Some(0),
        buyers: [b"ann".to_vec(), b"bob".to_vec(), b"dan".to_vec()].into(),
    }
}

fn figures(books: &Books) -> Figures {
    Figures {
        total: books.total,
        left: books.left,
        orders: i64::try_from(books.orders.len()).unwrap(),
        holds: i64::try_from(books.holds.len()).unwrap(),
        extra: books.extra,
    }
}

/// One step that reads one element, by its number in the key.
fn step(progress: &mut Progress, books: &Books) {
    let at = usize::try_from(progress.scan()).unwrap();
    let find = |pairs: &[(Bytes, Bytes)], name: &[u8]| {
        pairs.iter().find(|(other, _)| other == name).map(|(_, text)| text.clone())
    };
    let holds: HashMap<_, _> = books.holds.iter().cloned().collect();
    let len = match progress.stage() {
        Stage::Book => {
            if let Some((id, text)) = books.orders.get(at) {
                let hold = || Ok::<_, ()>(holds.get(id).copied());
                let has_record = |user: &[u8]| Ok(find(&books.holdings, user).is_some());
                progress.order(text, hold, has_record).unwrap();
            }
            books.orders.len()
        }
        Stage::Holdings => {
            if let Some((user, text)) = books.holdings.get(at) {
                progress.holding(user, text, books.buyers.contains(user));
            }
            books.holdings.len()
        }
        Stage::Holds => {
            if let Some((id, _)) = books.holds.get(at) {
                progress.hold(find(&books.orders, id).as_deref());
            }
            books.holds.len()
        }
        Stage::Buyers => {
            let mut buyers: Vec<_> = books.buyers.iter().collect();
            buyers.sort();
            if let Some(user) = buyers.get(at) {
                progress.buyer(find(&books.holdings, user).is_some());
            }
            buyers.len()
        }
        Stage::Done => 0,
    };
    progress.went_on(if at + 1 < len { progress.scan() + 1 } else { 0 });
}

/// All steps, through the text of the cursor each time. `meanwhile` happens once, before the step
/// with this number.
fn stepped(books: &mut Books, at: usize, meanwhile: fn(&mut Books)) -> (Report, bool) {
    let mut progress = Progress::begin(figures(books));
    for number in 0.. {
        if number == at {
            meanwhile(books);
        }
        step(&mut progress, books);
        let cursor = progress.cursor();
        if cursor == b"0" {
            assert!(number > at || at == usize::MAX, "nothing has happened");
            break;
        }
        assert_eq!(Progress::parse(&cursor), Some(progress.clone()));
    }
    let now = figures(books);
    (progress.report(&now), progress.is_changed(&now))
}

fn quiet(books: &mut Books) -> Report {
    stepped(books, usize::MAX, |_| {}).0
}

#[test]
fn a_sound_book_is_sound_in_steps() {
    assert_eq!(quiet(&mut sound()), audit(&sound()));
    let mut empty = Books {
        total: 3,
        left: Some(3),
        orders: vec![],
        holdings: vec![],
        holds: vec![],
        extra: Some(0),
        buyers: [].into(),
    };
    assert_eq!(quiet(&mut empty), audit(&empty));
}

#[test]
fn every_tampering_is_found_in_steps() {
    type Tamper = fn(&mut Books);
    let rows: [(Tamper, &str); 16] = [
        (|b| b.left = Some(6), "total is 19, but left 6 + held 2 + sold 3 is 11"),
        (|b| b.left = None, "there is no stock key"),
        (|b| b.total = 10, "total is 10"),
        (|b| b.orders[3].1 = b"junk".to_vec(), "1 orders of the book can't be read"),
        (|b| b.holdings[0].1 = b"2:o2".to_vec(), "users' units differ"),
        // The same units in total, but not per user.
        (
            |b| b.holdings = bytes(&[("ann", "1:o2"), ("bob", "3:o3"), ("dan", "1:o5")]),
            "users' units differ",
        ),
        (|b| b.holdings[0].1 = b"x".to_vec(), "1 users' units can't be read"),
        (|b| drop(b.holdings.pop()), "1 live orders are of users who have no units on record"),
        (|b| b.holds[0].1 = 71, "1 holds have a different deadline"),
        (|b| drop(b.holds.pop()), "1 held orders have no hold"),
        (|b| b.holds.push((b"o2".to_vec(), 1)), "1 holds have no held order"),
        (|b| b.holds.push((b"o9".to_vec(), 1)), "1 holds have no held order"),
        (|b| assert!(b.buyers.remove(&b"bob"[..])), "1 users with units on record are not among"),
        (|b| b.extra = Some(3), "held orders have 0 units beyond the first of each, but"),
        (|b| b.extra = None, "held orders have 0 units beyond the first of each, but"),
        (|b| assert!(b.buyers.insert(b"cid".to_vec())), "1 buyers have no units on record"),
    ];
    for (tamper, want) in rows {
        let mut books = sound();
        tamper(&mut books);
        let found = quiet(&mut books).differences;
        assert!(found.iter().any(|line| line.starts_with(want)), "{want}: {found:?}");
    }
}

/// The effects of commands between any two steps are never a difference.
#[test]
fn commands_in_between_are_no_differences() {
    type Command = fn(&mut Books);
    let rows: [(Command, bool); 4] = [
        // A try.
        (
            |b| {
                b.left = b.left.map(|left| left - 1);
                b.orders.push((b"o9".to_vec(), b"held:1:99:eve".to_vec()));
                b.holdings.push((b"eve".to_vec(), b"1:o9".to_vec()));
                b.holds.push((b"o9".to_vec(), 99));
                b.buyers.insert(b"eve".to_vec());
            },
            true,
        ),
        // A cancellation of all units of a user.
        (
            |b| {
                b.left = b.left.map(|left| left + 1);
                b.orders[4].1 = b"cancelled:1:0:dan".to_vec();
                drop(b.holdings.pop());
                drop(b.holds.pop());
                b.buyers.remove(&b"dan"[..]);
            },
            true,
        ),
        // A confirmation, which moves no units.
        (
            |b| {
                b.orders[4].1 = b"sold:1:0:dan".to_vec();
                drop(b.holds.pop());
            },
            false,
        ),
        // More units.
        (
            |b| {
                b.total += 5;
                b.left = b.left.map(|left| left + 5);
            },
            true,
        ),
    ];
    for (command, is_change) in rows {
        for at in 0..10 {
            let mut books = sound();
            let (report, is_changed) = stepped(&mut books, at, command);
            assert_eq!(report.differences, Vec::<String>::new(), "{at}");
            assert_eq!(is_changed, is_change, "{at}");
        }
    }
}

#[test]
fn what_is_no_cursor_is_refused() {
    let progress = Progress::begin(figures(&sound()));
    let good = String::from_utf8(progress.cursor()).unwrap();
    assert_eq!(good, "1:0:19:5:2:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:14:0");
    assert_eq!(Progress::parse(good.as_bytes()), Some(progress));
    let long = format!("{good}{}", "0".repeat(512));
    for bad in [
        "",
        "0",
        "1",
        "5:0:19:5:2:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:14:0",
        "1:-1:19:5:2:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:14:0",
        "1:0:x:5:2:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:14:0",
        "1:0:19:5:2:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:14",
        "1:0:19:5:2:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:14:0:0",
        &long,
    ] {
        assert_eq!(Progress::parse(bad.as_bytes()), None, "{bad}");
    }
    // The greatest numbers fit.
    let most = "4:18446744073709551615:".to_owned() + &["-9223372036854775808"; 20].join(":");
    assert!(most.len() <= super::CURSOR_LEN_MAX);
    let progress = Progress::parse(most.as_bytes()).unwrap();
    assert_eq!(progress.cursor(), most.as_bytes());
}

#[test]
fn sums_of_anything_overflow_nowhere() {
    let most = "1:0:".to_owned() + &["9223372036854775807"; 20].join(":");
    let mut progress = Progress::parse(most.as_bytes()).unwrap();
    let entry = b"held:9223372036854775807:5:ann";
    assert!(Entry::parse(entry).is_ok());
    progress.order(entry, || Ok::<_, ()>(Some(5)), |_| Ok(true)).unwrap();
    (0..4).for_each(|_| progress.went_on(0));
    assert_eq!(progress.cursor(), b"0");
    drop(progress.report(&Figures { left: Some(i64::MAX), ..Figures::default() }));
}

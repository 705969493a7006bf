//! Audits of books that are sound, damaged, or changed between the steps.

use super::{Figures, Maps, Progress, print};
use std::collections::BTreeMap;

fn map(pairs: &[(&str, &str)]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    pairs.iter().map(|(a, b)| (a.as_bytes().to_vec(), b.as_bytes().to_vec())).collect()
}

fn sound() -> Maps {
    let orders = map(&[
        ("o1", "held:1:70:ann"),
        ("o2", "sold:2:0:ann"),
        ("o3", "sold:1:0:bob"),
        ("o4", "expired:1:0:cid"),
        ("o5", "held:1:71:dan"),
        ("o6", "waiting:2:60:dan"),
        ("o7", "waiting:1:61:fay"),
    ]);
    let units = map(&[
        ("ann", "3:o2"),
        ("bob", "1:o3"),
        ("dan", "3,waiting2:o6"),
        ("fay", "1,waiting1:o7"),
    ]);
    Maps::of(19, 14, orders, units)
}

fn put(map: &mut BTreeMap<Vec<u8>, Vec<u8>>, name: &str, value: &str) {
    map.insert(name.into(), value.into());
}

#[test]
fn a_sound_book_has_no_differences() {
    let report = sound().audit();
    let figures = [report.held, report.sold, report.waiting, report.orders, report.buyers];
    assert_eq!((figures, report.is_changed), ([2, 3, 2, 7, 3], false));
    assert_eq!(report.differences, Vec::<String>::new());
    let none = Some(0);
    let empty = Maps { total: 3, left: Some(3), extra: none, beyond_one: none, ..Maps::default() };
    assert_eq!(empty.audit().differences, Vec::<String>::new());
}

#[test]
fn every_tampering_is_reported_once() {
    type Tamper = fn(&mut Maps);
    let rows: [(Tamper, &str); 25] = [
        (
            |b| b.left = Some(6),
            "8 units are missing: left 6 + held 2 + sold 3 is 11, of a total of 19",
        ),
        (|b| b.left = None, "there is no stock key"),
        (|b| b.total = 10, "total is 10, but left 14 + held 2 + sold 3 is 19"),
        (|b| b.orders.clear(), "there is no book, so what 3 users have is in no sum"),
        (
            |b| {
                b.orders.clear();
                b.left = None;
                b.units.retain(|user, _| user == b"fay");
            },
            "there is no book, so what 0 users have is in no sum",
        ),
        (
            |b| {
                b.orders.clear();
                b.units.clear();
            },
            "there is no book, so what 0 users have is in no sum",
        ),
        (|b| put(&mut b.orders, "o4", "junk"), "1 orders of the book can't be read"),
        (|b| put(&mut b.units, "ann", "2:o2"), "users' units differ"),
        (|b| put(&mut b.units, "eve", "1:o9"), "users' units differ"),
        // The same units in total, but not per user.
        (
            |b| {
                put(&mut b.units, "ann", "1:o2");
                put(&mut b.units, "bob", "3:o3");
            },
            "users' units differ",
        ),
        // The same units, but others are waited for.
        (|b| put(&mut b.units, "dan", "3,waiting1:o6"), "users' units differ"),
        (|b| drop(b.queue.pop_first()), "1 waiting orders have no place in the queue"),
        (|b| b.queue.extend([b"o5".to_vec()]), "1 places in the queue have no waiting order"),
        (|b| b.queue.extend([b"o9".to_vec()]), "1 places in the queue have no waiting order"),
        (|b| assert!(b.buyers.insert(b"fay".to_vec())), "1 buyers have no units on record"),
        (|b| put(&mut b.units, "ann", "x"), "1 users' units can't be read"),
        (|b| *b.holds.get_mut(&b"o1"[..]).unwrap() = 71, "1 holds have a different deadline"),
        (|b| drop(b.holds.pop_first()), "1 held orders have no hold"),
        (|b| b.holds.extend([(b"o2".to_vec(), 1)]), "1 holds have no held order"),
        (|b| b.holds.extend([(b"o9".to_vec(), 1)]), "1 holds have no held order"),
        (|b| drop(b.buyers.pop_first()), "2 live orders are of users who are not among the buyers"),
        (|b| b.extra = Some(3), "held orders have 0 units beyond the first of each, but"),
        (|b| b.beyond_one = Some(4), "users have 3 units beyond one each, but their count is 4"),
        (|b| b.extra = None, "held orders have 0 units beyond the first of each, but"),
        (|b| assert!(b.buyers.insert(b"cid".to_vec())), "1 buyers have no units on record"),
    ];
    for (tamper, want) in rows {
        let mut books = sound();
        tamper(&mut books);
        let found = books.audit().differences;
        assert!(found.len() == 1 && found[0].starts_with(want), "{want}: {found:?}");
    }
}

/// All steps, through the text of the cursor each time. `meanwhile` happens once, before the step
/// with this number. Gives whether units have changed, and the differences.
fn stepped(books: &mut Maps, at: usize, meanwhile: fn(&mut Maps)) -> (bool, Vec<String>) {
    let mut cursor = b"0".to_vec();
    for number in 0.. {
        if number == at {
            meanwhile(books);
        }
        let now = books.figures();
        let mut progress = Progress::at(&cursor, &now).unwrap();
        let Ok(_) = progress.step(books);
        cursor = progress.cursor();
        if cursor == b"0" {
            assert!(number > at, "nothing has happened");
            let report = progress.report(&now);
            return (report.is_changed, report.differences);
        }
        assert_eq!(Progress::at(&cursor, &Figures::default()), Some(progress));
    }
    unreachable!("the steps end")
}

/// The effects of commands between any two steps are never a difference.
#[test]
fn commands_in_between_are_no_differences() {
    type Command = fn(&mut Maps);
    let rows: [(Command, bool); 6] = [
        // A try.
        (
            |b| {
                b.left = b.left.map(|left| left - 1);
                put(&mut b.orders, "o9", "held:1:99:eve");
                put(&mut b.units, "eve", "1:o9");
                b.holds.insert(b"o9".to_vec(), 99);
                b.buyers.insert(b"eve".to_vec());
            },
            true,
        ),
        // A cancellation of all units of a user.
        (
            |b| {
                b.left = b.left.map(|left| left + 1);
                put(&mut b.orders, "o3", "cancelled:1:0,sold:bob");
                b.units.remove(&b"bob"[..]);
                b.buyers.remove(&b"bob"[..]);
            },
            true,
        ),
        // Another one, whose unit the first who fits gets.
        (
            |b| {
                put(&mut b.orders, "o3", "cancelled:1:0,sold:bob");
                b.units.remove(&b"bob"[..]);
                b.buyers.remove(&b"bob"[..]);
                put(&mut b.orders, "o7", "held:1:99:fay");
                put(&mut b.units, "fay", "1:o7");
                b.holds.insert(b"o7".to_vec(), 99);
                b.queue.remove(&b"o7"[..]);
                b.buyers.insert(b"fay".to_vec());
            },
            true,
        ),
        // One that leaves the queue, and one that joins it.
        (
            |b| {
                put(&mut b.orders, "o6", "cancelled:2:0,waiting:dan");
                put(&mut b.units, "dan", "1:o6");
                b.queue.remove(&b"o6"[..]);
                put(&mut b.orders, "o9", "waiting:1:62:gus");
                put(&mut b.units, "gus", "1,waiting1:o9");
                b.queue.insert(b"o9".to_vec());
            },
            true,
        ),
        // A confirmation, which moves no units.
        (
            |b| {
                put(&mut b.orders, "o5", "sold:1:0:dan");
                b.holds.remove(&b"o5"[..]);
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
        for at in 1..12 {
            assert_eq!(stepped(&mut sound(), at, command), (is_change, Vec::new()), "{at}");
        }
    }
}

#[test]
fn what_is_no_cursor_is_refused() {
    let parse = |text: &str| Progress::at(text.as_bytes(), &Figures::default());
    let progress = Progress::begin(&sound().figures());
    let good = String::from_utf8(progress.cursor()).unwrap();
    assert_eq!(good, "1:0:19:14:7:2:2:0:3".to_owned() + &":0".repeat(19));
    assert_eq!(parse(&good), Some(progress));
    let [other, short] = [good.replacen('1', "6", 1), good.replace("19:14", "19")];
    let [signed, word] = [good.replace("1:0:", "1:-1:"), good.replace("19", "x")];
    let [long, longer] = [format!("{good}:0"), format!("{good}{}", "0".repeat(640))];
    for bad in ["", "1", "00", "0:0", &other, &short, &signed, &word, &long, &longer] {
        assert_eq!(parse(bad), None, "{bad}");
    }
    // The greatest numbers fit.
    let most = "5:18446744073709551615:".to_owned() + &["-9223372036854775808"; 26].join(":");
    assert!(most.len() <= super::CURSOR_LEN_MAX);
    assert_eq!(parse(&most).unwrap().cursor(), most.as_bytes());
}

#[test]
fn sums_of_anything_overflow_nowhere() {
    let most = "1:0:".to_owned() + &["9223372036854775807"; 26].join(":");
    let mut progress = Progress::at(most.as_bytes(), &Figures::default()).unwrap();
    let mut books = sound();
    put(&mut books.orders, "o0", "held:9223372036854775807:5:ann");
    while !progress.is_done() {
        let Ok(_) = progress.step(&books);
    }
    drop(progress.report(&Figures { left: Some(i64::MAX), ..Figures::default() }));
}

/// Cursors travel between versions and servers, so the print of a user never changes.
#[test]
fn prints_are_those_of_the_named_algorithms() {
    // FNV-1a of "a" is af63dc4c8601ec8c.
    assert_eq!(print(b""), 0xf52a_15e9_a9b5_e89b);
    assert_eq!(print(b"a"), 0x02c0_bdbf_4814_20f8);
    // Opposite changes of units of two pairs of similar users do not cancel out.
    let changed =
        |name: &str, other: &str| print(name.as_bytes()).wrapping_sub(print(other.as_bytes()));
    assert_ne!(changed("user-1", "user-2"), changed("user-5", "user-6"));
}

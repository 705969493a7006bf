//! Ties of locks to connections, case by case.

use super::{ConnectionId, DbKey, Sessions, Slot, Tied};
use std::ops::RangeInclusive;
use std::rc::Rc;

const ANN: ConnectionId = ConnectionId(3);
const BOB: ConnectionId = ConnectionId(4);

fn lock(db: i32, key: &str) -> DbKey {
    DbKey::new(db, key.as_bytes())
}

fn token(token: &str) -> Rc<[u8]> {
    token.as_bytes().into()
}

/// A tie of a user that is called like the token.
fn tie(sessions: &mut Sessions, lock: &DbKey, token: Rc<[u8]>, connection: ConnectionId) {
    sessions.tie(lock, Rc::clone(&token), connection, token);
}

fn slots_of(key: &str) -> RangeInclusive<u16> {
    let slot = Slot::of(key.as_bytes()).number();
    slot..=slot
}

fn tied(db: i32, key: &str, of: &str) -> Option<Tied> {
    Some(Tied { lock: lock(db, key), token: token(of) })
}

#[test]
fn a_closed_connection_leaves_each_of_its_locks_once() {
    let mut sessions = Sessions::default();
    for (db, key, connection) in [(0, "a", ANN), (0, "b", ANN), (1, "a", BOB)] {
        tie(&mut sessions, &lock(db, key), token("t"), connection);
    }
    assert!(!sessions.close(ConnectionId(5)) && sessions.close(ANN));
    assert!(!sessions.close(ANN) && sessions.has_closed(), "it closes once");
    let mut left: Vec<_> = std::iter::from_fn(|| sessions.next_closed()).collect();
    left.sort_by(|one, other| one.lock.cmp(&other.lock));
    assert_eq!(left, [tied(0, "a", "t").unwrap(), tied(0, "b", "t").unwrap()]);
    assert!(!sessions.has_closed() && !sessions.is_empty());
    assert_eq!((sessions.count().all(), sessions.connection(1, b"a")), (1, Some(BOB)));
    assert!(sessions.close(BOB));
    assert_eq!(sessions.next_closed(), tied(1, "a", "t"));
    assert_eq!(sessions.next_closed(), None);
    assert!(sessions.is_empty());
}

#[test]
fn the_latest_tie_of_a_lock_is_the_one() {
    let mut sessions = Sessions::default();
    tie(&mut sessions, &lock(0, "a"), token("one"), ANN);
    tie(&mut sessions, &lock(0, "a"), token("two"), ANN);
    tie(&mut sessions, &lock(0, "a"), token("three"), BOB);
    assert!(!sessions.close(ANN), "nothing is left of it");
    assert!(sessions.close(BOB));
    // Tied again before it was released, as by a client that has reconnected.
    tie(&mut sessions, &lock(0, "a"), token("three"), ConnectionId(5));
    assert_eq!((sessions.next_closed(), sessions.count().all()), (None, 1));
    assert!(sessions.close(ConnectionId(5)));
    assert_eq!(sessions.next_closed(), tied(0, "a", "three"));
}

#[test]
fn a_tie_that_is_over_leaves_nothing() {
    let mut sessions = Sessions::default();
    for end in 0..4 {
        tie(&mut sessions, &lock(0, "a"), token("t"), ANN);
        match end {
            0 => sessions.end(0, b"a"),
            1 => sessions.flushed(0),
            2 => sessions.leave(slots_of("a")),
            _ => {
                sessions.swap(0, 1);
                sessions.end(1, b"a");
            }
        }
        assert!(sessions.is_empty() && sessions.open.is_empty(), "{end}");
        assert!(sessions.count().all() == 0 && sessions.by_slot.is_empty(), "{end}");
        assert!(!sessions.close(ANN), "{end}");
    }
    sessions.end(0, b"a");
    tie(&mut sessions, &lock(0, "a"), token("t"), ANN);
    sessions.end(1, b"a");
    sessions.end(0, b"b");
    sessions.flushed(1);
    sessions.leave(slots_of("b"));
    assert_eq!(sessions.count().all(), 1);
}

#[test]
fn a_lock_that_somebody_was_told_of_is_kept_from_a_close_before() {
    let mut sessions = Sessions::default();
    tie(&mut sessions, &lock(0, "a"), token("t"), ANN);
    sessions.keep(0, b"a");
    assert_eq!(sessions.connection(0, b"a"), Some(ANN), "the connection is open");
    sessions.close(ANN);
    sessions.keep(0, b"b");
    sessions.keep(0, b"a");
    assert_eq!(sessions.next_closed(), None);
    assert!(sessions.is_empty());
}

#[test]
fn ties_move_with_their_database() {
    let mut sessions = Sessions::default();
    tie(&mut sessions, &lock(0, "a"), token("zero"), ANN);
    tie(&mut sessions, &lock(1, "a"), token("one"), BOB);
    sessions.swap(0, 1);
    sessions.swap(1, 2);
    // The locks of 0 are in 2, those of 1 in 0.
    assert_eq!(sessions.connection(2, b"a"), Some(ANN));
    assert_eq!(sessions.connection(1, b"a"), None);
    tie(&mut sessions, &lock(1, "a"), token("new"), ANN);
    sessions.close(BOB);
    assert_eq!(sessions.next_closed(), tied(0, "a", "one"));
    sessions.close(ANN);
    sessions.swap(1, 2);
    let mut left: Vec<_> = std::iter::from_fn(|| sessions.next_closed()).collect();
    left.sort_by(|one, other| one.lock.cmp(&other.lock));
    assert_eq!(left, [tied(1, "a", "zero").unwrap(), tied(2, "a", "new").unwrap()]);
}

#[test]
fn ties_are_counted_by_user_and_leave_with_their_slot() {
    let mut sessions = Sessions::default();
    for (db, key, user) in [(0, "a", "ann"), (1, "a", "bob"), (0, "b", "ann")] {
        tie(&mut sessions, &lock(db, key), token(user), ANN);
    }
    sessions.swap(1, 2);
    let count = |sessions: &Sessions| {
        let count = sessions.count();
        (count.all(), count.of(b"ann"), count.of(b"bob"))
    };
    assert_eq!(count(&sessions), (3, 2, 1));
    let (a, b) = (Slot::of(b"a").number(), Slot::of(b"b").number());
    sessions.leave(0..=b - 1);
    sessions.leave(b + 1..=a - 1);
    assert_eq!((count(&sessions), sessions.connection(2, b"a")), ((3, 2, 1), Some(ANN)));
    sessions.leave(a..=a);
    assert_eq!((count(&sessions), sessions.connection(2, b"a")), ((1, 1, 0), None));
    sessions.close(ANN);
    assert_eq!(sessions.next_closed(), tied(0, "b", "ann"));
    assert_eq!(count(&sessions), (0, 0, 0));
}

//! The lines case by case. The fuzz target `lines` compares random histories with lists.

use super::{Answered, DbKey, Lines, Name, Request, Wait};

type Letters = Lines<u32, u32, char>;

fn place(db: i32, key: &str) -> DbKey {
    DbKey::new(db, key.as_bytes())
}

fn name(client: u32) -> Name {
    client.to_string().into_bytes().into()
}

/// A client joins, with a token that may be that of another client.
fn join_as(lines: &mut Letters, client: u32, token: u32, at: &DbKey, until_ms: u64) {
    let (token, user) = (name(token), name(client % 2));
    let request = Request { token, lease_ms: 10, with_fence: false, session: None, user };
    lines.join(client, client, at, request, Wait { since_ms: 5, until_ms });
}

fn join(lines: &mut Letters, client: u32, at: &DbKey, until_ms: u64) {
    join_as(lines, client, client, at, until_ms);
}

/// The token of the first in the queue.
fn first(lines: &Letters, at: &DbKey) -> Option<Name> {
    lines.head(at).map(|request| request.token.clone())
}

/// The clients that are to be answered.
fn unanswered(lines: &mut Letters) -> Vec<u32> {
    std::iter::from_fn(|| lines.next_unanswered()).collect()
}

/// The answer of a client, and the lock that it holds from now on.
fn answer(lines: &mut Letters, client: u32) -> Option<(Option<char>, Option<DbKey>)> {
    let Answered { answer, since_ms, held, .. } = lines.answer(client)?;
    assert_eq!(since_ms, Some(5));
    Some((answer, held.map(|(lock, _)| lock)))
}

#[test]
fn first_come_first_served_for_each_database_and_key() {
    let mut lines = Letters::default();
    let (a, b, other) = (place(0, "a"), place(0, "b"), place(1, "a"));
    for (client, at) in [(1, &a), (2, &b), (3, &a), (4, &other), (5, &a)] {
        join(&mut lines, client, at, 100);
    }
    assert_eq!((lines.in_queue().all(), lines.len(&a), lines.len(&place(2, "a"))), (5, 3, 0));
    assert_eq!([lines.in_queue().of(b"0"), lines.in_queue().of(b"1")], [2, 3]);
    lines.grant_head(&a, 'y');
    assert_eq!(first(&lines, &a), Some(name(3)));
    assert_eq!((first(&lines, &b), first(&lines, &other)), (Some(name(2)), Some(name(4))));
    lines.refuse_head(&a, 'n');
    lines.refuse(5, None);
    assert_eq!((first(&lines, &a), lines.len(&a), lines.in_queue().all()), (None, 0, 2));
    assert_eq!(lines.granted(), std::slice::from_ref(&a));
    assert_eq!(unanswered(&mut lines), [1, 3, 5]);
    assert_eq!(answer(&mut lines, 1), Some((Some('y'), Some(a.clone()))));
    assert_eq!(answer(&mut lines, 3), Some((Some('n'), None)));
    assert_eq!(answer(&mut lines, 5), Some((None, None)));
    assert_eq!((answer(&mut lines, 2), answer(&mut lines, 1)), (None, None));
    assert!(lines.granted().is_empty() && !lines.is_waited_for(&a) && !lines.is_idle());
}

#[test]
fn a_token_has_one_place() {
    let mut lines = Letters::default();
    let a = place(0, "a");
    join_as(&mut lines, 1, 7, &a, 100);
    join(&mut lines, 2, &a, 90);
    join_as(&mut lines, 3, 7, &a, 80);
    assert_eq!((first(&lines, &a), lines.len(&a), lines.in_queue().all()), (Some(name(7)), 2, 2));
    assert_eq!((unanswered(&mut lines), answer(&mut lines, 1)), (vec![1], Some((None, None))));
    assert_eq!((lines.overdue(79), lines.overdue(80)), (None, Some(3)));
    // The grant has the place, too.
    lines.grant_head(&a, 'y');
    assert!(lines.has_place(&a, &name(7)) && !lines.has_place(&a, &name(1)));
    join_as(&mut lines, 4, 7, &a, 80);
    assert_eq!((lines.granted().len(), first(&lines, &a)), (0, Some(name(7))));
    assert_eq!((unanswered(&mut lines), answer(&mut lines, 3)), (vec![3], Some((None, None))));
    // A command that holds the lock has taken over whatever waits with its token.
    lines.take_over(&a, &name(7));
    lines.take_over(&a, &name(8));
    assert_eq!((first(&lines, &a), unanswered(&mut lines)), (Some(name(2)), vec![4]));
    lines.take_over(&a, &name(2));
    lines.take_over(&place(1, "a"), &name(2));
    assert!(lines.line(&a).is_none() && lines.waits.is_empty());
}

#[test]
fn a_grant_that_nobody_hears_of_is_to_be_undone_unless_it_is_known() {
    for is_confirmed in [false, true] {
        let mut lines = Letters::default();
        let a = place(0, "a");
        join(&mut lines, 1, &a, 100);
        lines.grant_head(&a, 'y');
        lines.confirm(&a, &name(2));
        if is_confirmed {
            lines.confirm(&a, &name(1));
        }
        let grant = lines.grant(&a).unwrap();
        assert!(grant.has_client && grant.is_confirmed == is_confirmed && lines.is_waited_for(&a));
        assert_eq!(lines.gone(1), Some((Some(1), Some(5))));
        assert_eq!((lines.gone(1), unanswered(&mut lines).len()), (None, 0));
        assert_eq!((lines.granted().is_empty(), lines.is_idle()), (is_confirmed, is_confirmed));
        assert!(!lines.is_waited_for(&a));
        lines.return_to_line(&a);
        assert!(lines.is_idle() && lines.line(&a).is_none());
    }
}

#[test]
fn lost_grants_are_forgotten() {
    let mut lines = Letters::default();
    for (client, at) in [(1, &place(0, "a")), (2, &place(0, "b")), (3, &place(1, "a"))] {
        join(&mut lines, client, at, 100);
        lines.grant_head(at, 'y');
    }
    lines.gone(1);
    lines.gone(2);
    lines.forget_lost(|key| key == b"b");
    assert_eq!(lines.granted(), [place(0, "a"), place(1, "a")]);
    lines.forget_lost(|_| true);
    assert_eq!(lines.granted(), [place(1, "a")]);
    lines.gone(3);
    assert_eq!((lines.leave(|key| key == b"a"), lines.is_idle()), (vec![], true));
}

#[test]
fn a_grant_taken_back_leaves_the_place_in_queue() {
    let mut lines = Letters::default();
    let a = place(0, "a");
    for client in [1, 2] {
        join(&mut lines, client, &a, 100);
    }
    assert_eq!(lines.next_marked(), Some(a.clone()));
    lines.grant_head(&a, 'y');
    assert_eq!((lines.in_queue().all(), lines.overdue(100)), (1, Some(2)));
    lines.return_to_line(&a);
    assert_eq!((first(&lines, &a), lines.granted().len()), (Some(name(1)), 0));
    assert_eq!((lines.in_queue().all(), unanswered(&mut lines).len()), (2, 0));
    assert_eq!((lines.next_marked(), lines.overdue(100)), (Some(a), Some(1)));
    // The line has more than one lock.
    lines.return_to_line(&place(0, "b"));
}

#[test]
fn only_locks_that_somebody_waits_for_are_looked_at_and_once() {
    let mut lines = Letters::default();
    let (a, b) = (place(0, "a"), place(1, "b"));
    join(&mut lines, 1, &a, 100);
    join(&mut lines, 2, &b, 100);
    assert!(lines.has_marked());
    for key in ["a", "b", "a", "x"] {
        lines.mark(0, key.as_bytes());
    }
    assert_eq!(std::iter::from_fn(|| lines.next_marked()).count(), 2, "who joins is looked at");
    assert!(!lines.has_marked());
    lines.mark_all(Some(1));
    lines.mark_all(Some(1));
    assert_eq!([lines.next_marked(), lines.next_marked()], [Some(b), None]);
    lines.mark_all(None);
    lines.gone(1);
    lines.gone(2);
    assert_eq!(lines.next_marked(), None);
    assert!(lines.is_idle());
}

#[test]
fn ends_of_leases_and_of_waits_come_in_time() {
    let mut lines = Letters::default();
    let a = place(0, "a");
    assert_eq!(lines.next_due_in(0, 0), None);
    join(&mut lines, 1, &a, 100);
    join(&mut lines, 2, &a, 50);
    lines.next_marked();
    lines.look_at(&a, Some(1080));
    lines.look_at(&place(0, "b"), Some(1));
    assert_eq!((lines.next_due_in(0, 1040), lines.next_due_in(40, 1000)), (Some(40), Some(10)));
    assert_eq!((lines.next_due_in(60, 1000), lines.next_due_in(0, 1090)), (Some(0), Some(0)));
    lines.mark_ended(1079);
    assert!(!lines.has_marked());
    lines.mark_ended(1080);
    assert_eq!((lines.next_marked(), lines.next_due_in(0, 1080)), (Some(a.clone()), Some(50)));
    lines.look_at(&a, Some(1090));
    lines.look_at(&a, None);
    assert_eq!(lines.next_due_in(0, 1080), Some(50));
    lines.look_at(&a, Some(1090));
    lines.gone(1);
    lines.gone(2);
    assert!(lines.next_due_in(0, 0).is_none() && lines.looks.is_empty());
}

#[test]
fn when_databases_swap_who_waits_stays_and_what_is_held_moves() {
    let mut lines = Letters::default();
    let (a, b, far) = (place(0, "a"), place(1, "a"), place(2, "a"));
    for (client, at) in [(1, &a), (2, &a), (3, &b), (4, &far)] {
        join(&mut lines, client, at, 100);
    }
    for at in [&a, &b, &far] {
        lines.grant_head(at, 'y');
    }
    while lines.next_marked().is_some() {}
    lines.gone(3);
    lines.swap(0, 1);
    let token = |lines: &Letters, at| lines.grant(at).map(|grant| grant.token);
    assert_eq!((token(&lines, &b), token(&lines, &a)), (Some(name(1)), Some(name(3))));
    assert_eq!(lines.granted(), [a.clone(), b.clone(), far]);
    assert_eq!([lines.next_marked(), lines.next_marked()], [Some(a.clone()), Some(b.clone())]);
    assert_eq!((lines.next_marked(), lines.len(&a), lines.len(&b)), (None, 1, 0));
    // What was lost is lost where it is now; a client waits again where it came from.
    lines.return_to_line(&a);
    assert_eq!((lines.grant(&a), first(&lines, &a)), (None, Some(name(2))));
    lines.return_to_line(&b);
    assert_eq!((first(&lines, &a), lines.len(&b)), (Some(name(1)), 0));
    assert!(lines.line(&b).is_none());
    lines.grant_head(&a, 'y');
    lines.swap(0, 1);
    assert_eq!(answer(&mut lines, 1), Some((Some('y'), Some(b.clone()))));
    // Another client has taken over the place of a grant that comes back.
    lines.grant_head(&a, 'y');
    lines.swap(0, 1);
    join_as(&mut lines, 9, 2, &a, 100);
    lines.return_to_line(&b);
    assert_eq!((lines.len(&a), lines.in_queue().all()), (1, 1));
    assert_eq!(answer(&mut lines, 2), Some((None, None)));
    // A grant comes to a line where its token waits: a repeat takes over both.
    lines.grant_head(&a, 'y');
    lines.swap(0, 1);
    join_as(&mut lines, 10, 2, &a, 100);
    lines.swap(0, 1);
    join_as(&mut lines, 11, 2, &a, 100);
    let told = [9, 10].map(|client| answer(&mut lines, client));
    assert_eq!((told, lines.len(&a)), ([Some((None, None)), Some((None, None))], 1));
}

#[test]
fn waiters_leave_with_their_slot() {
    let mut lines = Letters::default();
    for (client, at) in [(1, &place(0, "a")), (2, &place(0, "b")), (3, &place(1, "a"))] {
        join(&mut lines, client, at, 100);
    }
    let mut left = lines.leave(|key| key == b"a");
    left.sort_unstable();
    assert_eq!(left, [1, 3]);
}

/// Thousands of locks at once: no operation looks at other locks. With a list this took minutes.
#[test]
fn an_operation_on_a_lock_takes_as_long_for_many_locks() {
    const LOCKS: u32 = 200_000;
    let mut lines = Letters::default();
    let lock = |client: u32| DbKey::new(0, &client.to_be_bytes());
    for client in 0..LOCKS {
        join(&mut lines, client, &lock(client), 1000);
    }
    for client in 0..LOCKS {
        lines.grant_head(&lock(client), 'y');
    }
    for client in 0..LOCKS {
        // A renewal by another client, a client that is gone, one that is answered out of turn.
        lines.confirm(&lock(client), &name(client + 1));
        match client % 3 {
            0 => assert_eq!(lines.gone(client), Some((Some(client), Some(5)))),
            1 => assert!(lines.answer(client).is_some()),
            _ => lines.return_to_line(&lock(client)),
        }
    }
    assert_eq!((unanswered(&mut lines).len(), lines.in_queue().all()), (0, LOCKS as usize / 3));
    assert_eq!(lines.granted().len() as u32, LOCKS.div_ceil(3));
}

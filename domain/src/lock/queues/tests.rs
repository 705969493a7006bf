//! The queues case by case. The fuzz target `queues` compares random histories with lists.

use super::{Answered, DbKey, LockRequest, Name, Queues, Wait};

type Letters = Queues<u32, u32, char>;

fn place(db: i32, key: &str) -> DbKey {
    DbKey::new(db, key.as_bytes())
}

fn name(client: u32) -> Name {
    client.to_string().into_bytes().into()
}

/// A client joins, with a token that may be that of another client.
fn join_as(queues: &mut Letters, client: u32, token: u32, at: &DbKey, until_ms: u64) {
    let (token, user) = (name(token), name(client % 2));
    let request = LockRequest { token, lease_ms: 10, with_fence: false, session: None, user };
    queues.join(client, client, at, request, Wait { since_ms: 5, until_ms });
}

fn join(queues: &mut Letters, client: u32, at: &DbKey, until_ms: u64) {
    join_as(queues, client, client, at, until_ms);
}

/// The token of the first in the queue.
fn first(queues: &Letters, at: &DbKey) -> Option<Name> {
    queues.head(at).map(|request| request.token.clone())
}

/// The clients that are to be answered.
fn unanswered(queues: &mut Letters) -> Vec<u32> {
    std::iter::from_fn(|| queues.next_unanswered()).collect()
}

/// The answer of a client, and the lock that it holds from now on.
fn answer(queues: &mut Letters, client: u32) -> Option<(Option<char>, Option<DbKey>)> {
    let Answered { answer, since_ms, held, .. } = queues.answer(client)?;
    assert_eq!(since_ms, Some(5));
    Some((answer, held.map(|(lock, _)| lock)))
}

#[test]
fn first_come_first_served_for_each_database_and_key() {
    let mut queues = Letters::default();
    let (a, b, other) = (place(0, "a"), place(0, "b"), place(1, "a"));
    for (client, at) in [(1, &a), (2, &b), (3, &a), (4, &other), (5, &a)] {
        join(&mut queues, client, at, 100);
    }
    assert_eq!((queues.in_queue().all(), queues.len(&a), queues.len(&place(2, "a"))), (5, 3, 0));
    assert_eq!([queues.in_queue().of(b"0"), queues.in_queue().of(b"1")], [2, 3]);
    queues.grant_head(&a, 'y');
    assert_eq!(first(&queues, &a), Some(name(3)));
    assert_eq!((first(&queues, &b), first(&queues, &other)), (Some(name(2)), Some(name(4))));
    queues.refuse_head(&a, 'n');
    queues.refuse(5, None);
    assert_eq!((first(&queues, &a), queues.len(&a), queues.in_queue().all()), (None, 0, 2));
    assert_eq!(queues.granted(), std::slice::from_ref(&a));
    assert_eq!(unanswered(&mut queues), [1, 3, 5]);
    assert_eq!(answer(&mut queues, 1), Some((Some('y'), Some(a.clone()))));
    assert_eq!(answer(&mut queues, 3), Some((Some('n'), None)));
    assert_eq!(answer(&mut queues, 5), Some((None, None)));
    assert_eq!((answer(&mut queues, 2), answer(&mut queues, 1)), (None, None));
    assert!(queues.granted().is_empty() && !queues.is_waited_for(&a) && !queues.is_idle());
}

#[test]
fn a_token_has_one_place() {
    let mut queues = Letters::default();
    let a = place(0, "a");
    join_as(&mut queues, 1, 7, &a, 100);
    join(&mut queues, 2, &a, 90);
    join_as(&mut queues, 3, 7, &a, 80);
    assert_eq!(
        (first(&queues, &a), queues.len(&a), queues.in_queue().all()),
        (Some(name(7)), 2, 2)
    );
    assert_eq!((unanswered(&mut queues), answer(&mut queues, 1)), (vec![1], Some((None, None))));
    assert_eq!((queues.overdue(79), queues.overdue(80)), (None, Some(3)));
    // The grant has the place, too.
    queues.grant_head(&a, 'y');
    assert!(queues.has_place(&a, &name(7)) && !queues.has_place(&a, &name(1)));
    join_as(&mut queues, 4, 7, &a, 80);
    assert_eq!((queues.granted().len(), first(&queues, &a)), (0, Some(name(7))));
    assert_eq!((unanswered(&mut queues), answer(&mut queues, 3)), (vec![3], Some((None, None))));
    // A command that holds the lock has taken over whatever waits with its token.
    queues.take_over(&a, &name(7));
    queues.take_over(&a, &name(8));
    assert_eq!((first(&queues, &a), unanswered(&mut queues)), (Some(name(2)), vec![4]));
    queues.take_over(&a, &name(2));
    queues.take_over(&place(1, "a"), &name(2));
    assert!(queues.queue(&a).is_none() && queues.waits.is_empty());
}

#[test]
fn a_grant_that_nobody_hears_of_is_to_be_undone_unless_it_is_known() {
    for is_confirmed in [false, true] {
        let mut queues = Letters::default();
        let a = place(0, "a");
        join(&mut queues, 1, &a, 100);
        queues.grant_head(&a, 'y');
        queues.confirm(&a, &name(2));
        if is_confirmed {
            queues.confirm(&a, &name(1));
        }
        let grant = queues.grant(&a).unwrap();
        assert!(grant.has_client && grant.is_confirmed == is_confirmed && queues.is_waited_for(&a));
        assert_eq!(queues.gone(1), Some((Some(1), Some(5))));
        assert_eq!((queues.gone(1), unanswered(&mut queues).len()), (None, 0));
        assert_eq!((queues.granted().is_empty(), queues.is_idle()), (is_confirmed, is_confirmed));
        assert!(!queues.is_waited_for(&a));
        queues.return_to_queue(&a);
        assert!(queues.is_idle() && queues.queue(&a).is_none());
    }
}

#[test]
fn lost_grants_are_forgotten() {
    let mut queues = Letters::default();
    for (client, at) in [(1, &place(0, "a")), (2, &place(0, "b")), (3, &place(1, "a"))] {
        join(&mut queues, client, at, 100);
        queues.grant_head(at, 'y');
    }
    queues.gone(1);
    queues.gone(2);
    queues.forget_lost(|key| key == b"b");
    assert_eq!(queues.granted(), [place(0, "a"), place(1, "a")]);
    queues.forget_lost(|_| true);
    assert_eq!(queues.granted(), [place(1, "a")]);
    queues.gone(3);
    assert_eq!((queues.leave(|key| key == b"a"), queues.is_idle()), (vec![], true));
}

#[test]
fn a_grant_taken_back_leaves_the_place_in_queue() {
    let mut queues = Letters::default();
    let a = place(0, "a");
    for client in [1, 2] {
        join(&mut queues, client, &a, 100);
    }
    assert_eq!(queues.next_marked(), Some(a.clone()));
    queues.grant_head(&a, 'y');
    assert_eq!((queues.in_queue().all(), queues.overdue(100)), (1, Some(2)));
    queues.return_to_queue(&a);
    assert_eq!((first(&queues, &a), queues.granted().len()), (Some(name(1)), 0));
    assert_eq!((queues.in_queue().all(), unanswered(&mut queues).len()), (2, 0));
    assert_eq!((queues.next_marked(), queues.overdue(100)), (Some(a), Some(1)));
    // The queue has more than one lock.
    queues.return_to_queue(&place(0, "b"));
}

#[test]
fn only_locks_that_somebody_waits_for_are_looked_at_and_once() {
    let mut queues = Letters::default();
    let (a, b) = (place(0, "a"), place(1, "b"));
    join(&mut queues, 1, &a, 100);
    join(&mut queues, 2, &b, 100);
    assert!(queues.has_marked());
    for key in ["a", "b", "a", "x"] {
        queues.mark(0, key.as_bytes());
    }
    assert_eq!(std::iter::from_fn(|| queues.next_marked()).count(), 2, "who joins is looked at");
    assert!(!queues.has_marked());
    queues.mark_all(Some(1));
    queues.mark_all(Some(1));
    assert_eq!([queues.next_marked(), queues.next_marked()], [Some(b), None]);
    queues.mark_all(None);
    queues.gone(1);
    queues.gone(2);
    assert_eq!(queues.next_marked(), None);
    assert!(queues.is_idle());
}

#[test]
fn ends_of_leases_and_of_waits_come_in_time() {
    let mut queues = Letters::default();
    let a = place(0, "a");
    assert_eq!(queues.next_due_in(0, 0), None);
    join(&mut queues, 1, &a, 100);
    join(&mut queues, 2, &a, 50);
    queues.next_marked();
    queues.look_at(&a, Some(1080));
    queues.look_at(&place(0, "b"), Some(1));
    assert_eq!((queues.next_due_in(0, 1040), queues.next_due_in(40, 1000)), (Some(40), Some(10)));
    assert_eq!((queues.next_due_in(60, 1000), queues.next_due_in(0, 1090)), (Some(0), Some(0)));
    queues.mark_ended(1079);
    assert!(!queues.has_marked());
    queues.mark_ended(1080);
    assert_eq!((queues.next_marked(), queues.next_due_in(0, 1080)), (Some(a.clone()), Some(50)));
    queues.look_at(&a, Some(1090));
    queues.look_at(&a, None);
    assert_eq!(queues.next_due_in(0, 1080), Some(50));
    queues.look_at(&a, Some(1090));
    queues.gone(1);
    queues.gone(2);
    assert!(queues.next_due_in(0, 0).is_none() && queues.looks.is_empty());
}

#[test]
fn when_databases_swap_who_waits_stays_and_what_is_held_moves() {
    let mut queues = Letters::default();
    let (a, b, far) = (place(0, "a"), place(1, "a"), place(2, "a"));
    for (client, at) in [(1, &a), (2, &a), (3, &b), (4, &far)] {
        join(&mut queues, client, at, 100);
    }
    for at in [&a, &b, &far] {
        queues.grant_head(at, 'y');
    }
    while queues.next_marked().is_some() {}
    queues.gone(3);
    queues.swap(0, 1);
    let token = |queues: &Letters, at| queues.grant(at).map(|grant| grant.token);
    assert_eq!((token(&queues, &b), token(&queues, &a)), (Some(name(1)), Some(name(3))));
    assert_eq!(queues.granted(), [a.clone(), b.clone(), far]);
    assert_eq!([queues.next_marked(), queues.next_marked()], [Some(a.clone()), Some(b.clone())]);
    assert_eq!((queues.next_marked(), queues.len(&a), queues.len(&b)), (None, 1, 0));
    // What was lost is lost where it is now; a client waits again where it came from.
    queues.return_to_queue(&a);
    assert_eq!((queues.grant(&a), first(&queues, &a)), (None, Some(name(2))));
    queues.return_to_queue(&b);
    assert_eq!((first(&queues, &a), queues.len(&b)), (Some(name(1)), 0));
    assert!(queues.queue(&b).is_none());
    queues.grant_head(&a, 'y');
    queues.swap(0, 1);
    assert_eq!(answer(&mut queues, 1), Some((Some('y'), Some(b.clone()))));
    // Another client has taken over the place of a grant that comes back.
    queues.grant_head(&a, 'y');
    queues.swap(0, 1);
    join_as(&mut queues, 9, 2, &a, 100);
    queues.return_to_queue(&b);
    assert_eq!((queues.len(&a), queues.in_queue().all()), (1, 1));
    assert_eq!(answer(&mut queues, 2), Some((None, None)));
    // A grant comes to a queue where its token waits: a repeat takes over both.
    queues.grant_head(&a, 'y');
    queues.swap(0, 1);
    join_as(&mut queues, 10, 2, &a, 100);
    queues.swap(0, 1);
    join_as(&mut queues, 11, 2, &a, 100);
    let told = [9, 10].map(|client| answer(&mut queues, client));
    assert_eq!((told, queues.len(&a)), ([Some((None, None)), Some((None, None))], 1));
}

#[test]
fn waiters_leave_with_their_slot() {
    let mut queues = Letters::default();
    for (client, at) in [(1, &place(0, "a")), (2, &place(0, "b")), (3, &place(1, "a"))] {
        join(&mut queues, client, at, 100);
    }
    let mut left = queues.leave(|key| key == b"a");
    left.sort_unstable();
    assert_eq!(left, [1, 3]);
}

/// Thousands of locks at once: no operation looks at other locks. With a list this took minutes.
#[test]
fn an_operation_on_a_lock_takes_as_long_for_many_locks() {
    const LOCKS: u32 = 200_000;
    let mut queues = Letters::default();
    let lock = |client: u32| DbKey::new(0, &client.to_be_bytes());
    for client in 0..LOCKS {
        join(&mut queues, client, &lock(client), 1000);
    }
    for client in 0..LOCKS {
        queues.grant_head(&lock(client), 'y');
    }
    for client in 0..LOCKS {
        // A renewal by another client, a client that is gone, one that is answered out of turn.
        queues.confirm(&lock(client), &name(client + 1));
        match client % 3 {
            0 => assert_eq!(queues.gone(client), Some((Some(client), Some(5)))),
            1 => assert!(queues.answer(client).is_some()),
            _ => queues.return_to_queue(&lock(client)),
        }
    }
    assert_eq!((unanswered(&mut queues).len(), queues.in_queue().all()), (0, LOCKS as usize / 3));
    assert_eq!(queues.granted().len() as u32, LOCKS.div_ceil(3));
}

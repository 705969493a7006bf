//! The lines case by case, and random histories compared with a list.

use super::{DbKey, Lost, Request, Wait, Waiters};
use std::rc::Rc;

type Lines = Waiters<u32, u32, char>;

fn place(db: i32, key: &str) -> DbKey {
    DbKey::new(db, key.as_bytes())
}

fn token(client: u32) -> Rc<[u8]> {
    client.to_string().into_bytes().into()
}

fn join(lines: &mut Lines, client: u32, at: &DbKey, since_ms: i64, until_ms: i64) {
    let request =
        Request { token: token(client), lease_ms: 10, with_fence: false, connection: None };
    lines.join(client, client, at, request, Wait { since_ms, until_ms });
}

/// Clients that share a token.
fn join_with_token_7(lines: &mut Lines, client: u32, at: &DbKey) {
    let request = Request { token: token(7), lease_ms: 10, with_fence: false, connection: None };
    lines.join(client, client, at, request, Wait { since_ms: 0, until_ms: 100 });
}

fn first(lines: &Lines, at: &DbKey) -> Option<u32> {
    lines.head(at).map(|(client, _)| client)
}

#[test]
fn first_come_first_served_for_each_database_and_key() {
    let mut lines = Lines::default();
    let (a, b, other) = (place(0, "a"), place(0, "b"), place(1, "a"));
    for (client, at) in [(1, &a), (2, &b), (3, &a), (4, &other), (5, &a)] {
        join(&mut lines, client, at, 0, 100);
    }
    assert_eq!((lines.in_line(), lines.len(0, b"a"), lines.len(2, b"a")), (5, 3, 0));
    assert_eq!(lines.grant(1, 'y', 40), 40);
    assert_eq!(
        (first(&lines, &a), first(&lines, &b), first(&lines, &other)),
        (Some(3), Some(2), Some(4))
    );
    assert_eq!(lines.refuse(3, 'n', 40), 40);
    assert_eq!(first(&lines, &a), Some(5));
    assert_eq!(
        [lines.next_unanswered(), lines.next_unanswered(), lines.next_unanswered()],
        [Some(1), Some(3), None]
    );
    assert_eq!(
        [lines.answer(1), lines.answer(3), lines.answer(5)],
        [Some(('y', None)), Some(('n', None)), None]
    );
    assert_eq!(lines.in_line(), 3);
}

#[test]
fn a_grant_stays_while_somebody_with_the_same_token_hears_of_it() {
    // Which client goes (g) and which is answered (a), and whether the grant is undone.
    for (ends, is_undone) in [("g1 a2", false), ("a2 g1", false), ("g2 a1", false), ("g1 g2", true)]
    {
        let mut lines = Lines::default();
        let a = place(0, "a");
        for client in [1, 2] {
            join_with_token_7(&mut lines, client, &a);
            lines.grant(client, 'y', 5);
        }
        for end in ends.split(' ') {
            let client = end[1..].parse().unwrap();
            match end.starts_with('g') {
                true => assert!(lines.gone(client, 7).is_some()),
                false => assert!(lines.answer(client).is_some()),
            }
        }
        assert_eq!(lines.has_lost(), is_undone, "{ends}");
    }
}

#[test]
fn a_grant_that_is_made_anew_is_not_undone() {
    let mut lines = Lines::default();
    let a = place(0, "a");
    for client in [1, 2] {
        join_with_token_7(&mut lines, client, &a);
    }
    lines.grant(1, 'y', 5);
    lines.gone(1, 6);
    assert!(lines.has_lost());
    lines.grant(2, 'y', 6);
    assert!(!lines.has_lost());
}

#[test]
fn a_grant_that_nobody_will_hear_of_is_to_be_undone() {
    let mut lines = Lines::default();
    let a = place(0, "a");
    join(&mut lines, 1, &a, 0, 100);
    join(&mut lines, 2, &a, 0, 100);
    join(&mut lines, 3, &a, 0, 100);
    lines.grant(1, 'y', 5);
    assert_eq!(lines.gone(1, 7), Some((Some(1), 0)));
    assert_eq!(lines.next_unanswered(), None);
    assert_eq!(lines.next_lost(), Some(Lost { lock: a.clone(), token: token(1) }));
    // A client that was only in line has nothing to undo.
    assert_eq!(lines.gone(2, 7), Some((Some(2), 7)));
    assert_eq!(lines.gone(2, 7), None);
    assert!(!lines.has_lost());
    // A client that is unblocked, and gone before it was answered.
    lines.grant(3, 'y', 5);
    assert_eq!(lines.next_unanswered(), Some(3));
    assert_eq!(lines.gone(3, 7), Some((None, 0)));
    assert!(!lines.is_idle());
    assert_eq!(lines.next_lost(), Some(Lost { lock: a, token: token(3) }));
    assert!(lines.is_idle());
}

#[test]
fn what_was_confirmed_to_somebody_is_not_undone() {
    let mut lines = Lines::default();
    let a = place(0, "a");
    for client in [1, 2] {
        join(&mut lines, client, &a, 0, 100);
        lines.grant(client, 'y', 5);
    }
    lines.gone(1, 5);
    lines.confirm(0, b"a", b"1");
    lines.confirm(0, b"a", b"2");
    lines.gone(2, 5);
    assert!(!lines.has_lost() && lines.is_idle());
}

#[test]
fn a_grant_taken_back_leaves_the_place_in_line() {
    let mut lines = Lines::default();
    let a = place(0, "a");
    for client in [1, 2] {
        join(&mut lines, client, &a, 0, 100);
    }
    lines.grant(1, 'y', 5);
    assert_eq!(lines.granted(), [(1, a.clone(), token(1))]);
    lines.return_to_line(1);
    assert_eq!((first(&lines, &a), lines.granted().len(), lines.in_line()), (Some(1), 0, 2));
    assert_eq!(lines.next_marked(), Some(a));
    assert_eq!(lines.next_overdue(100), Some(1));
}

#[test]
fn only_locks_that_somebody_waits_for_are_looked_at_and_once() {
    let mut lines = Lines::default();
    let (a, b) = (place(0, "a"), place(1, "b"));
    join(&mut lines, 1, &a, 0, 100);
    join(&mut lines, 2, &b, 0, 100);
    for key in ["a", "b", "a", "x"] {
        lines.mark(0, key.as_bytes());
    }
    assert_eq!([lines.next_marked(), lines.next_marked()], [Some(a.clone()), None]);
    lines.mark_all(Some(1));
    assert_eq!([lines.next_marked(), lines.next_marked()], [Some(b), None]);
    lines.mark_all(None);
    lines.gone(1, 0);
    lines.gone(2, 0);
    assert_eq!(lines.next_marked(), None);
    // A line that ended while marked and started again.
    join(&mut lines, 1, &a, 0, 100);
    assert_eq!(lines.next_marked(), None);
}

#[test]
fn ends_of_leases_and_of_waits_come_in_time() {
    let mut lines = Lines::default();
    let a = place(0, "a");
    assert_eq!(lines.next_due_ms(), None);
    join(&mut lines, 1, &a, 0, 100);
    join(&mut lines, 2, &a, 0, 50);
    lines.look_at(&a, Some(80));
    assert_eq!(lines.next_due_ms(), Some(50));
    assert_eq!((lines.next_overdue(49), lines.next_overdue(50)), (None, Some(2)));
    lines.refuse(2, 'n', 50);
    assert_eq!(lines.next_overdue(79), None);
    lines.look_at(&a, Some(60));
    assert_eq!((lines.next_overdue(60), lines.next_marked()), (None, Some(a.clone())));
    lines.look_at(&a, Some(70));
    lines.look_at(&a, None);
    assert_eq!(lines.next_due_ms(), Some(100));
    lines.gone(1, 60);
    assert_eq!(lines.next_due_ms(), None);
}

#[test]
fn when_databases_swap_who_waits_stays_and_what_is_held_moves() {
    let mut lines = Lines::default();
    let (a, b) = (place(0, "a"), place(1, "a"));
    for client in [1, 2, 3] {
        join(&mut lines, client, &a, 0, 100);
    }
    lines.grant(1, 'y', 0);
    lines.grant(3, 'y', 0);
    lines.gone(3, 0);
    lines.swap(0, 1);
    assert_eq!(lines.granted(), [(1, b.clone(), token(1))]);
    assert_eq!(lines.next_lost(), Some(Lost { lock: b, token: token(3) }));
    assert_eq!((first(&lines, &a), lines.next_marked()), (Some(2), Some(a)));
}

/// The model: all clients in line, in the order of arrival.
#[derive(Default)]
struct Queue(Vec<(u32, DbKey, i64)>);

impl Queue {
    fn head(&self, at: &DbKey) -> Option<u32> {
        self.0.iter().find(|(_, place, _)| place == at).map(|(client, ..)| *client)
    }

    fn take(&mut self, client: u32) -> bool {
        let before = self.0.len();
        self.0.retain(|(other, ..)| *other != client);
        self.0.len() < before
    }
}

#[test]
fn random_histories_are_those_of_a_list() {
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut lines, mut model) = (Lines::default(), Queue::default());
        let places: Vec<_> = (0..2).flat_map(|db| ["a", "b"].map(|key| place(db, key))).collect();
        let mut now_ms = 0;
        for client in 0..400 {
            now_ms += random.i64(0..3);
            let at = random.choice(&places).unwrap();
            match random.u32(0..8) {
                0..4 => {
                    let until_ms = now_ms + random.i64(1..60);
                    join(&mut lines, client, at, now_ms, until_ms);
                    model.0.push((client, at.clone(), until_ms));
                }
                4 | 5 => {
                    assert_eq!(first(&lines, at), model.head(at), "seed {seed}");
                    let Some(head) = model.head(at) else { continue };
                    lines.grant(head, 'y', now_ms);
                    model.take(head);
                    if random.bool() {
                        lines.return_to_line(head);
                        // Its wait continues, so it is the first again.
                        assert_eq!(first(&lines, at), Some(head), "seed {seed}");
                        lines.grant(head, 'y', now_ms);
                    }
                    assert_eq!(lines.next_unanswered(), Some(head), "seed {seed}");
                    assert_eq!(lines.answer(head), Some(('y', None)), "seed {seed}");
                }
                6 => {
                    let gone = random.u32(0..=client);
                    let was_in_line = model.take(gone);
                    assert_eq!(lines.gone(gone, now_ms).is_some(), was_in_line, "seed {seed}");
                }
                _ => {
                    lines.look_at(at, random.bool().then_some(now_ms + 5));
                    while let Some(late) = lines.next_overdue(now_ms) {
                        let entry = model.0.iter().find(|(client, ..)| *client == late);
                        assert!(entry.is_some_and(|(.., end)| *end <= now_ms), "seed {seed}");
                        lines.gone(late, now_ms);
                        model.take(late);
                    }
                    assert!(model.0.iter().all(|(.., end)| *end > now_ms), "seed {seed}");
                }
            }
            assert_eq!(lines.in_line(), model.0.len(), "seed {seed}");
            for at in &places {
                let len = model.0.iter().filter(|(_, place, _)| place == at).count();
                assert_eq!(lines.len(at.db, &at.key), len, "seed {seed}");
            }
        }
        for (client, ..) in model.0 {
            lines.gone(client, now_ms);
        }
        assert!(lines.is_idle() && lines.next_due_ms().is_none(), "seed {seed}");
    }
}

#[test]
fn a_grant_after_one_that_was_shared_is_undone_like_any_other() {
    let mut lines = Lines::default();
    let a = place(0, "a");
    for client in [1, 2] {
        join_with_token_7(&mut lines, client, &a);
        lines.grant(client, 'y', 5);
    }
    // The first client is answered, so the second shares a grant that a client knows of. Then it
    // loses the lock and returns to the line.
    assert_eq!(lines.next_unanswered(), Some(1));
    assert!(lines.answer(1).is_some());
    lines.return_to_line(2);
    // No client knows of its own grant.
    lines.grant(2, 'y', 8);
    assert!(lines.gone(2, 9).is_some());
    assert_eq!(lines.next_lost(), Some(Lost { lock: a, token: token(7) }));
}

/// Thousands of locks at once: no operation looks at other locks. With a list this took minutes.
#[test]
fn an_operation_on_a_lock_takes_as_long_for_many_locks() {
    const LOCKS: u32 = 200_000;
    let mut lines = Lines::default();
    let lock = |client: u32| DbKey::new(0, &client.to_be_bytes());
    let wait = Wait { since_ms: 0, until_ms: 1000 };
    for client in 0..LOCKS {
        let request =
            Request { token: token(client), lease_ms: 9, with_fence: false, connection: None };
        lines.join(client, client, &lock(client), request, wait);
    }
    for client in 0..LOCKS {
        lines.grant(client, 'y', 1);
    }
    for client in 0..LOCKS {
        // A renewal by another client, a client that is gone, one that is answered out of turn.
        lines.confirm(0, &lock(client).key, &token(client + 1));
        match client % 3 {
            0 => assert_eq!(lines.gone(client, 2), Some((Some(client), 0))),
            1 => assert_eq!(lines.answer(client), Some(('y', Some(client)))),
            _ => lines.return_to_line(client),
        }
    }
    assert_eq!(lines.next_unanswered(), None);
    let mut lost = 0;
    while let Some(one) = lines.next_lost() {
        lines.confirm(one.lock.db, &one.lock.key, &one.token);
        lost += 1;
    }
    assert_eq!(lost, LOCKS.div_ceil(3));
    assert_eq!(lines.in_line() as u32, LOCKS / 3);
}

//! The checker of recorded histories must find wrong histories.

use std::time::Duration;

use crate::length::{Tally, histories};
use crate::linear::{History, Model, Op, Verdict, check};
use crate::sequential::{Lock, OnLock, OnSale, Sale};

/// A command sent at one time and answered at another, in ms; or never, without an answer.
fn op<C>(command: C, call: u64, back: Option<(u64, &[i64])>) -> Op<C> {
    let back = back.map(|(at, reply)| (Duration::from_millis(at), reply.to_vec()));
    Op { command, call: Duration::from_millis(call), back }
}

fn is_sound<M: Model>(start: M, history: History<M::Command>) -> bool {
    match check(start, &history) {
        Verdict::Linearizable => true,
        Verdict::Impossible(_) => false,
        Verdict::Undecided => panic!("undecided: {history:?}"),
    }
}

#[test]
fn locks_that_cannot_be_are_told_from_those_that_can() {
    let acquire = |token, lease| OnLock::Acquire {
        token,
        lease: Duration::from_millis(lease),
        wait_ms: 0,
        is_late: false,
    };
    let second = |call, back, fence: &[i64]| vec![op(acquire(2, 5), call, Some((back, fence)))];
    let cases = [
        ("within the lease", false, 100, second(20, 30, &[8])),
        ("refused within the lease", true, 100, second(20, 30, &[0])),
        ("after the lease", true, 100, second(112, 113, &[8])),
        ("refused after the lease", false, 100, second(113, 114, &[0])),
        ("a fencing token again", false, 100, second(120, 130, &[7])),
        (
            "released in between",
            true,
            100,
            [vec![op(OnLock::Release { token: 1 }, 11, Some((12, &[1])))], second(20, 30, &[8])]
                .concat(),
        ),
        (
            "released by nobody who has it",
            false,
            100,
            [vec![op(OnLock::Release { token: 3 }, 11, Some((12, &[1])))], second(20, 30, &[8])]
                .concat(),
        ),
    ];
    for (what, can_be, lease, second) in cases {
        let first = vec![op(acquire(1, lease), 0, Some((10, &[7])))];
        assert_eq!(is_sound(Lock::FREE, vec![first, second]), can_be, "{what}");
    }
}

/// Tries all orders of all commands without any shortcut: is one of them right?
fn some_order_is_right(state: &Sale, history: &History<OnSale>, done: &[usize]) -> bool {
    let left = || history.iter().zip(done).map(|(ops, at)| &ops[*at..]);
    if left().flatten().all(|op| op.back.is_none()) {
        return true;
    }
    let next = |by: usize| {
        let op = history[by].get(done[by])?;
        let waits = left().flatten().any(|other| other.end() < op.call);
        let mut state = state.clone();
        let reply = state.apply(op.command);
        let mut done = done.to_vec();
        done[by] += 1;
        (!waits && op.may_be(&reply)).then_some((state, done))
    };
    (0..history.len()).filter_map(next).any(|(s, done)| some_order_is_right(&s, history, &done))
}

/// Three connections, with answers that were right at some moment, or are not.
fn small_history(random: &mut fastrand::Rng) -> History<OnSale> {
    let mut state = Sale { left: 2, limit: 2, ..Sale::default() };
    let mut history = vec![Vec::new(), Vec::new(), Vec::new()];
    for moment in 1..=random.u64(3..9) {
        let (user, id) = (random.u8(0..2), random.u8(0..2));
        let command = match random.u8(0..8) {
            0 | 1 => OnSale::Try { user, id, units: random.i64(1..3), waits: random.bool() },
            2 => {
                let only = random.choice([None, Some('h'), Some('s')]).expect("one");
                OnSale::Cancel { user, id, only }
            }
            3 => OnSale::Batch([(user, id), (1 - user, id), (user, 1 - id)]),
            4 | 5 => OnSale::Confirm { user, id, reference: random.u8(0..3) },
            6 => OnSale::Extend { user, id },
            _ => OnSale::Info,
        };
        let mut reply = state.apply(command);
        if random.u8(0..12) == 0 {
            reply[0] = random.i64(0..3);
        }
        let by: &mut Vec<Op<OnSale>> = random.choice(&mut history).expect("one");
        let after = by.last().map_or(0, |op| op.end().as_millis() as u64);
        let call = (moment * 10).saturating_sub(random.u64(0..25)).max(after);
        let back = (moment * 10 + random.u64(0..25)).max(call + 1);
        by.push(op(command, call, Some((back, &reply))));
    }
    for ops in &mut history {
        if let (0, Some(last)) = (random.u8(0..4), ops.last_mut()) {
            last.back = None;
        }
    }
    history
}

#[test]
fn the_checker_says_what_trying_all_orders_says() {
    histories("all orders", 1, |seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut verdicts = [0, 0];
        for _ in 0..3000 {
            let history = small_history(&mut random);
            let start = Sale { left: 2, limit: 2, ..Sale::default() };
            let is_right = some_order_is_right(&start, &history, &[0; 3]);
            assert_eq!(is_sound(start, history.clone()), is_right, "{history:?}");
            verdicts[usize::from(is_right)] += 1;
        }
        assert!(verdicts.iter().all(|count| *count > 100), "one-sided: {verdicts:?}");
        Tally { ends: 3000, ..Tally::default() }
    });
}

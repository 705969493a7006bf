//! Replicas with and without the module, and promotion in the middle.

use std::time::Instant;

use crate::crash::hold_ms;
use crate::evidence::{Evidence, assert_suffix_lost};
use crate::harness::Server;
use crate::length::{Tally, histories};
use crate::load::{Load, Log, tally};
use crate::whole::{assert_same, assert_whole};
use crate::world::{ask, free_locks, make, wait_for_holds};
use crate::{acknowledged, locks, queues};
use redis::Value;

#[test]
fn replicas_have_the_same_data_with_and_without_the_module() {
    histories("replicas", 4, |seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let hold_ms = hold_ms(&mut random);
        let primary = Server::with().port().start();
        make(&primary, hold_ms);
        let with = Server::with().replica_of(&primary).start();
        let load = Load::start(&primary, seed, 0);
        load.wait_for_answers(random.usize(1..1500));
        // The snapshot of this one is made in the middle of the load.
        let without = Server::with().without_module().replica_of(&primary).start();
        load.wait_for_more_answers(random.usize(500..3000));
        let logs = load.end();
        wait_for_holds(&primary, hold_ms);
        let state = assert_whole(&primary);
        acknowledged::check(&primary, &state, &logs);
        free_locks(&primary);
        for replica in [&with, &without] {
            primary.wait_for_replica(replica);
            assert_same(&primary, replica);
        }
        assert_whole(&with);
        let before = primary.digest();
        assert_eq!(primary.run("DEBUG RELOAD"), Value::Okay);
        assert_eq!(primary.digest(), before, "after DEBUG RELOAD");
        Tally { ends: 1, ..tally(&logs) }
    });
}

/// A moment: everything that was answered before it is on the replica.
fn replicated_by(primary: &Server) -> Instant {
    let moment = Instant::now();
    primary.run("SET marker 1");
    assert_eq!(ask::<i64>(primary, "WAIT 1 20000"), 1, "no replica in time");
    moment
}

/// Fails unless acquisitions after the promotion have greater fencing tokens than those that were
/// answered before it, whether or not these had reached the replica.
fn fences_grow_over(promotion: Instant, before: &[Log], after: &[Log]) {
    let fences = |logs: &[Log], lock: &str, until: Option<Instant>| {
        let all = logs.iter().flatten().filter(|sent| sent.is("LOCK.ACQUIRE"));
        let of_lock = all.filter(|sent| sent.words[1] == lock);
        let in_time = of_lock.filter(|sent| {
            let answered = sent.back.as_ref().map(|(at, _)| *at);
            until.is_none_or(|until| answered.is_some_and(|at| at < until))
        });
        let mut fences: Vec<_> = in_time.filter_map(|sent| sent.outcome()).collect();
        fences.retain(|fence| *fence > 0);
        fences
    };
    for lock in ["lock0", "lock1", "lock2"] {
        let last = fences(before, lock, Some(promotion)).into_iter().max();
        let next = fences(after, lock, None).into_iter().min();
        if let (Some(last), Some(next)) = (last, next) {
            assert!(last < next, "{lock}: {last} before the promotion, {next} after it");
        }
    }
}

/// Fails unless the new primary lacks at most the end of what was answered by its predecessor,
/// `before`, and nothing of its own answers, and the other servers have its data. Returns the sums
/// and the time of the oldest answer that was lost.
pub fn assert_promoted(
    new: &Server,
    others: &[&Server],
    promotion: Instant,
    before: Vec<Log>,
    after: Vec<Log>,
) -> (Tally, Option<Instant>) {
    let state = assert_whole(new);
    let (lost, oldest) = assert_suffix_lost(&state, &before);
    let mut evidence = Evidence::of(&state);
    for sent in after.iter().flatten() {
        assert_ne!(evidence.is_there(sent), Some(false), "lost: {sent:?}");
    }
    locks::check(&after);
    fences_grow_over(promotion, &before, &after);
    free_locks(new);
    for server in others {
        new.wait_for_replica(server);
        assert_same(new, server);
    }
    let all: Vec<Log> = before.into_iter().chain(after).collect();
    queues::check(&state, &all);
    (Tally { ends: 1, lost, ..tally(&all) }, oldest)
}

#[test]
fn a_promotion_loses_the_end_of_the_history_at_most() {
    histories("promotion", 4, |seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let hold_ms = hold_ms(&mut random);
        let old = Server::with().port().start();
        make(&old, hold_ms);
        let new = Server::with().replica_of(&old).start();
        old.wait_for_replica(&new);
        let load = Load::start(&old, seed, 0);
        load.wait_for_answers(random.usize(1..1500));
        let replicated = replicated_by(&old);
        load.wait_for_more_answers(random.usize(0..1000));
        let promotion = Instant::now();
        assert_eq!(new.run("REPLICAOF NO ONE"), Value::Okay);
        // Both accept orders for a while: the old primary is cut off and does not know it.
        let more = Load::start(&new, seed, 1);
        load.wait_for_more_answers(random.usize(0..500));
        more.wait_for_answers(random.usize(100..1500));
        let rejoin = format!("REPLICAOF 127.0.0.1 {}", new.port());
        assert_eq!(old.run(&rejoin), Value::Okay);
        more.wait_for_more_answers(random.usize(0..500));
        let (logs, after) = (load.end(), more.end());
        wait_for_holds(&new, hold_ms);
        let (tally, oldest) = assert_promoted(&new, &[&old], promotion, logs, after);
        assert!(oldest.is_none_or(|at| at > replicated), "lost in spite of WAIT");
        tally
    });
}

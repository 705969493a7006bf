//! Locks and queues while the server is paused, restarted, replicated, promoted, demoted or part of
//! a cluster.

use std::time::{Duration, Instant};

use crate::aof::masked;
use crate::cluster::{two_nodes, whole_cluster};
use crate::harness::{Server, in_time, text};
use crate::observe::{assert_error, integer};
use crate::slots::{Move, slot};
use redis::Value;

/// The commands that `act` adds to the file, with WHEN for times.
pub fn effects(server: &Server, act: impl FnOnce()) -> Vec<String> {
    server.aof_of(act).iter().map(masked).collect()
}

#[test]
fn grants_are_replicated_as_what_they_did() {
    let server = Server::observed().start();
    server.run("LOCK.ACQUIRE lock ann 1000000");
    let mut bob = server.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 60000 FENCE");
    let written = effects(&server, || {
        server.run("LOCK.RELEASE lock ann");
        assert!(integer(&bob.receive()) > 1);
    });
    let fence = "SET lock:fence WHEN bob PXAT WHEN";
    assert_eq!(written, ["MULTI", "DEL lock", "SET lock bob PXAT WHEN", fence, "EXEC"]);
    server.queue(&mut bob, "LOCK.ACQUIRE lock cid 1000000 BLOCK 60000");
    let written = effects(&server, || {
        server.run("DEL lock");
        assert_eq!(bob.receive(), Value::Int(1));
    });
    assert_eq!(written, ["DEL lock", "SET lock cid PXAT WHEN"]);
    // A grant to a client that is killed before its reply is in the file in order, too.
    let mut gone = server.client();
    let id = crate::locks_queue::id_of(&mut gone);
    server.queue(&mut gone, "LOCK.ACQUIRE lock gone 1000000 BLOCK 60000");
    server.run("MULTI");
    server.run("LOCK.RELEASE lock cid");
    server.run(&format!("CLIENT KILL ID {id}"));
    let written = effects(&server, || {
        server.run("EXEC");
        server.wait_for_owner("lock", "");
    });
    assert_eq!(written, ["MULTI", "DEL lock", "SET lock gone PXAT WHEN", "EXEC", "DEL lock"]);
    // A client that waits or is refused writes nothing.
    server.run("SET lock zoe");
    let written = effects(&server, || {
        assert_eq!(server.run("LOCK.ACQUIRE lock late 1000000 BLOCK 50"), Value::Int(0));
    });
    assert!(written.is_empty(), "{written:?}");
}

/// `WAIT` counts the grant, although the client itself wrote nothing.
#[test]
fn who_was_granted_a_lock_in_queue_can_wait_for_replicas() {
    let primary = Server::with().port().start();
    let replica = Server::with().replica_of(&primary).start();
    primary.run("LOCK.ACQUIRE lock ann 1000000");
    let mut bob = primary.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 60000");
    primary.wait_for_replica(&replica);
    // The replica acknowledges nothing for a while.
    replica.freeze();
    primary.run("LOCK.RELEASE lock ann");
    assert_eq!(bob.receive(), Value::Int(1));
    assert_eq!(bob.run("WAIT 1 200"), Value::Int(0));
    replica.wake();
    assert_eq!(bob.run("WAIT 1 20000"), Value::Int(1));
    assert_eq!(replica.owner("lock"), "bob");
}

#[test]
fn nothing_is_granted_while_writes_are_paused() {
    // In the queue and paused before the lease ends; the wait of `late` ends after it.
    let (server, [mut bob, mut late, gone]) = in_time(500, |ms| {
        let server = Server::with().aof().start();
        let mut clients = [server.client(), server.client(), server.client()];
        let begun = Instant::now();
        server.run(&format!("LOCK.ACQUIRE lock ann {ms}"));
        let waits = [("bob", 60_000), ("late", ms * 2), ("gone", 60_000)];
        for (client, (token, wait_ms)) in clients.iter_mut().zip(waits) {
            let request = format!("LOCK.ACQUIRE lock {token} 1000000 BLOCK {wait_ms}");
            server.queue_in_time(client, &request).then_some(())?;
        }
        server.run("CLIENT PAUSE 60000 WRITE");
        (begun.elapsed() < Duration::from_millis(ms)).then_some((server, clients))
    });
    // Waits still end in time, and a client that disconnects leaves the queue.
    assert_eq!(late.receive(), Value::Int(0));
    drop(gone);
    server.wait_for_queue(1);
    server.check("> PTTL lock\n-2");
    // A few turns of the server's event loop.
    let turns = server.info_number("seckill_locks_acquired");
    for _ in 0..20 {
        server.run("PING");
    }
    assert_eq!((turns, server.in_queue()), (1, 1));
    server.run("CLIENT UNPAUSE");
    assert_eq!(bob.receive(), Value::Int(1));
    assert_eq!(server.owner("lock"), "bob");
}

#[test]
fn a_cluster_has_fences_in_the_slot_of_their_lock() {
    let server = whole_cluster();
    for (lock, fence) in
        [("lock", "{lock}:fence"), ("{a}lock", "{a}lock:fence"), ("lo{ck", "{lo{ck}:fence")]
    {
        let first = integer(&server.call(&["LOCK.ACQUIRE", lock, "ann", "1000000", "FENCE"]));
        assert_eq!(text(&server.call(&["GET", fence])), format!("{first} ann"));
        assert_eq!(slot(&server, lock.as_bytes()), slot(&server, fence.as_bytes()));
        let mut bob = server.waiter(&format!("LOCK.ACQUIRE {lock} bob 1000000 BLOCK 60000 FENCE"));
        let mut cid = server.waiter(&format!("LOCK.ACQUIRE {lock} cid 1000000 BLOCK 60000 FENCE"));
        server.call(&["LOCK.RELEASE", lock, "ann"]);
        let second = integer(&bob.receive());
        server.call(&["DEL", lock]);
        let third = integer(&cid.receive());
        assert!(first < second && second < third);
        assert!(integer(&server.call(&["PTTL", lock])) > 900_000);
    }
    for lock in ["a}b", "{}x", ""] {
        let words = ["LOCK.ACQUIRE", lock, "ann", "1000", "FENCE"];
        assert_error(&server.call(&words), "ERR", lock);
        assert_eq!(server.call(&words[..4]), Value::Int(1), "{lock} without a fence");
        assert_eq!(server.call(&["LOCK.RENEW", lock, "ann", "1000"]), Value::Int(1));
    }
}

#[test]
fn hash_tags_name_fences_without_a_cluster_too() {
    let server = Server::with().config("seckill.hash-tags yes").start();
    server.run("LOCK.ACQUIRE lock ann 1000000 FENCE");
    server.check("> EXISTS lock {lock}:fence\n2\n> DBSIZE\n2");
}

#[test]
fn a_lock_that_moves_to_another_node_is_granted_by_neither() {
    let (source, target) = two_nodes();
    source.run("LOCK.ACQUIRE lock ann 1000000");
    let mut bob = source.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 60000");
    let mut cid = source.waiter("LOCK.ACQUIRE lock cid 1000000 BLOCK 60000 FENCE");
    let moving = Move::begin(&source, &target, "lock");
    moving.key("lock");
    for waiter in [&mut bob, &mut cid] {
        let told = text(&waiter.receive());
        assert!(told.starts_with("TRYAGAIN "), "{told}");
    }
    source.check("> DBSIZE\n0");
    moving.end();
    target.check("> GET lock\nann\n> LOCK.RELEASE lock ann\n1");
    source.check("> LOCK.ACQUIRE lock bob 1000\n(error) MOVED ...");
}

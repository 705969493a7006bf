//! Locks with SESSION while the server is paused, demoted, restarted or part of a
//! cluster, while databases are swapped, and while many clients come and go.

use crate::cluster::two_nodes;
use crate::harness::{Server, wait_for};
use crate::locks_queue::id_of;
use crate::locks_session::{holder, wait_for_closed};
use crate::locks_turns::{cron, needs_no_poll, sleepy};
use crate::slots::Move;
use crate::whole_slots::Mover;
use redis::Value;

#[test]
fn a_tie_moves_with_its_database() {
    let server = Server::start();
    let ann = holder(&server, "lock", "ann");
    let mut zoe = server.client();
    zoe.check("> SELECT 1\nOK\n> LOCK.ACQUIRE lock ann 1000000\n1");
    server.check("> SWAPDB 0 1\nOK\n> SWAPDB 1 2\nOK");
    // The lock of ann is in database 2 now; the other, with the same token, is in database 0.
    let mut bob = server.client();
    bob.run("SELECT 2");
    server.queue(&mut bob, "LOCK.ACQUIRE lock bob 1000000 BLOCK 60000 SESSION");
    drop(ann);
    assert_eq!(bob.receive(), Value::Int(1));
    assert_eq!(server.owner("lock"), "ann");
    // The databases are swapped in the step in which the connection closes.
    let id = id_of(&mut bob);
    server.check(&format!(
        "> MULTI\nOK\n> CLIENT KILL ID {id}\nQUEUED\n> SWAPDB 2 3\nQUEUED\n> EXEC\n1) 1\n2) OK"
    ));
    server.check("> SELECT 3\nOK");
    server.wait_for_owner("lock", "");
    server.check("> SELECT 0\nOK\n> GET lock\nann");
}

/// A lock that is granted in one database, and moved before its client is answered.
#[test]
fn a_grant_that_moves_is_tied_where_it_is() {
    let server = Server::start();
    server.run("LOCK.ACQUIRE lock ann 1000000");
    let mut bob = server.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 60000 SESSION");
    server.check(
        "> MULTI\nOK\n> LOCK.RELEASE lock ann\nQUEUED\n> SWAPDB 0 1\nQUEUED\n> EXEC\n1) 1\n2) OK",
    );
    assert_eq!(bob.receive(), Value::Int(1));
    server.check("> SELECT 1\nOK\n> GET lock\nbob");
    drop(bob);
    server.wait_for_owner("lock", "");
}

#[test]
fn nothing_is_released_while_writes_are_paused() {
    let server = Server::with().aof().start();
    let ann = holder(&server, "lock", "ann");
    let mut bob = server.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 60000");
    server.run("CLIENT PAUSE 60000 WRITE");
    drop(ann);
    // A few ticks of the server's cron.
    server.wait_until(server.clock_ms() + 250);
    server.check("> GET lock\nann");
    server.run("CLIENT UNPAUSE");
    assert_eq!(bob.receive(), Value::Int(1));
    assert_eq!(server.owner("lock"), "bob");
}

#[test]
fn eviction_ends_a_tie() {
    let server = Server::with().config("maxmemory-policy volatile-ttl").start();
    let ann = holder(&server, "lock", "ann");
    server.run("CONFIG SET maxmemory 1");
    server.wait_for_owner("lock", "");
    server.check("> CONFIG SET maxmemory 0\nOK\n> SET lock ann\nOK");
    drop(ann);
    wait_for_closed(&server);
    assert_eq!(server.owner("lock"), "ann");
}

#[test]
fn a_demotion_or_a_failover_forgets_ties() {
    let primary = Server::with().port().start();
    let replica = Server::with().replica_of(&primary).start();
    let ann = holder(&primary, "lock", "ann");
    let bob = holder(&primary, "other", "bob");
    primary.wait_for_replica(&replica);
    replica.run("REPLICAOF NO ONE");
    // On the new primary the lease ends the lock.
    primary.run(&format!("REPLICAOF 127.0.0.1 {}", replica.port()));
    drop(ann);
    replica.wait_for_replica(&primary);
    replica.check("> GET lock\nann\n> GET other\nbob");
    // On the old primary no lock is tied, even when it becomes the primary again.
    primary.run("REPLICAOF NO ONE");
    drop(bob);
    wait_for_closed(&primary);
    primary.check("> GET lock\nann\n> GET other\nbob");
    drop(holder(&primary, "lock", "ann"));
    primary.wait_for_owner("lock", "");
}

/// A replica that accepts writes of clients is not a primary either.
#[test]
fn a_replica_that_is_written_to_releases_nothing() {
    let server = Server::with().port().config("replica-read-only no").start();
    server.run("REPLICAOF 127.0.0.1 1");
    let turns = || server.info("eventloop_cycles").map(|turns| turns.parse::<i64>());
    let ann = holder(&server, "lock", "ann");
    drop(ann);
    server.wait_until(server.clock_ms() + 250);
    server.check("> GET lock\nann");
    // If the server counts turns of its event loop: it did not spin.
    if let (Some(Ok(before)), true) = (turns(), turns().is_some()) {
        server.wait_until(server.clock_ms() + 250);
        let after = turns().expect("turns").expect("a number");
        assert!(after - before < 2000, "{}", after - before);
    }
    server.run("REPLICAOF NO ONE");
    wait_for_closed(&server);
    server.check("> GET lock\nann");
}

#[test]
fn a_lock_that_moved_to_another_node_is_left_alone() {
    let (source, target) = two_nodes();
    let ann = holder(&source, "lock", "ann");
    let stays = holder(&source, "{lock}:stays", "ann");
    let moving = Move::begin(&source, &target, "lock");
    moving.key("lock");
    // One lock has left; the other is still here, as is its slot.
    drop((ann, stays));
    source.until("the release", || source.run("DBSIZE") == Value::Int(0));
    moving.end();
    target.check("> GET lock\nann\n> DBSIZE\n1\n> LOCK.RELEASE lock ann\n1");
}

#[test]
fn a_slot_that_left_whole_takes_its_ties_with_it() {
    let (source, target) = two_nodes();
    let Some(mover) = Mover::of(&source) else { return };
    let ann = holder(&source, "lock", "ann");
    mover.move_slot(&source, &target, "lock");
    drop(ann);
    wait_for_closed(&source);
    target.check("> GET lock\nann");
}

/// Many connections with locks, and many more without.
#[test]
fn nothing_grows_while_clients_come_and_go() {
    let server = Server::start();
    let used = || server.info_number("used_memory");
    let round = |clients: usize| {
        for number in 0..clients {
            let mut client = server.client();
            if number % 8 == 0 {
                client.check("> LOCK.ACQUIRE lock ann 1000000 SESSION\n1");
            }
            if number % 16 == 0 {
                client.check("> LOCK.RELEASE lock ann\n1");
            }
        }
        wait_for_closed(&server);
        server.wait_for_owner("lock", "");
    };
    round(500);
    // On a connection that stays open: locks that are released, and locks that are lost.
    let mut stays = server.client();
    let mut rounds = |from: usize| {
        for number in from..from + 3000 {
            let lose = ["LOCK.RELEASE l t", "DEL l", "RENAME l r", "PEXPIRE l -1", "FLUSHALL", ""];
            let lock = format!("l{number}");
            stays.check(&format!("> LOCK.ACQUIRE {lock} t 1000000 SESSION\n1"));
            let lose = lose[number % lose.len()].replace('l', &lock);
            stays.run(if lose.is_empty() { "PING" } else { &lose });
        }
        stays.run("FLUSHALL");
    };
    rounds(0);
    let before = used();
    round(1500);
    rounds(3000);
    let quiet = wait_for("the memory", || (used() < before + (48 << 10)).then_some(()));
    quiet.unwrap_or_else(|late| panic!("{late}: {before}, then {}", used()));
}

/// RESET resets the state of a connection, and does not close it.
#[test]
fn a_reset_releases_nothing() {
    let server = Server::start();
    let mut ann = server.client();
    ann.check("> SELECT 3\nOK\n> LOCK.ACQUIRE lock ann 1000000 SESSION\n1");
    let id = id_of(&mut ann);
    ann.check("> RESET\nRESET\n> SELECT 3\nOK\n> GET lock\nann");
    assert_eq!(id_of(&mut ann), id);
    wait_for_closed(&server);
    server.check("> SELECT 3\nOK");
    assert_eq!(server.owner("lock"), "ann");
    drop(ann);
    server.wait_for_owner("lock", "");
}

#[test]
fn a_server_at_rest_hands_the_lock_on_at_once() {
    let server = sleepy().start();
    // A connection closed by its client, and one closed by another client after the end of a turn.
    for close in ["drop", "ACL DELUSER ann"] {
        needs_no_poll(&server, close, || {
            server.run("ACL SETUSER ann on nopass +@all ~*");
            let mut ann = server.client();
            ann.run("AUTH ann x");
            ann.check("> LOCK.ACQUIRE lock ann 1000000 SESSION\n1");
            let mut bob = server.client();
            server.queue(&mut bob, "LOCK.ACQUIRE lock bob 1000000 BLOCK 60000");
            let before = cron(&server);
            match close {
                "drop" => drop(ann),
                _ => server.check("> ACL DELUSER ann\n1"),
            }
            assert_eq!(bob.receive(), Value::Int(1));
            bob.run("LOCK.RELEASE lock bob");
            before
        });
    }
}

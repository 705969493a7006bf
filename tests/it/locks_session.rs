//! LOCK.ACQUIRE with SESSION: a connection that closes releases its locks and hands them on.

use std::time::{Duration, Instant};

use crate::harness::{Client, Server, text};
use crate::locks_queue::id_of;
use crate::locks_server::effects;
use crate::observe::integer;
use crate::transcript::argv;
use redis::Value;

/// A new connection that holds a lock with SESSION and a long lease.
pub fn holder(server: &Server, lock: &str, token: &str) -> Client {
    let mut client = server.client();
    let ask = format!("LOCK.ACQUIRE {lock} {token} 1000000 SESSION");
    assert_eq!(client.run(&ask), Value::Int(1), "{ask}");
    client
}

/// Closes a connection with a lock of its own. When that lock is released, the server has handled
/// all connections that closed before.
pub fn wait_for_closed(server: &Server) {
    drop(holder(server, "closed:last", "last"));
    server.wait_for_owner("closed:last", "");
}

#[test]
fn whatever_closes_a_connection_releases_its_locks() {
    let server = Server::start();
    for close in ["drop", "QUIT", "CLIENT KILL ID <id>", "kill itself", "protocol error"] {
        let mut ann = holder(&server, "lock", "ann");
        let id = id_of(&mut ann);
        server.check("> LOCK.ACQUIRE lock bob 1000000\n0");
        let mut bob = server.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 60000");
        match close {
            "drop" => drop(ann),
            "QUIT" => assert_eq!(ann.run("QUIT"), Value::Okay),
            "kill itself" => ann.send(&["CLIENT", "KILL", "ID", &id, "SKIPME", "no"]),
            "protocol error" => {
                let sent = ann.raw().send_packed_command(b"*1\r\n$x\r\n");
                sent.expect("bytes that are no command");
            }
            kill => server.check(&format!("> {}\n1", kill.replace("<id>", &id))),
        }
        assert_eq!(bob.receive(), Value::Int(1), "{close}");
        assert_eq!(server.owner("lock"), "bob", "{close}");
        // The lock of bob is tied to no connection.
        drop(bob);
        wait_for_closed(&server);
        server.check("> LOCK.RELEASE lock bob\n1\n> DBSIZE\n0");
    }
}

#[test]
fn all_locks_of_a_connection_are_released_in_every_database() {
    let server = Server::start();
    let mut ann = server.client();
    for number in 0..300 {
        ann.run(&format!("SELECT {}", number % 3));
        ann.check(&format!("> LOCK.ACQUIRE lock{number} ann 1000000 FENCE SESSION\n(integer) ..."));
        // A lock without SESSION stays.
        ann.check(&format!("> LOCK.ACQUIRE plain{number} ann 1000000\n1"));
    }
    let before = server.info_number("seckill_locks_released");
    drop(ann);
    for db in 0..3 {
        server.run(&format!("SELECT {db}"));
        // What is left: the locks without SESSION, and the fence keys.
        server.until("the releases", || server.run("DBSIZE") == Value::Int(200));
    }
    assert_eq!(server.info_number("seckill_locks_released"), before + 300);
}

#[test]
fn a_release_for_a_closed_connection_is_written_as_any_other() {
    let server = Server::observed().start();
    let ann = holder(&server, "lock", "ann");
    let mut bob = server.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 60000");
    let written = effects(&server, || {
        drop(ann);
        assert_eq!(bob.receive(), Value::Int(1));
    });
    assert_eq!(written, ["MULTI", "DEL lock", "SET lock bob PXAT WHEN", "EXEC"]);
    server.run("LOCK.RELEASE lock bob");
    let ann = holder(&server, "lock", "ann");
    let written = effects(&server, || {
        drop(ann);
        server.wait_for_owner("lock", "");
    });
    assert_eq!(written, ["DEL lock"]);
    // A lock that the connection has lost: nothing is written when it closes.
    let mut ann = holder(&server, "lock", "ann");
    server.run("SET lock zoe");
    let written = effects(&server, || {
        let id = id_of(&mut ann);
        server.check(&format!("> CLIENT KILL ID {id}\n1\n> GET lock\nzoe"));
        server.run("PING");
    });
    assert!(written.is_empty(), "{written:?}");
}

/// Commands that end a tie: the connection may close, and a lock with the same token stays. And
/// commands that leave the lock to its holder: they leave the tie.
#[test]
fn a_lock_that_was_lost_is_tied_no_more() {
    const LOSSES: [&str; 16] = [
        "LOCK.RELEASE lock ann", "DEL lock", "UNLINK lock", "GETDEL lock", "PEXPIREAT lock 1",
        "RENAME lock away", "MOVE lock 1", "RENAME other lock", "COPY other lock REPLACE",
        "ZRANGESTORE lock scores 0 -1", "ZUNIONSTORE lock 1 scores", "FLUSHDB", "FLUSHALL",
        "FLUSHALL ASYNC", "DEBUG RELOAD", "SWAPDB 0 1",
    ];
    const OTHERS: [&str; 11] = [
        "LOCK.RENEW lock ann 2000000",
        "PEXPIRE lock 2000000",
        "PERSIST lock",
        "SET lock ann PX 2000000",
        "GET lock",
        "ZADD other:scores 5 member",
        "DEL other",
        "CONFIG SET seckill.hash-tags yes",
        "CONFIG SET seckill.lock-lease-ms-max 5",
        "SWAPDB 1 2",
        "SAVE",
    ];
    let server = Server::start();
    for change in LOSSES.into_iter().chain(OTHERS) {
        server.run("FLUSHALL");
        server.run("CONFIG SET seckill.lock-lease-ms-max 86400000");
        server.check("> SET other ann\nOK\n> ZADD scores 5 member\n1");
        let ann = holder(&server, "lock", "ann");
        let reply = server.run(change);
        assert!(!matches!(reply, Value::ServerError(_)), "{change}: {reply:?}");
        if OTHERS.contains(&change) {
            drop(ann);
            server.wait_for_owner("lock", "");
            continue;
        }
        // After MOVE, some servers have selected the other database: see docs/operating.md.
        server.run("SELECT 0");
        server.run("SET lock ann");
        drop(ann);
        wait_for_closed(&server);
        assert_eq!(server.owner("lock"), "ann", "{change}");
    }
}

#[test]
fn a_lease_that_has_ended_ties_nothing() {
    let server = Server::start();
    let mut ann = server.client();
    ann.check("> LOCK.ACQUIRE lock ann 20 SESSION\n1");
    server.until("the lease's end", || {
        server.run("LOCK.ACQUIRE lock ann 1000000") == Value::Int(1)
            && integer(&server.run("PTTL lock")) > 20
    });
    drop(ann);
    wait_for_closed(&server);
    assert_eq!(server.owner("lock"), "ann");
}

/// The lease ends a lock if the server does not notice that the holder's connection is dead.
#[test]
fn a_connection_that_stays_open_keeps_its_lock_to_the_end_of_the_lease() {
    let server = Server::start();
    let mut ann = server.client();
    ann.check("> LOCK.ACQUIRE lock ann 300 SESSION\n1");
    let start = Instant::now();
    let mut bob = server.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 60000 SESSION");
    assert_eq!(bob.receive(), Value::Int(1));
    assert!(start.elapsed() > Duration::from_millis(250), "{:?}", start.elapsed());
    // The holder resumes too late.
    drop(ann);
    wait_for_closed(&server);
    assert_eq!(server.owner("lock"), "bob");
}

#[test]
fn the_latest_acquisition_says_what_the_lock_is_tied_to() {
    let server = Server::start();
    // To another connection, as after a lost connection; and back.
    let first = holder(&server, "lock", "ann");
    let mut second = holder(&server, "lock", "ann");
    drop(first);
    wait_for_closed(&server);
    assert_eq!(server.owner("lock"), "ann");
    let third = holder(&server, "lock", "ann");
    second.check("> LOCK.ACQUIRE lock ann 1000000 SESSION\n1");
    drop(third);
    wait_for_closed(&server);
    assert_eq!(server.owner("lock"), "ann");
    drop(second);
    server.wait_for_owner("lock", "");
    // To no connection.
    for other in [true, false] {
        let mut first = holder(&server, "lock", "ann");
        let mut second = server.client();
        let client = if other { &mut second } else { &mut first };
        client.check("> LOCK.ACQUIRE lock ann 1000000\n1");
        drop((first, second));
        wait_for_closed(&server);
        assert_eq!(server.owner("lock"), "ann");
        server.run("LOCK.RELEASE lock ann");
    }
    // With another token the lock is refused, and nothing changes.
    let first = holder(&server, "lock", "ann");
    let mut second = server.client();
    second.check("> LOCK.ACQUIRE lock bob 1000000 SESSION\n0");
    drop(second);
    wait_for_closed(&server);
    assert_eq!(server.owner("lock"), "ann");
    drop(first);
    server.wait_for_owner("lock", "");
}

/// The holder's connection is closed, and in the same turn another client uses its token.
#[test]
fn who_asks_with_the_token_after_the_close_is_told_the_truth() {
    let server = Server::start();
    for (ask, owner) in [
        ("LOCK.ACQUIRE lock ann 1000000", "ann"),
        ("LOCK.ACQUIRE lock ann 1000000 SESSION", "ann"),
        ("LOCK.RENEW lock ann 1000000", "ann"),
        ("LOCK.RELEASE lock ann", "bob"),
        ("GET lock", "bob"),
    ] {
        let mut ann = holder(&server, "lock", "ann");
        let id = id_of(&mut ann);
        let mut bob = server.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 60000");
        let mut again = server.client();
        again.check(&format!("> MULTI\nOK\n> CLIENT KILL ID {id}\nQUEUED\n> {ask}\nQUEUED"));
        let Value::Array(replies) = again.run("EXEC") else { panic!("{ask}") };
        assert_eq!(replies[0], Value::Int(1), "{ask}");
        if owner == "ann" {
            assert_eq!(replies[1], Value::Int(1), "{ask}");
            wait_for_closed(&server);
            assert_eq!((server.owner("lock").as_str(), server.in_queue()), ("ann", 1), "{ask}");
            server.run("LOCK.RELEASE lock ann");
        }
        assert_eq!(bob.receive(), Value::Int(1), "{ask}");
        drop((ann, again));
        wait_for_closed(&server);
        assert_eq!(server.owner("lock"), "bob", "{ask}");
        server.run("LOCK.RELEASE lock bob");
    }
}

#[test]
fn a_waiter_is_granted_the_lock_with_its_session() {
    let server = Server::start();
    let mut queue: Vec<Client> = vec![holder(&server, "lock", "t0")];
    for n in 1..6 {
        let ask = format!("LOCK.ACQUIRE lock t{n} 1000000 BLOCK 60000 FENCE SESSION");
        queue.push(server.waiter(&ask));
    }
    for n in 1..6 {
        drop(queue.remove(0));
        assert!(integer(&queue[0].receive()) > 1);
        assert_eq!(server.owner("lock"), format!("t{n}"));
    }
    drop(queue);
    server.wait_for_owner("lock", "");
    // Between the grant and its reply, in the step of the release itself.
    for (end, told) in [("CLIENT KILL ID <id>", false), ("CLIENT UNBLOCK <id> TIMEOUT", true)] {
        server.run("LOCK.ACQUIRE lock ann 1000000");
        let mut bob = server.client();
        let id = id_of(&mut bob);
        server.queue(&mut bob, "LOCK.ACQUIRE lock bob 1000000 BLOCK 60000 SESSION");
        let mut cid = server.waiter("LOCK.ACQUIRE lock cid 1000000 BLOCK 60000 SESSION");
        server.run("MULTI");
        server.run("LOCK.RELEASE lock ann");
        server.run(&end.replace("<id>", &id));
        server.run("EXEC");
        if told {
            assert_eq!(bob.receive(), Value::Int(1));
            assert_eq!(server.owner("lock"), "bob");
        }
        drop(bob);
        assert_eq!(cid.receive(), Value::Int(1), "{end}");
        drop(cid);
        server.wait_for_owner("lock", "");
    }
    // A waiter that leaves the queue ties no lock.
    let ann = holder(&server, "lock", "ann");
    drop(server.waiter("LOCK.ACQUIRE lock ann2 1000000 BLOCK 60000 SESSION"));
    server.wait_for_queue(0);
    wait_for_closed(&server);
    assert_eq!(server.owner("lock"), "ann");
    drop(ann);
    server.wait_for_owner("lock", "");
}

/// Another client acquires the lock with the token of a client that waits.
#[test]
fn the_latest_request_of_a_token_has_the_tie() {
    let server = Server::start();
    server.run("SET lock zoe");
    let mut bob = server.waiter("LOCK.ACQUIRE lock ann 1000000 BLOCK 60000");
    let mut ann = server.client();
    ann.check(
        "
        > MULTI => OK
        > SET lock ann => QUEUED
        > LOCK.ACQUIRE lock ann 1000000 SESSION => QUEUED
        > EXEC
        1) OK
        2) 1
        ",
    );
    assert_eq!(bob.receive(), Value::Int(0));
    drop(ann);
    server.wait_for_owner("lock", "");
    // A waiter that takes over a place takes its tie, too.
    for is_first_tied in [true, false] {
        let ann = holder(&server, "lock", "ann");
        let tie = |is_tied| if is_tied { " SESSION" } else { "" };
        let ask = "LOCK.ACQUIRE lock bob 1000000 BLOCK 60000";
        let mut first = server.waiter(&format!("{ask}{}", tie(is_first_tied)));
        let mut second = server.client();
        second.send(&argv(&format!("{ask}{}", tie(!is_first_tied))));
        assert_eq!(first.receive(), Value::Int(0));
        drop((ann, first));
        assert_eq!(second.receive(), Value::Int(1));
        drop(second);
        wait_for_closed(&server);
        let owner = if is_first_tied { "bob" } else { "" };
        assert_eq!(server.owner("lock"), owner);
        server.run("DEL lock");
    }
}

#[test]
fn transactions_have_a_session_and_scripts_have_none() {
    let server = Server::observed().start();
    let mut ann = server.client();
    ann.check("> MULTI\nOK\n> LOCK.ACQUIRE lock ann 1000000 BLOCK 9 SESSION\nQUEUED\n> EXEC\n1) 1");
    drop(ann);
    server.wait_for_owner("lock", "");
    let refused = "SESSION needs a client connection, and a script has none";
    for held in ["", "ann", "zoe"] {
        server.run("DEL lock");
        if !held.is_empty() {
            server.run(&format!("SET lock {held}"));
        }
        let script = "EVAL \"return redis.pcall('LOCK.ACQUIRE', KEYS[1], 'ann', 9, 'SESSION')\" \
                      1 lock";
        let reply = server.silent(script);
        assert!(text(&reply).contains(refused), "{reply:?}");
    }
    server.run(
        "FUNCTION LOAD \"#!lua name=l\\nredis.register_function('try', function(k) return \
         redis.call('LOCK.ACQUIRE', k[1], 'cid', 1000, 'SESSION') end)\"",
    );
    let reply = server.say("FCALL try 1 none");
    assert!(reply.contains(refused), "{reply}");
}

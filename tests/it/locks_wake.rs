//! Everything that frees a lock serves the next in the queue; everything that ends a wait removes
//! the waiter from the queue.

use std::time::{Duration, Instant};

use crate::harness::{Client, Server, in_time, text};
use crate::locks_queue::id_of;
use crate::observe::integer;
use redis::Value;

const UNLOCK: &str = "EVAL \"if redis.call('get', KEYS[1]) == ARGV[1] then \
                      return redis.call('del', KEYS[1]) end return 0\" 1 lock ann";

/// A server on which ann holds the lock for a long time, and a waiter with the token bob.
fn held_and_waited_for() -> (Server, Client) {
    let server = Server::start();
    server.run("LOCK.ACQUIRE lock ann 1000000");
    let waiter = server.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 60000");
    (server, waiter)
}

#[test]
fn whatever_frees_a_lock_serves_the_next() {
    let (server, mut waiter) = held_and_waited_for();
    for cause in [
        "LOCK.RELEASE lock ann",
        "DEL lock",
        "UNLINK lock",
        UNLOCK,
        "EVAL \"return redis.call('LOCK.RELEASE', KEYS[1], 'ann')\" 1 lock",
        "EVAL \"redis.call('DEL', KEYS[1]) redis.call('SET', KEYS[1], 'x') return \
         redis.call('DEL', KEYS[1])\" 1 lock",
        "PEXPIRE lock 20",
        "PEXPIRE lock -1",
        "PEXPIREAT lock 1",
        "GETEX lock PX 20",
        "GETDEL lock",
        "RENAME lock elsewhere",
        "MOVE lock 1",
        "FLUSHDB",
        "FLUSHALL",
        "FLUSHALL ASYNC",
        "SWAPDB 0 1",
        "SWAPDB 1 0",
        "SET lock zoe PX 20",
        "LOCK.RENEW lock ann 20",
    ] {
        let cause_text = cause.split(' ').next().unwrap_or_default();
        let reply = server.run(cause);
        assert!(!matches!(reply, Value::ServerError(_)), "{cause}: {reply:?}");
        // After MOVE, some servers have selected the other database: see docs/operating.md.
        server.run("SELECT 0");
        assert_eq!(waiter.receive(), Value::Int(1), "{cause}");
        assert_eq!(server.owner("lock"), "bob", "{cause_text}");
        assert!(integer(&server.run("PTTL lock")) > 900_000, "{cause}");
        server.run("FLUSHALL");
        server.run("LOCK.ACQUIRE lock ann 1000000");
        server.queue(&mut waiter, "LOCK.ACQUIRE lock bob 1000000 BLOCK 60000");
    }
}

#[test]
fn eviction_serves_the_next() {
    let server = Server::with().config("maxmemory-policy volatile-ttl").start();
    server.run("LOCK.ACQUIRE lock ann 1000000");
    let mut waiter = server.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 60000");
    server.run("CONFIG SET maxmemory 1");
    assert_eq!(waiter.receive(), Value::Int(1));
    assert!(server.info_number("evicted_keys") > 0);
}

#[test]
fn a_lease_that_is_lengthened_ends_later() {
    let server = Server::start();
    for lengthen in ["PEXPIRE lock LEASE", "LOCK.RENEW lock ann LEASE", "SET lock ann PX LEASE"] {
        let (mut waiter, start, lease_ms) = in_time(100, |ms| {
            let (waiter, begun) = waiter_for_a_lease(&server, ms, 60_000)?;
            let start = Instant::now();
            server.run(&lengthen.replace("LEASE", &(ms * 4).to_string()));
            if begun.elapsed() >= Duration::from_millis(ms) {
                return None;
            }
            Some((waiter, start, ms * 4))
        });
        assert_eq!(waiter.receive(), Value::Int(1));
        let took = start.elapsed();
        // The lock is not granted at the end of the first lease. Clocks count whole milliseconds.
        assert!(took > Duration::from_millis(lease_ms - 20), "{lengthen}: {took:?}");
    }
}

/// A lease of ann that ends soon, and bob in the queue for the lock; with the start of the lease.
/// None if the lease ended before bob was in the queue.
fn waiter_for_a_lease(server: &Server, ms: u64, wait_ms: u64) -> Option<(Client, Instant)> {
    server.wait_for_queue(0);
    server.run("DEL lock");
    let begun = Instant::now();
    server.run(&format!("SET lock ann PX {ms}"));
    let mut waiter = server.client();
    let request = format!("LOCK.ACQUIRE lock bob 1000000 BLOCK {wait_ms}");
    server.queue_in_time(&mut waiter, &request).then_some((waiter, begun))
}

/// The server's own search for expired keys may be slow, or may not run for a long time.
#[test]
fn the_end_of_a_lease_needs_no_search_for_expired_keys() {
    let server = Server::start();
    server.check("> DEBUG SET-ACTIVE-EXPIRE 0\nOK");
    for change in ["PING", "PEXPIRE lock 60", "SET lock ann PX 60"] {
        let (mut waiter, _) = in_time(100, |ms| waiter_for_a_lease(&server, ms, 20_000));
        server.run(change);
        assert_eq!(waiter.receive(), Value::Int(1), "{change}");
    }
}

#[test]
fn a_lock_that_has_no_end_any_more_is_not_taken_away() {
    let server = Server::start();
    for keep in ["PERSIST lock", "SET lock zoe"] {
        // The wait ends long after the first lease.
        let mut waiter = in_time(50, |ms| {
            let (waiter, begun) = waiter_for_a_lease(&server, ms, ms * 6)?;
            server.run(keep);
            (begun.elapsed() < Duration::from_millis(ms)).then_some(waiter)
        });
        assert_eq!(waiter.receive(), Value::Int(0), "{keep}");
        assert_ne!(server.owner("lock"), "bob");
        assert_ne!(server.owner("lock"), "");
    }
}

#[test]
fn who_overwrites_a_lock_holds_it() {
    let (server, mut waiter) = held_and_waited_for();
    server.run("SET lock zoe PX 1000000");
    server.check("> LOCK.RELEASE lock ann\n0\n> LOCK.RELEASE lock zoe\n1");
    assert_eq!(waiter.receive(), Value::Int(1));
    // Also in the step that frees the lock.
    server.queue(&mut waiter, "LOCK.ACQUIRE lock cid 1000000 BLOCK 60000");
    server
        .run("EVAL \"redis.call('DEL', KEYS[1]) return redis.call('SET', KEYS[1], 'zoe')\" 1 lock");
    assert_eq!((server.owner("lock").as_str(), server.in_queue()), ("zoe", 1));
    server.run("RENAME lock away");
    assert_eq!(waiter.receive(), Value::Int(1));
}

#[test]
fn a_key_that_becomes_no_lock_refuses_who_waits() {
    let (server, mut waiter) = held_and_waited_for();
    server.run("RPUSH list a");
    server.run("RENAME list lock");
    assert!(text(&waiter.receive()).starts_with("WRONGTYPE"));
    assert_eq!(server.in_queue(), 0);
}

#[test]
fn a_wait_ends() {
    let (server, mut bob) = held_and_waited_for();
    let mut waiter = server.client();
    let start = Instant::now();
    assert_eq!(waiter.run("LOCK.ACQUIRE lock cid 1000000 BLOCK 150"), Value::Int(0));
    assert!(start.elapsed() >= Duration::from_millis(149), "{:?}", start.elapsed());
    server.wait_for_queue(1);
    server.run("DEL lock");
    assert_eq!(bob.receive(), Value::Int(1));
    assert_eq!(server.info_number("seckill_locks_refused"), 1);
    assert!(server.info_number("seckill_locks_waited_ms_total") >= 150);
}

#[test]
fn who_is_gone_is_not_in_queue() {
    let (server, mut bob) = held_and_waited_for();
    let mut last = server.waiter("LOCK.ACQUIRE lock last 1000000 BLOCK 60000");
    drop(server.waiter("LOCK.ACQUIRE lock dropped 1000000 BLOCK 60000"));
    server.wait_for_queue(2);
    for (end, reply) in [
        ("CLIENT UNBLOCK <id> TIMEOUT", Some("0")),
        ("CLIENT UNBLOCK <id> ERROR", Some("UNBLOCKED")),
        ("CLIENT KILL ID <id>", None),
    ] {
        let mut client = server.client();
        let id = id_of(&mut client);
        server.queue(&mut client, "LOCK.ACQUIRE lock other 1000000 BLOCK 60000");
        server.check(&format!("> {}\n(integer) 1", end.replace("<id>", &id)));
        server.wait_for_queue(2);
        if let Some(start) = reply {
            let told = text(&client.receive());
            assert!(told.starts_with(start), "{end}: {told}");
            assert_eq!(client.run("PING"), Value::SimpleString("PONG".into()));
        }
    }
    server.run("DEL lock");
    assert_eq!(bob.receive(), Value::Int(1));
    server.run("DEL lock");
    assert_eq!(last.receive(), Value::Int(1));
    assert_eq!(server.owner("lock"), "last");
}

#[test]
fn a_free_lock_with_a_line_is_for_the_line() {
    let (server, mut waiter) = held_and_waited_for();
    // One step frees the lock and asks for it again.
    server.check(
        "
        > MULTI => OK
        > DEL lock => QUEUED
        > LOCK.ACQUIRE lock zoe 1000 BLOCK 1000 => QUEUED
        > EXEC
        1) (integer) 1
        2) (integer) 0
        ",
    );
    assert_eq!(waiter.receive(), Value::Int(1));
    server.until("the counter", || server.info_number("seckill_locks_acquired") == 2);
}

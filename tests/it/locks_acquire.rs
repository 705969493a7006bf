//! LOCK.ACQUIRE, LOCK.RENEW and LOCK.INFO when no client has to wait.

use crate::harness::Server;
use crate::observe::integer;
use redis::Value;

fn pttl(server: &Server, key: &str) -> i64 {
    integer(&server.call(&["PTTL", key]))
}

/// The expiry of a key as a moment, so that two can be compared exactly, whenever they are read.
fn end(server: &Server, key: &str) -> i64 {
    integer(&server.call(&["PEXPIRETIME", key]))
}

#[test]
fn the_same_token_acquires_again_and_renews() {
    let server = Server::start();
    server.check("> LOCK.ACQUIRE lock ann 100000\n1\n> LOCK.ACQUIRE lock ann 900000\n1");
    assert!(pttl(&server, "lock") > 800_000);
    server.check("> LOCK.RENEW lock ann 5000\n1\n> LOCK.RENEW lock bob 900000\n0");
    assert!(pttl(&server, "lock") <= 5000);
    server.check("> LOCK.RENEW free ann 5000\n0\n> EXISTS free\n0");
    // A renewal does not count as an acquisition.
    assert_eq!(server.info_number("seckill_locks_acquired"), 1);
}

#[test]
fn plain_commands_and_ours_see_the_same_lock() {
    let server = Server::start();
    let unlock = "EVAL \"if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', \
                  KEYS[1]) end return 0\" 1 lock";
    server.check(
        r#"
        > SET lock ann NX PX 100000 => OK
        > LOCK.ACQUIRE lock bob 100000 => 0
        > LOCK.ACQUIRE lock ann 100000 => 1
        > LOCK.RELEASE lock ann => 1
        > LOCK.ACQUIRE lock bob 100000 => 1
        > SET lock ann NX PX 100000 => (nil)
        "#,
    );
    server.check(&format!("> {unlock} ann\n0\n> {unlock} bob\n1\n> EXISTS lock\n0"));
    server.check("> SET lock cid\nOK\n> LOCK.RENEW lock cid 100000\n1");
    assert!(pttl(&server, "lock") > 90_000, "a lock without an end gets one");
}

#[test]
fn fencing_tokens_grow_with_every_acquisition() {
    let server = Server::observed().start();
    let acquire =
        |token: &str| integer(&server.run(&format!("LOCK.ACQUIRE lock {token} 100000 FENCE")));
    let first = acquire("ann");
    assert!(first > 1_600_000_000_000, "{first}");
    // The owner gets its token again, and no other client gets it.
    assert_eq!(acquire("ann"), first);
    assert_eq!(server.silent("LOCK.ACQUIRE lock bob 100000 FENCE"), Value::Int(0));
    server.run("LOCK.RENEW lock ann 200000");
    assert_eq!(acquire("ann"), first);
    assert_eq!(server.field("LOCK.INFO lock", "fence"), Value::Int(first));
    let left = integer(&server.field("LOCK.INFO lock", "ttl"));
    assert!((90_000..=100_000).contains(&left), "{left}");
    server.check(&format!("> GET lock:fence\n{first} ann"));
    server.run("LOCK.RELEASE lock ann");
    let second = acquire("bob");
    assert!(second > first);
    // A fencing token ahead of the clock: the next is one more.
    let ahead = second + 1_000_000_000;
    server.run(&format!("SET lock:fence {ahead}"));
    server.run("DEL lock");
    assert_eq!(acquire("cid"), ahead + 1);
    let day = 86_400_000;
    let left = end(&server, "lock:fence") - end(&server, "lock");
    assert!((day - 1000..=day + 1000).contains(&left), "{left}");
    server.run("LOCK.RENEW lock cid 3000000");
    let left = end(&server, "lock:fence") - end(&server, "lock");
    assert!((day - 1000..=day + 1000).contains(&left), "{left}");
}

#[test]
fn a_lease_ends_by_itself() {
    let server = Server::start();
    server.check("> LOCK.ACQUIRE lock ann 30\n1");
    server
        .until("the lease to end", || server.run("LOCK.ACQUIRE lock bob 100000") == Value::Int(1));
    server.check("> LOCK.RENEW lock ann 100000\n0\n> LOCK.RELEASE lock ann\n0\n> GET lock\nbob");
}

#[test]
fn tokens_and_names_are_bytes() {
    let server = Server::start();
    // A key may be empty, a token may not.
    let names: [&[u8]; 6] = [b"", b"\0", b"\xff", b"\r\n", b"{", b"a}b"];
    for name in names {
        for token in &names[1..] {
            let call = |words: &[&[u8]]| server.call(words);
            assert!(integer(&call(&[b"LOCK.ACQUIRE", name, token, b"100000", b"FENCE"])) > 1);
            assert_eq!(call(&[b"LOCK.ACQUIRE", name, b"other", b"100000"]), Value::Int(0));
            assert_eq!(call(&[b"GET", name]), Value::BulkString(token.to_vec()));
            assert_eq!(call(&[b"LOCK.RENEW", name, token, b"100000"]), Value::Int(1));
            assert_eq!(call(&[b"LOCK.RELEASE", name, token]), Value::Int(1));
        }
    }
}

#[test]
fn where_nobody_may_block_nobody_waits() {
    let server = Server::start();
    server.run("SET lock ann");
    server.check(
        r#"
        > MULTI => OK
        > LOCK.ACQUIRE lock bob 1000 BLOCK 5000 => QUEUED
        > EXEC => 1) (integer) 0
        > EVAL "return redis.call('LOCK.ACQUIRE', KEYS[1], 'bob', 1000, 'BLOCK', 5000)" 1 lock
        (integer) 0
        > DEL lock => 1
        > EVAL "return redis.call('LOCK.ACQUIRE', KEYS[1], 'bob', 100000, 'BLOCK', 5000)" 1 lock
        (integer) 1
        "#,
    );
    if server.run("FUNCTION LIST") != Value::Nil {
        server.run(
            "FUNCTION LOAD \"#!lua name=l\\nredis.register_function('try', function(k) return \
             redis.call('LOCK.ACQUIRE', k[1], 'cid', 1000, 'BLOCK', 5000) end)\"",
        );
        server.check("> FCALL try 1 lock\n(integer) 0");
    }
    assert_eq!(server.in_queue(), 0);
}

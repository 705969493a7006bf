//! Between the turns of the event loop: an idle server grants locks in time.

use std::time::{Duration, Instant};

use crate::harness::{Builder, Client, Server, in_time, text, wait_for};
use crate::observe::integer;
use crate::transcript::argv;
use redis::Value;

/// A server that wakes up on its own only once per second.
pub fn sleepy() -> Builder {
    Server::with().config("hz 1").config("dynamic-hz no")
}

/// The second in which a sleepy server woke up on its own last: its cron sets this clock.
pub fn cron(server: &Server) -> i64 {
    server.info_number("lru_clock")
}

/// Repeats a round, which ends when somebody was granted the lock and returns `cron` before the
/// cause, until the server has not woken up on its own in between. A server that finds the cause
/// only when it wakes up never grants it to anybody before.
pub fn needs_no_poll(server: &Server, what: &str, mut round: impl FnMut() -> i64) {
    let granted = wait_for(what, || (round() == cron(server)).then_some(()));
    granted.unwrap_or_else(|late| panic!("{late}, granted without a cron"));
}

#[test]
fn a_lease_or_a_wait_ends_in_time_on_a_server_at_rest() {
    let server = sleepy().start();
    let mut bob = server.client();
    let ask = |bob: &mut Client, wait_ms| {
        bob.run(&format!("LOCK.ACQUIRE lock bob 1000000 BLOCK {wait_ms}"))
    };
    for shorten in ["SET lock ann PX 20", "SET lock ann PX 20 NX"] {
        needs_no_poll(&server, shorten, || {
            server.run("DEL lock");
            let before = cron(&server);
            server.run(shorten);
            assert_eq!(ask(&mut bob, 60_000), Value::Int(1));
            before
        });
    }
    for free in ["PEXPIRE lock 20", "DEL lock", "LOCK.RELEASE lock ann"] {
        needs_no_poll(&server, free, || {
            server.run("SET lock ann PX 1000000");
            server.queue(&mut bob, "LOCK.ACQUIRE lock bob 1000000 BLOCK 60000");
            let before = cron(&server);
            server.run(free);
            assert_eq!(bob.receive(), Value::Int(1));
            before
        });
    }
    server.run("SET lock ann");
    needs_no_poll(&server, "a wait", || {
        let before = cron(&server);
        assert_eq!(ask(&mut bob, 20), Value::Int(0));
        before
    });
}

/// Commands sent after a blocking command run when the client is unblocked, on Redis 7.0 after the
/// end of the turn.
#[test]
fn a_lock_that_is_freed_after_the_end_of_a_turn_is_handed_over_soon() {
    let server = sleepy().start();
    for free in ["DEL lock", "LOCK.RELEASE lock ann", "FLUSHALL"] {
        needs_no_poll(&server, free, || {
            server.run("SET lock ann");
            let mut ann = server.client();
            ann.send(&argv("BLPOP list 0"));
            ann.send(&argv(free));
            let mut bob = server.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 60000");
            let before = cron(&server);
            server.run("RPUSH list x");
            assert_eq!(bob.receive(), Value::Int(1));
            before
        });
    }
    needs_no_poll(&server, "a wait that began then", || {
        server.run("SET lock ann");
        let mut bob = server.client();
        bob.send(&argv("BLPOP list 0"));
        bob.send(&argv("LOCK.ACQUIRE lock bob 1000000 BLOCK 20"));
        let before = cron(&server);
        server.run("RPUSH list x");
        bob.receive();
        assert_eq!(bob.receive(), Value::Int(0));
        before
    });
}

/// More locks than are looked at in one turn.
#[test]
fn many_locks_that_are_freed_at_once_need_no_other_turns() {
    let server = sleepy().config("maxclients 3000").start();
    let mut waiters: Vec<Client> = (0..1600).map(|_| server.client()).collect();
    needs_no_poll(&server, "many locks", || {
        for (waiter, n) in waiters.iter_mut().zip(0..) {
            let lock = format!("lock{n}");
            server.call(&["SET", &lock, "held"]);
            waiter.send(&["LOCK.ACQUIRE", &lock, "mine", "1000000", "BLOCK", "60000"]);
        }
        server.wait_for_queue(1600);
        let before = cron(&server);
        server.run("FLUSHALL");
        waiters.iter_mut().for_each(|waiter| assert_eq!(waiter.receive(), Value::Int(1)));
        before
    });
}

/// Another key that replaces the lock is the lock from then on, with its own lease.
#[test]
fn what_comes_in_the_place_of_a_lock_is_the_lock() {
    let server = Server::start();
    for replace in ["RENAME short lock", "COPY short lock REPLACE", "MOVE", "RESTORE"] {
        in_time(150, |ms| {
            server.wait_for_queue(0);
            server.run("FLUSHALL");
            server.run("SET lock ann");
            let mut bob = server.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 60000");
            let start = Instant::now();
            put_in_place(&server, replace, ms);
            let seen = (server.owner("lock"), server.in_queue());
            if start.elapsed() >= Duration::from_millis(ms) {
                return None;
            }
            assert_eq!(seen, ("zoe".to_owned(), 1), "{replace}");
            assert_eq!(bob.receive(), Value::Int(1), "{replace}");
            let took = start.elapsed();
            assert!(took >= Duration::from_millis(ms - 20), "{replace}: {took:?}");
            Some(())
        });
    }
}

/// Replaces the lock by one of zoe with this lease.
fn put_in_place(server: &Server, replace: &str, ms: u64) {
    server.run(&format!("SET short zoe PX {ms}"));
    let done = match replace {
        "RESTORE" => {
            let Value::BulkString(dump) = server.run("DUMP short") else { panic!("no dump") };
            let ttl = ms.to_string();
            let words: [&[u8]; 5] = [b"RESTORE", b"lock", ttl.as_bytes(), &dump, b"REPLACE"];
            server.call(&words)
        }
        // A lock from the other database, moved by a script.
        "MOVE" => server.run(&format!(
            "EVAL \"redis.call('SELECT', 1) redis.call('SET', KEYS[1], 'zoe', 'PX', {ms}) \
             redis.call('SELECT', 0) redis.call('DEL', KEYS[1]) redis.call('SELECT', 1) \
             return redis.call('MOVE', KEYS[1], 0)\" 1 lock",
        )),
        _ => server.run(replace),
    };
    assert!(!matches!(done, Value::ServerError(_)), "{replace}: {done:?}");
}

#[test]
fn commands_behind_a_wait_run_when_it_is_over() {
    let server = Server::start();
    server.run("SET lock ann");
    let mut bob = server.client();
    for command in [
        "LOCK.ACQUIRE lock bob 1000000 BLOCK 30",
        "LOCK.ACQUIRE lock bob 1000000 BLOCK 60000 FENCE",
        "GET lock",
        "LOCK.RELEASE lock bob",
        "LOCK.ACQUIRE lock bob 1000000 BLOCK 60000",
        "QUIT",
    ] {
        bob.send(&argv(command));
    }
    assert_eq!(bob.receive(), Value::Int(0));
    server.wait_for_queue(1);
    let mut cid = server.waiter("LOCK.ACQUIRE lock cid 1000000 BLOCK 60000");
    server.run("LOCK.RELEASE lock ann");
    assert!(integer(&bob.receive()) > 1);
    assert_eq!(text(&bob.receive()), "bob");
    assert_eq!(bob.receive(), Value::Int(1));
    assert_eq!(cid.receive(), Value::Int(1));
    server.wait_for_queue(1);
    server.run("LOCK.RELEASE lock cid");
    // An answered client keeps the lock to the end of the lease, even if its connection closes.
    assert_eq!((bob.receive(), bob.receive()), (Value::Int(1), Value::Okay));
    assert_eq!(server.owner("lock"), "bob");
}

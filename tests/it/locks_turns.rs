//! Between the turns of the event loop: an idle server grants locks in time.

use std::time::{Duration, Instant};

use crate::context::block;
use crate::harness::{Builder, Client, Server, in_time, text, wait_for};
use crate::observe::integer;
use crate::transcript::argv;
use redis::Value;

/// A server that wakes up on its own only once per second.
fn sleepy() -> Builder {
    Server::with().config("hz 1").config("dynamic-hz no")
}

/// Checks the median duration of some rounds. A round that waits until the server wakes up on its
/// own takes half a second.
fn median_is_prompt(what: &str, mut round: impl FnMut(usize) -> Duration) {
    let mut took: Vec<_> = (0..9).map(&mut round).collect();
    took.sort();
    assert!(took[4] < Duration::from_millis(200), "{what}: {took:?}");
}

#[test]
fn a_lease_or_a_wait_ends_in_time_on_a_server_at_rest() {
    let server = sleepy().start();
    let mut bob = server.client();
    let ask = |bob: &mut Client, wait_ms| {
        let start = Instant::now();
        let request = format!("LOCK.ACQUIRE lock bob 1000000 BLOCK {wait_ms}");
        (bob.run(&request), start.elapsed())
    };
    for shorten in ["SET lock ann PX 20", "SET lock ann PX 20 NX"] {
        median_is_prompt(shorten, |_| {
            server.run("DEL lock");
            server.run(shorten);
            let (told, took) = ask(&mut bob, 60_000);
            assert_eq!(told, Value::Int(1));
            took
        });
    }
    median_is_prompt("a lease made shorter", |_| {
        server.run("SET lock ann PX 1000000");
        server.queue(&mut bob, "LOCK.ACQUIRE lock bob 1000000 BLOCK 60000");
        let start = Instant::now();
        server.run("PEXPIRE lock 20");
        assert_eq!(bob.receive(), Value::Int(1));
        start.elapsed()
    });
    server.run("SET lock ann");
    median_is_prompt("a wait", |_| {
        let (told, took) = ask(&mut bob, 20);
        assert_eq!(told, Value::Int(0));
        took
    });
}

/// Commands sent after a blocking command run when the client is unblocked, on Redis 7.0 after the
/// end of the turn.
#[test]
fn a_lock_that_is_freed_after_the_end_of_a_turn_is_handed_over_soon() {
    let server = sleepy().start();
    for free in ["DEL lock", "LOCK.RELEASE lock ann", "FLUSHALL"] {
        median_is_prompt(free, |_| {
            server.run("SET lock ann");
            let mut ann = server.client();
            ann.send(&argv("BLPOP list 0"));
            ann.send(&argv(free));
            let mut bob = server.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 60000");
            let start = Instant::now();
            server.run("RPUSH list x");
            assert_eq!(bob.receive(), Value::Int(1));
            start.elapsed()
        });
    }
    median_is_prompt("a wait that began then", |_| {
        server.run("SET lock ann");
        let mut bob = server.client();
        bob.send(&argv("BLPOP list 0"));
        bob.send(&argv("LOCK.ACQUIRE lock bob 1000000 BLOCK 20"));
        let start = Instant::now();
        server.run("RPUSH list x");
        bob.receive();
        assert_eq!(bob.receive(), Value::Int(0));
        start.elapsed()
    });
}

#[test]
fn a_lock_is_handed_over_soon() {
    let server = Server::start();
    server.run("LOCK.ACQUIRE lock ann 1000000");
    let mut waiter = server.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 60000");
    let (mut took, mut control) = (Vec::new(), Vec::new());
    let mut owner = "bob".to_owned();
    server.run("LOCK.RELEASE lock ann");
    assert_eq!(waiter.receive(), Value::Int(1));
    for turn in 0..50 {
        let next = format!("t{turn}");
        server.queue(&mut waiter, &format!("LOCK.ACQUIRE lock {next} 1000000 BLOCK 60000"));
        let start = Instant::now();
        // The end of a lease, a deletion, a release: the server finds none of them by polling.
        let (cause, after) = match turn % 3 {
            0 => (format!("LOCK.RELEASE lock {owner}"), 0),
            1 => ("DEL lock".to_owned(), 0),
            _ => ("PEXPIRE lock 30".to_owned(), 30),
        };
        server.run(&cause);
        assert_eq!(waiter.receive(), Value::Int(1), "{cause}");
        took.push(start.elapsed().saturating_sub(Duration::from_millis(after)));
        owner = next;
        // How long this busy machine takes to wake a client that the server blocks.
        let mut reader = block(&server, "BLPOP list 0");
        let start = Instant::now();
        server.run("RPUSH list x");
        reader.receive();
        control.push(start.elapsed());
    }
    took.sort();
    control.sort();
    let bound = Duration::from_millis(10) + control[25] * 3;
    assert!(took[25] < bound, "half of them took more than {:?}, {:?}", took[25], control[25]);
}

/// More locks than are looked at in one turn.
#[test]
fn many_locks_that_are_freed_at_once_need_no_other_turns() {
    let server = sleepy().config("maxclients 3000").start();
    let mut waiters: Vec<Client> = (0..1600).map(|_| server.client()).collect();
    let woken = |cause: &[String], waiters: &mut [Client]| {
        let start = Instant::now();
        server.call(cause);
        waiters.iter_mut().for_each(|waiter| assert_ne!(waiter.receive(), Value::Nil));
        start.elapsed()
    };
    let (mut took, mut control) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        for (waiter, n) in waiters.iter_mut().zip(0..) {
            server.call(&["SET", &format!("lock{n}"), "held"]);
            waiter.send(&[
                "LOCK.ACQUIRE",
                &format!("lock{n}"),
                "mine",
                "1000000",
                "BLOCK",
                "60000",
            ]);
        }
        server.wait_for_line(1600);
        took.push(woken(&["FLUSHALL".to_owned()], &mut waiters));
        // How long this machine takes to wake this many clients in one turn.
        for (waiter, n) in waiters.iter_mut().zip(0..) {
            waiter.send(&["BLPOP", &format!("list{n}"), "0"]);
        }
        let blocked = || (server.info_number("blocked_clients") == 1600).then_some(());
        wait_for("all to be blocked", blocked).unwrap_or_else(|late| panic!("{late}"));
        let script = "for n = 0, 1599 do redis.call('RPUSH', 'list' .. n, 'x') end";
        control.push(woken(&["EVAL", script, "0"].map(str::to_owned), &mut waiters));
    }
    took.sort();
    control.sort();
    let bound = Duration::from_millis(200) + control[1] * 3;
    assert!(took[1] < bound, "{took:?}, and in one turn {control:?}");
}

/// Another key that replaces the lock is the lock from then on, with its own lease.
#[test]
fn what_comes_in_the_place_of_a_lock_is_the_lock() {
    let server = Server::start();
    for replace in ["RENAME short lock", "COPY short lock REPLACE", "MOVE", "RESTORE"] {
        in_time(150, |ms| {
            server.wait_for_line(0);
            server.run("FLUSHALL");
            server.run("SET lock ann");
            let mut bob = server.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 60000");
            let start = Instant::now();
            put_in_place(&server, replace, ms);
            let seen = (server.owner("lock"), server.in_line());
            if start.elapsed() >= Duration::from_millis(ms) {
                return None;
            }
            assert_eq!(seen, ("zoe".to_owned(), 1), "{replace}");
            assert_eq!(bob.receive(), Value::Int(1), "{replace}");
            let took = start.elapsed();
            let due = Duration::from_millis(ms - 20)..Duration::from_millis(ms + 5000);
            assert!(due.contains(&took), "{replace}: {took:?}");
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
    server.wait_for_line(1);
    let mut cid = server.waiter("LOCK.ACQUIRE lock cid 1000000 BLOCK 60000");
    server.run("LOCK.RELEASE lock ann");
    assert!(integer(&bob.receive()) > 1);
    assert_eq!(text(&bob.receive()), "bob");
    assert_eq!(bob.receive(), Value::Int(1));
    assert_eq!(cid.receive(), Value::Int(1));
    server.wait_for_line(1);
    server.run("LOCK.RELEASE lock cid");
    // An answered client keeps the lock to the end of the lease, even if its connection closes.
    assert_eq!((bob.receive(), bob.receive()), (Value::Int(1), Value::Okay));
    assert_eq!(server.owner("lock"), "bob");
}

/// The shortest leases: all waiters are served, in order, each with its own fencing token.
#[test]
fn leases_of_a_millisecond_pass_through_a_line() {
    let server = Server::start();
    server.run("SET lock ann");
    let mut waiters: Vec<Client> = (0..100)
        .map(|n| server.waiter(&format!("LOCK.ACQUIRE lock t{n} 1 BLOCK 60000 FENCE")))
        .collect();
    server.run("LOCK.RELEASE lock ann");
    let mut last = 1;
    for waiter in &mut waiters {
        let fence = integer(&waiter.receive());
        assert!(fence > last, "{fence} after {last}");
        last = fence;
    }
}

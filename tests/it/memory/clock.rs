//! The wall clock is set by libfaketime while a server runs; its monotonic clock continues.

use std::time::{Duration, Instant};

use super::primed::{LASTS, Primed};
use crate::faketime::Clock;
use crate::harness::Server;
use redis::Value;

/// Waits until the log has this many messages of the module that the clock was set.
fn wait_until_noticed(server: &Server, times: usize) {
    server.until("the module to notice the clock", || {
        let log = server.log();
        let lines = log.lines().filter(|line| line.contains("seckill") && line.contains("clock"));
        lines.count() >= times
    });
}

#[test]
fn holds_expire_in_time_by_the_new_clock() {
    let Some((clock, server)) = Clock::start() else { return };
    // The timer for this hold is armed by the old clock.
    server.check("> SECKILL.CREATE 7 9 HOLD 900000\nOK\n> SECKILL.TRY 7 ann kept\n0");
    for (time, hours) in [(1, -1), (2, -2), (3, -5)] {
        clock.set(&server, hours);
        server.check("> SECKILL.ALTER 7 HOLD 100\nOK");
        let id = format!("due{time}");
        server.check(&format!("> SECKILL.TRY 7 u{time} {id}\n0"));
        server.wait_for_state("7", &id, "expired");
        wait_until_noticed(&server, time);
    }
    server.assert_book("7", [8, 1, 0]);
    // Set forward: what is due by the new clock expires, and nothing else.
    clock.set(&server, 0);
    wait_until_noticed(&server, 4);
    assert!(server.log().contains("the clock was set forward by "), "{}", server.log());
    assert_eq!(server.state("7", "kept"), "held");
    clock.set(&server, 1);
    server.wait_for_state("7", "kept", "expired");
    server.assert_book("7", [9, 0, 0]);
}

/// After a failed release, tries ignore holds for a moment: by the old clock that moment would be
/// an hour.
#[test]
fn a_losing_try_does_not_trust_what_it_knew_by_the_old_clock() {
    let Some((clock, server)) = Clock::start() else { return };
    server.check("> SECKILL.CREATE 7 1 HOLD 900000\nOK\n> SECKILL.TRY 7 ann a1\n0");
    server.check("> SET stream.orders.released junk\nOK\n> ZADD seckill:hold:7 5 a1\n0");
    server.check("> SECKILL.TRY 7 bob b1\n1\n> SECKILL.TRY 7 bob b1\n1");
    clock.set(&server, -1);
    wait_until_noticed(&server, 1);
    // In one step, so that no timer releases it.
    server.run("MULTI");
    server.run("DEL stream.orders.released");
    server.run("SECKILL.TRY 7 bob b1");
    assert_eq!(server.run("EXEC"), Value::Array(vec![Value::Int(1), Value::Int(0)]));
    assert_eq!(server.state("7", "a1"), "expired");
}

#[test]
fn lines_go_on_by_the_new_clock() {
    let Some((clock, server)) = Clock::start() else { return };
    server.check("> LOCK.ACQUIRE lock ann 1000000\n1");
    let mut bob = server.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 600000");
    let mut cid = server.waiter("LOCK.ACQUIRE lock cid 1000000 BLOCK 600000");
    clock.set(&server, -1);
    // A lease that starts and ends by the new clock.
    server.check("> SET lock zoe PX 100\nOK");
    assert_eq!(bob.receive(), Value::Int(1));
    let mut late = server.waiter("LOCK.ACQUIRE lock late 1000 BLOCK 100");
    assert_eq!(late.receive(), Value::Int(0));
    server.check("> LOCK.RELEASE lock bob\n1");
    assert_eq!(cid.receive(), Value::Int(1));
    assert_eq!(server.in_queue(), 0);
}

/// A wait is a span of time: by the clock that is never set, it lasts as long as was asked for.
#[test]
fn a_wait_does_not_outlast_its_bound_when_the_clock_is_set() {
    let Some((clock, server)) = Clock::start() else { return };
    server.check("> LOCK.ACQUIRE lock ann 1000000\n1");
    for hours in [-1, 0] {
        let mut bob = server.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 1500");
        let begun = Instant::now();
        clock.set(&server, hours);
        assert_eq!(bob.receive(), Value::Int(0));
        // Set forward, it does not end at once.
        assert!(hours < 0 || begun.elapsed() > Duration::from_millis(1000));
        assert_eq!(server.in_queue(), 0);
    }
    let waited_ms = server.info_number("seckill_locks_waited_ms_total");
    assert!((2900..600_000).contains(&waited_ms), "{waited_ms}");
}

/// A step that is shorter than the wait has lasted.
#[test]
fn a_wait_that_is_older_than_the_step_of_the_clock_ends_in_time() {
    let Some((clock, server)) = Clock::start() else { return };
    server.check("> LOCK.ACQUIRE lock ann 1000000\n1");
    let mut bob = server.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 2000");
    server.wait_until(server.clock_ms() + 1200);
    clock.set_off(&server, -1000, 500);
    // By the clock of the calendar, the later of the two waits would be over first.
    let mut cid = server.waiter("LOCK.ACQUIRE lock cid 1000000 BLOCK 1200");
    assert_eq!(cid.receive(), Value::Int(0));
    assert_eq!(server.in_queue(), 0);
    assert_eq!(bob.receive(), Value::Int(0));
}

/// At the end of a turn time passes between two looks at a lock: here a millisecond at each look.
#[test]
fn a_lease_that_ends_while_it_is_renewed_is_begun_again() {
    let Some((clock, server)) = Clock::start() else { return };
    clock.write("+0 i0.001\n");
    for ms in 1..40 {
        server.run("SET lock zoe");
        let mut bob = server.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 600000");
        // The lock becomes that of the client in the queue, and soon expires.
        server.check(&format!("> SET lock bob PX {ms}\nOK"));
        assert_eq!(bob.receive(), Value::Int(1), "{ms}");
        assert_eq!(server.owner("lock"), "bob", "{ms}");
    }
}

#[test]
fn nothing_that_was_known_by_the_old_clock_is_stale() {
    let Some((clock, server)) = Clock::start() else { return };
    let mut primed = Primed::on(server);
    for (hours, last) in (1..).zip(LASTS) {
        primed.again("the clock is set back", last);
        clock.set(&primed.server, -hours);
        primed.at_once(&["ZADD seckill:hold:{t}m 5 a1"]);
        primed.run(&["ZADD seckill:hold:{t}m 5 b1"]);
        primed.check();
    }
}

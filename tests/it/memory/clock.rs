//! The wall clock is set by libfaketime while a server runs; its monotonic clock continues.

use super::primed::{LASTS, Primed};
use crate::faketime::Clock;
use crate::harness::{Server, wait_for};
use redis::Value;

/// Waits until the log has this many messages of the module that the clock was set.
fn wait_until_noticed(server: &Server, times: usize) {
    let noticed = wait_for("the module to notice the clock", || {
        let log = server.log();
        let lines = log.lines().filter(|line| line.contains("seckill") && line.contains("clock"));
        (lines.count() >= times).then_some(())
    });
    noticed.unwrap_or_else(|late| panic!("{late}\n{}", server.log()));
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
    let mut bob = server.waiter("LOCK.ACQUIRE lock bob 1000000 WAIT 600000");
    let mut cid = server.waiter("LOCK.ACQUIRE lock cid 1000000 WAIT 600000");
    clock.set(&server, -1);
    // A lease that starts and ends by the new clock.
    server.check("> SET lock zoe PX 100\nOK");
    assert_eq!(bob.receive(), Value::Int(1));
    let mut late = server.waiter("LOCK.ACQUIRE lock late 1000 WAIT 100");
    assert_eq!(late.receive(), Value::Int(0));
    server.check("> LOCK.RELEASE lock bob\n1");
    assert_eq!(cid.receive(), Value::Int(1));
    assert_eq!(server.in_line(), 0);
}

/// The wait is a duration, not a moment of the wall clock.
#[test]
fn a_wait_that_has_begun_ends_in_time_by_the_new_clock() {
    let Some((clock, server)) = Clock::start() else { return };
    server.check("> LOCK.ACQUIRE lock ann 1000000\n1");
    let mut bob = server.waiter("LOCK.ACQUIRE lock bob 1000000 WAIT 1500");
    clock.set(&server, -1);
    assert_eq!(bob.receive(), Value::Int(0));
    assert_eq!(server.in_line(), 0);
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

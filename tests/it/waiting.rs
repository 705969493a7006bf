//! Waiting lists: `SECKILL.TRY ... WAITLIST`, first come, first served.

use crate::harness::{Server, text};
use crate::observe::integer;
use redis::Value;

pub const LAST_ID: &str = "18446744073709551615-18446744073709551615";

/// A voucher with one unit, which ann holds, and bob and cid in the queue.
pub fn waiting(server: &Server, hold_ms: i64) {
    server.check(&format!(
        "
        > SECKILL.CREATE 7 1 LIMIT 3 HOLD {hold_ms} => OK
        > SECKILL.TRY 7 ann o1 => 0
        > SECKILL.TRY 7 bob o2 WAITLIST => 6
        > SECKILL.TRY 7 cid o3 WAITLIST => 6
        "
    ));
}

fn position(server: &Server, id: &str) -> Value {
    server.field(&format!("SECKILL.ORDER 7 {id}"), "position")
}

#[test]
fn who_comes_first_is_served_first() {
    let server = Server::observed().start();
    waiting(&server, 900_000);
    assert_eq!([position(&server, "o2"), position(&server, "o3")], [1, 2].map(Value::Int));
    assert_eq!(server.field("SECKILL.INFO 7", "waiting"), Value::Int(2));
    assert_eq!(server.field("SECKILL.INFO 7", "buyers"), Value::Int(1));
    assert_eq!(server.field("SECKILL.STATUS 7 bob", "waiting"), Value::Int(1));
    server.assert_book("7", [0, 1, 0]);
    assert_eq!(server.silent("SECKILL.TRY 7 dan o4"), Value::Int(1));
    assert_eq!(server.unchanged("SECKILL.TRY 7 bob o2 WAITLIST"), Value::Int(6));
    assert_eq!(server.unchanged("SECKILL.TRY 7 bob o2"), Value::Int(6));
    server.check("> SECKILL.CANCEL 7 ann o1 => 1\n> SECKILL.TRY 7 bob o2 => 0");
    assert_eq!([position(&server, "o2"), position(&server, "o3")], [Value::Nil, Value::Int(1)]);
    server.assert_book("7", [0, 1, 0]);
    let counted = ["orders_promoted", "tries_waiting"].map(|name| format!("seckill_{name}"));
    assert_eq!(counted.map(|name| server.info_number(&name)), [1, 2]);
}

#[test]
fn where_nobody_can_wait_nothing_is_written() {
    let server = Server::observed().start();
    server.run("SET seckill:stock:1 0");
    server.run("SECKILL.CREATE 2 1");
    server.run("SECKILL.TRY 2 ann o1");
    for voucher in ["1", "3"] {
        server.refused(&format!("SECKILL.TRY {voucher} bob o2 WAITLIST"), "NOVOUCHER");
    }
    let error = server.refused("SECKILL.TRY 2 bob o2 WAITLIST", "ERR");
    assert!(error.contains("HOLD"), "{error}");
    server.refused("SECKILL.TRY 2 bob o2 WAITLIST WAITLIST", "ERR");
    server.run("CONFIG SET seckill.waitlist-max 1");
    server.check("> SECKILL.CREATE 7 1 HOLD 900000\nOK\n> SECKILL.TRY 7 ann o1 WAITLIST\n0");
    server.check("> SECKILL.TRY 7 bob o2 WAITLIST\n6");
    assert_eq!(server.silent("SECKILL.TRY 7 cid o3 WAITLIST"), Value::Int(1));
    server.run("CONFIG SET seckill.waitlist-max 2");
    let reply = server.run("SECKILL.TRY 7 cid * WAITLIST");
    let Value::Array(parts) = reply else { panic!("{reply:?}") };
    assert_eq!(parts[0], Value::Int(6));
    assert_eq!(server.state("7", &text(&parts[1])), "waiting");
}

#[test]
fn an_expired_reservation_goes_to_the_first_in_queue() {
    let server = Server::start();
    waiting(&server, 300);
    server.wait_for_state("7", "o1", "expired");
    server.wait_for_state("7", "o3", "expired");
    assert_eq!(server.state("7", "o2"), "expired");
    server.assert_book("7", [1, 0, 0]);
    assert_eq!(server.info_number("seckill_orders_promoted"), 2);
}

/// With everything sold there is no reservation that would wake the timer.
#[test]
fn waits_end_with_the_sale() {
    let server = Server::start();
    waiting(&server, 900_000);
    server.check("> SECKILL.CONFIRM 7 ann o1\n1");
    let end = server.clock_ms() + 300;
    server.check(&format!("> SECKILL.ALTER 7 END {end}\nOK"));
    server.wait_for_state("7", "o3", "expired");
    server.until("the queue to end", || server.run("EXISTS seckill:wait:7") == Value::Int(0));
    server.check(
        "
        > SECKILL.TRY 7 bob o2 => 5
        > SECKILL.CANCEL 7 bob o2 => 2
        > SECKILL.CONFIRM 7 bob o2 => 3
        > HGET seckill:units:7 bob => (nil)
        > XLEN stream.orders.released => 0
        ",
    );
    server.assert_book("7", [0, 0, 1]);
}

/// Before a sale is opened again, all waits that ended with it are recorded, or none: the end has
/// recorded 25.
#[test]
fn a_sale_is_opened_again_only_once_its_line_has_ended() {
    let (end, open) = ("SECKILL.ALTER 7 END 1", "SECKILL.ALTER 7 END 0");
    for (waiting, opened, left) in [(125, "OK", 0), (126, "HELD orders that waited until", 101)] {
        let server = Server::start();
        server.check("> SECKILL.CREATE 7 1 HOLD 900000\nOK\n> SECKILL.TRY 7 ann o0\n0");
        for number in 1..=waiting {
            server.check(&format!("> SECKILL.TRY 7 user-{number} o{number} WAITLIST\n6"));
        }
        let replies = server.transaction(&[end, open, "ZCARD seckill:wait:7"]);
        assert!(text(&replies[1]).starts_with(opened), "{replies:?}");
        assert_eq!(replies[2], Value::Int(left), "{waiting} waited");
    }
}

/// More than a command promotes at once, and more than a change of the end ends at once.
#[test]
fn a_long_line_goes_on_by_the_timer() {
    let server = Server::start();
    server.check("> SECKILL.CREATE 7 1 HOLD 900000\nOK\n> SECKILL.TRY 7 ann o0\n0");
    for number in 1..=400 {
        let reply = server.run(&format!("SECKILL.TRY 7 user-{number} o{number} WAITLIST"));
        assert_eq!(reply, Value::Int(6), "{number}");
    }
    server.check("> SECKILL.RESTOCK 7 200\n175");
    let waiting = || integer(&server.field("SECKILL.INFO 7", "waiting"));
    server.until("the queue to be promoted", || waiting() == 200);
    server.assert_book("7", [0, 201, 0]);
    assert_eq!(position(&server, "o201"), Value::Int(1));
    // Ended, and at once open again: the old queue has ended.
    server.check("> SECKILL.ALTER 7 END 1\nOK");
    server.until("another end", || {
        let reply = server.say("SECKILL.ALTER 7 END 0");
        assert!(reply == "OK" || reply.starts_with("HELD "), "{reply}");
        reply == "OK"
    });
    assert_eq!((waiting(), server.state("7", "o400")), (0, "expired".into()));
    server.check("> SECKILL.RESTOCK 7 1\n1\n> SECKILL.TRY 7 user-400 p1\n0");
    server.assert_book("7", [0, 202, 0]);
}

#[test]
fn a_replica_serves_when_it_is_promoted() {
    let primary = Server::with().port().start();
    let replica = Server::with().port().replica_of(&primary).start();
    primary.wait_for_replica(&replica);
    waiting(&primary, 900_000);
    // The primary can't promote.
    primary.run(&format!("XSETID stream.orders {LAST_ID}"));
    primary.check("> SECKILL.CANCEL 7 ann o1\n1");
    primary.wait_for_replica(&replica);
    assert_eq!(replica.state("7", "o2"), "waiting");
    replica.check("> REPLICAOF NO ONE\nOK\n> DEL stream.orders\n1");
    replica.wait_for_state("7", "o2", "held");
    assert_eq!(replica.state("7", "o3"), "waiting");
    assert_eq!(primary.state("7", "o2"), "waiting");
}

#[test]
fn a_queue_is_promoted_in_a_transaction_and_in_a_script() {
    let server = Server::start();
    waiting(&server, 900_000);
    let replies = server.transaction(&["SECKILL.CANCEL 7 ann o1", "SECKILL.TRY 7 bob o2"]);
    assert_eq!(replies, [Value::Int(1), Value::Int(0)]);
    server.check(
        "
        > EVAL \"return redis.call('SECKILL.CANCEL', '7', 'bob', 'o2')\" 1 7 => 1
        > EVAL \"return redis.call('SECKILL.TRY', '7', 'dan', 'o4', 'WAITLIST')\" 1 7 => 6
        > EVAL_RO \"return redis.call('SECKILL.TRY', '7', 'eve', 'o5', 'WAITLIST')\" 1 7
        (error) ERR ...
        ",
    );
    assert_eq!(server.state("7", "o3"), "held");
    server.assert_book("7", [0, 1, 0]);
}

/// Beyond the end all commands count orders in the queue as expired, though no timer runs: here on
/// a paused server, whose clients still read.
#[test]
fn beyond_the_end_an_order_in_queue_counts_as_expired() {
    let server = Server::start();
    waiting(&server, 900_000);
    let end = server.clock_ms() + 400;
    server.check(&format!("> SECKILL.ALTER 7 END {end}\nOK\n> CLIENT PAUSE 60000 WRITE\nOK"));
    server.wait_until(end);
    server.check("> ZCARD seckill:wait:7\n2");
    assert_eq!(server.state("7", "o2"), "expired");
    assert_eq!(position(&server, "o2"), Value::Nil);
    assert_eq!(server.field("SECKILL.INFO 7", "waiting"), Value::Int(0));
    assert_eq!(server.run("SECKILL.STATUS 7 bob"), Value::Nil);
    server.check(
        "> CLIENT UNPAUSE\nOK\n> SECKILL.TRY 7 bob o2 WAITLIST\n5\n> SECKILL.CANCEL 7 cid o3\n2",
    );
    server.assert_book("7", [0, 1, 0]);
}

/// Tries remember that nobody waits: whatever makes a queue is seen by the very next one.
#[test]
fn a_line_that_appears_is_seen_by_the_very_next_try() {
    let server = Server::start();
    for way in [
        "ZADD seckill:wait:7 1 x",
        "RENAME queue seckill:wait:7",
        "COPY queue seckill:wait:7",
        "ZUNIONSTORE seckill:wait:7 1 queue",
        "ZRANGESTORE seckill:wait:7 queue 0 -1",
        "SECKILL.TRY 7 cid o3 UNITS 9 WAITLIST",
    ] {
        server.run("FLUSHALL");
        server.check("> SECKILL.CREATE 7 9 HOLD 900000 LIMIT 9\nOK\n> ZADD queue 1 x\n1");
        let replies = server.transaction(&[
            "SECKILL.TRY 7 ann o1", "SECKILL.TRY 7 bob o2", way, "SECKILL.TRY 7 dan o4",
            "DEL seckill:wait:7", "SECKILL.TRY 7 eve o5",
        ]);
        let tries = [0, 1, 3, 5].map(|number: usize| &replies[number]);
        assert_eq!(tries, [0, 0, 1, 0].map(Value::Int).each_ref(), "{way}: {replies:?}");
    }
    server.run("FLUSHALL");
    server.check("> SECKILL.CREATE 7 9 HOLD 900000\nOK\n> SECKILL.TRY 7 ann o1\n0");
    server.check("> SET seckill:wait:7 x\nOK\n> SECKILL.TRY 7 bob o2\n(error) WRONGTYPE ...");
    server.check("> DEL seckill:wait:7\n1\n> SECKILL.TRY 7 bob o2\n0");
}

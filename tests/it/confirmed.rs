//! The stream of confirmed orders: one entry per accepted confirmation, or none if it is off.

use crate::cluster::{Move, two_nodes};
use crate::harness::{Server, text};
use crate::observe::{integer, words};
use crate::reject::{deliver, letter};
use redis::Value;

const LAST_ID: &str = "18446744073709551615-18446744073709551615";

fn entries(server: &Server, stream: &str) -> i64 {
    integer(&server.call(&["XLEN", stream]))
}

#[test]
fn the_setting_takes_effect_at_once() {
    let server = Server::with().config("seckill.confirmed-stream no").start();
    server.check(
        "
        > SECKILL.CREATE 7 9 LIMIT 9 HOLD 900000
        OK
        > SECKILL.TRY 7 alice o1
        0
        > SECKILL.CONFIRM 7 alice o1
        1
        > EXISTS stream.orders.confirmed
        0
        > SECKILL.TRY 7 alice o2
        0
        > CONFIG SET seckill.confirmed-stream yes
        OK
        > SECKILL.CONFIRM 7 alice o2
        1
        > XLEN stream.orders.confirmed
        1
        > SECKILL.TRY 7 alice o3
        0
        > CONFIG SET seckill.order-stream o seckill.order-fields \"u v i\"
        OK
        > SECKILL.CONFIRM 7 alice o3
        1
        > XRANGE o.confirmed - +
        1) 1) \"1722509999999-0\"
           2) 1) \"u\"
              2) \"alice\"
              3) \"v\"
              4) \"7\"
              5) \"i\"
              6) \"o3\"
              7) \"sale\"
              8) \"1795344856123456\"
        > SECKILL.TRY 7 alice o4
        0
        > CONFIG SET seckill.order-stream ''
        OK
        > SECKILL.CONFIRM 7 alice o4
        1
        > EXISTS .confirmed
        0
        > XLEN stream.orders.confirmed
        1
        ",
    );
}

#[test]
fn a_stream_that_takes_no_entry_refuses_before_the_first_write() {
    let server = Server::observed().start();
    for (make, code) in [
        ("SET stream.orders.confirmed a".to_owned(), "WRONGTYPE"),
        ("RPUSH stream.orders.confirmed a".to_owned(), "WRONGTYPE"),
        (format!("XADD stream.orders.confirmed {LAST_ID} a b"), "ERR"),
    ] {
        server.run("FLUSHALL");
        server.run("SECKILL.CREATE 7 9 LIMIT 3 HOLD 900000");
        server.run("SECKILL.TRY 7 alice o1 UNITS 2");
        server.run("SECKILL.TRY 7 alice o2");
        server.run("SECKILL.CONFIRM 7 alice o2");
        server.run("DEL stream.orders.confirmed");
        server.run(&make);
        let error = server.refused("SECKILL.CONFIRM 7 alice o1", code);
        if code == "ERR" {
            assert!(error.contains("used up its ids"), "{error}");
            server.run("XTRIM stream.orders.confirmed MAXLEN 0");
            let error = server.refused("SECKILL.CONFIRM 7 alice o1", code);
            assert!(error.contains("used up its ids"), "{error}");
        }
        // Nothing would be appended, so the stream does not matter.
        assert_eq!(server.unchanged("SECKILL.CONFIRM 7 alice o2"), Value::Int(2));
        assert_eq!(server.silent("SECKILL.CONFIRM 7 bob o1"), Value::Int(0));
        server
            .check("> CONFIG SET seckill.confirmed-stream no\nOK\n> SECKILL.CONFIRM 7 alice o1\n1");
        server.run("CONFIG SET seckill.confirmed-stream yes");
    }
}

#[test]
fn a_late_confirmation_needs_no_stream_of_confirmed_orders() {
    let server = Server::start();
    server.check(
        "
        > SET stream.orders.confirmed a
        OK
        > SECKILL.CREATE 7 1 HOLD 20
        OK
        > SECKILL.TRY 7 alice o1
        0
        ",
    );
    server.wait_for_state("7", "o1", "expired");
    server.check("> SECKILL.CONFIRM 7 alice o1\n3\n> SECKILL.TRY 7 bob o2\n0");
}

#[test]
fn while_its_slot_is_moved_no_entry_is_written_beside_the_stream() {
    let (source, target) = two_nodes();
    source.check(
        "
        > SECKILL.CREATE {7} 9 LIMIT 9 HOLD 900000
        OK
        > SECKILL.TRY {7} alice o1 UNITS 2
        0
        > SECKILL.TRY {7} alice o2
        0
        > SECKILL.TRY {7} alice o3
        0
        > SECKILL.CONFIRM {7} alice o2
        1
        > SECKILL.CANCEL {7} alice o3
        1
        ",
    );
    let moving = Move::begin(&source, &target, "7");
    let keys = words(source.run("KEYS *"));
    assert_eq!(keys.len(), 10, "{keys:?}");
    let confirmed = "stream.orders.confirmed:{7}";
    keys.iter().filter(|key| *key != confirmed).for_each(|key| moving.key(key));
    // All keys but the stream of confirmed orders have arrived.
    target.check("> ASKING\nOK\n> SECKILL.CONFIRM {7} alice o1\n(error) TRYAGAIN ...");
    assert!(text(&source.run("SECKILL.CONFIRM {7} alice o1")).starts_with("ASK"));
    moving.key(confirmed);
    target.check("> ASKING\nOK\n> SECKILL.CONFIRM {7} alice o1\n1");
    moving.end();
    assert_eq!(entries(&target, confirmed), 2);
    target.assert_book("{7}", [6, 0, 3]);
    source.check("> DBSIZE\n0");
}

#[test]
fn rejecting_a_confirmation_leaves_the_order_sold() {
    for tags in ["auto", "yes"] {
        for off in [false, true] {
            let server = Server::with().config(format!("seckill.hash-tags {tags}")).start();
            let tail = if tags == "yes" { ":{7}" } else { "" };
            let stream = format!("stream.orders.confirmed{tail}");
            server.run("SECKILL.CREATE 7 5 HOLD 900000");
            server.run("SECKILL.TRY 7 alice o1");
            server.run("SECKILL.CONFIRM 7 alice o1");
            if off {
                // Entries from before these changes can be rejected as well.
                server.run("CONFIG SET seckill.confirmed-stream no");
                server.run("CONFIG SET seckill.order-stream other");
            }
            let reject = |stream: &str, id: &str| {
                server.run(&format!("SECKILL.REJECT {stream} g {id} REASON none"))
            };
            let id = deliver(&server, &stream).pop().expect("a confirmation");
            assert_eq!([reject(&stream, &id), reject(&stream, &id)], [1, 0].map(Value::Int));
            server.assert_book("7", [4, 0, 1]);
            assert_eq!(letter(&server, &format!("{stream}.dlq"), "dlqOrder"), "unknown");
            // The order itself can still be rejected by the consumer of orders.
            let orders = format!("stream.orders{tail}");
            let id = deliver(&server, &orders).pop().expect("an order");
            server.run("CONFIG SET seckill.order-stream stream.orders");
            assert_eq!(reject(&orders, &id), Value::Int(1));
            assert_eq!(server.state("7", "o1"), "rejected");
        }
    }
}

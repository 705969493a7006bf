//! SECKILL.DROP while orders are held, and the voucher's name in entries.

use crate::harness::Server;
use crate::reject::entries;
use redis::Value;

/// The values of the first three fields of a stream's entries.
fn named(server: &Server, stream: &str) -> Vec<String> {
    let of = |fields: &Vec<Vec<u8>>| {
        let values: Vec<_> = fields.chunks(2).take(3).map(|pair| pair[1].clone()).collect();
        String::from_utf8(values.join(&b' ')).expect("text")
    };
    entries(server, stream).iter().map(|(_, fields)| of(fields)).collect()
}

#[test]
fn very_many_held_orders_are_released_call_by_call() {
    const ORDERS: i64 = 250;
    let server = Server::start();
    server.run("SECKILL.CREATE 7 1000 HOLD 900000 BEGIN 1");
    for number in 0..ORDERS {
        assert_eq!(server.run(&format!("SECKILL.TRY 7 u{number} o{number}")), Value::Int(0));
    }
    for left in [150, 50] {
        server.check(&format!("> SECKILL.DROP 7 FORCE\n2\n> ZCARD seckill:hold:7\n{left}"));
        // The sale has ended, and its books are right.
        server.check("> SECKILL.TRY 7 late late\n4");
        assert_eq!(server.field("SECKILL.INFO 7", "begin"), Value::Int(1));
        assert_eq!(server.differences("7"), Vec::<String>::new());
    }
    server.check("> SECKILL.DROP 7 FORCE\n1\n> SECKILL.DROP 7 FORCE\n0");
    server.check(&format!("> XLEN stream.orders.released\n{ORDERS}"));
}

/// The same voucher, named with its braces and without, is released by clients and by the timer.
#[test]
fn entries_name_a_voucher_one_way() {
    let server = Server::with().config("seckill.hash-tags yes").start();
    server.check("> SECKILL.CREATE {7} 99 LIMIT 9 HOLD 60\nOK\n> SECKILL.TRY {7} ann o1\n0");
    server.check("> SECKILL.TRY 7 ann o2\n0\n> SECKILL.MTRY {7} ann o3 bob o4\n1) 0\n2) 0");
    server.check("> SECKILL.ALTER 7 HOLD 900000\nOK\n> SECKILL.TRY {7} ann o5\n0");
    server.check("> SECKILL.CONFIRM {7} ann o5\n1\n> SECKILL.TRY 7 ann o6\n0");
    server.check("> SECKILL.CANCEL {7} ann o6\n1");
    for id in ["o1", "o2", "o3", "o4"] {
        server.wait_for_state("7", id, "expired");
    }
    for stream in ["stream.orders", "stream.orders.confirmed", "stream.orders.released"] {
        let entries = named(&server, &format!("{stream}:{{7}}"));
        assert!(!entries.is_empty(), "{stream}");
        assert!(entries.iter().all(|entry| entry.contains(" 7 ")), "{stream}: {entries:?}");
    }
    // If hash tags are off, braces are part of the name.
    server.run("CONFIG SET seckill.hash-tags auto");
    server.check("> SECKILL.CREATE {8} 9\nOK\n> SECKILL.TRY {8} ann o1\n0");
    assert_eq!(named(&server, "stream.orders"), ["ann {8} o1"]);
}

/// The module writes an empty window then, which stays until somebody gives another.
#[test]
fn a_sale_that_is_dropped_in_parts_before_its_begin_can_be_altered() {
    let server = Server::start();
    server.check("> SECKILL.CREATE 7 200 HOLD 900000\nOK");
    for number in 0..=100 {
        server.check(&format!("> SECKILL.TRY 7 u{number} o{number}\n0"));
    }
    let begin = server.clock_ms() + 3_600_000;
    server.check(&format!("> SECKILL.ALTER 7 BEGIN {begin}\nOK\n> SECKILL.DROP 7 FORCE\n2"));
    server.check("> SECKILL.ALTER 7 LIMIT 2\nOK\n> SECKILL.ALTER 7 HOLD 5000\nOK");
    assert_eq!(server.field("SECKILL.INFO 7", "end"), Value::Int(begin));
    server.check(&format!("> SECKILL.ALTER 7 BEGIN {begin}\n(error) ERR END must lie after BEGIN"));
    server.check("> SECKILL.TRY 7 ann a1\n3\n> SECKILL.ALTER 7 BEGIN 0 END 0\nOK");
    server.check("> SECKILL.TRY 7 ann a1\n0\n> SECKILL.RESTOCK 7 1\n199");
}

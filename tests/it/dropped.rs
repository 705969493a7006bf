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
fn held_orders_are_released_before_their_voucher_is_dropped() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 7 9 LIMIT 5 HOLD 900000");
    server.check(
        "
        > SECKILL.MTRY 7 alice o1 bob o2 carol o3
        1) 0
        2) 0
        3) 0
        > SECKILL.CONFIRM 7 bob o2
        1
        ",
    );
    server.refused("SECKILL.DROP 7", "HELD");
    for wrong in ["force it", "NOW", "FORCE FORCE"] {
        server.refused(&format!("SECKILL.DROP 7 {wrong}"), "ERR");
    }
    // If an order can't be released, the voucher is not dropped either.
    server.run("SET stream.orders.released spoiled");
    server.refused("SECKILL.DROP 7 FORCE", "WRONGTYPE");
    server.run("DEL stream.orders.released");
    server.check("> SECKILL.DROP 7 force\n1\n> EXISTS seckill:voucher:7 seckill:hold:7\n0");
    let mut released = named(&server, "stream.orders.released");
    released.sort();
    assert_eq!(released, ["alice 7 o1", "carol 7 o3"]);
    server.check("> SECKILL.DROP 7\n0\n> SECKILL.DROP 7 FORCE\n0\n> SECKILL.DROP 7 SALE 5\n0");
    // A managed voucher without held orders, and an unmanaged one, are dropped as before.
    server.check("> SECKILL.CREATE 8 5\nOK\n> SECKILL.TRY 8 alice o1\n0\n> SECKILL.DROP 8\n1");
    server
        .check("> SET seckill:stock:9 5\nOK\n> SECKILL.TRY 9 ann o1\n0\n> SECKILL.DROP 9 FORCE\n1");
    // Without rules the holds belong to no voucher; without a book the orders are unknown.
    for (gone, drop) in [("seckill:voucher:7", ""), ("seckill:book:7", " FORCE")] {
        server.run("SECKILL.CREATE 7 9 HOLD 900000");
        server.run("SECKILL.TRY 7 alice o1");
        server.run(&format!("DEL {gone}"));
        server.check(&format!("> SECKILL.DROP 7{drop}\n1\n> EXISTS seckill:hold:7\n0"));
    }
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

/// A command that was delayed must not end the next sale.
#[test]
fn commands_that_name_another_sale_change_nothing() {
    let server = Server::observed().start();
    server.check("> SECKILL.CREATE 7 5 HOLD 900000\nOK\n> SECKILL.TRY 7 alice o1\n0");
    let sale = server.sale_of("7");
    for command in ["DROP 7 FORCE", "DROP 7", "ALTER 7 END 1", "RESTOCK 7 5", "RESTOCK 7 TOTAL 9"] {
        server.refused(&format!("SECKILL.{command} SALE 5"), "SALE");
    }
    assert_eq!(server.silent("SECKILL.TRY 7 bob o2 SALE 5"), Value::Int(4));
    assert_eq!(server.silent("SECKILL.TRY 7 alice o1 SALE 5"), Value::Int(4));
    let wrong = ["SALE 0", "SALE", "SALE 5 SALE 5", "SALE x", "SALE -1", "SALE 01"];
    for wrong in wrong.into_iter().chain(["SALE 9007199254740992"]) {
        for command in ["DROP 7", "ALTER 7 LIMIT 2", "RESTOCK 7 5", "TRY 7 bob o2"] {
            server.refused(&format!("SECKILL.{command} {wrong}"), "ERR");
        }
        for command in ["CONFIRM 7 alice o1", "CANCEL 7 alice o1", "EXTEND 7 alice o1 9000000"] {
            server.refused(&format!("SECKILL.{command} {wrong}"), "ERR");
        }
    }
    server.check(&format!(
        "
        > SECKILL.TRY 7 bob o2 SALE {sale} UNITS 1
        0
        > SECKILL.ALTER 7 SALE {sale} LIMIT 2
        OK
        > SECKILL.RESTOCK 7 TOTAL 9 SALE {sale}
        7
        > SECKILL.DROP 7 SALE {sale} FORCE
        1
        > SECKILL.DROP 7 SALE {sale}
        0
        > SECKILL.TRY 7 bob o3 SALE {sale}
        4
        > SET seckill:stock:7 5
        OK
        "
    ));
    // Another client sells the name without rules.
    server.refused(&format!("SECKILL.DROP 7 SALE {sale}"), "SALE");
    server.check(&format!("> SECKILL.TRY 7 bob o3 SALE {sale}\n4\n> SECKILL.TRY 7 bob o3\n0"));
}

#[test]
fn a_total_is_asked_for_again_without_effect() {
    let server = Server::observed().start();
    server.check("> SECKILL.CREATE 7 5\nOK\n> SECKILL.TRY 7 alice o1\n0");
    server.check("> SECKILL.RESTOCK 7 TOTAL 8\n7\n> SECKILL.RESTOCK 7 TOTAL 8\n7");
    server.check("> SECKILL.RESTOCK 7 total 1\n0\n> GET seckill:stock:7\n0");
    server.refused("SECKILL.RESTOCK 7 TOTAL 0", "STOCK");
    for wrong in ["TOTAL", "TOTAL -1", "TOTAL x", "TOTAL 1 2", "1 2", "1 SALE"] {
        server.refused(&format!("SECKILL.RESTOCK 7 {wrong}"), "ERR");
    }
    server.assert_book("7", [0, 0, 1]);
}

//! SECKILL.TRY on managed vouchers: the outcomes by precedence, and that losers leave no trace.
//! The rules, as options of SECKILL.CREATE and ALTER.

use crate::harness::Server;
use redis::Value;

/// A voucher on which `alice` holds as many units as the limit in order `live`, order `gone` is
/// released, and the rest is sold.
fn busy_sale(server: &Server) {
    server.run("FLUSHALL");
    server.check(
        "
        > SECKILL.CREATE 7 2 LIMIT 1 HOLD 900000 => OK
        > SECKILL.TRY 7 alice gone => 0
        > SECKILL.CANCEL 7 alice gone => 1
        > SECKILL.TRY 7 alice live => 0
        > SECKILL.TRY 7 bob other => 0
        > GET seckill:stock:7 => 0
        ",
    );
}

#[test]
fn the_first_reason_counts() {
    let server = Server::observed().start();
    busy_sale(&server);
    let far = server.clock_ms() + 1_000_000;
    let open = "BEGIN 0 END 0".to_owned();
    let pending = format!("BEGIN {far} END 0");
    let ended = "BEGIN 0 END 1".to_owned();
    // In each row, all later reasons to refuse apply as well.
    for (window, command, wanted) in [
        (&ended, "SECKILL.TRY 7 alice live", 0),
        (&pending, "SECKILL.TRY 7 alice live", 0),
        (&open, "SECKILL.TRY 7 alice live", 0),
        (&open, "SECKILL.TRY 7 alice gone UNITS 9", 5),
        (&ended, "SECKILL.TRY 7 alice gone", 5),
        (&pending, "SECKILL.TRY 7 alice gone", 5),
        (&open, "SECKILL.TRY 7 alice gone", 5),
        (&pending, "SECKILL.TRY 7 alice new", 3),
        (&pending, "SECKILL.TRY 7 alice new UNITS 9", 3),
        (&ended, "SECKILL.TRY 7 alice new", 4),
        (&open, "SECKILL.TRY 7 alice new", 2),
        (&open, "SECKILL.TRY 7 carol new UNITS 2", 2),
        (&open, "SECKILL.TRY 7 carol new", 1),
    ] {
        server.check(&format!("> SECKILL.ALTER 7 {window}\nOK"));
        assert_eq!(server.unchanged(command), Value::Int(wanted), "{window} {command}");
        let error = server.refused("SECKILL.TRY 7 bob live", "ORDERID");
        assert!(!error.contains("bob") && !error.contains("live"), "{error}");
        server.refused("SECKILL.TRY 7 bob gone", "ORDERID");
        server.refused("SECKILL.TRY 7 alice live UNITS 9", "ORDERID");
    }
    // A released id does not sell again, although there are units and the window is open.
    server.check(&format!("> SECKILL.ALTER 7 {open} LIMIT 5\nOK\n> SECKILL.RESTOCK 7 5\n5"));
    assert_eq!(server.unchanged("SECKILL.TRY 7 alice gone"), Value::Int(5));
    assert_eq!(server.unchanged("SECKILL.TRY 7 alice live"), Value::Int(0));
    server.check("> SECKILL.TRY 7 alice new\n0");
    server.assert_book("7", [4, 3, 0]);
}

fn terms(total: i64, [begin, end, limit, hold]: [&str; 4]) -> String {
    let sale = r#""sale":1795344856123456"#;
    format!(
        r#"{{"total":{total},"begin":{begin},"end":{end},"limit":{limit},"hold":{hold},{sale}}}"#
    )
}

const NO: &str = "null";

#[test]
fn options_come_in_any_order_and_0_is_none() {
    let server = Server::start();
    let rows = [
        ("BEGIN 10", ["10", NO, "1", NO]),
        ("END 10", [NO, "10", "1", NO]),
        ("LIMIT 3", [NO, NO, "3", NO]),
        ("HOLD 900000", [NO, NO, "1", "900000"]),
        ("BEGIN 10 END 20 LIMIT 3 HOLD 4", ["10", "20", "3", "4"]),
        ("HOLD 4 LIMIT 3 END 20 BEGIN 10", ["10", "20", "3", "4"]),
        ("hold 4 Limit 3 eNd 20 begin 10", ["10", "20", "3", "4"]),
        ("BEGIN 0 END 0 HOLD 0", [NO, NO, "1", NO]),
        ("BEGIN 10 END 0", ["10", NO, "1", NO]),
        ("BEGIN 10 END 11", ["10", "11", "1", NO]),
        ("BEGIN 281474976710656", ["281474976710656", NO, "1", NO]),
        ("HOLD 281474976710656", [NO, NO, "1", "281474976710656"]),
        ("LIMIT 9223372036854775807", [NO, NO, "9223372036854775807", NO]),
    ];
    for (options, wanted) in rows {
        server.run("FLUSHALL");
        let create = format!("SECKILL.CREATE 7 5 {options}");
        assert_eq!(server.run(&create), Value::Okay, "{create}");
        server.check(&format!("> GET seckill:voucher:7\n{}", terms(5, wanted)));
        // ALTER sets the same rules, whatever they were before.
        server.check("> DEL seckill:stock:7 seckill:voucher:7\n2");
        server.check("> SECKILL.CREATE 7 5\nOK");
        let alter = format!("SECKILL.ALTER 7 {options}");
        assert_eq!(server.run(&alter), Value::Okay, "{alter}");
        server.check(&format!("> GET seckill:voucher:7\n{}", terms(5, wanted)));
    }
}

//! SECKILL.CREATE, ALTER, RESTOCK, DROP, and rules that another client wrote.

use crate::harness::Server;
use redis::Value;

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

/// Options that neither CREATE nor ALTER takes.
const BAD_OPTIONS: [&str; 22] = [
    "BEGIN",
    "BEGIN 1 END",
    "LIMIT 1 LIMIT 1",
    "BEGIN 0 BEGIN 0",
    "HOLD 1 END 5 HOLD 1",
    "COLOR 1",
    "5",
    "BEGIN -1",
    "END -1",
    "HOLD -1",
    "LIMIT 0",
    "LIMIT -1",
    "BEGIN 281474976710657",
    "END 281474976710657",
    "HOLD 281474976710657",
    "LIMIT 9223372036854775808",
    "HOLD 1.5",
    "HOLD x",
    "HOLD ''",
    "HOLD 01",
    "BEGIN 20 END 20",
    "END 10 BEGIN 20",
];

#[test]
fn bad_options_are_refused() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 8 5");
    for options in BAD_OPTIONS {
        server.refused(&format!("SECKILL.CREATE 7 5 {options}"), "ERR");
        server.refused(&format!("SECKILL.ALTER 8 {options}"), "ERR");
    }
    for stock in ["-1", "x", "''", "1.5", "05", "+5", "9223372036854775808"] {
        let error = server.refused(&format!("SECKILL.CREATE 7 {stock}"), "ERR");
        assert!(error.contains("stock"), "{error}");
    }
}

#[test]
fn a_live_sale_is_never_reset() {
    let server = Server::observed().start();
    for there in [
        "SET seckill:stock:7 5",
        "SET seckill:stock:7 0",
        "RPUSH seckill:stock:7 a",
        "SET seckill:voucher:7 x",
        "RPUSH seckill:voucher:7 a",
        "SECKILL.CREATE 7 5 LIMIT 2",
    ] {
        server.run("FLUSHALL");
        server.run(there);
        server.refused("SECKILL.CREATE 7 9", "BUSYKEY");
    }
    // Syntax is checked first.
    server.refused("SECKILL.CREATE 7 9 LIMIT 0", "ERR");
}

#[test]
fn alter_changes_what_it_names() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 7 5 BEGIN 10 END 20 LIMIT 3 HOLD 4");
    for (options, wanted) in [
        ("LIMIT 2", ["10", "20", "2", "4"]),
        ("END 30", ["10", "30", "2", "4"]),
        ("BEGIN 25", ["25", "30", "2", "4"]),
        ("HOLD 0", ["25", "30", "2", NO]),
        ("END 0", ["25", NO, "2", NO]),
        ("BEGIN 0 HOLD 9", [NO, NO, "2", "9"]),
    ] {
        assert_eq!(server.run(&format!("SECKILL.ALTER 7 {options}")), Value::Okay, "{options}");
        server.check(&format!("> GET seckill:voucher:7\n{}", terms(5, wanted)));
    }
    // New options are checked against the options that stay.
    server.run("SECKILL.ALTER 7 BEGIN 25 END 30");
    server.refused("SECKILL.ALTER 7 END 25", "ERR");
    server.refused("SECKILL.ALTER 7 BEGIN 30", "ERR");
    server.check("> SECKILL.ALTER 7 BEGIN 30 END 31\nOK\n> GET seckill:stock:7\n5");
}

#[test]
fn a_voucher_without_rules_is_not_altered_or_restocked() {
    let server = Server::observed().start();
    server.run("SET seckill:stock:8 5");
    for voucher in ["7", "8"] {
        server.refused(&format!("SECKILL.ALTER {voucher} LIMIT 2"), "NOVOUCHER");
        server.refused(&format!("SECKILL.RESTOCK {voucher} 1"), "NOVOUCHER");
        server.refused(&format!("SECKILL.CONFIRM {voucher} alice o1"), "NOVOUCHER");
        server.refused(&format!("SECKILL.AUDIT {voucher}"), "NOVOUCHER");
    }
}

#[test]
fn restock_moves_stock_and_total_together() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 7 3 LIMIT 2 HOLD 900000");
    server.check("> SECKILL.TRY 7 alice o1 UNITS 2\n0\n> SECKILL.TRY 7 bob o2\n0");
    server.assert_book("7", [0, 3, 0]);
    server.refused("SECKILL.RESTOCK 7 -1", "STOCK");
    server.refused("SECKILL.RESTOCK 7 -9223372036854775808", "STOCK");
    server.run("SECKILL.RESTOCK 7 4");
    assert_eq!(server.silent("SECKILL.RESTOCK 7 0"), Value::Int(4));
    server.refused("SECKILL.RESTOCK 7 -5", "STOCK");
    server.refused("SECKILL.RESTOCK 7 9223372036854775807", "ERR");
    for delta in ["x", "''", "1.5", "+1", "01", "9223372036854775808"] {
        server.refused(&format!("SECKILL.RESTOCK 7 {delta}"), "ERR");
    }
    server.assert_book("7", [4, 3, 0]);
    for (make, code) in [("RPUSH seckill:stock:7 a", "WRONGTYPE"), ("SET seckill:stock:7 x", "ERR")]
    {
        server.run("DEL seckill:stock:7");
        server.run(make);
        server.refused("SECKILL.RESTOCK 7 1", code);
    }
    server.run("DEL seckill:stock:7");
    server.refused("SECKILL.RESTOCK 7 1", "NOVOUCHER");
}

#[test]
fn drop_removes_every_key_and_no_stream() {
    let server = Server::observed().start();
    server.check(
        "
        > SECKILL.CREATE 7 5 HOLD 900000
        OK
        > SECKILL.TRY 7 alice o1
        0
        > SECKILL.TRY 7 bob o2
        0
        > SECKILL.CANCEL 7 bob o2
        1
        > DBSIZE
        8
        > SECKILL.DROP 7 FORCE
        1
        > KEYS stream.orders*
        1) ...
        2) ...
        > DBSIZE
        2
        ",
    );
    // Nothing is there to be deleted; the replicas are told again.
    let again = server.replicated_again("SECKILL.DROP 7");
    assert_eq!(again, (Value::Int(0), "UNLINK seckill:voucher:7".to_owned()));
    server.refused("SECKILL.TRY 7 alice o1", "NOVOUCHER");
}

#[test]
fn rules_that_cannot_be_are_refused_by_every_command() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 7 5 HOLD 900000");
    server.run("SECKILL.TRY 7 alice o1");
    let commands = [
        "SECKILL.TRY 7 bob o2",
        "SECKILL.TRY 7 alice o1",
        "SECKILL.TRY 7 bob *",
        "SECKILL.ALTER 7 LIMIT 2",
        "SECKILL.RESTOCK 7 1",
        "SECKILL.CONFIRM 7 alice o1",
        "SECKILL.CANCEL 7 alice o1",
        "SECKILL.STATUS 7 alice",
        "SECKILL.INFO 7",
        "SECKILL.AUDIT 7",
    ];
    // What else can't be is in the tests of `domain`.
    let deep = "[".repeat(100_000);
    for rules in [r#"{"total":5,"begin":null,"end":null,"limit":1}"#, "", "\u{0}", &deep] {
        server.call(&["SET", "seckill:voucher:7", rules]);
        for command in commands {
            let error = server.refused(command, "ERR");
            assert!(error.contains("rules"), "{rules:.50}: {error}");
        }
    }
    server.run("DEL seckill:voucher:7");
    server.run("HSET seckill:voucher:7 total 5");
    for command in commands {
        server.refused(command, "WRONGTYPE");
    }
    // A broken sale can be dropped.
    server.check("> SECKILL.DROP 7 FORCE\n1");
}

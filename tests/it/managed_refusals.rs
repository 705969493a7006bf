//! Managed sales: keys and rules that commands refuse, and that nothing changes then.

use crate::harness::Server;
use crate::managed_terms::{NO, terms};
use redis::Value;

#[test]
fn a_stock_that_cannot_be_read_is_an_error() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 7 5 HOLD 900000");
    for (make, code) in [
        ("PING", "NOVOUCHER"),
        ("SET seckill:stock:7 x", "ERR"),
        ("SET seckill:stock:7 ''", "ERR"),
        ("RPUSH seckill:stock:7 a", "WRONGTYPE"),
    ] {
        server.run("DEL seckill:stock:7");
        server.run(make);
        server.refused("SECKILL.TRY 7 alice o1", code);
        server.refused("SECKILL.TRY 7 alice *", code);
    }
    for negative in ["-1", "-2", "-9223372036854775808"] {
        server.run("DEL seckill:stock:7");
        server.run(&format!("SET seckill:stock:7 {negative}"));
        assert_eq!(server.silent("SECKILL.TRY 7 alice o1"), Value::Int(1), "{negative}");
    }
}

#[test]
fn a_missing_stock_can_mean_sold_out() {
    let server = Server::observed().config("seckill.missing-stock sold-out").start();
    server.run("SECKILL.CREATE 7 5");
    server.run("DEL seckill:stock:7");
    assert_eq!(server.silent("SECKILL.TRY 7 alice o1"), Value::Int(1));
}

#[test]
fn a_key_of_the_wrong_type_is_refused_before_anything_changes() {
    let server = Server::observed().start();
    for (key, right) in [
        ("seckill:order:7", "SADD"),
        ("seckill:book:7", "HSET"),
        ("seckill:buyer:7", "HSET"),
        ("seckill:hold:7", "ZADD"),
        ("stream.orders", "XADD"),
    ] {
        for make in [
            format!("SET {key} a"),
            format!("RPUSH {key} a"),
            format!("SADD {key} a"),
            format!("HSET {key} f v"),
            format!("ZADD {key} 99999999999999 a"),
            format!("XADD {key} 1-1 f v"),
        ] {
            if make.starts_with(right) {
                continue;
            }
            server.run("FLUSHALL");
            server.run("SECKILL.CREATE 7 5 HOLD 900000");
            server.run(&make);
            server.refused("SECKILL.TRY 7 alice o1", "WRONGTYPE");
            server.refused("SECKILL.TRY 7 alice * UNITS 1", "WRONGTYPE");
        }
    }
    server.run("FLUSHALL");
    server.run("SECKILL.CREATE 7 5 HOLD 900000");
    server.run("XADD stream.orders 18446744073709551615-18446744073709551615 a b");
    server.refused("SECKILL.TRY 7 alice o1", "ERR");
    server.run("XTRIM stream.orders MAXLEN 0");
    server.refused("SECKILL.TRY 7 alice o1", "ERR");
}

#[test]
fn entries_that_no_command_wrote_are_refused() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 7 5 LIMIT 2 HOLD 900000");
    server.run("SECKILL.TRY 7 alice o1");
    for junk in ["''", "junk", "held:1:0:alice", "held:0:9:alice", "lost:1:0:alice", "sold:1:9:a"] {
        server.run(&format!("HSET seckill:book:7 o1 {junk}"));
        for command in ["TRY 7 alice o1", "CONFIRM 7 alice o1", "CANCEL 7 alice o1", "ORDER 7 o1"] {
            server.refused(&format!("SECKILL.{command}"), "ERR");
        }
    }
    server.run("HSET seckill:book:7 o1 sold:1:0:alice");
    for junk in ["''", "junk", "0:o1", "-1:o1", "1"] {
        server.run(&format!("HSET seckill:buyer:7 alice {junk}"));
        for command in ["TRY 7 alice o2", "CANCEL 7 alice o1", "STATUS 7 alice"] {
            server.refused(&format!("SECKILL.{command}"), "ERR");
        }
    }
}

#[test]
fn a_full_server_sells_no_managed_voucher_but_drops_it() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 7 5");
    for command in [
        "SECKILL.TRY 7 alice o1",
        "SECKILL.CREATE 8 1",
        "SECKILL.ALTER 7 LIMIT 2",
        "SECKILL.RESTOCK 7 1",
    ] {
        server.refused_when_full(command);
    }
    server.check("> CONFIG SET maxmemory 1\nOK\n> SECKILL.DROP 7\n1");
}

#[test]
fn rules_that_cannot_be_are_refused_by_every_command() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 7 5 HOLD 900000");
    server.run("SECKILL.TRY 7 alice o1");
    let rows = [
        r#"{"total":5,"begin":null,"end":null,"limit":1}"#,
        r#"{"begin":null,"end":null,"limit":1,"hold":null}"#,
        r#"{"total":5,"begin":null,"end":null,"limit":1,"hold":null,"color":1}"#,
        r#"{"total":5,"begin":null,"end":null,"limit":1,"hold":null,"hold":null}"#,
        r#"{"total":"5","begin":null,"end":null,"limit":1,"hold":null}"#,
        r#"{"total":5.0,"begin":null,"end":null,"limit":1,"hold":null}"#,
        r#"{"total":-1,"begin":null,"end":null,"limit":1,"hold":null}"#,
        r#"{"total":5,"begin":null,"end":null,"limit":0,"hold":null}"#,
        r#"{"total":5,"begin":null,"end":null,"limit":1,"hold":0}"#,
        r#"{"total":5,"begin":20,"end":10,"limit":1,"hold":null}"#,
        r#"{"total":99999999999999999999,"begin":null,"end":null,"limit":1,"hold":null}"#,
        r#"[5,null,null,1,null]"#,
        "5",
        "null",
        "{}",
        "",
        "\u{0}",
        "{\"total\":",
    ];
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
    for (number, rules) in rows.into_iter().enumerate() {
        server.call(&["SET", "seckill:voucher:7", rules]);
        // All commands on the first rules, then each rules on some.
        for command in commands.iter().skip(number % 4).step_by(if number == 0 { 1 } else { 4 }) {
            let error = server.refused(command, "ERR");
            assert!(error.contains("rules") || error.contains("BEGIN"), "{rules}: {error}");
        }
    }
    let deep = "[".repeat(100_000);
    server.call(&["SET", "seckill:voucher:7", &deep]);
    server.refused("SECKILL.TRY 7 bob o2", "ERR");
    server.run("DEL seckill:voucher:7");
    server.run("HSET seckill:voucher:7 total 5");
    for command in commands {
        server.refused(command, "WRONGTYPE");
    }
    // What is broken can be dropped.
    server.check("> SECKILL.DROP 7\n1");
}

#[test]
fn names_that_would_be_one_key_are_refused() {
    for (config, value) in [
        ("buyers-prefix", "seckill:buyer:"),
        ("buyers-prefix", "seckill:book:"),
        ("stock-prefix", "seckill:voucher:"),
        ("stock-prefix", "seckill:hold:"),
        ("order-stream", "seckill:book:7"),
        ("order-stream", "seckill:hold:7"),
    ] {
        let server = Server::observed().config(format!("seckill.{config} {value}")).start();
        server.refused("SECKILL.CREATE 7 5 HOLD 1000", "ERR");
        let rules = terms(5, [NO, NO, "1", "1000"]);
        if value != "seckill:voucher:" {
            server.call(&["SET", "seckill:voucher:7", &rules]);
            server.run("SET seckill:stock:7 5");
            server.refused("SECKILL.TRY 7 alice o1", "ERR");
        }
    }
}

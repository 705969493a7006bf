//! SECKILL.TRY: what is refused or sold out, for which stock or stream, and that nothing changes.

use crate::harness::Server;
use redis::Value;

#[test]
fn no_stock_key_can_mean_sold_out() {
    let server = Server::observed().config("seckill.missing-stock sold-out").start();
    assert_eq!(server.silent("SECKILL.TRY 7 alice o1"), Value::Int(1));
    server.check(
        "
        > SADD seckill:order:7 alice
        1
        ",
    );
    assert_eq!(server.silent("SECKILL.TRY 7 alice o1"), Value::Int(1));
    assert_eq!(server.silent("SECKILL.TRY 7 alice o1 UNITS 5"), Value::Int(1));
}

#[test]
fn a_negative_stock_is_sold_out() {
    let server = Server::observed().start();
    for stock in ["-1", "-2", "-9223372036854775808"] {
        server.run(&format!("SET seckill:stock:7 {stock}"));
        assert_eq!(server.silent("SECKILL.TRY 7 alice o1"), Value::Int(1), "{stock}");
        assert_eq!(server.silent("SECKILL.TRY 7 a o1 UNITS 9223372036854775807"), Value::Int(1));
    }
}

#[test]
fn minus_one_can_mean_unlimited() {
    let server = Server::observed().config("seckill.unlimited-stock yes").start();
    server.check(
        "
        > SET seckill:stock:7 -1
        OK
        > SECKILL.TRY 7 alice o1
        0
        > SECKILL.TRY 7 bob o2 UNITS 1000000
        0
        > GET seckill:stock:7
        -1
        > SCARD seckill:order:7
        2
        > XLEN stream.orders
        2
        ",
    );
    assert_eq!(server.silent("SECKILL.TRY 7 alice o3"), Value::Int(2));
    server.run("SET seckill:stock:7 -2");
    assert_eq!(server.silent("SECKILL.TRY 7 carol o4"), Value::Int(1));
    server.run("SET seckill:stock:7 1");
    server.check("> SECKILL.TRY 7 carol o4\n0\n> GET seckill:stock:7\n0");
}

#[test]
fn a_stock_that_is_no_integer_is_refused() {
    let server = Server::observed().start();
    for stock in [
        "5.5",
        "' 5'",
        "'5 '",
        "+5",
        "007",
        "00",
        "-0",
        "''",
        "abc",
        "5a",
        "1e3",
        "0x10",
        "-",
        "9223372036854775808",
        "-9223372036854775809",
        "99999999999999999999999",
        "'5\\x00'",
        "\"5\\x00\"",
        "\"\\xff\"",
        "\"5\\r\\n\"",
        "nan",
        "inf",
    ] {
        server.run(&format!("SET seckill:stock:7 {stock}"));
        let error = server.refused("SECKILL.TRY 7 alice o1", "ERR");
        assert!(error.contains("integer"), "{stock}: {error}");
    }
    server.call(&["SET", "seckill:stock:7", &"1".repeat(1 << 20)]);
    server.refused("SECKILL.TRY 7 alice o1", "ERR");
}

#[test]
fn a_key_of_the_wrong_type_is_refused_before_anything_changes() {
    let server = Server::observed().start();
    let wrong = |key: &str| {
        [
            format!("LPUSH {key} a"),
            format!("HSET {key} f v"),
            format!("ZADD {key} 1 a"),
            format!("SADD {key} a"),
            format!("XADD {key} 1-1 f v"),
            format!("SET {key} a"),
        ]
    };
    for (key, right) in
        [("seckill:stock:7", "SET"), ("seckill:order:7", "SADD"), ("stream.orders", "XADD")]
    {
        for make in wrong(key).iter().filter(|make| !make.starts_with(right)) {
            server.run("FLUSHALL");
            server.run("SET seckill:stock:7 5");
            server.run(&format!("DEL {key}"));
            server.run(make);
            server.refused("SECKILL.TRY 7 alice o1", "WRONGTYPE");
        }
    }
}

#[test]
fn an_asterisk_is_special_as_order_id_only() {
    let server = Server::observed().start();
    server.run("SET stock 2");
    server.refused("SECKILL.TRYKEYS stock buyers orders 7 alice *", "ERR");
    server.check(
        "
        > SET seckill:stock:* 2
        OK
        > SECKILL.TRY * * **
        0
        > SISMEMBER seckill:order:* *
        1
        ",
    );
}

#[test]
fn syntax_is_checked_before_any_key() {
    let server = Server::observed().start();
    // There is no stock: an error about it would show that keys were read first.
    for (command, names) in [
        ("SECKILL.TRY 7 alice o1 UNITS", ""),
        ("SECKILL.TRY 7 alice o1 UNITZ 1", ""),
        ("SECKILL.TRY 7 alice o1 2", ""),
        ("SECKILL.TRY 7 alice o1 UNITS 1 UNITS 1", ""),
        ("SECKILL.TRY 7 alice o1 UNITS 1 more", ""),
        ("SECKILL.TRY 7 alice o1 NOSTREAM", ""),
        ("SECKILL.TRY 7 alice o1 UNITS 0", "UNITS"),
        ("SECKILL.TRY 7 alice o1 UNITS -1", "UNITS"),
        ("SECKILL.TRY 7 alice o1 UNITS 1.5", "UNITS"),
        ("SECKILL.TRY 7 alice o1 UNITS +1", "UNITS"),
        ("SECKILL.TRY 7 alice o1 UNITS 01", "UNITS"),
        ("SECKILL.TRY 7 alice o1 UNITS ''", "UNITS"),
        ("SECKILL.TRY 7 alice o1 UNITS x", "UNITS"),
        ("SECKILL.TRY 7 alice o1 UNITS 9223372036854775808", "UNITS"),
        ("SECKILL.TRY 7 alice o1 \"\\xff\\x00\" 1", ""),
        ("SECKILL.TRY 7 alice o1 UNITS \"1\\x00\"", "UNITS"),
    ] {
        let error = server.refused(command, "ERR");
        let upper = error.to_uppercase();
        assert!(upper.contains(names), "{command} names no {names}: {error}");
        assert!(!upper.contains("STOCK"), "{command} looked at keys: {error}");
    }
}

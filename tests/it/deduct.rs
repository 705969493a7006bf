//! SECKILL.DEDUCT and SECKILL.RETURN: units are taken from and added to a bare stock.

use crate::harness::Server;
use redis::Value;

const MAX: i64 = i64::MAX;

#[test]
fn the_time_to_live_stays() {
    let server = Server::start();
    server.check(
        "
        > SET stock 100 PXAT 33333333333333
        OK
        > SECKILL.DEDUCT stock 91
        100
        > SECKILL.RETURN stock 991
        1000
        > SECKILL.DEDUCT stock
        1000
        > PEXPIRETIME stock
        33333333333333
        > SECKILL.DEDUCT stock 999
        999
        > GET stock
        0
        > PEXPIRETIME stock
        33333333333333
        > PEXPIREAT stock 1
        1
        > SECKILL.DEDUCT stock
        -1
        > SECKILL.RETURN stock
        -1
        ",
    );
}

#[test]
fn losers_leave_no_trace() {
    let server = Server::observed().start();
    for (stock, command, reply) in [
        ("0", "SECKILL.DEDUCT stock", 0),
        ("5", "SECKILL.DEDUCT stock 6", 0),
        ("5", "SECKILL.DEDUCT stock 9223372036854775807", 0),
        ("-1", "SECKILL.DEDUCT stock 7", 1),
        ("-1", "SECKILL.RETURN stock 7", -1),
    ] {
        server.run(&format!("SET stock {stock}"));
        // The first read turns a number into bytes, which DUMP would show; so it is done here.
        server.run("SECKILL.DEDUCT stock 9223372036854775807");
        assert_eq!(server.silent(command), Value::Int(reply), "{stock} {command}");
    }
    server.run("DEL stock");
    assert_eq!(server.silent("SECKILL.DEDUCT stock"), Value::Int(-1));
    assert_eq!(server.silent("SECKILL.RETURN stock"), Value::Int(-1));
}

#[test]
fn what_is_no_stock_is_refused() {
    let server = Server::observed().start();
    let both = ["SECKILL.DEDUCT stock", "SECKILL.RETURN stock 2"];
    for stock in ["5.5", "' 5'", "+5", "007", "-0", "''", "abc", "9223372036854775808"] {
        server.run(&format!("SET stock {stock}"));
        for command in both {
            let error = server.refused(command, "ERR");
            assert_eq!(error, "ERR stock is not an integer or out of range", "{stock}");
        }
    }
    for stock in ["-2", "-9223372036854775808"] {
        server.run(&format!("SET stock {stock}"));
        for command in both {
            let error = server.refused(command, "ERR");
            assert_eq!(error, "ERR stock is negative, and only -1 is allowed", "{stock}");
        }
    }
    for make in ["RPUSH stock a", "HSET stock f v", "SADD stock a", "ZADD stock 1 a"] {
        server.run("DEL stock");
        server.run(make);
        for command in both {
            server.refused(command, "WRONGTYPE");
        }
    }
}

#[test]
fn what_would_overflow_is_refused() {
    let server = Server::observed().start();
    for (stock, units) in [(MAX, 1), (MAX, MAX), (1, MAX), (MAX - 4, 5)] {
        server.run(&format!("SET stock {stock}"));
        let error = server.refused(&format!("SECKILL.RETURN stock {units}"), "ERR");
        assert_eq!(error, "ERR stock or total would be out of range", "{stock} {units}");
    }
    assert_eq!(server.run("SECKILL.RETURN stock 4"), Value::Int(MAX));
    assert_eq!(server.run(&format!("SECKILL.DEDUCT stock {MAX}")), Value::Int(MAX));
    assert_eq!(server.run(&format!("SECKILL.RETURN stock {MAX}")), Value::Int(MAX));
}

#[test]
fn wrong_requests_are_refused_before_any_key() {
    let server = Server::observed().start();
    server.run("RPUSH stock a");
    for name in ["SECKILL.DEDUCT", "SECKILL.RETURN"] {
        for units in ["0", "-1", "1.5", "+1", "01", "''", "x", "9223372036854775808", "\"1\\x00\""]
        {
            let error = server.refused(&format!("{name} stock {units}"), "ERR");
            assert_eq!(error, "ERR units must be an integer from 1 to 9223372036854775807");
        }
        for rest in ["1 1", "1 UNITS 1"] {
            let error = server.refused(&format!("{name} stock {rest}"), "ERR");
            assert_eq!(error, "ERR syntax error", "{rest}");
        }
    }
}

#[test]
fn the_key_is_declared_and_configurations_play_no_part() {
    let server = Server::with()
        .config("seckill.stock-prefix s:")
        .config("seckill.hash-tags yes")
        .config("seckill.missing-stock sold-out")
        .start();
    server.check(
        "
        > SET a}b 5
        OK
        > SECKILL.DEDUCT a}b
        5
        > SECKILL.DEDUCT none
        -1
        > SET a}b -1
        OK
        > SECKILL.DEDUCT a}b
        1
        ",
    );
    for key in [&b""[..], b"\0", b"\xff\r\n", "\u{100}".as_bytes()] {
        server.call(&[b"SET".as_slice(), key, b"2"]);
        assert_eq!(server.call(&[b"SECKILL.DEDUCT".as_slice(), key]), Value::Int(2));
        assert_eq!(server.call(&[b"SECKILL.RETURN".as_slice(), key]), Value::Int(2));
    }
}

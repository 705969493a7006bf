//! SECKILL.TRY: outcomes, their order, the keys of a sale.

use crate::harness::Server;
use crate::observe::{bytes_list, integer};
use redis::Value;

#[test]
fn a_user_cannot_buy_twice() {
    let server = Server::observed().start();
    server.check(
        "
        > SET seckill:stock:7 5
        OK
        > SECKILL.TRY 7 alice o1
        0
        ",
    );
    assert_eq!(server.silent("SECKILL.TRY 7 alice o2"), Value::Int(2));
    assert_eq!(server.silent("SECKILL.TRY 7 alice o1"), Value::Int(2));
    assert_eq!(server.run("GET seckill:stock:7"), Value::BulkString(b"4".to_vec()));
}

#[test]
fn sold_out_comes_before_already_bought() {
    let server = Server::observed().start();
    server.check(
        "
        > SET seckill:stock:7 1
        OK
        > SECKILL.TRY 7 alice o1
        0
        ",
    );
    assert_eq!(server.silent("SECKILL.TRY 7 alice o1"), Value::Int(1));
    assert_eq!(server.silent("SECKILL.TRY 7 bob o2"), Value::Int(1));
}

#[test]
fn the_first_try_of_a_sold_out_voucher_makes_no_key() {
    let server = Server::observed().start();
    server.run("SET seckill:stock:7 0");
    assert_eq!(server.silent("SECKILL.TRY 7 alice o1"), Value::Int(1));
    server.check("> DBSIZE\n1");
}

#[test]
fn the_stock_keeps_its_expiry() {
    let server = Server::start();
    server.run("SET seckill:stock:7 5 PXAT 33333333333333");
    server.check(
        "
        > SECKILL.TRY 7 alice o1
        0
        > SECKILL.TRY 7 bob o2 UNITS 2
        0
        > PEXPIRETIME seckill:stock:7
        33333333333333
        > PEXPIRETIME seckill:order:7
        -1
        > PEXPIRETIME stream.orders
        -1
        > GET seckill:stock:7
        2
        ",
    );
}

#[test]
fn buyers_and_orders_keep_their_expiry() {
    let server = Server::start();
    server.check(
        "
        > SET seckill:stock:7 5
        OK
        > SADD seckill:order:7 zoe
        1
        > PEXPIREAT seckill:order:7 33333333333333
        1
        > XADD stream.orders 1-1 a b
        1-1
        > PEXPIREAT stream.orders 33333333333334
        1
        > SECKILL.TRY 7 alice o1
        0
        > PEXPIRETIME seckill:order:7
        33333333333333
        > PEXPIRETIME stream.orders
        33333333333334
        ",
    );
}

#[test]
fn an_expired_stock_is_no_stock() {
    let server = Server::start();
    server.check(
        "
        > DEBUG SET-ACTIVE-EXPIRE 0
        OK
        > SET seckill:stock:7 5 PX 1
        OK
        ",
    );
    server.until("the stock to expire", || server.run("PTTL seckill:stock:7") == Value::Int(-2));
    server.check(
        "
        > SECKILL.TRY 7 alice o1
        (error) NOVOUCHER ...
        ",
    );
}

#[test]
fn units_are_taken_all_or_nothing() {
    let server = Server::observed().start();
    server.check(
        r#"
        > SET seckill:stock:7 5
        OK
        > SECKILL.TRY 7 alice o1 UNITS 3
        0
        > GET seckill:stock:7
        2
        "#,
    );
    assert_eq!(server.silent("SECKILL.TRY 7 bob o2 UNITS 3"), Value::Int(1));
    assert_eq!(server.silent("SECKILL.TRY 7 alice o3 UNITS 3"), Value::Int(1));
    assert_eq!(server.silent("SECKILL.TRY 7 alice o3 UNITS 2"), Value::Int(2));
    server.check(
        r#"
        > SECKILL.TRY 7 bob o4 units 2
        0
        > GET seckill:stock:7
        0
        "#,
    );
}

#[test]
fn all_units_of_the_largest_stock() {
    let server = Server::start();
    server.check(
        "
        > SET seckill:stock:7 9223372036854775807
        OK
        > SECKILL.TRY 7 alice o1
        0
        > GET seckill:stock:7
        9223372036854775806
        > SECKILL.TRY 7 bob o2 UNITS 9223372036854775806
        0
        > GET seckill:stock:7
        0
        ",
    );
}

#[test]
fn a_stock_written_by_any_command_is_read() {
    let server = Server::start();
    for fill in ["SET {} 5", "APPEND {} 5", "INCRBY {} 5", "SETRANGE {} 0 5", "INCRBYFLOAT {} 5"] {
        server.run("FLUSHALL");
        server.run(&fill.replace("{}", "seckill:stock:7"));
        server.check("> SECKILL.TRY 7 alice o1\n0\n> INCRBY seckill:stock:7 0\n4");
    }
}

#[test]
fn plain_commands_work_on_a_stock_after_a_sale() {
    let server = Server::start();
    server.check(
        "
        > SET seckill:stock:7 100
        OK
        > SECKILL.TRY 7 alice o1
        0
        > GET seckill:stock:7
        99
        > STRLEN seckill:stock:7
        2
        > INCR seckill:stock:7
        100
        > SECKILL.TRY 7 bob o2 UNITS 91
        0
        > STRLEN seckill:stock:7
        1
        > APPEND seckill:stock:7 5
        2
        > GET seckill:stock:7
        95
        > DECRBY seckill:stock:7 95
        0
        > SECKILL.TRY 7 carol o3
        1
        ",
    );
}

#[test]
fn ids_are_bytes() {
    let server = Server::start();
    let long = vec![b'x'; 512];
    let ids: [&[u8]; 10] = [
        b"",
        b"\0",
        b"a\0b",
        b"\xff\xfe",
        "\u{100}\u{65e5}".as_bytes(),
        b"a\r\nb",
        b"  ",
        b"-1",
        b"007",
        &long,
    ];
    for (round, id) in ids.iter().enumerate() {
        let stock = [b"seckill:stock:", *id].concat();
        let buyers = [b"seckill:order:", *id].concat();
        assert_eq!(server.call(&[b"SET", stock.as_slice(), b"1"]), Value::Okay);
        let try_it: [&[u8]; 4] = [b"SECKILL.TRY", id, id, id];
        assert_eq!(server.call(&try_it), Value::Int(0), "{}", id.escape_ascii());
        assert_eq!(bytes_list(server.call(&[b"SMEMBERS", buyers.as_slice()])), [id.to_vec()]);
        assert_eq!(server.call(&[b"GET", stock.as_slice()]), Value::BulkString(b"0".to_vec()));
        let last = server.run("XREVRANGE stream.orders + - COUNT 1");
        assert_eq!(fields_of_first(last), [b"userId", *id, b"voucherId", id, b"id", id]);
        assert_eq!(integer(&server.run("XLEN stream.orders")), round as i64 + 1);
    }
}

fn fields_of_first(entries: Value) -> Vec<Vec<u8>> {
    let entries: Vec<(String, Vec<Vec<u8>>)> =
        redis::from_redis_value(entries).expect("stream entries");
    entries.into_iter().next().expect("an entry").1
}

#[test]
fn users_that_look_like_equal_numbers_are_different() {
    let server = Server::start();
    server.run("SET seckill:stock:7 10");
    for user in ["1", "01", "1.0", "+1", "' 1'", "1e0"] {
        assert_eq!(server.run(&format!("SECKILL.TRY 7 {user} o1")), Value::Int(0), "{user}");
    }
    // Four more users buy the rest of the stock.
    for user in 2..6 {
        assert_eq!(server.run(&format!("SECKILL.TRY 7 {user} o1")), Value::Int(0));
    }
    server.check("> SECKILL.TRY 7 1 o9\n1\n> SET seckill:stock:7 1\nOK\n> SECKILL.TRY 7 1 o9\n2");
}

#[test]
fn an_order_id_is_not_remembered() {
    let server = Server::start();
    server.check(
        "
        > SET seckill:stock:7 2
        OK
        > SECKILL.TRY 7 alice same
        0
        > SECKILL.TRY 7 bob same
        0
        > XLEN stream.orders
        2
        ",
    );
}

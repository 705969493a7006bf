//! HOLD, SECKILL.CONFIRM and SECKILL.CANCEL: by order id, once, and exact.

use crate::harness::Server;
use redis::Value;

#[test]
fn an_order_is_confirmed_once() {
    let server = Server::observed().start();
    server.check(
        "
        > SECKILL.CREATE 7 5 LIMIT 2 HOLD 900000
        OK
        > SECKILL.TRY 7 alice o1 UNITS 2
        0
        > SECKILL.CONFIRM 7 alice o1
        1
        > HGET seckill:book:7 o1
        sold:2:0:alice
        > EXISTS seckill:hold:7
        0
        ",
    );
    server.assert_book("7", [3, 0, 2]);
    for (command, wanted) in [
        ("SECKILL.CONFIRM 7 alice o1", 2),
        ("SECKILL.CONFIRM 7 bob o1", 0),
        ("SECKILL.CONFIRM 7 alice none", 0),
        ("SECKILL.TRY 7 alice o1", 0),
        ("SECKILL.CANCEL 7 bob o1", 0),
        ("SECKILL.CANCEL 7 alice none", 0),
    ] {
        assert_eq!(server.silent(command), Value::Int(wanted), "{command}");
    }
    server.check("> SECKILL.CANCEL 7 alice o1\n1");
    for (command, wanted) in [
        ("SECKILL.CONFIRM 7 alice o1", 3),
        ("SECKILL.CONFIRM 7 bob o1", 0),
        ("SECKILL.CANCEL 7 alice o1", 2),
        ("SECKILL.CANCEL 7 bob o1", 0),
    ] {
        assert_eq!(server.silent(command), Value::Int(wanted), "{command}");
    }
    server.assert_book("7", [5, 0, 0]);
}

#[test]
fn held_and_sold_orders_are_given_back_once() {
    let server = Server::observed().start();
    server.check(
        r#"
        > SECKILL.CREATE 7 5 LIMIT 3 HOLD 900000
        OK
        > SECKILL.TRY 7 alice o1 UNITS 2
        0
        > SECKILL.TRY 7 alice o2
        0
        > SECKILL.CONFIRM 7 alice o2
        1
        > SECKILL.CANCEL 7 alice o1
        1
        > HGET seckill:buyer:7 alice
        1:o2
        > SISMEMBER seckill:order:7 alice
        1
        > ZCARD seckill:hold:7
        0
        > SECKILL.CANCEL 7 alice o2
        1
        > EXISTS seckill:buyer:7 seckill:order:7 seckill:hold:7
        0
        > GET seckill:stock:7
        5
        > XRANGE stream.orders.released - +
        1) 1) "1722509999999-0"
           2)  1) "userId"
               2) "alice"
               3) "voucherId"
               4) "7"
               5) "id"
               6) "o1"
               7) "units"
               8) "2"
               9) "reason"
              10) "cancelled"
        2) 1) "1722509999999-0"
           2) 1) "userId"
              2) "alice"
              3) "voucherId"
              4) "7"
              5) "id"
              6) "o2"
              7) "reason"
              8) "cancelled"
        "#,
    );
    server.assert_book("7", [5, 0, 0]);
    assert_eq!(server.silent("SECKILL.CANCEL 7 alice o1"), Value::Int(2));
    // The right to buy is back, the ids are not.
    server.check(
        "
        > SECKILL.TRY 7 alice o1
        5
        > SECKILL.TRY 7 alice o3 UNITS 3
        0
        ",
    );
}

#[test]
fn an_unmanaged_sale_is_given_back_by_membership() {
    let server = Server::observed().start();
    server.check(
        r#"
        > SET seckill:stock:7 1 PXAT 33333333333333
        OK
        > SECKILL.TRY 7 alice o1
        0
        > SECKILL.TRY 7 bob o2
        1
        > SECKILL.CANCEL 7 alice other
        1
        > XRANGE stream.orders.released - +
        1) 1) "1722509999999-0"
           2) 1) "userId"
              2) "alice"
              3) "voucherId"
              4) "7"
              5) "id"
              6) "other"
              7) "reason"
              8) "cancelled"
        > SECKILL.TRY 7 bob o2
        0
        > PEXPIRETIME seckill:stock:7
        33333333333333
        "#,
    );
    assert_eq!(server.silent("SECKILL.CANCEL 7 alice o1"), Value::Int(0));
    assert_eq!(server.silent("SECKILL.CANCEL 8 alice o1"), Value::Int(0));
    // A stock that is gone stays gone.
    server.check("> DEL seckill:stock:7\n1\n> SECKILL.CANCEL 7 bob o2\n1");
    server.check("> EXISTS seckill:stock:7 seckill:order:7\n0");
    for (make, code) in [
        ("SET seckill:stock:7 x", "ERR"),
        ("SET seckill:stock:7 9223372036854775807", "ERR"),
        ("RPUSH seckill:stock:7 a", "WRONGTYPE"),
        ("SET stream.orders.released a", "WRONGTYPE"),
    ] {
        server.run("FLUSHALL");
        server.run("SADD seckill:order:7 alice");
        server.run(make);
        server.refused("SECKILL.CANCEL 7 alice o1", code);
    }
    server.run("FLUSHALL");
    server.run("SET seckill:order:7 a");
    server.refused("SECKILL.CANCEL 7 alice o1", "WRONGTYPE");
}

#[test]
fn unlimited_stock_is_not_counted_up() {
    let server = Server::with().config("seckill.unlimited-stock yes").start();
    server.check("> SET seckill:stock:7 -1\nOK\n> SECKILL.TRY 7 alice o1\n0");
    server.check("> SECKILL.CANCEL 7 alice o1\n1\n> GET seckill:stock:7\n-1");
}

#[test]
fn without_a_stream_nothing_is_appended() {
    let server = Server::with().config("seckill.order-stream ''").start();
    server.check(
        "
        > SECKILL.CREATE 7 5 HOLD 30
        OK
        > SECKILL.TRY 7 alice o1
        0
        > SECKILL.CANCEL 7 alice o1
        1
        > SECKILL.TRY 7 alice o2
        0
        ",
    );
    server.wait_for_state("7", "o2", "expired");
    assert_eq!(server.run("KEYS stream*"), Value::Array(Vec::new()));
    server.assert_book("7", [5, 0, 0]);
}

#[test]
fn the_released_stream_has_the_configured_names() {
    let server = Server::with()
        .config("seckill.order-stream s")
        .config("seckill.order-fields 'buyer item order'")
        .start();
    server.run("SECKILL.CREATE 7 5 HOLD 900000");
    server.check("> SECKILL.TRY 7 alice o1\n0\n> SECKILL.CANCEL 7 alice o1\n1");
    server.check(
        r#"
        > XRANGE s.released - +
        1) 1) "1722509999999-0"
           2) 1) "buyer"
              2) "alice"
              3) "item"
              4) "7"
              5) "order"
              6) "o1"
              7) "reason"
              8) "cancelled"
        "#,
    );
}

#[test]
fn a_stock_never_comes_back_above_the_total() {
    let server = Server::start();
    server.check(
        "
        > SECKILL.CREATE 7 5 LIMIT 3 HOLD 900000
        OK
        > SECKILL.TRY 7 alice o1 UNITS 2
        0
        > SECKILL.TRY 7 bob o2 UNITS 2
        0
        > SET seckill:stock:7 4
        OK
        > SECKILL.CANCEL 7 alice o1
        1
        > GET seckill:stock:7
        5
        > SET seckill:stock:7 8
        OK
        > SECKILL.CANCEL 7 bob o2
        1
        > GET seckill:stock:7
        8
        ",
    );
    assert_eq!(server.differences("7").len(), 1);
}

#[test]
fn a_stock_that_was_deleted_is_never_made_again() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 5 LIMIT 3 HOLD 60");
    server.run("SECKILL.TRY 7 alice o1");
    server.run("SECKILL.TRY 7 alice o2");
    server.run("SECKILL.TRY 7 bob o3");
    server.check("> SECKILL.CONFIRM 7 alice o2\n1\n> DEL seckill:stock:7\n1");
    server.check("> SECKILL.CANCEL 7 alice o1\n1\n> SECKILL.CANCEL 7 alice o2\n1");
    server.wait_for_state("7", "o3", "expired");
    server.check("> EXISTS seckill:stock:7\n0\n> XLEN stream.orders.released\n3");
    assert_eq!(server.differences("7"), ["there is no stock key"]);
}

#[test]
fn a_full_server_confirms_cancels_and_expires() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 5 HOLD 150");
    for user in ["a", "b", "c"] {
        server.run(&format!("SECKILL.TRY 7 {user} {user}1"));
    }
    server.check(
        "
        > CONFIG SET maxmemory 1
        OK
        > SECKILL.CONFIRM 7 a a1
        1
        > SECKILL.CANCEL 7 b b1
        1
        > SECKILL.CANCEL 7 a a1
        1
        > SET x 1
        (error) OOM ...
        ",
    );
    server.wait_for_state("7", "c1", "expired");
    server.assert_book("7", [5, 0, 0]);
}

#[test]
fn a_give_back_with_a_key_of_the_wrong_type_changes_nothing() {
    let server = Server::observed().start();
    let keys = [
        "seckill:stock:7",
        "seckill:order:7",
        "seckill:book:7",
        "seckill:buyer:7",
        "seckill:hold:7",
        "stream.orders.released",
    ];
    for key in keys {
        server.run("FLUSHALL");
        server.run("SECKILL.CREATE 7 5 HOLD 900000");
        server.run("SECKILL.TRY 7 alice o1");
        server.run(&format!("RENAME {key} away"));
        server.run(&format!("RPUSH {key} a"));
        server.refused("SECKILL.CANCEL 7 alice o1", "WRONGTYPE");
        if ["seckill:book:7", "seckill:buyer:7", "seckill:hold:7"].contains(&key) {
            server.refused("SECKILL.CONFIRM 7 alice o1", "WRONGTYPE");
        }
        server.run(&format!("DEL {key}"));
        server.run(&format!("RENAME away {key}"));
        server.check("> SECKILL.CANCEL 7 alice o1\n1");
        server.assert_book("7", [5, 0, 0]);
    }
    server.run("FLUSHALL");
    server.run("SECKILL.CREATE 7 5 HOLD 900000");
    server.run("SECKILL.TRY 7 alice o1");
    server.run("XADD stream.orders.released 18446744073709551615-18446744073709551615 a b");
    server.refused("SECKILL.CANCEL 7 alice o1", "ERR");
    server.run("XTRIM stream.orders.released MAXLEN 0");
    server.refused("SECKILL.CANCEL 7 alice o1", "ERR");
    server.run("SET seckill:stock:7 junk");
    server.refused("SECKILL.CANCEL 7 alice o1", "ERR");
}

//! SECKILL.TRYKEYS: the unmanaged try with its three keys as arguments.

use crate::harness::Server;
use redis::Value;

#[test]
fn the_same_key_twice_is_refused() {
    let server = Server::observed().start();
    server.run("SET stock 5");
    for keys in ["stock stock orders", "stock buyers stock", "stock orders orders", "a a a"] {
        server.refused(&format!("SECKILL.TRYKEYS {keys} 7 alice o1"), "ERR");
    }
    // Refused before any key is read: their types do not matter.
    server.run("SADD buyers zoe");
    server.refused("SECKILL.TRYKEYS buyers buyers orders 7 alice o1", "ERR");
    server.refused("SECKILL.TRYKEYS stock stock stock 7 alice o1 NOSTREAM", "ERR");
    server.refused("SECKILL.TRYKEYS stock stock orders 7 alice o1 NOSTREAM", "ERR");
}

#[test]
fn configured_names_play_no_part() {
    let server = Server::with()
        .config("seckill.stock-prefix s:")
        .config("seckill.buyers-prefix b:")
        .config("seckill.order-stream \"\"")
        .config("seckill.hash-tags yes")
        .start();
    server.check(
        "
        > SET stock 5
        OK
        > SECKILL.TRYKEYS stock buyers orders a}b alice o1
        0
        > GET stock
        4
        > SISMEMBER buyers alice
        1
        > XLEN orders
        1
        > DBSIZE
        3
        ",
    );
}

#[test]
fn fields_and_modes_are_those_of_the_configs() {
    let server = Server::observed()
        .config("seckill.order-fields \"buyer item order\"")
        .config("seckill.unlimited-stock yes")
        .config("seckill.missing-stock sold-out")
        .start();
    server.check(
        r#"
        > SET stock -1
        OK
        > SECKILL.TRYKEYS stock buyers orders 7 alice o1
        0
        > GET stock
        -1
        > XRANGE orders - +
        1) 1) "1722509999999-0"
           2) 1) "buyer"
              2) "alice"
              3) "item"
              4) "7"
              5) "order"
              6) "o1"
        "#,
    );
    let missing = server.silent("SECKILL.TRYKEYS none buyers orders 7 alice o1");
    assert_eq!(missing, Value::Int(1));
}

#[test]
fn fields_are_named_for_this_call_alone() {
    let server = Server::start();
    server.check(
        r#"
        > SET stock 5
        OK
        > SECKILL.TRYKEYS stock buyers orders 7 alice o1 FIELDS buyer item order
        (integer) 0
        > SECKILL.TRYKEYS stock buyers orders 7 bob o2 units 2 fields "a b" "\x00" c
        (integer) 0
        > SECKILL.TRYKEYS stock buyers orders 7 carol o3
        (integer) 0
        > XRANGE orders - +
        1) 1) "1722509999999-0"
           2) 1) "buyer"
              2) "alice"
              3) "item"
              4) "7"
              5) "order"
              6) "o1"
        2) 1) "1722509999999-0"
           2) 1) "a b"
              2) "bob"
              3) "\x00"
              4) "7"
              5) "c"
              6) "o2"
              7) "units"
              8) "2"
        3) 1) "1722509999999-0"
           2) 1) "userId"
              2) "carol"
              3) "voucherId"
              4) "7"
              5) "id"
              6) "o3"
        > SECKILL.TRYKEYS stock buyers stock 7 dave o4 NOSTREAM FIELDS buyer item order
        (integer) 0
        > GET stock
        "0"
        "#,
    );
}

#[test]
fn fields_by_which_no_order_could_be_read_are_refused() {
    let server = Server::observed().start();
    server.run("SET stock 5");
    let long = "x".repeat(1025);
    for (names, why) in [
        ("u v u", "must be three different words"),
        ("u v ''", "must be three words that are not empty"),
        (
            "units v i",
            "must not use units, deadline, reason, was, sale, ref, payment, kept or waited",
        ),
        (
            "u deadline i",
            "must not use units, deadline, reason, was, sale, ref, payment, kept or waited",
        ),
        (
            "u v reason",
            "must not use units, deadline, reason, was, sale, ref, payment, kept or waited",
        ),
        ("u dlq i", "must not begin with dlq, as the fields of dead letters do"),
        (&format!("u v {long}"), "must be three words of at most 1024 bytes"),
    ] {
        let command = format!("SECKILL.TRYKEYS stock buyers orders 7 alice o1 FIELDS {names}");
        assert_eq!(server.refused(&command, "ERR"), format!("ERR FIELDS {why}"));
    }
    let longest = &long[1..];
    let accepted = format!("SECKILL.TRYKEYS stock buyers orders 7 alice o1 FIELDS u v {longest}");
    assert_eq!(server.run(&accepted), Value::Int(0));
}

#[test]
fn a_missing_stock_is_what_this_call_says() {
    for configured in ["error", "sold-out"] {
        let server = Server::observed().start();
        server.run(&format!("CONFIG SET seckill.missing-stock {configured}"));
        let with = |rest: &str| format!("SECKILL.TRYKEYS none buyers orders 7 alice o1 {rest}");
        assert_eq!(server.silent(&with("MISSING sold-out")), Value::Int(1));
        assert_eq!(server.silent(&with("missing SOLD-OUT UNITS 2 NOSTREAM")), Value::Int(1));
        server.refused(&with("MISSING error"), "NOVOUCHER");
        server.refused(&with("Missing Error FIELDS u v i"), "NOVOUCHER");
        server.run("SET stock 1");
        let there = "SECKILL.TRYKEYS stock buyers orders 7 alice o1 MISSING sold-out";
        assert_eq!(server.run(there), Value::Int(0));
    }
}

#[test]
fn refusals_leave_no_trace() {
    let server = Server::observed().start();
    server.refused("SECKILL.TRYKEYS stock buyers orders 7 alice o1", "NOVOUCHER");
    server.refused("SECKILL.TRYKEYS stock buyers stock 7 alice o1 NOSTREAM", "NOVOUCHER");
    server.run("SET stock 5.5");
    server.refused("SECKILL.TRYKEYS stock buyers orders 7 alice o1", "ERR");
    server.run("SET stock 5");
    server.refused("SECKILL.TRYKEYS stock buyers orders 7 alice *", "ERR");
    server.run("RPUSH list a");
    server.refused("SECKILL.TRYKEYS list buyers orders 7 alice o1", "WRONGTYPE");
    server.refused("SECKILL.TRYKEYS stock list orders 7 alice o1", "WRONGTYPE");
    server.refused("SECKILL.TRYKEYS stock buyers list 7 alice o1", "WRONGTYPE");
    server.refused("SECKILL.TRYKEYS stock list stock 7 alice o1 NOSTREAM", "WRONGTYPE");
    server.run("XADD orders 18446744073709551615-18446744073709551615 a b");
    server.refused("SECKILL.TRYKEYS stock buyers orders 7 alice o1", "ERR");
    assert_eq!(
        server.run("SECKILL.TRYKEYS stock buyers orders 7 alice o1 NOSTREAM"),
        Value::Int(0)
    );
    assert_eq!(server.silent("SECKILL.TRYKEYS stock buyers orders 7 alice o1"), Value::Int(2));
    server.run("SET stock 0");
    assert_eq!(server.silent("SECKILL.TRYKEYS stock buyers orders 7 alice o1"), Value::Int(1));
    assert_eq!(server.silent("SECKILL.TRYKEYS stock list list2 7 alice o1"), Value::Int(1));
}

#[test]
fn syntax_is_checked_before_any_key() {
    let server = Server::observed().start();
    for rest in [
        "UNITS",
        "UNITS 0",
        "UNITS -1",
        "UNITS x",
        "UNITS 1 UNITS 2",
        "NOSTREAM 1",
        "NOSTREAM UNITS",
        "UNITS NOSTREAM",
        "STREAM",
        "2",
        "FIELDS",
        "FIELDS u v",
        "FIELDS u v i i",
        "FIELDS u v i FIELDS u v i",
        "MISSING",
        "MISSING 1",
        "MISSING NOSTREAM",
        "MISSING error MISSING sold-out",
        "MISSING error sold-out",
    ] {
        server.refused(&format!("SECKILL.TRYKEYS stock buyers orders 7 alice o1 {rest}"), "ERR");
    }
}

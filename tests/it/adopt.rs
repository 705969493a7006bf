//! SECKILL.CREATE ... ADOPT: makes a stock that an application has set a managed voucher's stock;
//! and rules that come to a stock by other ways.

use crate::cluster::{Move, two_nodes, whole_cluster};
use crate::harness::{Server, text};
use redis::Value;

#[test]
fn what_is_no_stock_is_refused() {
    for unlimited in ["no", "yes"] {
        let server =
            Server::observed().config(format!("seckill.unlimited-stock {unlimited}")).start();
        server.refused("SECKILL.CREATE 7 ADOPT", "NOVOUCHER");
        server.run("CONFIG SET seckill.missing-stock sold-out");
        server.refused("SECKILL.CREATE 7 ADOPT HOLD 5", "NOVOUCHER");
        for stock in ["-1", "-2", "-9223372036854775808", "x", "''", "1.5", "05", "1e3"] {
            server.run(&format!("SET seckill:stock:7 {stock}"));
            let error = server.refused("SECKILL.CREATE 7 ADOPT", "ERR");
            assert!(error.contains("stock"), "{stock}: {error}");
        }
        server.run("DEL seckill:stock:7");
        server.run("RPUSH seckill:stock:7 a");
        server.refused("SECKILL.CREATE 7 ADOPT", "WRONGTYPE");
    }
}

#[test]
fn a_voucher_that_somebody_has_bought_is_refused() {
    let server = Server::observed().start();
    server.run("SET seckill:stock:7 5");
    server.run("SECKILL.TRY 7 alice o1");
    server.refused("SECKILL.CREATE 7 ADOPT HOLD 900000", "BUSYKEY");
    server.run("FLUSHALL");
    for (key, make) in [
        ("seckill:order:7", "SADD seckill:order:7 alice"),
        ("seckill:order:7", "SET seckill:order:7 of-another-type"),
        ("seckill:voucher:7", "SET seckill:voucher:7 {}"),
        ("seckill:book:7", "HSET seckill:book:7 o1 x"),
        ("seckill:units:7", "HSET seckill:units:7 alice 1:o1"),
        ("seckill:hold:7", "ZADD seckill:hold:7 1 o1"),
        ("seckill:extra:7", "SET seckill:extra:7 1"),
    ] {
        server.run("SET seckill:stock:7 5");
        server.run(make);
        server.refused("SECKILL.CREATE 7 ADOPT", "BUSYKEY");
        server.run(&format!("DEL {key}"));
    }
    server.check("> SECKILL.CREATE 7 ADOPT\nOK");
    server.refused("SECKILL.CREATE 7 ADOPT", "BUSYKEY");
    server.refused("SECKILL.CREATE 7 5", "BUSYKEY");
}

#[test]
fn a_stock_is_not_adopted_unless_asked_for() {
    let server = Server::observed().start();
    server.run("SET seckill:stock:7 5");
    server.refused("SECKILL.CREATE 7 5", "BUSYKEY");
    for options in [
        "ADOPT ADOPT",
        "ADOPT 5",
        "ADOPT LIMIT 0",
        "ADOPT LIMIT 1 ADOPT",
        "5 ADOPT",
        "LIMIT 2 ADOPT",
        "ADOPT BEGIN 20 END 20",
        "ADOPTED",
    ] {
        server.refused(&format!("SECKILL.CREATE 7 {options}"), "ERR");
    }
}

#[test]
fn in_a_cluster_the_stock_of_the_vouchers_slot_is_adopted() {
    let server = whole_cluster();
    server.check(
        "
        > SET seckill:stock:{7} 3
        OK
        > SECKILL.CREATE 7 ADOPT
        OK
        > EXISTS seckill:voucher:{7}
        1
        > SECKILL.TRY 7 alice o1
        0
        ",
    );
    server.assert_book("7", [2, 0, 1]);
    assert!(text(&server.run("SECKILL.CREATE a}b ADOPT")).starts_with("ERR "));
}

#[test]
fn nothing_is_adopted_while_its_slot_is_moved() {
    let (source, target) = two_nodes();
    source.run("SET seckill:stock:{7} 3");
    let moving = Move::begin(&source, &target, "7");
    // The source has the stock, and the target could have the buyers.
    let refused = text(&source.run("SECKILL.CREATE {7} ADOPT"));
    assert!(refused.starts_with("ASK"), "{refused}");
    target.check("> ASKING\nOK\n> SECKILL.CREATE {7} ADOPT\n(error) TRYAGAIN ...");
    moving.key("seckill:stock:{7}");
    target.check("> ASKING\nOK\n> SECKILL.CREATE {7} ADOPT\n(error) TRYAGAIN ...");
    moving.end();
    target.check("> SECKILL.CREATE {7} ADOPT\nOK\n> SECKILL.TRY {7} alice o1\n0");
    target.assert_book("{7}", [2, 0, 1]);
    source.check("> DBSIZE\n0");
}

/// From then on a voucher is managed, though it was tried without rules before.
#[test]
fn rules_that_come_from_elsewhere_count_at_once() {
    let rules = r#"{"total":5,"begin":null,"end":1,"limit":1,"hold":null,"sale":7}"#;
    let server = Server::with().port().start();
    let mut other = server.client();
    other.run("SELECT 4");
    let unmanaged = || {
        server.run("FLUSHALL");
        server.run("SET seckill:stock:7 5");
        server.check("> SECKILL.TRY 7 alice o1\n0\n> SECKILL.TRY 7 alice o1\n2");
    };
    unmanaged();
    other.call(&["SET", "seckill:voucher:7", rules]);
    server.check("> SECKILL.TRY 7 bob o2\n0");
    // Some servers select the key's database: see docs/operating.md.
    other.check("> MOVE seckill:voucher:7 0\n1\n> SELECT 4\nOK");
    server.check("> SECKILL.TRY 7 carol o3\n4");
    unmanaged();
    other.call(&["MSET", "seckill:voucher:7", rules, "seckill:stock:7", "5"]);
    server.check("> SWAPDB 0 4\nOK\n> SECKILL.TRY 7 carol o3\n4");
    // By a snapshot and by commands of a primary; a replica answers SECKILL.INFO.
    let primary = Server::with().port().start();
    primary.call(&["MSET", "seckill:voucher:7", rules, "seckill:stock:7", "5"]);
    primary.run("SET seckill:stock:8 5");
    unmanaged();
    let managed = |voucher: &str| server.field(&format!("SECKILL.INFO {voucher}"), "managed");
    assert_eq!(managed("7"), Value::Int(0));
    server.run(&format!("REPLICAOF 127.0.0.1 {}", primary.port()));
    primary.wait_for_replica(&server);
    assert_eq!(managed("7"), Value::Int(1));
    assert_eq!(managed("8"), Value::Int(0));
    primary.call(&["SET", "seckill:voucher:8", rules]);
    primary.wait_for_replica(&server);
    assert_eq!(managed("8"), Value::Int(1));
    server.check("> REPLICAOF NO ONE\nOK\n> SECKILL.TRY 8 carol o3\n4");
    // By a rewritten AOF, and by a reload.
    assert_eq!(text(&server.run("DEBUG RELOAD")), "OK");
    server.check("> SECKILL.TRY 8 carol o3\n4");
}

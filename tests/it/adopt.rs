//! SECKILL.CREATE ... ADOPT: makes a stock that an application has set a managed voucher's stock.

use crate::cluster::{slot, two_nodes, whole_cluster};
use crate::events::assert_like;
use crate::harness::{Server, text};
use crate::managed_effects::written;
use redis::Value;

#[test]
fn a_stock_that_was_set_is_sold_by_rules() {
    let server = Server::start();
    server.check(
        r#"
        > SET seckill:stock:7 2
        OK
        > SECKILL.CREATE 7 ADOPT HOLD 900000
        OK
        > GET seckill:voucher:7
        {"total":2,"begin":null,"end":null,"limit":1,"hold":900000,"sale":1795344856123456}
        > SECKILL.TRY 7 alice o1
        0
        > SECKILL.TRY 7 alice o1
        0
        > SECKILL.TRY 7 alice o2
        2
        > SECKILL.TRY 7 bob o3
        0
        > SECKILL.TRY 7 carol o4
        1
        > SECKILL.CONFIRM 7 alice o1
        1
        > SECKILL.CANCEL 7 bob o3
        1
        > GET seckill:stock:7
        1
        "#,
    );
    assert_eq!(server.differences("7"), Vec::<String>::new());
    server.assert_book("7", [1, 0, 1]);
}

#[test]
fn rules_count_at_once_after_tries_without_them() {
    let server = Server::start();
    server.check(
        "
        > SET seckill:stock:7 5
        OK
        > SECKILL.TRY 7 alice o1
        0
        > SECKILL.CANCEL 7 alice o1
        1
        > SECKILL.CREATE 7 adopt END 1 LIMIT 2
        OK
        > SECKILL.TRY 7 alice o2
        4
        > SECKILL.ALTER 7 END 0
        OK
        > SECKILL.TRY 7 alice o2 UNITS 2
        0
        > GET seckill:stock:7
        3
        ",
    );
    assert_eq!(server.differences("7"), Vec::<String>::new());
}

#[test]
fn a_hold_on_an_adopted_stock_expires() {
    let server = Server::start();
    server.check(
        "
        > SET seckill:stock:7 1
        OK
        > SECKILL.CREATE 7 ADOPT HOLD 40
        OK
        > SECKILL.TRY 7 alice o1
        0
        ",
    );
    server.wait_for_state("7", "o1", "expired");
    server.check("> GET seckill:stock:7\n1\n> SECKILL.TRY 7 bob o2\n0");
}

#[test]
fn the_stock_key_is_left_as_it_is() {
    let server = Server::with().aof().start();
    server.run("SET seckill:stock:7 12 PXAT 33333333333333");
    let rules =
        r#"{\"total\":12,\"begin\":null,\"end\":null,\"limit\":2,\"hold\":null,\"sale\":SALE}"#;
    assert_eq!(
        written(&server, "SECKILL.CREATE 7 ADOPT LIMIT 2"),
        [format!("SET seckill:voucher:7 {rules} KEEPTTL")]
    );
    server.check(
        "
        > GET seckill:stock:7
        12
        > PEXPIRETIME seckill:stock:7
        33333333333333
        > PEXPIRETIME seckill:voucher:7
        -1
        ",
    );
    let set = ["SET seckill:stock:7 5 PXAT 33333333333333"];
    assert_like(&set, "SECKILL.CREATE 7 ADOPT", &["SET seckill:voucher:7 x"]);
}

#[test]
fn any_stock_from_0_on_can_be_adopted() {
    let server = Server::start();
    for stock in ["0", "1", "9223372036854775807"] {
        server.run("FLUSHALL");
        server.run(&format!("SET seckill:stock:7 {stock}"));
        server.check(&format!(
            "
            > SECKILL.CREATE 7 ADOPT
            OK
            > GET seckill:voucher:7
            {{\"total\":{stock},\"begin\":null,\"end\":null,\"limit\":1,...
            > GET seckill:stock:7
            {stock}
            "
        ));
        assert_eq!(server.differences("7"), Vec::<String>::new());
    }
    // A stock that other commands changed is adopted in any string encoding.
    server.run("FLUSHALL");
    server.check("> APPEND seckill:stock:7 1\n1\n> APPEND seckill:stock:7 0\n2");
    server.check("> SECKILL.CREATE 7 ADOPT\nOK\n> SECKILL.TRY 7 a o\n0\n> GET seckill:stock:7\n9");
}

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
fn in_transactions_and_scripts_it_is_one_step() {
    let server = Server::with().aof().start();
    server.check(
        "
        > MULTI
        OK
        > SET seckill:stock:7 3
        QUEUED
        > SECKILL.CREATE 7 ADOPT LIMIT 2
        QUEUED
        > SECKILL.TRY 7 alice o1 UNITS 2
        QUEUED
        > EXEC
        1) OK
        2) OK
        3) 0
        > SET seckill:stock:8 3
        OK
        > EVAL \"return redis.call('SECKILL.CREATE', KEYS[1], 'ADOPT', 'HOLD', ARGV[1])\" 1 8 900000
        OK
        > SECKILL.TRY 8 alice o1
        0
        ",
    );
    server.assert_book("7", [1, 0, 2]);
    server.assert_book("8", [2, 1, 0]);
    let copy = Server::with().aof().without_module().data_of(&server).start();
    assert_eq!(copy.digest(), server.digest());
}

#[test]
fn a_replica_has_the_rules_and_refuses_to_make_any() {
    let primary = Server::with().port().start();
    let replica = Server::with().replica_of(&primary).start();
    primary.check("> SET seckill:stock:7 3\nOK\n> SECKILL.CREATE 7 ADOPT HOLD 900000\nOK");
    primary.check("> SECKILL.TRY 7 alice o1\n0");
    primary.wait_for_replica(&replica);
    replica.assert_book("7", [2, 1, 0]);
    let refused = text(&replica.run("SECKILL.CREATE 8 ADOPT"));
    assert!(refused.starts_with("READONLY "), "{refused}");
    replica.run("REPLICAOF NO ONE");
    replica.check("> SECKILL.CONFIRM 7 alice o1\n1");
    replica.assert_book("7", [2, 0, 1]);
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
    let id = |server: &Server| text(&server.run("CLUSTER MYID"));
    let moving = slot(&source, b"7");
    target.run(&format!("CLUSTER SETSLOT {moving} IMPORTING {}", id(&source)));
    source.run(&format!("CLUSTER SETSLOT {moving} MIGRATING {}", id(&target)));
    // The source has the stock, and the target could have the buyers.
    let refused = text(&source.run("SECKILL.CREATE {7} ADOPT"));
    assert!(refused.starts_with("ASK"), "{refused}");
    target.check("> ASKING\nOK\n> SECKILL.CREATE {7} ADOPT\n(error) TRYAGAIN ...");
    let migrate = format!("MIGRATE 127.0.0.1 {} seckill:stock:{{7}} 0 5000", target.port());
    assert_eq!(source.run(&migrate), Value::Okay);
    target.check("> ASKING\nOK\n> SECKILL.CREATE {7} ADOPT\n(error) TRYAGAIN ...");
    for server in [&target, &source] {
        let moved = server.run(&format!("CLUSTER SETSLOT {moving} NODE {}", id(&target)));
        assert_eq!(moved, Value::Okay);
    }
    target.check("> SECKILL.CREATE {7} ADOPT\nOK\n> SECKILL.TRY {7} alice o1\n0");
    target.assert_book("{7}", [2, 0, 1]);
    source.check("> DBSIZE\n0");
}

//! A managed voucher never sells more than its total, whoever writes its stock.

use crate::harness::Server;
use crate::observe::integer;
use redis::Value;

/// How many of these tries of new users are accepted; all others are sold out.
fn accepted(server: &Server, voucher: &str, users: std::ops::Range<u32>, more: &str) -> usize {
    let outcomes =
        users.map(|user| server.run(&format!("SECKILL.TRY {voucher} u{user} o{user} {more}")));
    let outcomes: Vec<i64> = outcomes.map(|outcome| integer(&outcome)).collect();
    assert!(outcomes.iter().all(|outcome| matches!(outcome, 0 | 1)), "{outcomes:?}");
    outcomes.iter().filter(|outcome| **outcome == 0).count()
}

fn warnings(server: &Server) -> usize {
    server.log().matches(" was written by another client: ").count()
}

#[test]
fn a_stock_that_is_set_at_each_start_sells_no_more_than_the_total() {
    let server = Server::start();
    server.check("> SECKILL.CREATE 7 100 HOLD 600000\nOK");
    assert_eq!(accepted(&server, "7", 0..60, ""), 60);
    assert_eq!(warnings(&server), 0);
    server.check("> SET seckill:stock:7 95\nOK");
    assert_eq!(accepted(&server, "7", 60..200, ""), 40);
    server.check("> HLEN seckill:book:7\n100\n> GET seckill:stock:7\n55");
    assert_eq!(warnings(&server), 1);
    let log = server.log();
    let line = "seckill:stock:7 was written by another client: 55 of its units are more than \
                total, held and sold allow";
    assert!(log.contains(line), "{log}");
    let differences = server.differences("7");
    assert_eq!(differences, ["total is 100, but left 55 + held 100 + sold 0 is 155"]);
    // What returns is sold again, and once.
    server.check("> SECKILL.CANCEL 7 u3 o3\n1");
    assert_eq!(accepted(&server, "7", 200..210, ""), 1);
    // Each write is said once; new units come by RESTOCK.
    server.check("> SET seckill:stock:7 95\nOK");
    assert_eq!(accepted(&server, "7", 300..310, ""), 0);
    assert_eq!(warnings(&server), 2);
    server.check("> SECKILL.RESTOCK 7 2\n97");
    assert_eq!(accepted(&server, "7", 310..320, ""), 2);
    assert_eq!(warnings(&server), 2);
    server.check("> SECKILL.RESTOCK 7 -1\n(error) STOCK fewer units are left than this removes");
    server.check("> SET seckill:stock:7 0\nOK");
    assert_eq!(server.differences("7"), Vec::<String>::new());
}

/// Units of several per order and user, and users who wait, are counted beside the users.
#[test]
fn orders_of_several_units_and_queues_are_counted() {
    let server = Server::start();
    server.check("> SECKILL.CREATE 7 10 LIMIT 4 HOLD 600000\nOK");
    assert_eq!(accepted(&server, "7", 0..2, "UNITS 3"), 2);
    server.check("> SECKILL.TRY 7 u0 again\n0\n> SECKILL.CONFIRM 7 u1 o1\n1");
    server.check("> HGETALL seckill:extra:7\n1) orders\n2) 2\n3) users\n4) 5\n> SET more 9\nOK");
    for write in [
        "SET seckill:stock:7 1000",
        "SETEX seckill:stock:7 900 500",
        "INCRBY seckill:stock:7 77",
        "COPY more seckill:stock:7 REPLACE",
    ] {
        server.run(write);
        server.check("> SECKILL.TRY 7 big x1 UNITS 4\n1");
    }
    server.check("> SECKILL.TRY 7 cat c1 UNITS 3\n0\n> SECKILL.TRY 7 dan d1 UNITS 2 WAITLIST\n6");
    assert_eq!(accepted(&server, "7", 10..20, ""), 0);
    // The queue is promoted with what returns, not with what is in the stock.
    server.check("> SECKILL.CANCEL 7 u0 again\n1");
    assert_eq!(server.state("7", "d1"), "waiting");
    server.check("> SECKILL.CANCEL 7 u0 o0 KEEP 2\n1");
    server.wait_for_state("7", "d1", "held");
    server.check("> SECKILL.MTRY 7 eve e1 fay f1\n1) 1\n2) 1");
    server.check("> HGETALL seckill:extra:7\n1) orders\n2) 4\n3) users\n4) 6");
    let differences = server.differences("7");
    assert!(
        differences.len() == 1 && differences[0].starts_with("total is 10,"),
        "{differences:?}"
    );
}

/// Nothing that the guard needs is in memory only.
#[test]
fn a_replica_that_is_promoted_sells_no_more_than_the_total() {
    let primary = Server::with().port().start();
    let replica = Server::with().replica_of(&primary).start();
    primary
        .check("> SECKILL.CREATE 7 6 LIMIT 3 HOLD 600000\nOK\n> SECKILL.TRY 7 ann a1 UNITS 3\n0");
    primary.check("> SET seckill:stock:7 6\nOK");
    primary.wait_for_replica(&replica);
    replica.run("REPLICAOF NO ONE");
    assert_eq!(accepted(&replica, "7", 0..10, ""), 3);
    replica.run("DEBUG RELOAD");
    replica.check("> SET seckill:stock:7 6\nOK");
    assert_eq!(accepted(&replica, "7", 10..20, ""), 0);
    assert_eq!(replica.run("HLEN seckill:book:7"), Value::Int(4));
}

/// The last hold ends, and with it the extra units: but not a key that is no count of them.
#[test]
fn extra_units_that_cannot_be_read_are_left_and_reported() {
    for (make, read, left) in [
        ("SET seckill:extra:7 x", "GET seckill:extra:7", "x"),
        ("HSET seckill:extra:7 orders x", "HGET seckill:extra:7 orders", "x"),
    ] {
        let server = Server::start();
        server.check("> SECKILL.CREATE 7 5 HOLD 900000\nOK\n> SECKILL.TRY 7 ann a1\n0");
        server.run(make);
        server.check("> SECKILL.CANCEL 7 ann a1\n1");
        server.check(&format!("> {read}\n{left}\n> EXISTS seckill:hold:7\n0"));
        let log = server.log();
        assert_eq!(log.matches("seckill:extra:7 can't be read, and stays").count(), 1, "{log}");
        server.check("> DEL seckill:extra:7\n1\n> SECKILL.TRY 7 bob b1\n0");
        server.assert_book("7", [4, 1, 0]);
    }
}

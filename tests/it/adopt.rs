//! SECKILL.CREATE ... ADOPT: makes a stock that an application has set a managed voucher's stock;
//! and rules that come to a stock by other ways.

use crate::harness::Server;
use redis::Value;

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
        ("seckill:outside:7", "HSET seckill:outside:7 o1 1"),
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

/// From then on a voucher is managed, though it was tried without rules before.
#[test]
fn rules_that_come_from_elsewhere_count_at_once() {
    let rules = r#"{"total":3,"begin":null,"end":1,"limit":1,"hold":null,"sale":7}"#;
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
    assert_eq!(server.say("DEBUG RELOAD"), "OK");
    server.check("> SECKILL.TRY 8 carol o3\n4");
}

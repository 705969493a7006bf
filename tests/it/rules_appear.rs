//! Rules that appear: from then on a voucher is managed, though it was tried without rules before.

use crate::harness::{Server, text};
use crate::observe::bytes_list;
use redis::Value;

#[test]
fn rules_that_appear_by_any_means_count_at_once() {
    let rules = r#"{"total":5,"begin":null,"end":1,"limit":1,"hold":null,"sale":7}"#;
    let key = "seckill:voucher:7";
    let donor = Server::start();
    donor.call(&["SET", key, rules]);
    let dump = bytes_list(Value::Array(vec![donor.call(&["DUMP", key])])).remove(0);
    let lua = format!("return redis.call('SET', '{key}', '{rules}')");
    let ways: [(&str, &[&[&[u8]]]); 12] = [
        ("SET", &[&[b"SET", key.as_bytes(), rules.as_bytes()]]),
        ("SETNX", &[&[b"SETNX", key.as_bytes(), rules.as_bytes()]]),
        ("SET with a TTL", &[&[b"SET", key.as_bytes(), rules.as_bytes(), b"EX", b"1000"]]),
        ("MSET", &[&[b"MSET", b"x", b"1", key.as_bytes(), rules.as_bytes()]]),
        ("APPEND", &[&[b"APPEND", key.as_bytes(), rules.as_bytes()]]),
        ("SETRANGE", &[&[b"SETRANGE", key.as_bytes(), b"0", rules.as_bytes()]]),
        ("RESTORE", &[&[b"RESTORE", key.as_bytes(), b"0", &dump]]),
        ("COPY", &[&[b"SET", b"x", rules.as_bytes()], &[b"COPY", b"x", key.as_bytes()]]),
        ("RENAME", &[&[b"SET", b"x", rules.as_bytes()], &[b"RENAME", b"x", key.as_bytes()]]),
        ("EVAL", &[&[b"EVAL", lua.as_bytes(), b"0"]]),
        ("BITOP", &[&[b"SET", b"x", rules.as_bytes()], &[b"BITOP", b"OR", key.as_bytes(), b"x"]]),
        ("MULTI", &[&[b"MULTI"], &[b"SET", key.as_bytes(), rules.as_bytes()], &[b"EXEC"]]),
    ];
    let server = Server::start();
    for (way, commands) in ways {
        server.run("FLUSHALL");
        server.run("SET seckill:stock:7 5");
        server.check("> SECKILL.TRY 7 alice o1\n0\n> SECKILL.TRY 7 alice o1\n2");
        for command in commands {
            let reply = server.call(command);
            assert!(!matches!(reply, Value::ServerError(_)), "{way}: {reply:?}");
        }
        assert_eq!(server.run("SECKILL.TRY 7 bob o2"), Value::Int(4), "by {way}");
        // When the rules are deleted, the voucher is unmanaged at once.
        server.run(&format!("DEL {key}"));
        assert_eq!(server.run("SECKILL.TRY 7 bob o2"), Value::Int(0), "after {way}");
    }
}

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

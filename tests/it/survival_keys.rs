//! Keys that are flushed, swapped, renamed, deleted, restored, copied, moved: holds come back once,
//! no unit is lost or made, and where that can't be, the audit says so.

use crate::harness::{Server, text, wait_for};
use crate::observe::bytes_list;
use crate::survival::{assert_over, deadline, sale};
use redis::Value;

#[test]
fn flushing_ends_a_sale_and_its_holds() {
    let server = Server::start();
    let mut other = server.client();
    other.run("SELECT 3");
    for flush in ["FLUSHALL", "FLUSHALL ASYNC", "FLUSHDB", "FLUSHDB ASYNC"] {
        sale(&server, "7", 40);
        let over = deadline(&server, "7");
        other.check("> FLUSHDB\nOK\n> SECKILL.CREATE 7 5 HOLD 40\nOK\n> SECKILL.TRY 7 alice o1\n0");
        server.check(&format!("> {flush}\nOK"));
        server.wait_until(over + 60);
        server.check("> DBSIZE\n0\n> SECKILL.TRY 7 dave due\n(error) NOVOUCHER ...");
        if flush.starts_with("FLUSHDB") {
            let expired = wait_for("expiry in the other database", || {
                (other.state("7", "o1") == "expired").then_some(())
            });
            expired.unwrap_or_else(|late| panic!("{flush}: {late}"));
        } else {
            other.check("> DBSIZE\n0");
        }
        sale(&server, "7", 40);
        assert_over(&server, "7");
        server.run("FLUSHDB");
    }
}

#[test]
fn holds_go_with_their_database() {
    let server = Server::start();
    let mut other = server.client();
    other.run("SELECT 5");
    sale(&server, "7", 100);
    other.check("> SECKILL.CREATE 8 5 HOLD 100\nOK\n> SECKILL.TRY 8 alice o1\n0");
    server.check("> SWAPDB 0 5\nOK\n> SECKILL.TRY 7 alice kept\n(error) NOVOUCHER ...");
    server.wait_for_state("8", "o1", "expired");
    server.assert_book("8", [5, 0, 0]);
    server.check("> SWAPDB 5 0\nOK");
    assert_over(&server, "7");
    server.check("> EXISTS seckill:book:8\n0");
    // Swapped after the deadline, while writes are paused.
    server.run("FLUSHALL");
    sale(&server, "7", 30);
    let over = deadline(&server, "7");
    server.check("> SWAPDB 0 6\nOK\n> CLIENT PAUSE 60000 WRITE\nOK");
    server.wait_until(over + 20);
    server.check("> CLIENT UNPAUSE\nOK\n> SWAPDB 6 0\nOK");
    assert_over(&server, "7");
}

#[test]
fn keys_that_go_away_and_come_back() {
    let server = Server::start();
    let kinds = ["hold", "voucher", "book", "buyer", "stock", "order"];
    for kind in kinds {
        sale(&server, kind, 40);
        server.check(&format!("> RENAME seckill:{kind}:{kind} away-{kind}\nOK"));
    }
    let over = deadline(&server, "order");
    server.wait_until(over + 20);
    for kind in ["hold", "voucher", "book"] {
        server.check(&format!("> RENAME away-{kind} seckill:{kind}:{kind}\nOK"));
        assert_over(&server, kind);
    }
    // Without the others an order is given back all the same, and the audit tells what is amiss.
    for (kind, difference) in [
        ("buyer", "1 users' units differ from those of their live orders"),
        ("stock", "total is 9, but left 5 + held 2 + sold 1 is 8"),
        ("order", "1 buyers have no live order"),
    ] {
        server.wait_for_state(kind, "due", "expired");
        server.check(&format!("> RENAME away-{kind} seckill:{kind}:{kind}\nOK"));
        assert_eq!(server.differences(kind), [difference]);
    }
}

#[test]
fn holds_whose_key_was_lost_can_still_be_settled() {
    let server = Server::start();
    for (number, lose) in [
        "DEL seckill:hold:V",
        "UNLINK seckill:hold:V",
        "PEXPIRE seckill:hold:V 1",
        "ZREM seckill:hold:V due kept",
    ]
    .into_iter()
    .enumerate()
    {
        let voucher = format!("v{number}");
        sale(&server, &voucher, 40);
        let over = deadline(&server, &voucher);
        server.run(&lose.replace('V', &voucher));
        server.wait_until(over + 20);
        assert_eq!(server.state(&voucher, "due"), "held", "{lose}");
        assert_eq!(server.differences(&voucher), ["2 held orders have no hold"], "{lose}");
        server.check(&format!(
            "
            > SECKILL.CONFIRM {voucher} alice kept
            1
            > SECKILL.CONFIRM {voucher} dave due
            3
            "
        ));
        server.assert_book(&voucher, [6, 0, 3]);
    }
}

#[test]
fn keys_that_are_restored_copied_or_moved() {
    let server = Server::start();
    let mut other = server.client();
    other.run("SELECT 2");
    let kinds = ["voucher", "stock", "order", "book", "buyer", "hold"];
    // Away with all, then one after the other by RESTORE, in both orders.
    for (voucher, back) in [("7", false), ("8", true)] {
        sale(&server, voucher, 40);
        let over = deadline(&server, voucher);
        let mut keys = kinds.map(|kind| format!("seckill:{kind}:{voucher}"));
        if back {
            keys.reverse();
        }
        let dumps =
            keys.clone().map(|key| bytes_list(Value::Array(vec![server.call(&["DUMP", &key])])));
        for key in &keys {
            server.run(&format!("DEL {key}"));
        }
        server.wait_until(over);
        for (key, dump) in keys.iter().zip(&dumps) {
            let restored = server.call(&[b"RESTORE".as_slice(), key.as_bytes(), b"0", &dump[0]]);
            assert_eq!(restored, Value::Okay);
            // Time for expiry to fall over a sale of which half is there.
            server.wait_until(server.clock_ms() + 10);
        }
        assert_over(&server, voucher);
    }
    // A copy under another name is another sale, with the same holds.
    sale(&server, "9", 60);
    for kind in kinds {
        server.check(&format!("> COPY seckill:{kind}:9 seckill:{kind}:10\n1"));
    }
    assert_over(&server, "9");
    assert_over(&server, "10");
    // Moved to another database while held.
    sale(&server, "11", 60);
    for kind in kinds {
        server.check(&format!("> MOVE seckill:{kind}:11 2\n1"));
    }
    let expired = wait_for("expiry where it was moved", || {
        (other.state("11", "due") == "expired").then_some(())
    });
    expired.unwrap_or_else(|late| panic!("{late}\n{}", server.log()));
    other.assert_book("11", [6, 2, 1]);
}

#[test]
fn a_change_of_names_does_not_lose_holds() {
    let server = Server::start();
    sale(&server, "7", 40);
    let over = deadline(&server, "7");
    server.check("> CONFIG SET seckill.hash-tags yes\nOK");
    server.wait_until(over + 20);
    server.check("> CONFIG SET seckill.hash-tags no\nOK");
    assert_over(&server, "7");
}

#[test]
fn rules_that_appear_by_any_means_count_at_once() {
    let rules = r#"{"total":5,"begin":null,"end":1,"limit":1,"hold":null}"#;
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
        // And when they are gone, at once not.
        server.run(&format!("DEL {key}"));
        assert_eq!(server.run("SECKILL.TRY 7 bob o2"), Value::Int(0), "after {way}");
    }
}

#[test]
fn rules_that_come_from_elsewhere_count_at_once() {
    let rules = r#"{"total":5,"begin":null,"end":1,"limit":1,"hold":null}"#;
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
    other.check("> MOVE seckill:voucher:7 0\n1");
    server.check("> SECKILL.TRY 7 carol o3\n4");
    unmanaged();
    other.call(&["MSET", "seckill:voucher:7", rules, "seckill:stock:7", "5"]);
    server.check("> SWAPDB 0 4\nOK\n> SECKILL.TRY 7 carol o3\n4");
    // By a snapshot and by commands of a primary; SECKILL.INFO is what a replica may be asked.
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
    // By an AOF rewritten, and by a reload.
    assert_eq!(text(&server.run("DEBUG RELOAD")), "OK");
    server.check("> SECKILL.TRY 8 carol o3\n4");
}

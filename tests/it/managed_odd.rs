//! SECKILL.TRY on a managed voucher whose keys are unusual, and with an asterisk as order id.

use std::collections::BTreeSet;

use crate::harness::{Server, text};
use crate::observe::{integer, words};
use redis::Value;

#[test]
fn a_stock_that_cannot_be_read_is_an_error() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 7 5 HOLD 900000");
    for (make, code) in [
        ("PING", "NOVOUCHER"),
        ("SET seckill:stock:7 x", "ERR"),
        ("SET seckill:stock:7 ''", "ERR"),
        ("RPUSH seckill:stock:7 a", "WRONGTYPE"),
    ] {
        server.run("DEL seckill:stock:7");
        server.run(make);
        server.refused("SECKILL.TRY 7 alice o1", code);
        server.refused("SECKILL.TRY 7 alice *", code);
    }
    for negative in ["-1", "-2", "-9223372036854775808"] {
        server.run("DEL seckill:stock:7");
        server.run(&format!("SET seckill:stock:7 {negative}"));
        assert_eq!(server.silent("SECKILL.TRY 7 alice o1"), Value::Int(1), "{negative}");
    }
}

#[test]
fn a_missing_stock_can_mean_sold_out() {
    let server = Server::observed().config("seckill.missing-stock sold-out").start();
    server.run("SECKILL.CREATE 7 5");
    server.run("DEL seckill:stock:7");
    assert_eq!(server.silent("SECKILL.TRY 7 alice o1"), Value::Int(1));
}

#[test]
fn a_key_of_the_wrong_type_is_refused_before_anything_changes() {
    let server = Server::observed().start();
    for (key, right) in [
        ("seckill:order:7", "SADD"),
        ("seckill:book:7", "HSET"),
        ("seckill:units:7", "HSET"),
        ("seckill:hold:7", "ZADD"),
        ("stream.orders", "XADD"),
    ] {
        for make in [
            format!("SET {key} a"),
            format!("RPUSH {key} a"),
            format!("SADD {key} a"),
            format!("HSET {key} f v"),
            format!("ZADD {key} 99999999999999 a"),
            format!("XADD {key} 1-1 f v"),
        ] {
            if make.starts_with(right) {
                continue;
            }
            server.run("FLUSHALL");
            server.run("SECKILL.CREATE 7 5 HOLD 900000");
            server.run(&make);
            server.refused("SECKILL.TRY 7 alice o1", "WRONGTYPE");
            server.refused("SECKILL.TRY 7 alice * UNITS 1", "WRONGTYPE");
        }
    }
    // Only orders of several units use this key.
    server.run("FLUSHALL");
    server.run("SECKILL.CREATE 7 5 LIMIT 3 HOLD 900000");
    server.run("RPUSH seckill:extra:7 a");
    server.refused("SECKILL.TRY 7 alice o1 UNITS 2", "ERR");
    server.run("SET seckill:extra:7 x");
    server.refused("SECKILL.TRY 7 alice o1 UNITS 2", "ERR");
    server.check("> SECKILL.TRY 7 alice o1\n0");
    server.run("FLUSHALL");
    server.run("SECKILL.CREATE 7 5 HOLD 900000");
    server.run("XADD stream.orders 18446744073709551615-18446744073709551615 a b");
    server.refused("SECKILL.TRY 7 alice o1", "ERR");
    server.run("XTRIM stream.orders MAXLEN 0");
    server.refused("SECKILL.TRY 7 alice o1", "ERR");
}

#[test]
fn entries_that_no_command_wrote_are_refused() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 7 5 LIMIT 2 HOLD 900000");
    server.run("SECKILL.TRY 7 alice o1");
    for junk in ["''", "junk", "held:1:0:alice", "held:0:9:alice", "lost:1:0:alice", "sold:1:9:a"] {
        server.run(&format!("HSET seckill:book:7 o1 {junk}"));
        for command in ["TRY 7 alice o1", "CONFIRM 7 alice o1", "CANCEL 7 alice o1", "ORDER 7 o1"] {
            server.refused(&format!("SECKILL.{command}"), "ERR");
        }
    }
    server.run("HSET seckill:book:7 o1 sold:1:0:alice");
    for junk in ["''", "junk", "0:o1", "-1:o1", "1"] {
        server.run(&format!("HSET seckill:units:7 alice {junk}"));
        for command in ["TRY 7 alice o2", "CANCEL 7 alice o1", "STATUS 7 alice"] {
            server.refused(&format!("SECKILL.{command}"), "ERR");
        }
    }
}

#[test]
fn an_asterisk_makes_an_id_when_accepted() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 7 2 HOLD 900000");
    server.run("SET seckill:stock:8 2");
    for voucher in ["7", "8"] {
        let [outcome, id] = pair(server.run(&format!("SECKILL.TRY {voucher} alice *")));
        assert_eq!(outcome, Value::Int(0));
        let Value::BulkString(id) = id else { panic!("{id:?}") };
        let id = String::from_utf8(id).expect("digits");
        assert!(id.len() > 17 && id.bytes().all(|byte| byte.is_ascii_digit()), "{id}");
        // The id is from today's counter, which any other generator on that key continues.
        let counter = words(server.run("KEYS icr:order:*"));
        assert_eq!(counter.len(), 1);
        let count = text(&server.run(&format!("GET {}", counter[0])));
        assert_eq!((id.parse::<u64>().expect("an id") & 0xffff_ffff).to_string(), count);
        let entry = format!("{:?}", server.run("XREVRANGE stream.orders + - COUNT 1"));
        assert!(entry.contains(&format!("\"{id}\"")), "{entry} has no {id}");
        if voucher == "7" {
            assert_eq!(server.state("7", &id), "held");
        }
        // A losing try uses up no id.
        let lost = pair(server.silent(&format!("SECKILL.TRY {voucher} alice *")));
        assert_eq!(lost, [Value::Int(2), Value::Nil]);
        let lost = pair(server.silent(&format!("SECKILL.TRY {voucher} bob * UNITS 2")));
        assert_eq!(lost, [Value::Int(if voucher == "7" { 2 } else { 1 }), Value::Nil]);
    }
    server.refused("SECKILL.TRY 9 alice *", "NOVOUCHER");
    server.run("SECKILL.ALTER 7 END 1");
    assert_eq!(pair(server.silent("SECKILL.TRY 7 bob *")), [Value::Int(4), Value::Nil]);
    server.assert_book("7", [1, 1, 0]);
}

/// The counter is gone, and another user has taken the ids that it is going to make.
#[test]
fn an_asterisk_never_makes_an_id_that_the_book_knows() {
    for tags in ["auto", "yes"] {
        let server = Server::with().config(format!("seckill.hash-tags {tags}")).start();
        server.run("SECKILL.CREATE 7 100000 LIMIT 100000");
        let [outcome, id] = pair(server.run("SECKILL.TRY 7 ann *"));
        assert_eq!(outcome, Value::Int(0));
        let first: u64 = text(&id).parse().expect("an id");
        let mut batch = "SECKILL.MTRY 7".to_owned();
        // All ids of the next seconds, as many as will be needed.
        for second in 0..20 {
            for number in 0..41 {
                let id = (((first >> 32) + second) << 32) | ((first & 0xffff_ffff) + number);
                batch.push_str(&format!(" mallory {id}"));
            }
        }
        let Value::Array(answers) = server.run(&batch) else { panic!("no answers") };
        // The first of these ids was ann's.
        assert_eq!(answers.iter().filter(|answer| **answer == Value::Int(0)).count(), 819);
        let counters = words(server.run("KEYS icr:*"));
        assert_eq!(counters.len(), 1, "{counters:?}");
        let mut ids = BTreeSet::new();
        for round in 0..4 {
            server.run(&format!("DEL {}", counters[0]));
            for number in 0..10 {
                let answer = pair(server.run(&format!("SECKILL.TRY 7 u{round}.{number} *")));
                assert_eq!(answer[0], Value::Int(0), "{answer:?}");
                assert!(ids.insert(text(&answer[1])), "{answer:?}, {ids:?}");
            }
            let answer = server.run(&format!("SECKILL.MTRY 7 b{round} * c{round} *"));
            let Value::Array(answers) = answer else { panic!("{answer:?}") };
            for answer in answers.into_iter().map(pair) {
                assert_eq!(answer[0], Value::Int(0), "{answer:?}");
                assert!(ids.insert(text(&answer[1])), "{answer:?}, {ids:?}");
            }
        }
        server.assert_book("7", [100_000 - 820 - 48, 0, 820 + 48]);
        for id in ids {
            let user = text(&server.field(&format!("SECKILL.ORDER 7 {id}"), "user"));
            assert_ne!(user, "mallory", "{id}");
        }
    }
}

/// A batch that names the id that it is about to generate.
#[test]
fn an_asterisk_makes_no_id_that_the_batch_names() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 100000 LIMIT 100000");
    let mut collided = 0;
    for round in 0..200 {
        let [_, id] = pair(server.run(&format!("SECKILL.TRY 7 a{round} *")));
        let next = text(&id).parse::<u64>().expect("an id") + 1;
        let answer = server.run(&format!("SECKILL.MTRY 7 b{round} {next} c{round} *"));
        let Value::Array(answers) = answer else { panic!("{answer:?}") };
        assert_eq!(answers[0], Value::Int(0));
        let [outcome, id] = pair(answers[1].clone());
        assert_eq!(outcome, Value::Int(0));
        assert_ne!(text(&id), next.to_string());
        collided += u32::from(text(&id) == (next + 1).to_string());
    }
    assert!(collided > 100, "the second has hardly ever been the same");
}

fn pair(reply: Value) -> [Value; 2] {
    match reply {
        Value::Array(items) => items.try_into().expect("two elements"),
        other => panic!("no array: {other:?}"),
    }
}

/// It would sell past the book: no hold, no order to confirm.
#[test]
fn the_stock_of_a_managed_voucher_is_not_sold_by_its_keys() {
    let server = Server::observed().start();
    server.check("> SET seckill:stock:7 5\nOK\n> SECKILL.CREATE 7 ADOPT HOLD 900000\nOK");
    server.check("> SET seckill:stock:8 5\nOK\n> CONFIG SET seckill.hash-tags yes\nOK");
    server.check("> SECKILL.CREATE 9 5\nOK\n> CONFIG SET seckill.hash-tags auto\nOK");
    let tries = |stock: &str, voucher: &str| {
        format!("SECKILL.TRYKEYS {stock} b {stock}-orders {voucher} alice o1")
    };
    for voucher in ["7", "8", "x"] {
        let error = server.refused(&tries("seckill:stock:7", voucher), "ERR");
        assert!(error.contains("SECKILL.TRY"), "{error}");
        // The voucher tried last is another one, then this one.
        server.run("SECKILL.TRY 8 zoe o1");
        server.refused(&tries("seckill:stock:7", voucher), "ERR");
        server.run("SECKILL.INFO 7");
    }
    server.assert_book("7", [5, 0, 0]);
    // The stock of an unmanaged voucher, and one whose name no setting leads to.
    server.check(&format!("> {}\n0", tries("seckill:stock:8", "7")));
    server.check("> SET other 5\nOK");
    server.check("> SECKILL.TRYKEYS other b2 o2 7 alice o1\n0");
    server.check("> CONFIG SET seckill.hash-tags yes\nOK");
    server.refused(&tries("seckill:stock:{9}", "9"), "ERR");
    // It is sold again once it has no rules.
    server.check("> SECKILL.DROP 9\n1\n> SET seckill:stock:{9} 1\nOK");
    server.check("> SECKILL.TRYKEYS seckill:stock:{9} b{9} o{9} 9 alice o1\n0");
}

#[test]
fn stock_and_rules_keep_their_time_to_live() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 9 LIMIT 9 HOLD 900000");
    server.run("PEXPIREAT seckill:stock:7 33333333333333");
    for command in [
        "SECKILL.TRY 7 alice o1 UNITS 3",
        "SECKILL.TRY 7 alice o2 UNITS 3",
        "SECKILL.CONFIRM 7 alice o1",
        "SECKILL.CANCEL 7 alice o1",
        "SECKILL.CANCEL 7 alice o2",
        "SECKILL.ALTER 7 HOLD 1",
        "SECKILL.TRY 7 alice o3",
    ] {
        server.run(command);
        let expiry = integer(&server.run("PEXPIRETIME seckill:stock:7"));
        assert_eq!(expiry, 33_333_333_333_333, "after {command}");
    }
    server.wait_for_state("7", "o3", "expired");
    server.check("> PEXPIRETIME seckill:stock:7\n33333333333333\n> GET seckill:stock:7\n9");
    // Changed rules keep their expiry too.
    server.run("PEXPIREAT seckill:voucher:7 33333333333333");
    server.check("> SECKILL.ALTER 7 LIMIT 2\nOK\n> SECKILL.RESTOCK 7 1\n10");
    server.check("> PEXPIRETIME seckill:voucher:7\n33333333333333");
}

/// A hold that is due is released, whether the try that finds it is accepted or refused.
#[test]
fn an_error_can_follow_the_release_of_a_hold_that_is_due() {
    // In a transaction, so that the timer does not run between these commands.
    Server::start().check(
        "
        > SECKILL.CREATE 7 1 HOLD 900000
        OK
        > SECKILL.TRY 7 alice o1
        0
        > MULTI
        OK
        > ZADD seckill:hold:7 1 o1
        QUEUED
        > HSET seckill:book:7 o1 held:1:1:alice
        QUEUED
        > RENAME stream.orders kept
        QUEUED
        > SET stream.orders x
        QUEUED
        > SECKILL.TRY 7 bob o2
        QUEUED
        > HGET seckill:book:7 o1
        QUEUED
        > EXISTS seckill:hold:7 seckill:order:7
        QUEUED
        > EXEC
        1) 0
        2) 0
        3) OK
        4) OK
        5) (error) WRONGTYPE Operation against a key holding the wrong kind of value
        6) expired:1:0:alice
        7) 0
        > XLEN stream.orders.released
        1
        > GET seckill:stock:7
        1
        ",
    );
}

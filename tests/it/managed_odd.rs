//! SECKILL.TRY on a managed voucher whose keys are unusual, and with an asterisk as order id.

use crate::harness::{Server, text};
use crate::observe::integer;
use redis::Value;

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
        > SECKILL.CREATE 7 1 HOLD 900000 => OK
        > SECKILL.TRY 7 alice o1 => 0
        > MULTI => OK
        > ZADD seckill:hold:7 1 o1 => QUEUED
        > HSET seckill:book:7 o1 held:1:1:alice => QUEUED
        > RENAME stream.orders kept => QUEUED
        > SET stream.orders x => QUEUED
        > SECKILL.TRY 7 bob o2 => QUEUED
        > HGET seckill:book:7 o1 => QUEUED
        > EXISTS seckill:hold:7 seckill:order:7 => QUEUED
        > EXEC
        1) 0
        2) 0
        3) OK
        4) OK
        5) (error) WRONGTYPE Operation against a key holding the wrong kind of value
        6) expired:1:0:alice
        7) 0
        > XLEN stream.orders.released => 1
        > GET seckill:stock:7 => 1
        ",
    );
}

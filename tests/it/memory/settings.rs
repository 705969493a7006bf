//! A setting changes: one of those that name keys, or any other.

use super::primed::{LASTS, Primed, RULES};
use crate::config::CONFIGS;
use crate::harness::Server;
use redis::Value;

/// Runs commands in one transaction; returns the replies except those to settings.
fn at_once(server: &Server, commands: &[&str]) -> Vec<Value> {
    server.run("MULTI");
    for command in commands {
        assert_eq!(server.run(command), Value::SimpleString("QUEUED".into()), "{command}");
    }
    let Value::Array(replies) = server.run("EXEC") else { panic!("{commands:?}") };
    let of_settings = commands.iter().map(|command| command.starts_with("CONFIG"));
    replies.into_iter().zip(of_settings).filter(|(_, is)| !is).map(|(reply, _)| reply).collect()
}

fn numbers(replies: &[Value]) -> Vec<i64> {
    replies.iter().map(crate::observe::integer).collect()
}

/// For sales that the module has not seen, `config_names::names_take_effect_at_once` shows that new
/// names are valid at once.
#[test]
fn other_names_end_what_was_known_of_the_keys_before() {
    let server = Server::start();
    for command in [
        "MSET seckill:stock:7 5 seckill:stock:{7} 5 other:7 0",
        &format!("SET seckill:voucher:{{7}} {RULES}"),
        "SECKILL.TRY 7 alice o1",
        "SECKILL.TRY 7 alice o2",
    ] {
        server.run(command);
    }
    // Unmanaged; under the other names it has rules, or no stock, or no buyers.
    server.check("> SECKILL.TRY 7 alice o2\n2");
    let replies = at_once(
        &server,
        &[
            "SECKILL.TRY 7 alice o3",
            "CONFIG SET seckill.hash-tags yes",
            "SECKILL.TRY 7 bob o4",
            "CONFIG SET seckill.hash-tags auto",
            "SECKILL.TRY 7 alice o5",
            "CONFIG SET seckill.stock-prefix other:",
            "SECKILL.TRY 7 bob o6",
            "CONFIG SET seckill.stock-prefix seckill:stock:",
            "SECKILL.TRY 7 alice o7",
            "CONFIG SET seckill.buyers-prefix b:",
            "SECKILL.TRY 7 alice o8",
            "SECKILL.TRY 7 alice o9",
            "CONFIG SET seckill.buyers-prefix seckill:order:",
            "SECKILL.TRY 7 alice o10",
            "SECKILL.TRY 7 bob o11",
        ],
    );
    assert_eq!(numbers(&replies), [2, 4, 2, 1, 2, 0, 2, 2, 0]);
    // Managed and sold out; under the other names a hold is due, or the stock differs.
    server.check("> CONFIG SET seckill.hash-tags yes\nOK\n> SECKILL.CREATE 8 1 HOLD 900000\nOK");
    server.check("> SECKILL.TRY 8 ann a1\n0\n> CONFIG SET seckill.hash-tags auto\nOK");
    // Another client has taken a unit from one stock and put it into the other.
    server.check("> SECKILL.CREATE 8 2 HOLD 900000\nOK\n> SECKILL.TRY 8 ann a1\n0");
    server.check("> SET seckill:stock:8 0\nOK");
    server.check("> SECKILL.TRY 8 cat c1\n1\n> SECKILL.TRY 8 cat c1\n1");
    server.check("> SET other:8 1\nOK\n> SECKILL.TRY 8 cat c1\n1");
    let replies = at_once(
        &server,
        &[
            "ZADD seckill:hold:{8} 5 a1",
            "SECKILL.TRY 8 cat c1",
            "CONFIG SET seckill.hash-tags yes",
            "SECKILL.TRY 8 cat c2",
            "SECKILL.TRY 8 dan d1",
            "CONFIG SET seckill.hash-tags auto",
            "SECKILL.TRY 8 cat c1",
            "CONFIG SET seckill.stock-prefix other:",
            "SECKILL.TRY 8 cat c1",
            "CONFIG SET seckill.stock-prefix seckill:stock:",
            "SECKILL.TRY 8 dan d1",
        ],
    );
    assert_eq!(numbers(&replies), [0, 1, 0, 1, 1, 0, 1]);
}

#[test]
fn names_of_pools_end_with_the_setting() {
    let server = Server::start();
    server.run("RPUSH seckill:codes:7 a b");
    server.run("RPUSH seckill:codes:{7} tagged");
    server.check("> SECKILL.DRAW 7 ann\n1) 0\n2) a\n> SECKILL.DRAW 7 ann\n1) 2\n2) a");
    server.check("> CONFIG SET seckill.hash-tags yes\nOK\n> SECKILL.DRAW 7 ann\n1) 0\n2) tagged");
    server.check("> CONFIG SET seckill.draw-stream d\nOK\n> SECKILL.DRAW 7 bob\n1) 1\n2) (nil)");
    server.check("> CONFIG SET seckill.hash-tags auto\nOK\n> SECKILL.DRAW 7 bob\n1) 0\n2) b");
    server.check("> XLEN d\n1\n> XLEN stream.draws\n1\n> XLEN stream.draws:{7}\n1");
}

/// Holds that belong to no voucher under one naming belong to one under the other, even to a
/// voucher whose name the first naming refuses.
#[test]
fn holds_of_another_naming_are_looked_at_again() {
    let server = Server::start();
    let vouchers = ["7", "a}b"];
    for voucher in vouchers {
        server.check(&format!("> SECKILL.CREATE {voucher} 5 HOLD 900000\nOK"));
        server.check(&format!(
            "> SECKILL.TRY {voucher} ann a1\n0\n> SECKILL.TRY {voucher} bob b1\n0"
        ));
    }
    let before = super::calls(&server, "scan");
    for (round, id) in ["a1", "b1"].into_iter().enumerate() {
        server.check("> CONFIG SET seckill.hash-tags yes\nOK");
        for voucher in vouchers {
            server.run(&format!("ZADD seckill:hold:{voucher} 5 {id}"));
        }
        // The holds were looked at and left alone: a hold that was placed later has expired.
        server.check(&format!("> SECKILL.CREATE x{round} 5 HOLD 1\nOK"));
        server.check(&format!("> SECKILL.TRY x{round} ann o\n0"));
        server.wait_for_state(&format!("x{round}"), "o", "expired");
        for voucher in vouchers {
            server.check(&format!("> HGET seckill:book:{voucher} {id}\nheld..."));
        }
        server.check("> CONFIG SET seckill.hash-tags auto\nOK");
        for voucher in vouchers {
            server.wait_for_state(voucher, id, "expired");
        }
    }
    assert_eq!(super::calls(&server, "scan"), before, "a setting scans no keys");
    for voucher in vouchers {
        server.assert_book(voucher, [5, 0, 0]);
    }
}

/// An expired hold is entered in the stream that is configured when it expires.
#[test]
fn a_hold_that_is_pending_expires_under_the_new_names() {
    let server = Server::start();
    server.check("> SECKILL.CREATE 7 5 HOLD 900000\nOK\n> SECKILL.TRY 7 ann a1\n0");
    server.check("> SECKILL.TRY 7 bob b1\n0");
    server.run("CONFIG SET seckill.order-stream s seckill.order-fields 'buyer item order'");
    // Under the name that is configured now there are no buyers until an operator renames them.
    server.run("CONFIG SET seckill.buyers-prefix b:");
    server.run("ZADD seckill:hold:7 5 a1");
    server.check(
        "> SECKILL.CANCEL 7 bob b1\n(error) INCOMPLETE a key of this sale is missing: \
        buyers, see SECKILL.AUDIT\n> RENAME seckill:order:7 b:7\nOK",
    );
    server.wait_for_state("7", "a1", "expired");
    server.check(
        r#"
        > XRANGE s.released - +
        1) 1) "1722509999999-0"
           2)  1) "buyer"
               2) "ann"
               3) "item"
               4) "7"
               5) "order"
               6) "a1"
               7) "sale"
               8) "1795344856123456"
               9) "reason"
              10) "expired"
              11) "was"
              12) "held"
        > EXISTS stream.orders.released => 0
        > CONFIG SET seckill.order-stream '' => OK
        > ZADD seckill:hold:7 5 b1 => 0
        "#,
    );
    server.wait_for_state("7", "b1", "expired");
    server.check("> XLEN s.released\n1\n> GET seckill:stock:7\n5");
}

/// A waiter is granted the lock under the names that are configured at that moment.
#[test]
fn a_client_in_queue_gets_its_fencing_token_under_the_new_names() {
    let server = Server::start();
    server.check("> LOCK.ACQUIRE lock ann 1000000\n1");
    let mut bob = server.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 600000 FENCE");
    let mut cid = server.waiter("LOCK.ACQUIRE lock cid 1000000 BLOCK 600000 FENCE");
    server.check("> CONFIG SET seckill.hash-tags yes\nOK\n> LOCK.RELEASE lock ann\n1");
    let fence = crate::observe::integer(&bob.receive());
    server.check(&format!("> GET {{lock}}:fence\n{fence} bob\n> EXISTS lock:fence\n0"));
    server.check("> CONFIG SET seckill.hash-tags auto\nOK\n> DEL lock\n1");
    let next = crate::observe::integer(&cid.receive());
    server.check(&format!("> GET lock:fence\n{next} cid\n> GET {{lock}}:fence\n{fence} bob"));
}

#[test]
fn any_other_setting_ends_nothing() {
    let mut primed = Primed::on(Server::start());
    let names = ["prefix", "order-stream", "order-fields", "hash-tags"];
    let others = CONFIGS.iter().filter(|(name, ..)| !names.iter().any(|part| name.contains(part)));
    let others = others.copied().chain([("maxmemory-samples", "5", "6"), ("hz", "10", "20")]);
    for (name, default, other) in others {
        for last in LASTS {
            primed.again(name, last);
            primed.at_once(&[format!("CONFIG SET {name} '{other}'")]);
            primed.run(&["ZADD seckill:hold:{t}m 5 a1"]);
            primed.check();
            primed.run(&[format!("CONFIG SET {name} '{default}'")]);
            primed.check_tries();
        }
    }
}

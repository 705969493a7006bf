//! Whatever happens to servers and keys, holds expire once, and no unit is lost or made.

use crate::harness::{Server, in_time, wait_for};
use crate::replayed::assert_replayed;
use redis::Value;

/// A sale of 9: `due` held for a moment, `kept` for long, `paid` sold, `gone` cancelled. Returns
/// the deadline of the first hold.
fn sale(server: &Server, voucher: &str, hold_ms: u64) -> i64 {
    server.check(&format!(
        "
        > SECKILL.CREATE {voucher} 9 LIMIT 3 HOLD 900000 => OK
        > SECKILL.TRY {voucher} alice kept UNITS 2 => 0
        > SECKILL.TRY {voucher} bob paid => 0
        > SECKILL.CONFIRM {voucher} bob paid => 1
        > SECKILL.TRY {voucher} carol gone => 0
        > SECKILL.CANCEL {voucher} carol gone => 1
        > SECKILL.ALTER {voucher} HOLD {hold_ms} => OK
        "
    ));
    server.place_hold(&format!("{voucher} dave due"))
}

/// Checks how `sale` ends, and that it continues to sell.
fn assert_over(server: &Server, voucher: &str) {
    server.wait_for_state(voucher, "due", "expired");
    server.assert_book(voucher, [6, 2, 1]);
    server.check(&format!(
        "
        > SECKILL.TRY {voucher} alice kept UNITS 2 => 0
        > SECKILL.TRY {voucher} dave due => 5
        > SECKILL.CONFIRM {voucher} alice kept => 1
        > SECKILL.CANCEL {voucher} bob paid => 1
        > SECKILL.ALTER {voucher} HOLD 20 => OK
        > SECKILL.TRY {voucher} dave again UNITS 3 => 0
        "
    ));
    server.wait_for_state(voucher, "again", "expired");
    server.assert_book(voucher, [7, 0, 2]);
}

#[test]
fn holds_survive_a_reload_in_place() {
    let server = Server::with().aof().start();
    for reload in ["DEBUG RELOAD", "DEBUG LOADAOF"] {
        server.run("FLUSHALL");
        sale(&server, "7", 60);
        sale(&server, "8", 900_000);
        assert_eq!(server.run(reload), Value::Okay);
        assert_over(&server, "7");
        server.assert_book("8", [5, 3, 1]);
    }
}

#[test]
fn a_replica_expires_nothing_until_it_is_promoted() {
    let (replica, over) = in_time(1500, |hold_ms| {
        let mut primary = Server::with().port().start();
        // One sale arrives with the snapshot, the other command by command.
        let first = sale(&primary, "7", hold_ms);
        let replica = Server::with().replica_of(&primary).start();
        primary.wait_for_replica(&replica);
        let second = sale(&primary, "8", hold_ms);
        primary.wait_for_replica(&replica);
        primary.kill9();
        (replica.clock_ms() < first).then_some((replica, second))
    });
    replica.wait_until(over + 120);
    for voucher in ["7", "8"] {
        assert_eq!(replica.state(voucher, "due"), "held", "{voucher}");
        replica.assert_book(voucher, [5, 3, 1]);
    }
    replica.check("> XLEN stream.orders.released\n2");
    replica.check("> SECKILL.CONFIRM 7 dave due\n(error) READONLY ...\n> REPLICAOF NO ONE\nOK");
    assert_over(&replica, "7");
    assert_over(&replica, "8");
}

/// A key that is gone for good is for an operator: to set it, or to drop the sale as it is.
#[test]
fn a_sale_that_lacks_a_key_is_left_alone_until_an_operator_says_so() {
    let server = Server::observed().start();
    for (key, name) in [("stock", "stock"), ("order", "buyers"), ("units", "users' units")] {
        let over = in_time(40, |hold_ms| {
            server.run("FLUSHALL");
            let over = sale(&server, "7", hold_ms);
            server.run(&format!("DEL seckill:{key}:7"));
            (server.clock_ms() < over).then_some(over)
        });
        server.wait_until(over + 20);
        let missing = format!("a key of this sale is missing: {name}");
        for command in ["CANCEL 7 bob paid", "CANCEL 7 dave due", "CONFIRM 7 dave due"] {
            let told = server.refused(&format!("SECKILL.{command}"), "INCOMPLETE");
            assert!(told.contains(&missing), "{told}");
        }
        server.check("> ZCARD seckill:hold:7\n2");
        if key == "stock" {
            server.until("a line in the log", || server.log().contains(&missing));
            server.check("> SET seckill:stock:7 5\nOK");
            assert_over(&server, "7");
            continue;
        }
        server.check("> XLEN stream.orders.released\n1\n> SECKILL.DROP 7 FORCE\n1");
        server
            .check("> XLEN stream.orders.released\n3\n> EXISTS seckill:book:7 seckill:stock:7\n0");
    }
}

#[test]
fn holds_whose_key_was_lost_still_end() {
    let server = Server::start();
    for lose in [
        "DEL seckill:hold:7", "UNLINK seckill:hold:7", "PEXPIRE seckill:hold:7 1",
        "ZREM seckill:hold:7 due kept",
    ] {
        let over = in_time(40, |hold_ms| {
            server.run("FLUSHALL");
            let over = sale(&server, "7", hold_ms);
            server.run(lose);
            (server.clock_ms() < over).then_some(over)
        });
        server.wait_until(over + 20);
        assert_eq!(server.state("7", "due"), "held", "{lose}");
        assert_eq!(server.differences("7"), ["2 held orders have no hold"], "{lose}");
        server.check("> SECKILL.CONFIRM 7 alice kept\n1\n> SECKILL.CONFIRM 7 dave due\n3");
        server.assert_book("7", [6, 0, 3]);
    }
}

#[test]
fn expiry_waits_while_writes_are_paused() {
    let server = Server::with().aof().start();
    let over = in_time(50, |hold_ms| {
        server.check("> CLIENT UNPAUSE\nOK\n> FLUSHALL\nOK");
        let over = sale(&server, "7", hold_ms);
        server.check("> CLIENT PAUSE 60000 WRITE\nOK");
        (server.clock_ms() < over).then_some(over)
    });
    server.wait_until(over + 60);
    assert_eq!(server.state("7", "due"), "held");
    server.check("> CLIENT UNPAUSE\nOK");
    assert_over(&server, "7");
    sale(&server, "8", 50);
    server.check("> CLIENT PAUSE 150 ALL\nOK");
    assert_over(&server, "8");
    assert_replayed(&server);
}

/// It may crash in the middle of our own work.
#[test]
fn a_server_that_crashes_asks_nothing_of_the_module() {
    let server = Server::with().config("crash-memcheck-enabled no").start();
    server.check("> SET seckill:stock:7 1\nOK\n> SECKILL.TRY 7 ann o1\n0");
    assert_eq!(server.info_number("seckill_tries_accepted"), 1);
    server.client().send(&["DEBUG", "SEGFAULT"]);
    let report = || server.log().contains("BUG REPORT END").then_some(());
    wait_for("the report", report).unwrap_or_else(|late| panic!("{late}: {}", server.log()));
    let log = server.log();
    assert!(log.contains("MODULES INFO OUTPUT") && !log.contains("seckill_tries"), "{log}");
}

//! Units outside of a sale: SECKILL.RESTOCK with FOR, for orders that the book has lost. And ids of
//! sales, which grow.

use crate::harness::Server;
use domain::sales::LAST_KEPT_MS;
use redis::Value;

/// A server with a sale of five, one of which is sold; and the end of a command about it.
fn sale() -> (Server, String) {
    let server = Server::observed().start();
    server.check("> SECKILL.CREATE 7 5 LIMIT 9\nOK\n> SECKILL.TRY 7 alice o1\n0");
    let sale = format!("SALE {}", server.sale_of("7"));
    (server, sale)
}

#[test]
fn units_leave_a_sale_for_an_order_once() {
    let (server, sale) = sale();
    let taken = format!("SECKILL.RESTOCK 7 -2 FOR alice lost {sale}");
    server.check(&format!("> {taken}\n2\n> HGET seckill:outside:7 5:alice:lost\n2"));
    let books = server.digest();
    server.check(&format!("> {taken}\n2"));
    assert_eq!(server.digest(), books);
    server.assert_book("7", [2, 0, 1]);
    server.refused(&format!("SECKILL.RESTOCK 7 -1 FOR alice lost {sale}"), "ORDERID");
    server.refused("SECKILL.RESTOCK 7 -1 FOR alice other SALE 5", "SALE");
    // Two users may have orders of one id, and no name is taken for another one.
    for whose in ["bob lost", "alice: lost", "alice l:ost"] {
        server.check(&format!("> SECKILL.RESTOCK 7 -1 FOR {whose} {sale}\n1"));
        server.check(&format!("> SECKILL.RESTOCK 7 1 FOR {whose} {sale}\n2"));
    }
    // What is noted returns, once.
    let back = format!("SECKILL.RESTOCK 7 2 FOR alice lost {sale}");
    server.check(&format!("> {back}\n4\n> {back}\n4\n> EXISTS seckill:outside:7\n0"));
    server.check(&format!("> {taken}\n2\n> SECKILL.DROP 7\n1\n> EXISTS seckill:outside:7\n0"));
}

#[test]
fn a_note_that_cannot_be_read_changes_nothing() {
    let (server, sale) = sale();
    for note in ["0", "-1", "x", "1.5", "9223372036854775808"] {
        server.call(&["HSET", "seckill:outside:7", "5:alice:lost", note]);
        for delta in ["-1", "1"] {
            server.refused(&format!("SECKILL.RESTOCK 7 {delta} FOR alice lost {sale}"), "ERR");
        }
    }
}

/// The id of a sale is kept for 400 days after it, here, on replicas and in files; while a sale is
/// on, for as long as it is.
#[test]
fn the_last_sale_is_kept_for_longer_than_payments_come() {
    let primary = Server::with().aof().port().start();
    let mut replica = Server::with().without_module().replica_of(&primary).start();
    let ends = |server: &Server| server.run("PEXPIRETIME seckill:last:7");
    primary.check("> SECKILL.CREATE 7 5\nOK");
    assert_eq!(ends(&primary), Value::Int(-1));
    let before = primary.own().clock_ms();
    primary.check("> SECKILL.DROP 7\n1");
    let Value::Int(end) = ends(&primary) else { panic!("no time") };
    assert!((before..=primary.own().clock_ms()).contains(&(end - LAST_KEPT_MS)), "{end}");
    primary.wait_for_replica(&replica);
    assert_eq!(ends(&replica), Value::Int(end));
    // A payment that comes late is recorded; a repeated DROP moves nothing.
    primary.check("> SECKILL.CONFIRM 7 ann o1 REF pay-1\n0\n> SECKILL.DROP 7\n0");
    assert_eq!(ends(&primary), Value::Int(end));
    let mut primary = primary;
    primary.restart();
    assert_eq!(ends(&primary), Value::Int(end));
    replica.stop();
    primary.check("> SECKILL.CREATE 7 5\nOK");
    assert_eq!(ends(&primary), Value::Int(-1));
    // The clock was ahead when the sale began: the time counts from then.
    let ahead = 1_000 * (primary.own().clock_ms() + 86_400_000);
    primary.check("> SECKILL.DROP 7\n1");
    primary.run(&format!("SET seckill:last:7 {ahead}"));
    primary.check("> SECKILL.CREATE 7 5\nOK\n> SECKILL.DROP 7\n1");
    assert_eq!(ends(&primary), Value::Int((ahead + 1) / 1_000 + LAST_KEPT_MS));
    // Nobody is kept from an earlier end of it, and then nothing is known of the voucher.
    primary.check("> PEXPIRE seckill:last:7 1\n1\n> DEL seckill:payments:7\n1");
    primary.until("its end", || primary.run("EXISTS seckill:last:7") == Value::Int(0));
    primary.refused("SECKILL.CONFIRM 7 ann o1 REF pay-2", "NOVOUCHER");
}

/// Whatever the clock says: an id that was given stays above all that were given before.
#[test]
fn ids_of_sales_grow_although_the_clock_is_behind() {
    let (server, _) = sale();
    let first: i64 = server.sale_of("7").parse().expect("a number");
    server.check(&format!("> GET seckill:last:7\n{first}\n> SECKILL.DROP 7\n1"));
    server.check(&format!("> GET seckill:last:7\n{first}"));
    let ahead = first + 86_400_000_000;
    server.run(&format!("SET seckill:last:7 {ahead}"));
    server.check("> SECKILL.CREATE 7 5\nOK");
    assert_eq!(server.sale_of("7"), (ahead + 1).to_string());
    server.check(&format!("> GET seckill:last:7\n{}\n> SECKILL.DROP 7\n1", ahead + 1));
    server.run("SET seckill:last:7 9007199254740990");
    server.check("> SECKILL.CREATE 7 5\nOK\n> SECKILL.DROP 7\n1");
    let error = server.refused("SECKILL.CREATE 7 5", "ERR");
    assert_eq!(error, "ERR no sale id is left above that of the voucher's last sale");
    for odd in ["x", "0", "9007199254740992", "''", "007"] {
        server.run(&format!("SET seckill:last:7 {odd}"));
        for needs in ["SECKILL.CREATE 7 5", "SECKILL.CONFIRM 7 alice o1 REF pay-1"] {
            let error = server.refused(needs, "ERR");
            assert_eq!(
                error,
                "ERR the id of this voucher's last sale can't be read, see SECKILL.CREATE"
            );
        }
    }
    server.check("> DEL seckill:last:7\n1\n> SECKILL.CREATE 7 5\nOK");
}

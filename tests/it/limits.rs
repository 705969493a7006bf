//! LIMIT of SECKILL.TRY: fewer units per user than the voucher allows.

use crate::harness::Server;
use redis::Value;

#[test]
fn a_try_can_ask_for_a_lower_limit() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 7 9 LIMIT 3");
    for (command, wanted) in [
        ("SECKILL.TRY 7 ann o1 UNITS 2 LIMIT 1", 2),
        ("SECKILL.TRY 7 ann o1 LIMIT 1", 0),
        ("SECKILL.TRY 7 ann o2 LIMIT 1", 2),
        ("SECKILL.TRY 7 ann o2 limit 2 UNITS 1", 0),
        // The voucher's own is lower.
        ("SECKILL.TRY 7 ann o3 UNITS 2 LIMIT 9223372036854775807", 2),
        ("SECKILL.TRY 7 ann o3 LIMIT 9", 0),
        ("SECKILL.TRY 7 ann o4", 2),
        // A repeat is answered from the book, whatever its LIMIT says.
        ("SECKILL.TRY 7 ann o3 LIMIT 1", 0),
        ("SECKILL.TRY 7 ann o1", 0),
        // The sale that is meant comes first.
        ("SECKILL.TRY 7 bob o5 LIMIT 1 UNITS 2 SALE 1", 4),
    ] {
        assert_eq!(server.run(command), Value::Int(wanted), "{command}");
    }
    // It is stored nowhere.
    let all = format!("{:?}", server.run("XRANGE stream.orders - +"));
    assert!(!all.contains("imit"), "{all}");
    server.check("> HGET seckill:book:7 o1 => sold:1:0:ann\n> HGET seckill:units:7 ann => 3:o3");
    assert_eq!(server.field("SECKILL.INFO 7", "limit"), Value::Int(3));
    assert_eq!(server.silent("SECKILL.TRY 7 eve o9 UNITS 2 LIMIT 1"), Value::Int(2));
    server.assert_book("7", [6, 0, 3]);
}

#[test]
fn units_in_queue_count_when_an_order_joins() {
    let server = Server::start();
    server.check(
        "
        > SECKILL.CREATE 7 2 LIMIT 3 HOLD 900000 => OK
        > SECKILL.TRY 7 ann o1 UNITS 2 => 0
        > SECKILL.TRY 7 bob o2 LIMIT 1 WAITLIST => 6
        > SECKILL.TRY 7 bob o3 LIMIT 1 WAITLIST => 2
        > SECKILL.TRY 7 bob o3 LIMIT 2 WAITLIST => 6
        > SECKILL.TRY 7 bob o3 LIMIT 1 => 6
        > SECKILL.CANCEL 7 ann o1 => 1
        > SECKILL.TRY 7 bob o2 => 0
        > SECKILL.TRY 7 bob o3 => 0
        ",
    );
    server.assert_book("7", [0, 2, 0]);
}

#[test]
fn only_managed_vouchers_have_a_limit() {
    let server = Server::observed().start();
    server.run("SET seckill:stock:7 9");
    for command in ["SECKILL.TRY 7 ann o1 LIMIT 1", "SECKILL.TRY none ann o1 LIMIT 2"] {
        let error = server.refused(command, "NOVOUCHER");
        assert_eq!(error, "NOVOUCHER this voucher is not managed, see SECKILL.CREATE");
    }
    let error = server.refused("SECKILL.TRY 7 ann o1 LIMIT 0", "ERR");
    assert_eq!(error, "ERR limit must be 1 to 9223372036854775807");
    server.refused("SECKILL.TRY 7 ann o1 LIMIT 1 LIMIT 1", "ERR");
    server.refused("SECKILL.TRYKEYS seckill:stock:7 b o 7 ann o1 LIMIT 1", "ERR");
    server.run("SECKILL.CREATE m 9");
    let error = server.refused("SECKILL.TRYALL m 1 ann o1 LIMIT 1", "ERR");
    assert_eq!(error, "ERR units must be 1 to 9223372036854775807");
    // To a batch it is one more user and order id.
    server.check("> SECKILL.MTRY m ann o1 LIMIT 1\n1) 0\n2) 0");
}

#[test]
fn overdue_holds_end_before_a_limit_is_reached() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 9 LIMIT 3 HOLD 1");
    let deadline = server.place_hold("7 ann o1");
    server.run("SECKILL.ALTER 7 HOLD 900000");
    server.wait_until(deadline);
    server.check("> SECKILL.TRY 7 ann o2 LIMIT 1 => 0\n> SECKILL.TRY 7 ann o3 LIMIT 1 => 2");
    server.assert_book("7", [8, 1, 0]);
}

//! HOLD, SECKILL.CONFIRM, SECKILL.CANCEL and expiry: by order id, once, and exact.

use crate::harness::Server;
use crate::reject::entries;
use redis::Value;

#[test]
fn an_unmanaged_sale_is_given_back_by_membership() {
    let server = Server::observed().start();
    server.check(
        r#"
        > SET seckill:stock:7 1 PXAT 33333333333333
        OK
        > SECKILL.TRY 7 alice o1
        0
        > SECKILL.TRY 7 bob o2
        1
        > SECKILL.CANCEL 7 alice other
        1
        > SECKILL.TRY 7 bob o2
        0
        > PEXPIRETIME seckill:stock:7
        33333333333333
        "#,
    );
    assert_eq!(server.silent("SECKILL.CANCEL 7 alice o1"), Value::Int(0));
    assert_eq!(server.silent("SECKILL.CANCEL 8 alice o1"), Value::Int(0));
    // A missing stock stays missing.
    server.check("> DEL seckill:stock:7\n1\n> SECKILL.CANCEL 7 bob o2\n1");
    server.check("> EXISTS seckill:stock:7 seckill:order:7\n0");
    for (make, code) in [
        ("SET seckill:stock:7 x", "ERR"),
        ("SET seckill:stock:7 9223372036854775807", "ERR"),
        ("RPUSH seckill:stock:7 a", "WRONGTYPE"),
        ("SET stream.orders.released a", "WRONGTYPE"),
    ] {
        server.run("FLUSHALL");
        server.run("SADD seckill:order:7 alice");
        server.run(make);
        server.refused("SECKILL.CANCEL 7 alice o1", code);
    }
    server.run("FLUSHALL");
    server.run("SET seckill:order:7 a");
    server.refused("SECKILL.CANCEL 7 alice o1", "WRONGTYPE");
}

#[test]
fn unlimited_stock_is_not_counted_up() {
    let server = Server::with().config("seckill.unlimited-stock yes").start();
    server.check("> SET seckill:stock:7 -1\nOK\n> SECKILL.TRY 7 alice o1\n0");
    server.check("> SECKILL.CANCEL 7 alice o1\n1\n> GET seckill:stock:7\n-1");
}

#[test]
fn without_a_stream_nothing_is_appended() {
    let server = Server::with().config("seckill.order-stream ''").start();
    server.check(
        "
        > SECKILL.CREATE 7 5 HOLD 900000
        OK
        > SECKILL.TRY 7 alice o1
        0
        > SECKILL.CANCEL 7 alice o1
        1
        > SECKILL.ALTER 7 HOLD 40
        OK
        > SECKILL.TRY 7 alice o2
        0
        ",
    );
    server.wait_for_state("7", "o2", "expired");
    assert_eq!(server.run("KEYS stream*"), Value::Array(Vec::new()));
    server.assert_book("7", [5, 0, 0]);
}

#[test]
fn a_hold_does_not_expire_before_its_deadline() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 50 LIMIT 2 HOLD 40");
    for number in 0..9 {
        let id = format!("o{number}");
        let deadline = server.place_hold(&format!("7 alice {id} UNITS 2"));
        server.wait_for_state("7", &id, "expired");
        // The id of the entry is the moment at which the server released the order.
        let (released, _) = entries(&server, "stream.orders.released").pop().expect("an entry");
        let at: i64 = released.split_once('-').expect("an id").0.parse().expect("ms");
        assert!(at >= deadline, "{} ms before the deadline", deadline - at);
    }
    server.assert_book("7", [50, 0, 0]);
    assert_eq!(server.info_number("seckill_orders_expired"), 9);
}

#[test]
fn holds_open_follows_the_holds() {
    let server = Server::start();
    let shows = |wanted: i64| {
        let shown = crate::harness::wait_for("seckill_holds_open", || {
            (server.info_number("seckill_holds_open") == wanted).then_some(())
        });
        shown.unwrap_or_else(|late| panic!("{late}, not {wanted}"));
    };
    shows(0);
    server.run("SECKILL.CREATE 7 9 HOLD 900000");
    server.run("SECKILL.CREATE 8 9 HOLD 900000");
    server.run("SECKILL.TRY 7 alice o1");
    server.run("SECKILL.TRY 7 bob o2");
    server.run("SECKILL.TRY 8 bob o2");
    shows(3);
    server.run("SECKILL.CONFIRM 7 alice o1");
    shows(2);
    server.run("SECKILL.DROP 7 FORCE");
    shows(1);
    server.run("FLUSHALL");
    shows(0);
}

/// No timer fires in a transaction: what is overdue there is released by the command that meets it.
#[test]
fn what_is_overdue_is_over_before_anybody_came_for_it() {
    for (command, wanted) in [
        ("SECKILL.CONFIRM 7 alice o1", 3),
        ("SECKILL.TRY 7 alice o1", 5),
        ("SECKILL.CANCEL 7 alice o1", 2),
        ("SECKILL.CANCEL 7 alice o1 IF SOLD", 2),
        ("SECKILL.EXTEND 7 alice o1 9", 3),
        // The units that it had are those of the next order.
        ("SECKILL.TRY 7 alice o2", 0),
        ("SECKILL.TRY 7 bob o2", 0),
    ] {
        let server = Server::start();
        server.run("SECKILL.CREATE 7 1 HOLD 20");
        let before = ["SECKILL.TRY 7 alice o1", "SECKILL.ALTER 7 HOLD 900000", "DEBUG SLEEP 0.03"];
        let replies = server.transaction(&[&before[..], &[command]].concat());
        assert_eq!(replies[3], Value::Int(wanted), "{command}");
        assert_eq!(server.state("7", "o1"), "expired");
        let held = i64::from(wanted == 0);
        server.assert_book("7", [1 - held, held, 0]);
    }
}

#[test]
fn a_full_server_confirms_cancels_and_expires() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 5 HOLD 900000");
    for user in ["a", "b"] {
        server.run(&format!("SECKILL.TRY 7 {user} {user}1"));
    }
    server.run("SECKILL.ALTER 7 HOLD 40");
    let full = server.transaction(&["SECKILL.TRY 7 c c1", "CONFIG SET maxmemory 1"]);
    assert_eq!(full, [Value::Int(0), Value::Okay]);
    server.check(
        "
        > SECKILL.CONFIRM 7 a a1
        1
        > SECKILL.CANCEL 7 b b1
        1
        > SECKILL.CANCEL 7 a a1
        1
        > SET x 1
        (error) OOM ...
        ",
    );
    server.wait_for_state("7", "c1", "expired");
    server.assert_book("7", [5, 0, 0]);
}

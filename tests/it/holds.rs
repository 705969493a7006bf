//! HOLD, SECKILL.CONFIRM, SECKILL.CANCEL and expiry: by order id, once, and exact.

use crate::harness::Server;
use crate::reject::entries;
use redis::Value;

#[test]
fn an_unmanaged_sale_is_given_back_by_membership() {
    let server = Server::observed().start();
    server.check(
        r#"
        > SET seckill:stock:7 1 PXAT 33333333333333 => OK
        > SECKILL.TRY 7 alice o1 => 0
        > SECKILL.TRY 7 bob o2 => 1
        > SECKILL.CANCEL 7 alice other => 1
        > SECKILL.TRY 7 bob o2 => 0
        > PEXPIRETIME seckill:stock:7 => 33333333333333
        "#,
    );
    assert_eq!(server.silent("SECKILL.CANCEL 7 alice o1"), Value::Int(0));
    assert_eq!(server.silent("SECKILL.CANCEL 8 alice o1"), Value::Int(0));
}

#[test]
fn without_a_stream_nothing_is_appended() {
    let server = Server::with().config("seckill.order-stream ''").start();
    server.check(
        "
        > SECKILL.CREATE 7 5 HOLD 900000 => OK
        > SECKILL.TRY 7 alice o1 => 0
        > SECKILL.CANCEL 7 alice o1 => 1
        > SECKILL.TRY 7 bob o3 => 0
        > SECKILL.CONFIRM 7 bob o3 => 1
        > SECKILL.ALTER 7 HOLD 40 => OK
        > SECKILL.TRY 7 alice o2 => 0
        ",
    );
    server.wait_for_state("7", "o2", "expired");
    assert_eq!(server.run("KEYS *stream*"), Value::Array(Vec::new()));
    server.check("> EXISTS .confirmed .released\n0");
    server.assert_book("7", [4, 0, 1]);
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
        > SECKILL.CONFIRM 7 a a1 => 1
        > SECKILL.CANCEL 7 b b1 => 1
        > SECKILL.CANCEL 7 a a1 => 1
        > SET x 1 => (error) OOM ...
        ",
    );
    server.wait_for_state("7", "c1", "expired");
    server.assert_book("7", [5, 0, 0]);
}

#[test]
fn what_is_extended_expires_later_and_what_is_over_stays_over() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 9 LIMIT 5 HOLD 60");
    let before = server.clock_ms();
    server.check("> SECKILL.TRY 7 alice o1\n0\n> SECKILL.TRY 7 alice o2\n0");
    let reply = server.run("SECKILL.EXTEND 7 alice o1 600000");
    // If the machine paused, the hold has ended already; the second half tests that case.
    let is_in_time = server.clock_ms() < before + 60;
    server.wait_for_state("7", "o2", "expired");
    if is_in_time {
        assert_eq!(reply, Value::Int(1));
        server.assert_book("7", [8, 1, 0]);
        server.check("> SECKILL.CONFIRM 7 alice o1\n1");
    }
    server.check("> SECKILL.EXTEND 7 alice o2 600000\n3");
}

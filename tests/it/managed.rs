//! SECKILL.TRY on managed vouchers: the outcomes by precedence, and that losers leave no trace.

use crate::harness::{Server, in_time};
use crate::observe::integer;
use redis::Value;

/// A voucher on which `alice` holds as many units as the limit in order `live`, order `gone` is
/// released, and the rest is sold.
fn busy_sale(server: &Server) {
    server.run("FLUSHALL");
    server.check(
        "
        > SECKILL.CREATE 7 2 LIMIT 1 HOLD 900000
        OK
        > SECKILL.TRY 7 alice gone
        0
        > SECKILL.CANCEL 7 alice gone
        1
        > SECKILL.TRY 7 alice live
        0
        > SECKILL.TRY 7 bob other
        0
        > GET seckill:stock:7
        0
        ",
    );
}

#[test]
fn the_first_reason_counts() {
    let server = Server::observed().start();
    busy_sale(&server);
    let far = server.clock_ms() + 1_000_000;
    let open = "BEGIN 0 END 0".to_owned();
    let pending = format!("BEGIN {far} END 0");
    let ended = "BEGIN 0 END 1".to_owned();
    // In each row, all later reasons to refuse apply as well.
    for (window, command, wanted) in [
        (&ended, "SECKILL.TRY 7 alice live", 0),
        (&pending, "SECKILL.TRY 7 alice live", 0),
        (&open, "SECKILL.TRY 7 alice live", 0),
        (&open, "SECKILL.TRY 7 alice gone UNITS 9", 5),
        (&ended, "SECKILL.TRY 7 alice gone", 5),
        (&pending, "SECKILL.TRY 7 alice gone", 5),
        (&open, "SECKILL.TRY 7 alice gone", 5),
        (&pending, "SECKILL.TRY 7 alice new", 3),
        (&pending, "SECKILL.TRY 7 alice new UNITS 9", 3),
        (&ended, "SECKILL.TRY 7 alice new", 4),
        (&open, "SECKILL.TRY 7 alice new", 2),
        (&open, "SECKILL.TRY 7 carol new UNITS 2", 2),
        (&open, "SECKILL.TRY 7 carol new", 1),
    ] {
        server.check(&format!("> SECKILL.ALTER 7 {window}\nOK"));
        assert_eq!(server.unchanged(command), Value::Int(wanted), "{window} {command}");
        let error = server.refused("SECKILL.TRY 7 bob live", "ORDERID");
        assert!(!error.contains("bob") && !error.contains("live"), "{error}");
        server.refused("SECKILL.TRY 7 bob gone", "ORDERID");
        server.refused("SECKILL.TRY 7 alice live UNITS 9", "ORDERID");
    }
    // A released id does not sell again, although there are units and the window is open.
    server.check(&format!("> SECKILL.ALTER 7 {open} LIMIT 5\nOK\n> SECKILL.RESTOCK 7 5\n5"));
    assert_eq!(server.unchanged("SECKILL.TRY 7 alice gone"), Value::Int(5));
    assert_eq!(server.unchanged("SECKILL.TRY 7 alice live"), Value::Int(0));
    server.check("> SECKILL.TRY 7 alice new\n0");
    server.assert_book("7", [4, 3, 0]);
}

#[test]
fn each_outcome_is_counted() {
    let server = Server::start();
    busy_sale(&server);
    let far = server.clock_ms() + 1_000_000;
    for command in [
        "SECKILL.TRY 7 alice live",
        "SECKILL.TRY 7 alice gone",
        "SECKILL.TRY 7 bob live",
        "SECKILL.TRY 7 alice new",
        "SECKILL.TRY 7 carol new",
        "SECKILL.ALTER 7 END 1",
        "SECKILL.TRY 7 carol new",
        &format!("SECKILL.ALTER 7 END 0 BEGIN {far}"),
        "SECKILL.TRY 7 carol new",
        "SECKILL.CONFIRM 7 bob other",
        "SECKILL.CONFIRM 7 bob other",
        "SECKILL.CONFIRM 7 bob none",
    ] {
        server.run(command);
    }
    for (field, wanted) in [
        ("tries_accepted", 3),
        ("tries_repeated", 2),
        ("tries_at_limit", 1),
        ("tries_sold_out", 1),
        ("tries_not_started", 1),
        ("tries_ended", 1),
        ("orders_confirmed", 1),
        ("orders_cancelled", 1),
        ("orders_expired", 0),
        ("orders_rejected", 0),
    ] {
        assert_eq!(server.info_number(&format!("seckill_{field}")), wanted, "{field}");
    }
    server.until("holds_open", || server.info_number("seckill_holds_open") == 1);
}

#[test]
fn the_window_is_that_of_the_servers_clock() {
    let server = Server::start();
    in_time(60, |ms| {
        server.run("FLUSHALL");
        let begin = server.clock_ms() + i64::try_from(ms).expect("ms");
        let end = begin + i64::try_from(ms).expect("ms");
        server.run(&format!("SECKILL.CREATE 7 1000000 BEGIN {begin} END {end}"));
        let mut seen = Vec::new();
        server.until("the end of the sale", || {
            let before = server.clock_ms();
            let user = format!("u{}", seen.len());
            let outcome = integer(&server.call(&["SECKILL.TRY", "7", &user, &user]));
            let after = server.clock_ms();
            match outcome {
                3 => assert!(before < begin, "not started at {before}, after {begin}"),
                0 => assert!(after >= begin && before < end, "{begin} {before} {end}"),
                4 => assert!(after >= end, "ended at {after}, before {end}"),
                other => panic!("{other:?}"),
            }
            seen.push(outcome);
            outcome == 4
        });
        // Each part of the window occurred in some try.
        seen.dedup();
        (seen == [3, 0, 4]).then_some(())
    });
}

#[test]
fn ids_and_users_are_bytes() {
    let server = Server::observed().start();
    server.check(
        r#"
        > SECKILL.CREATE "\x00v:" 9 HOLD 900000
        OK
        > SECKILL.TRY "\x00v:" "u:1:\xff\x00" "o:\r\n"
        0
        > SECKILL.TRY "\x00v:" "" ""
        0
        > SECKILL.CONFIRM "\x00v:" "u:1:\xff\x00" "o:\r\n"
        1
        > SECKILL.CONFIRM "\x00v:" "" ""
        1
        > SECKILL.CANCEL "\x00v:" "u:1:\xff\x00" "o:\r\n"
        1
        > SECKILL.CANCEL "\x00v:" "" ""
        1
        > GET "seckill:stock:\x00v:"
        9
        "#,
    );
    assert_eq!(server.unchanged(r#"SECKILL.TRY "\x00v:" "" "" "#), Value::Int(5));
    server.refused(r#"SECKILL.TRY "\x00v:" "u:1:\xff" "o:\r\n""#, "ORDERID");
    server.assert_book(r#""\x00v:""#, [9, 0, 0]);
}

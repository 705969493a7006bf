//! SECKILL.EXTEND: more time for a held order whose payment is in progress.

use crate::harness::{Server, text};
use redis::Value;

fn deadline(server: &Server, id: &str) -> i64 {
    let entry = text(&server.run(&format!("HGET seckill:book:7 {id}")));
    let deadline = entry.split(':').nth(2).expect("a deadline").parse::<i64>().expect("ms");
    let score = text(&server.run(&format!("ZSCORE seckill:hold:7 {id}")));
    assert_eq!(score, deadline.to_string(), "{entry}");
    deadline
}

#[test]
fn a_deadline_moves_away_and_never_nearer() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 7 9 LIMIT 5 HOLD 100000");
    let before = server.clock_ms();
    server.run("SECKILL.TRY 7 alice o1 UNITS 2");
    let first = deadline(&server, "o1");
    assert!((before + 100_000..=server.clock_ms() + 100_000).contains(&first), "{first}");
    let entry = format!("{:?}", server.run("XRANGE stream.orders - +"));
    assert!(entry.contains(&first.to_string()), "{entry}");
    for ms in ["1", "50000"] {
        let (reply, line) = server.replicated_again(&format!("SECKILL.EXTEND 7 alice o1 {ms}"));
        assert_eq!((reply, deadline(&server, "o1")), (Value::Int(1), first));
        assert_eq!(line, format!("HSET seckill:book:7 o1 held:2:{first}:alice"));
    }
    let before = server.clock_ms();
    server.check("> SECKILL.EXTEND 7 alice o1 900000\n1");
    let moved = deadline(&server, "o1");
    assert!((before + 900_000..=server.clock_ms() + 900_000).contains(&moved), "{moved}");
    // Neither the units nor the count of units have changed.
    server.assert_book("7", [7, 2, 0]);
    assert_eq!(server.differences("7"), Vec::<String>::new());
    server.check("> SECKILL.EXTEND 7 alice o1 281474976710656\n1\n> SECKILL.CONFIRM 7 alice o1\n1");
    assert_eq!(server.unchanged("SECKILL.EXTEND 7 alice o1 5"), Value::Int(2));
    server.run("SECKILL.TRY 7 alice o2");
    server.run("SECKILL.CANCEL 7 alice o2");
    assert_eq!(server.unchanged("SECKILL.EXTEND 7 alice o2 9"), Value::Int(3));
    for (command, answer) in [("bob o1", 0), ("alice none", 0)] {
        assert_eq!(server.silent(&format!("SECKILL.EXTEND 7 {command} 9")), Value::Int(answer));
    }
    for wrong in ["0", "-1", "x", "281474976710657", "1 2"] {
        server.refused(&format!("SECKILL.EXTEND 7 alice o1 {wrong}"), "ERR");
    }
    server.refused("SECKILL.EXTEND 8 alice o1 9", "NOVOUCHER");
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

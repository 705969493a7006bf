//! SECKILL.AUDIT: what it finds, and a book that is read in steps while it changes.

use crate::harness::{Client, Server};
use crate::observe::{assert_error, integer};
use redis::Value;

/// A sale with this many orders of one unit each.
pub fn sold(server: &Server, total: usize) -> Client {
    let mut client = server.client();
    client.run(&format!("SECKILL.CREATE 7 {total} LIMIT 3 HOLD 9000000"));
    let numbers: Vec<usize> = (0..total).collect();
    for batch in numbers.chunks(1000) {
        let mut command = vec!["SECKILL.MTRY".to_owned(), "7".to_owned()];
        batch.iter().for_each(|n| command.extend([format!("user-{n}"), format!("o{n}")]));
        assert!(matches!(client.call(&command), Value::Array(_)));
    }
    client
}

/// A step reads a bounded number of elements, however large the sale is.
#[test]
fn no_step_reads_much() {
    let server = Server::start();
    let mut client = sold(&server, 20_000);
    let (mut read, mut steps) = (0, 0);
    let (last, count) = client.audit_in_steps("7", |_, step| {
        let orders = step.number("orders");
        assert!(orders - read <= 300, "{} orders in a step", orders - read);
        (read, steps) = (orders, steps + 1);
        assert!(step.cursor.len() <= 512 && step.differences().is_empty());
    });
    // Orders, their users, their holds and the buyers are 80,000 elements.
    assert!(count > 80_000 / 300, "{count} steps");
    let figures = ["total", "left", "held", "sold", "orders", "buyers"];
    let figures = figures.map(|name| last.number(name));
    assert_eq!(figures, [20_000, 0, 20_000, 0, 20_000, 20_000]);
    assert_eq!((last.number("changed"), last.differences()), (0, Vec::new()));
}

/// All steps in one command, for sales that don't hold the server for long by it.
#[test]
fn a_large_sale_is_only_audited_in_steps() {
    let server = Server::observed().start();
    let mut client = sold(&server, 1_500);
    let differences = server.field("SECKILL.AUDIT 7", "differences");
    assert_eq!(differences, Value::Array(Vec::new()));
    client.run("SECKILL.RESTOCK 7 1");
    client.run("SECKILL.TRY 7 alice one-more");
    let error = server.refused("SECKILL.AUDIT 7", "ERR");
    assert_eq!(error, "ERR more than 1500 orders are audited in steps, by CURSOR 0");
    let (last, _) = client.audit_in_steps("7", |_, _| {});
    assert_eq!((last.number("orders"), last.differences()), (1_501, Vec::new()));
    // Whatever key another client has made large.
    client.run("SECKILL.CREATE 8 1");
    client.run("SECKILL.AUDIT 8");
    let strays = (0..1_501).map(|n| format!("user-{n}"));
    client.call(
        &["SADD".into(), "seckill:order:8".into()].into_iter().chain(strays).collect::<Vec<_>>(),
    );
    assert!(server.refused("SECKILL.AUDIT 8", "ERR").contains("CURSOR"));
}

/// Between any two steps, orders are sold, confirmed, extended and cancelled.
#[test]
fn what_happens_in_between_is_no_difference() {
    let server = Server::start();
    let mut client = sold(&server, 3000);
    client.run("SECKILL.RESTOCK 7 100000");
    let mut number = 0;
    let (last, steps) = client.audit_in_steps("7", |client, step| {
        assert_eq!(step.differences(), Vec::<String>::new());
        let n = number;
        for (command, wanted) in [
            (format!("SECKILL.TRY 7 new-{n} new-{n} UNITS 2"), 0),
            (format!("SECKILL.TRY 7 user-{n} again-{n}"), 0),
            (format!("SECKILL.CONFIRM 7 user-{n} o{n}"), 1),
            (format!("SECKILL.EXTEND 7 new-{n} new-{n} 9999999"), 1),
            (format!("SECKILL.CANCEL 7 user-{0} o{0}", 2999 - n), 1),
            (format!("SECKILL.RESTOCK 7 {}", 1 - 2 * (n % 2)), -1),
        ] {
            let answer = integer(&client.run(&command));
            assert!(answer == wanted || wanted == -1, "{command}: {answer}");
        }
        number += 1;
    });
    assert!(steps > 10 && number < 1000, "{steps}");
    assert_eq!((last.number("changed"), last.differences()), (1, Vec::new()));
    // Confirmations move no units.
    let (last, _) = client.audit_in_steps("7", |client, _| {
        client.run(&format!("SECKILL.CONFIRM 7 user-{number} o{number}"));
        number += 1;
    });
    assert_eq!((last.number("changed"), last.differences()), (0, Vec::new()));
    let sum = ["left", "held", "sold"].map(|name| last.number(name)).iter().sum::<i64>();
    assert_eq!(sum, last.number("total"));
}

/// One difference per key; all others are in the tests of `domain`.
#[test]
fn the_audit_finds_tampering_with_each_key() {
    let server = Server::start();
    for (tampering, wanted) in [
        ("INCR seckill:stock:7", "total is 9, but left 6 + held 2 + sold 2 is 10"),
        ("DEL seckill:stock:7", "there is no stock key"),
        ("HSET seckill:book:7 o1 junk", "1 orders of the book can't be read"),
        ("DEL seckill:book:7", "there is no book, so what 2 users have is in no sum: add no units"),
        (
            "HDEL seckill:book:7 o2",
            "2 units are missing: left 5 + held 2 + sold 0 is 7, of a total of 9",
        ),
        (
            "DECR seckill:stock:7",
            "1 units are missing: left 4 + held 2 + sold 2 is 8, of a total of 9",
        ),
        ("HSET seckill:units:7 bob 3:o2", "users' units differ from those of their live orders"),
        ("DEL seckill:units:7", "2 live orders are of users who have no units on record"),
        ("ZINCRBY seckill:hold:7 1 o1", "1 holds have a different deadline from their order"),
        ("ZADD seckill:hold:7 +inf o1", "1 holds have a different deadline from their order"),
        ("ZREM seckill:hold:7 o1", "1 held orders have no hold"),
        ("SADD seckill:order:7 carol", "1 buyers have no units on record"),
        ("DEL seckill:order:7", "2 live orders are of users who are not among the buyers"),
        (
            "HSET seckill:extra:7 orders x",
            "held orders have 1 units beyond the first of each, but their count is no integer",
        ),
    ] {
        server.run("FLUSHALL");
        server.check(
            "
            > SECKILL.CREATE 7 9 LIMIT 3 HOLD 900000 => OK
            > SECKILL.TRY 7 alice o1 UNITS 2 => 0
            > SECKILL.TRY 7 bob o2 UNITS 2 => 0
            > SECKILL.CONFIRM 7 bob o2 => 1
            > SECKILL.TRY 7 carol o3 => 0
            > SECKILL.CANCEL 7 carol o3 => 1
            ",
        );
        server.assert_book("7", [5, 2, 2]);
        server.run(tampering);
        let told = server.differences("7");
        assert!(told.iter().any(|line| line == wanted), "{tampering}: {told:?}");
        let is_named = |user: &str| told.iter().any(|line| line.contains(user));
        assert!(!["alice", "bob", "carol"].into_iter().any(is_named), "{told:?}");
        let (last, _) = server.own().audit_in_steps("7", |_, _| {});
        assert_eq!((last.differences(), last.number("changed")), (told, 0), "{tampering}");
    }
}

/// The server keeps no state of an audit, however many audits are started.
#[test]
fn an_audit_that_is_given_up_leaves_nothing() {
    let server = Server::start();
    let mut client = sold(&server, 2000);
    let used = |client: &mut Client| {
        let info = client.say("INFO memory");
        let line = info.lines().find_map(|line| line.strip_prefix("used_memory:")).expect("it");
        line.trim_end().parse::<i64>().expect("a number")
    };
    let begin = |client: &mut Client| {
        for _ in 0..2000 {
            assert_ne!(client.audit_step("7", "0").cursor, "0");
        }
    };
    begin(&mut client);
    let before = used(&mut client);
    begin(&mut client);
    let kept = used(&mut client) - before;
    // The server's cron shrinks and grows the buffers of connections, some 16 KB each, meanwhile.
    // What an audit kept would be more than 32 bytes.
    assert!(kept < 2000 * 32, "{kept} bytes are kept");
}

/// The sale of the first steps has ended, and another sale has the voucher's name.
#[test]
fn another_sale_in_between_is_a_change() {
    let server = Server::start();
    let mut client = sold(&server, 2000);
    let cursor = client.audit_step("7", "0").cursor;
    client.run("DEL seckill:voucher:7 seckill:stock:7 seckill:book:7 seckill:units:7");
    client.run("DEL seckill:hold:7 seckill:order:7 seckill:extra:7");
    let gone = client.call(&["SECKILL.AUDIT", "7", "CURSOR", &cursor]);
    assert_error(&gone, "NOVOUCHER", "dropped");
    client.run("SECKILL.CREATE 7 9");
    client.run("SECKILL.TRY 7 alice o1");
    let last = client.audit_step("7", &cursor);
    assert_eq!((last.number("changed"), last.differences()), (1, Vec::new()));
}

//! Events that a memory once missed: each test is a fault that occurred on a real server.

use super::scan;
use crate::harness::Server;
use redis::Value;

#[test]
fn databases_that_are_swapped_during_the_scan_lose_no_hold() {
    let file = scan::holds_among_other_keys();
    let server = Server::with().without_module().data_of(&file).start();
    let replies = scan::load_and(&server, &["SWAPDB 0 1".to_owned()]);
    assert_eq!(replies, [Value::Okay]);
    scan::wait_until_all_have_expired(&server, "a swap");
}

#[test]
fn a_replica_keeps_nothing_of_vouchers_that_were_dropped() {
    // With the smallest backlog, hardly any memory but the module's can grow.
    let with = || Server::with().config("repl-backlog-size 16384");
    let primary = with().port().start();
    let replica = with().replica_of(&primary).start();
    let mut client = primary.client();
    let mut make_and_drop = |vouchers: std::ops::Range<usize>| {
        for start in vouchers.step_by(1000) {
            let mut pipeline = redis::pipe();
            for voucher in start..start + 1000 {
                pipeline.cmd("SECKILL.CREATE").arg(voucher).arg(5).arg("HOLD").arg(900_000);
                pipeline.cmd("SECKILL.TRY").arg(voucher).arg("alice").arg("o1");
                pipeline.cmd("SECKILL.CANCEL").arg(voucher).arg("alice").arg("o1");
                pipeline.cmd("SECKILL.DROP").arg(voucher);
                // It outlives a sale.
                pipeline.cmd("DEL").arg(format!("seckill:last:{voucher}"));
                pipeline.cmd("DEL").arg("stream.orders").arg("stream.orders.released");
            }
            pipeline.query::<()>(client.raw()).expect("made and dropped");
        }
        primary.wait_for_replica(&replica);
    };
    make_and_drop(0..2000);
    let before = replica.info_number("used_memory");
    make_and_drop(2000..22_000);
    assert_eq!(replica.run("DBSIZE"), Value::Int(0));
    // Before the fix it was 130 bytes per voucher.
    let most = before + 20_000 * 25;
    replica.until(&format!("less than {most} bytes"), || replica.info_number("used_memory") < most);
}

#[test]
fn holds_that_cannot_be_released_never_stop_those_behind_them() {
    let server = Server::start();
    // More than a tick or a try releases at once.
    let garbled = 150;
    server.run("SECKILL.CREATE 7 1000 HOLD 900000");
    for number in 0..garbled {
        server.check(&format!("> SECKILL.TRY 7 u{number} o{number}\n0"));
        let junk = ["units:7 u", "book:7 o"][number % 2];
        server.run(&format!("HSET seckill:{junk}{number} junk"));
    }
    server.check("> SECKILL.TRY 7 alice behind\n0");
    // All holds are due at once, the valid one last.
    server.run("MULTI");
    for number in 0..garbled {
        server.run(&format!("ZADD seckill:hold:7 {} o{number}", number + 5));
    }
    server.run("ZADD seckill:hold:7 1000000 behind");
    assert!(matches!(server.run("EXEC"), Value::Array(_)));
    server.wait_for_state("7", "behind", "expired");
    assert_eq!(server.state("7", "o0"), "held");
    server.check(&format!("> ZCARD seckill:hold:7\n{garbled}\n> GET seckill:stock:7\n850"));
    // A hold that is placed later expires too.
    server.check("> SECKILL.ALTER 7 HOLD 20\nOK\n> SECKILL.TRY 7 bob later\n0");
    server.wait_for_state("7", "later", "expired");
    // The garbled holds expire as soon as they can.
    for number in 0..garbled {
        server.run(&match number % 2 {
            0 => format!("HSET seckill:units:7 u{number} 1:o{number}"),
            _ => format!("HSET seckill:book:7 o{number} held:1:9:u{number}"),
        });
    }
    for number in 0..garbled {
        server.wait_for_state("7", &format!("o{number}"), "expired");
    }
    server.assert_book("7", [1000, 0, 0]);
}

/// Between the grant and its reply the lock moves with its database, and is deleted there.
#[test]
fn a_grant_that_is_lost_in_another_database_waits_where_it_was_asked_for() {
    let server = Server::start();
    let mut other = server.client();
    other.check("> SELECT 1\nOK\n> SET lock zoe\nOK");
    server.run("LOCK.ACQUIRE lock ann 1000000");
    let mut bob = server.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 60000");
    server.check(
        "
        > MULTI => OK
        > LOCK.RELEASE lock ann => QUEUED
        > SWAPDB 0 1 => QUEUED
        > SELECT 1 => QUEUED
        > DEL lock => QUEUED
        > SELECT 0 => QUEUED
        > EXEC
        1) 1
        2) OK
        3) OK
        4) 1
        5) OK
        ",
    );
    // The lock that zoe had in database 1 is in database 0 now, where bob waits for it.
    assert_eq!(server.field("LOCK.INFO lock", "waiters"), Value::Int(1));
    assert_eq!((server.owner("lock").as_str(), server.in_queue()), ("zoe", 1));
    other.check("> EXISTS lock\n0");
    server.check("> DEL lock\n1");
    assert_eq!(bob.receive(), Value::Int(1));
    assert_eq!(server.owner("lock"), "bob");
    other.check("> EXISTS lock\n0");
}

//! Holds whose keys another client has spoiled: nothing is done by half, and everything is done
//! once the keys are fixed. And very many holds at once.

use crate::audit_steps::sold;
use crate::harness::{Server, text};
use crate::observe::integer;
use redis::Value;
use std::time::Instant;

/// The keys that commands and timers have looked up, by an INFO of the server.
fn lookups(info: &Value) -> i64 {
    let info = text(info);
    let counted = |line: &str| {
        let (name, count) = line.split_once(':')?;
        matches!(name, "keyspace_hits" | "keyspace_misses")
            .then(|| count.parse::<i64>().expect("a number"))
    };
    info.lines().filter_map(counted).sum()
}

#[test]
fn expiry_waits_for_keys_to_be_fixed() {
    let server = Server::start();
    let kinds = ["stock", "order", "book", "units", "hold"];
    for kind in kinds {
        server.run(&format!("SECKILL.CREATE {kind} 5 LIMIT 2 HOLD 100"));
        // In one step, so that the hold does not expire before.
        let spoiled = server.transaction(&[
            &format!("SECKILL.TRY {kind} alice o1 UNITS 2"),
            &format!("RENAME seckill:{kind}:{kind} away-{kind}"),
            &format!("RPUSH seckill:{kind}:{kind} junk"),
        ]);
        assert_eq!(spoiled, [Value::Int(0), Value::Okay, Value::Int(1)], "{kind}");
    }
    // The spoiled sales do not delay a sound one.
    server.run("SECKILL.CREATE sound 5 HOLD 100");
    let last = server.place_hold("sound alice o1");
    server.wait_for_state("sound", "o1", "expired");
    server.wait_until(last + 50);
    for kind in kinds {
        server.check(&format!("> LLEN seckill:{kind}:{kind}\n1"));
        if kind != "book" {
            assert_eq!(server.state(kind, "o1"), "held", "{kind}");
        }
        server.run(&format!("DEL seckill:{kind}:{kind}"));
        server.run(&format!("RENAME away-{kind} seckill:{kind}:{kind}"));
    }
    for kind in kinds {
        server.wait_for_state(kind, "o1", "expired");
        server.assert_book(kind, [5, 0, 0]);
    }
    assert!(server.log().contains("expired holds were not released"), "{}", server.log());
}

#[test]
fn holds_that_others_wrote_are_lifted() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 9 HOLD 900000");
    server.run("SECKILL.TRY 7 alice o1");
    server.run("SECKILL.TRY 7 bob o2");
    server.run("SECKILL.CONFIRM 7 bob o2");
    server.run("ZADD seckill:hold:7 5 none 6.5 o2 -inf other");
    server.until("strange holds to go", || server.run("ZCARD seckill:hold:7") == Value::Int(1));
    server.assert_book("7", [7, 1, 1]);
    // A hold whose deadline was made earlier ends at the new one.
    server.run("ZADD seckill:hold:7 5 o1");
    server.wait_for_state("7", "o1", "expired");
    server.assert_book("7", [8, 0, 1]);
}

#[test]
fn losers_do_not_find_out_one_by_one_that_nothing_comes_back() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 1 HOLD 200");
    server.check("> SET stream.orders.released junk\nOK\n> SECKILL.TRY 7 alice o1\n0");
    let deadline = integer(&server.field("SECKILL.ORDER 7 o1", "deadline"));
    server.wait_until(deadline + 1);
    // A timer that tries to release something looks up more keys than an idle one.
    let looked_up = || lookups(&server.run("INFO stats"));
    let begun = Instant::now();
    let lookups: Vec<i64> = (0..300)
        .map(|_| {
            let before = looked_up();
            server.check("> SECKILL.TRY 7 bob o2\n1");
            looked_up() - before
        })
        .collect();
    let fewest = lookups.iter().min().expect("some");
    let vain = lookups.iter().filter(|count| *count > fewest).count();
    let rests = usize::try_from(begun.elapsed().as_millis() / 100).expect("short");
    // The timer also looks once per second, and the clock may tick in between.
    assert!((1..=2 * rests + 3).contains(&vain), "{vain} vain ones in {rests} rests: {lookups:?}");
    server.check("> DEL stream.orders.released\n1");
    server.until("the unit", || server.run("SECKILL.TRY 7 bob o2") == Value::Int(0));
}

/// Holds that are due together are released together, and the server answers meanwhile.
#[test]
fn very_many_holds_due_at_once_stall_nobody() {
    const HOLDS: i64 = 100_000;
    let server = Server::start();
    let mut client = sold(&server, HOLDS as usize);
    server.assert_book("7", [0, HOLDS, 0]);
    // All holds are due at once, by the scores in the holds, which the timer uses.
    server.check(&format!("> ZUNIONSTORE seckill:hold:7 1 seckill:hold:7 WEIGHTS 0\n{HOLDS}"));
    let mut looks = 0;
    server.until("all releases", || {
        looks += 1;
        client.run("GET seckill:stock:7") == Value::BulkString(HOLDS.to_string().into_bytes())
    });
    assert!(looks > 20, "answered only {looks} times");
    server.assert_book("7", [HOLDS, 0, 0]);
    server.check(&format!("> XLEN stream.orders.released\n{HOLDS}"));
    assert_eq!(server.info_number("seckill_orders_expired"), HOLDS);
}

/// What refuses one release of a sale refuses all: the next ones are not tried at once.
#[test]
fn a_sale_that_can_release_nothing_rests() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 500 HOLD 100");
    server.run("SET stream.orders.released spoiled");
    let pairs: Vec<String> = (0..500).map(|number| format!("u{number} o{number}")).collect();
    server.run(&format!("SECKILL.MTRY 7 {}", pairs.join(" ")));
    let deadline = crate::observe::integer(&server.field("SECKILL.ORDER 7 o499", "deadline"));
    server.wait_until(deadline);
    let looked_up = || lookups(&server.run("INFO stats"));
    server.wait_until(server.clock_ms() + 1200);
    let before = looked_up();
    server.wait_until(server.clock_ms() + 1500);
    // A look a second at one order, and not at 500 of them.
    let looks = looked_up() - before;
    assert!((1..200).contains(&looks), "{looks} keys were looked up");
    server.run("DEL stream.orders.released");
    // The last one by its name: all have one deadline.
    server.wait_for_state("7", "o99", "expired");
    server.assert_book("7", [500, 0, 0]);
}

/// Somebody has written another type over the holds: no event says so.
#[test]
fn a_holds_key_of_another_type_is_forgotten() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 5 HOLD 300");
    server.transaction(&["SECKILL.TRY 7 alice o1", "SET seckill:hold:7 x"]);
    server.until("the holds to be forgotten", || server.info_number("seckill_holds_open") == 0);
}

/// The units of the users expire again and again while holds are released: what is open is read by
/// the handle that is open. `scripts/memory` would see a value that was freed under it.
#[test]
fn units_that_expire_meanwhile_crash_nothing() {
    const ORDERS: usize = 600;
    let server = Server::start();
    server.run(&format!("SECKILL.CREATE 7 {ORDERS} HOLD 200"));
    let pairs: Vec<String> = (0..ORDERS).map(|number| format!("u{number} o{number}")).collect();
    server.run(&format!("SECKILL.MTRY 7 {}", pairs.join(" ")));
    let mut client = server.client();
    let released = || server.info_number("seckill_orders_expired");
    server.until("the holds to end", || {
        for _ in 0..200 {
            client.run("HSET seckill:units:7 u1 1:o1");
            client.run("PEXPIRE seckill:units:7 1");
        }
        released() == ORDERS as i64
    });
    server.check(&format!("> GET seckill:stock:7\n{ORDERS}\n> EXISTS seckill:hold:7\n0"));
}

/// Names are kept for the voucher tried last, and what is known of it: a timer that releases holds
/// of another one leaves that alone.
#[test]
fn expiry_leaves_what_is_known_of_the_voucher_tried_last() {
    let server = Server::start();
    server.run("SET seckill:stock:a 0");
    server.run("SECKILL.CREATE b 9 HOLD 100");
    server.run("SECKILL.TRY b alice o1");
    server.check("> SECKILL.TRY a alice o1\n1\n> SECKILL.TRY a alice o1\n1");
    server.until("the hold to end", || server.info_number("seckill_orders_expired") == 1);
    // In one step, so that no look of the timer is counted.
    let replies = server.transaction(&["INFO stats", "SECKILL.TRY a alice o1", "INFO stats"]);
    assert_eq!(replies[1], Value::Int(1));
    // Only the stock: that the voucher has no rules is known.
    assert_eq!(lookups(&replies[2]) - lookups(&replies[0]), 1);
}

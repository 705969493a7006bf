//! SECKILL.NEXTID: ids that never repeat, and other generators that use its keys.
//! The form that ids have in a cluster is in `nextid_slots`.

use redis::Value;

use crate::harness::{Server, text, wait_for};
use crate::observe::{integer, words};

pub const EPOCH: i64 = 1_640_995_200;
pub const DAY: i64 = 86_400;

pub fn id(reply: &Value) -> i64 {
    assert!(matches!(reply, Value::BulkString(_)), "not a bulk string: {reply:?}");
    text(reply).parse().expect("an id")
}

pub fn next(server: &Server, prefix: &str, count: usize) -> i64 {
    id(&server.call(&["SECKILL.NEXTID", prefix, "COUNT", &count.to_string()]))
}

pub fn unix_s(server: &Server) -> i64 {
    words(server.run("TIME"))[0].parse().expect("seconds")
}

/// `yyyy:MM:dd` of a unix second.
fn date(unix_s: i64) -> String {
    let day = u64::try_from(unix_s / DAY).expect("after 1970");
    String::from_utf8(domain::order_id::date(day).into()).expect("ASCII")
}

/// Today's counter key; waits if the day is about to end.
pub fn today(server: &Server, prefix: &str) -> String {
    let now = wait_for("a day with a minute left", || {
        let now = unix_s(server);
        (now % DAY < DAY - 20).then_some(now)
    });
    format!("icr:{prefix}:{}", date(now.expect("midnight passes")))
}

/// Does what the usual Java generator does: counts with INCR, and adds the second above the count.
fn java_id(server: &Server, key: &str) -> i64 {
    let seconds = unix_s(server) - EPOCH;
    seconds << 32 | integer(&server.call(&["INCR", key]))
}

#[test]
fn ids_interleave_with_the_java_generator() {
    let server = Server::start();
    let key = today(&server, "order");
    let seed = crate::differential::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut last = 0;
    for counter in 1..=1000 {
        let id = if random.bool() { next(&server, "order", 1) } else { java_id(&server, &key) };
        assert!(id > last, "{id} after {last}, seed {seed}");
        assert_eq!(id & 0xffff_ffff, counter, "seed {seed}");
        last = id;
    }
}

#[test]
fn a_counter_of_ours_expires_after_two_days() {
    let server = Server::start();
    let key = today(&server, "order");
    let before = unix_s(&server) * 1000;
    next(&server, "order", 1);
    let expiry = integer(&server.call(&["PEXPIRETIME", &key])) - 2 * DAY * 1000;
    assert!((before..=(unix_s(&server) + 1) * 1000).contains(&expiry), "{expiry}");
    next(&server, "order", 7);
    let later = integer(&server.call(&["PEXPIRETIME", &key])) - 2 * DAY * 1000;
    assert_eq!(later, expiry);
}

#[test]
fn the_last_ids_of_a_day_are_for_orders() {
    let server = Server::observed().start();
    let key = today(&server, "order");
    server.call(&["SET", &key, "4294967294"]);
    let error = server.refused("SECKILL.NEXTID order", "TRYAGAIN");
    assert!(error.contains("too fast for the day's counter"), "{error}");
    server.run("SET seckill:stock:7 5");
    let Value::Array(answer) = server.run("SECKILL.TRY 7 alice *") else { panic!("no answer") };
    assert_eq!(id(&answer[1]) & 0xffff_ffff, 0xffff_ffff);
    let error = server.refused("SECKILL.TRY 7 bob *", "ERR");
    assert!(error.contains("used up"), "{error}");
    // Other prefixes have their own counters.
    assert_eq!(next(&server, "other", 1) & 0xffff_ffff, 1);
}

#[test]
fn epoch_and_offset_move_seconds_and_dates() {
    let server = Server::start();
    today(&server, "order");
    for (epoch, offset) in [(EPOCH, 0), (0, 0), (1_700_000_000, 28_800), (EPOCH, -3600)] {
        server.run(&format!("CONFIG SET seckill.id-epoch {epoch} seckill.id-utc-offset {offset}"));
        let before = unix_s(&server);
        let id = next(&server, "order", 1) >> 32;
        let after = unix_s(&server);
        assert!((before..=after).contains(&(id + epoch - offset)), "{epoch} {offset}: {id}");
    }
    for offset in [-DAY, -3600, 28_800, DAY] {
        server.run("FLUSHALL");
        server.run(&format!("CONFIG SET seckill.id-utc-offset {offset}"));
        let before = date(unix_s(&server) + offset);
        next(&server, "order", 1);
        let after = date(unix_s(&server) + offset);
        let keys = words(server.run("KEYS *"));
        let wanted = [before, after].map(|date| vec![format!("icr:order:{date}")]);
        assert!(wanted.contains(&keys), "{offset}: {keys:?}, not {wanted:?}");
    }
}

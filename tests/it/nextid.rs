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

/// A counter too far ahead is refused, whoever moved it, and left to orders, to the last id of the
/// day. Each second allows more ids, as the tests of `domain` show.
#[test]
fn nextid_leaves_ids_for_orders_and_for_the_day() {
    let server = Server::observed().start();
    server.run("SET seckill:stock:7 5");
    let key = today(&server, "order");
    for taken in [(1_i64 << 24) + 86_400 * 40_000 + 1, (1 << 32) - 2] {
        server.call(&["SET", &key, &taken.to_string()]);
        let error = server.refused("SECKILL.NEXTID order", "TRYAGAIN");
        assert!(error.contains("too fast for the day's counter"), "{error}");
        let answer = server.run(&format!("SECKILL.TRY 7 u{taken} *"));
        let Value::Array(answer) = answer else { panic!("{answer:?}") };
        assert_eq!(id(&answer[1]) & 0xffff_ffff, taken + 1);
    }
    let error = server.refused("SECKILL.TRY 7 bob *", "ERR");
    assert!(error.contains("used up"), "{error}");
    // Other prefixes have their own counters.
    assert_eq!(next(&server, "other", 1) & 0xffff_ffff, 1);
    server.call(&["SET", &key, "0"]);
    assert_eq!(next(&server, "order", 65_536) & 0xffff_ffff, 1);
}

/// Orders that already have the ids that `*` tries next don't make it skip the ids of a day.
#[test]
fn used_ids_make_no_order_leave_out_a_day() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 7 100 LIMIT 100");
    let key = today(&server, "order");
    let now_s = unix_s(&server) - EPOCH;
    // All ids that are tried in sequence, for this second and the next ones.
    for second in now_s..now_s + 60 {
        let ids = (0..32).map(|power| (second << 32) + 5 + (1_i64 << power));
        let fields = ids.flat_map(|id| [id.to_string(), "sold:1:0:eve".to_owned()]);
        let command = ["HSET".to_owned(), "seckill:book:7".to_owned()].into_iter().chain(fields);
        server.call(&command.collect::<Vec<_>>());
    }
    server.call(&["SET", &key, "5"]);
    let error = server.refused("SECKILL.TRY 7 alice *", "TRYAGAIN");
    assert_eq!(error, "TRYAGAIN the next ids already belong to orders, wait a second");
    assert_eq!(text(&server.call(&["GET", &key])), "5");
}

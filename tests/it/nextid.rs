//! SECKILL.NEXTID: ids that never repeat, and other generators that use its keys.
//! The form that ids have in a cluster is in `nextid_slots`.

use std::collections::BTreeSet;
use std::thread;

use redis::Value;

use crate::harness::{Client, Server, text, wait_for};
use crate::observe::{bytes_list, integer, words};

pub const EPOCH: i64 = 1_640_995_200;
pub const DAY: i64 = 86_400;
const FAR: i64 = 33_333_333_333_333;

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

/// `yyyy:MM:dd` of a unix second, by subtracting years and months.
fn date(unix_s: i64) -> String {
    let mut days = unix_s.div_euclid(DAY);
    let leap = |year: i64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let mut year = 1970;
    while days >= 365 + i64::from(leap(year)) {
        days -= 365 + i64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + i64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    format!("{year:04}:{:02}:{:02}", month + 1, days + 1)
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
fn an_id_is_the_second_and_the_counter_of_the_day() {
    let server = Server::start();
    let key = today(&server, "order");
    for counter in 1..=3 {
        let before = unix_s(&server) - EPOCH;
        let id = id(&server.run("SECKILL.NEXTID order"));
        let after = unix_s(&server) - EPOCH;
        assert!((before..=after).contains(&(id >> 32)), "{before} {id} {after}");
        assert_eq!(id & 0xffff_ffff, counter);
    }
    assert_eq!(words(server.run("KEYS *")), std::slice::from_ref(&key));
    assert_eq!(text(&server.call(&["GET", &key])), "3");
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
fn a_counter_of_somebody_else_keeps_its_time_to_live() {
    let server = Server::start();
    let key = today(&server, "order");
    server.call(&["INCR", &key]);
    assert_eq!(next(&server, "order", 1) & 0xffff_ffff, 2);
    assert_eq!(server.call(&["PEXPIRETIME", &key]), Value::Int(-1));
    server.call(&["SET", &key, "99", "PXAT", &FAR.to_string()]);
    assert_eq!(next(&server, "order", 10) & 0xffff_ffff, 100);
    assert_eq!(text(&server.call(&["GET", &key])), "109");
    assert_eq!(server.call(&["PEXPIRETIME", &key]), Value::Int(FAR));
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
fn blocks_never_overlap_with_those_of_others() {
    let server = Server::start();
    let key = today(&server, "order");
    let seed = crate::differential::seed();
    let take = |mut client: Client, seed: u64, key: String| {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut last = 0;
        let mut ids = Vec::new();
        for _ in 0..300 {
            let count = if random.u8(..8) == 0 { 1000 } else { random.i64(1..20) };
            let first = match random.u8(..3) {
                0 => {
                    let last = integer(&client.call(&["INCRBY", &key, &count.to_string()]));
                    last - count + 1
                }
                1 => {
                    let script = "return redis.call('SECKILL.NEXTID', KEYS[1], 'COUNT', ARGV[1])";
                    let count = count.to_string();
                    id(&client.call(&["EVAL", script, "1", "order", &count])) & 0xffff_ffff
                }
                _ => {
                    let count = count.to_string();
                    id(&client.call(&["SECKILL.NEXTID", "order", "COUNT", &count])) & 0xffff_ffff
                }
            };
            assert!(first > last, "{first} after {last}, seed {seed}");
            last = first + count - 1;
            ids.extend(first..=last);
        }
        ids
    };
    let threads: Vec<_> = (0..8)
        .map(|index| {
            let (client, key) = (server.client(), key.clone());
            thread::spawn(move || take(client, seed + index, key))
        })
        .collect();
    let all: Vec<_> =
        threads.into_iter().flat_map(|thread| thread.join().expect("a client")).collect();
    let different: BTreeSet<_> = all.iter().collect();
    assert_eq!(different.len(), all.len(), "seed {seed}");
    // No id was skipped either.
    assert_eq!(different.last().copied(), Some(&(all.len() as i64)), "seed {seed}");
}

#[test]
fn a_transaction_or_script_gets_different_ids() {
    let server = Server::start();
    server.check("> MULTI\nOK\n> SECKILL.NEXTID o\nQUEUED\n> SECKILL.NEXTID o COUNT 5\nQUEUED");
    let Value::Array(ids) = server.run("EXEC") else { panic!("no array") };
    assert_eq!(id(&ids[1]) & 0xffff_ffff, (id(&ids[0]) & 0xffff_ffff) + 1);
    let script = "return {redis.call('SECKILL.NEXTID','o'), redis.call('SECKILL.NEXTID','o')}";
    let Value::Array(ids) = server.call(&["EVAL", script, "0"]) else { panic!("no array") };
    assert_eq!(id(&ids[1]) & 0xffff_ffff, (id(&ids[0]) & 0xffff_ffff) + 1);
}

#[test]
fn ids_go_on_after_a_crash_and_on_a_new_primary() {
    for tags in ["auto", "yes"] {
        let builder = Server::with().aof().port().config(format!("seckill.hash-tags {tags}"));
        let mut server = builder.start();
        today(&server, "order");
        let first = next(&server, "order", 1000) + 999;
        server.kill9();
        server.start_again();
        let second = next(&server, "order", 1);
        assert!(second > first, "{second} after {first}");
        let config = format!("seckill.hash-tags {tags}");
        let replica = Server::with().config(config).replica_of(&server).start();
        server.wait_for_replica(&replica);
        let last = next(&server, "order", 1000) + 999;
        server.wait_for_replica(&replica);
        server.kill9();
        assert_eq!(replica.run("REPLICAOF NO ONE"), Value::Okay);
        let fourth = next(&replica, "order", 1);
        assert!(fourth > last, "{fourth} after {last}");
        if tags == "auto" {
            assert_eq!([second, fourth].map(|id| id & 0xffff_ffff), [1001, 2002]);
        }
    }
}

#[test]
fn what_no_counter_holds_is_refused() {
    let server = Server::observed().start();
    let key = today(&server, "order");
    server.call(&["RPUSH", &key, "a"]);
    server.refused("SECKILL.NEXTID order", "WRONGTYPE");
    let long = "1".repeat(40);
    for value in ["", "a", "1.5", "007", " 1", "1 ", "-1", "9223372036854775808", &long] {
        server.call(&["SET", &key, value]);
        let error = server.refused("SECKILL.NEXTID order COUNT 2", "ERR");
        assert!(error.contains("not an integer"), "{value}: {error}");
    }
    for (value, count) in [
        ("4294967295", 1),
        ("4294967294", 2),
        ("4294901760", 65_536),
        ("4294967296", 1),
        ("9223372036854775807", 1),
    ] {
        server.call(&["SET", &key, value]);
        let error = server.refused(&format!("SECKILL.NEXTID order COUNT {count}"), "ERR");
        assert!(error.contains("used up"), "{value} {count}: {error}");
    }
    // The last ids are reserved for orders.
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
fn wrong_requests_are_refused() {
    let server = Server::observed().start();
    for wrong in ["0", "-1", "65537", "1.0", "01", "+1", "''", "a", "9223372036854775808"] {
        let error = server.refused(&format!("SECKILL.NEXTID order COUNT {wrong}"), "ERR");
        assert_eq!(error, "ERR count must be an integer from 1 to 65536", "{wrong}");
    }
    for wrong in ["COUNT", "5", "COUNT 1 COUNT 1", "COUNT 1 x", "NOSTREAM", "''"] {
        let error = server.refused(&format!("SECKILL.NEXTID order {wrong}"), "ERR");
        assert_eq!(error, "ERR syntax error", "{wrong}");
    }
    server.check("> CONFIG SET seckill.id-epoch 4294967295\nOK");
    let error = server.refused("SECKILL.NEXTID order", "ERR");
    assert!(error.contains("seckill.id-epoch"), "{error}");
}

#[test]
fn prefixes_are_bytes_and_count_apart() {
    let server = Server::start();
    for prefix in [&b""[..], b"a", b"A", b"a\0b", b"\xff\r\n", b"{x}", b"}", b"{"] {
        let reply = server.call(&[b"SECKILL.NEXTID".as_slice(), prefix]);
        assert_eq!(id(&reply) & 0xffff_ffff, 1, "{}", prefix.escape_ascii());
    }
    assert_eq!(server.run("DBSIZE"), Value::Int(8));
    let keys = bytes_list(server.run("COMMAND GETKEYS SECKILL.NEXTID order COUNT 5"));
    assert_eq!(keys, [b"order"]);
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

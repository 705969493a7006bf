//! Events of keys: a key appears, a sorted set changes, a key goes, expires or is evicted.

use super::primed::{Last, Primed, each_at_once};
use redis::Value;

/// A sorted set that makes an order due, and has the other one.
const DUE: &str = "ZADD {t}due 5 a1 9000000000000 b1";

const RESTORE_DUE: &str = "EVAL \"return redis.call('RESTORE', KEYS[1], 0, \
    redis.call('DUMP', KEYS[2]), 'REPLACE')\" 2 seckill:hold:{t}m {t}due";

const RESTORE_RULES: &str = "EVAL \"return redis.call('RESTORE', KEYS[1], 0, \
    redis.call('DUMP', KEYS[2]))\" 2 seckill:voucher:{t}u x";

type Ways = &'static [&'static [&'static str]];

const APPEARS: Ways = &[
    &[DUE, "RENAME {t}due seckill:hold:{t}m"],
    &[DUE, "COPY {t}due seckill:hold:{t}m REPLACE"],
    &[DUE, RESTORE_DUE],
    &["DEL seckill:hold:{t}m", "ZADD seckill:hold:{t}m 5 a1"],
    &["SET seckill:voucher:{t}u RULES"],
    &["SET {t}x RULES", "RENAME {t}x seckill:voucher:{t}u"],
    &["SET {t}x RULES", "COPY {t}x seckill:voucher:{t}u"],
    &["SET seckill:voucher:{t}m RULES"],
    &["RENAME {t}rules-of-p seckill:voucher:{t}p"],
    &["DEL seckill:stock:{t}m", "SET seckill:stock:{t}m 1"],
    &["SET {t}x 0", "RENAME {t}x seckill:stock:{t}u"],
    &["SADD {t}x cat", "RENAME {t}x seckill:order:{t}u"],
    &["SADD {t}x cat", "COPY {t}x seckill:order:{t}u REPLACE"],
    &["SADD seckill:order:{t}u cat"],
    &["SADD {t}x cat", "SUNIONSTORE seckill:order:{t}u seckill:order:{t}u {t}x"],
    &["SET {t}x zoe", "RENAME {t}x {t}lock"],
    &["SET {t}x zoe PX 40", "COPY {t}x {t}lock REPLACE"],
];

/// Other commands, and keys of other databases.
const APPEARS_IN_OTHER_WAYS: Ways = &[
    &["SETNX seckill:voucher:{t}u RULES"],
    &["SET seckill:voucher:{t}u RULES EX 1000"],
    &["MSET x 1 seckill:voucher:{t}u RULES"],
    &["APPEND seckill:voucher:{t}u RULES"],
    &["SETRANGE seckill:voucher:{t}u 0 RULES"],
    &["SET x RULES", "BITOP OR seckill:voucher:{t}u x"],
    &["SET x RULES", RESTORE_RULES],
    &[
        "SET x RULES",
        "EVAL \"return redis.call('RENAME', KEYS[1], KEYS[2])\" 2 x seckill:voucher:{t}u",
    ],
    &["SELECT 1", "SET seckill:voucher:{t}u RULES", "MOVE seckill:voucher:{t}u 0", "SELECT 0"],
    &[
        "DEL seckill:hold:{t}m",
        "SELECT 1",
        "ZADD seckill:hold:{t}m 5 a1 9000000000000 b1",
        "MOVE seckill:hold:{t}m 0",
        "SELECT 0",
    ],
    &["DEL {t}lock", "SELECT 1", "SET {t}lock zoe", "MOVE {t}lock 0", "SELECT 0"],
];

#[test]
fn a_key_that_appears_is_seen_by_the_very_next_try() {
    each_at_once(Primed::single(), APPEARS);
    each_at_once(Primed::single(), APPEARS_IN_OTHER_WAYS);
    each_at_once(Primed::cluster(), APPEARS);
}

const SORTED_SET_CHANGES: Ways = &[
    &["ZADD seckill:hold:{t}m 5 a1"],
    &["ZADD seckill:hold:{t}m XX LT 5 a1 5 b1"],
    &["ZINCRBY seckill:hold:{t}m -9000000000000 a1"],
    &[DUE, "ZUNIONSTORE seckill:hold:{t}m 1 {t}due"],
    &[DUE, "ZRANGESTORE seckill:hold:{t}m {t}due 0 -1"],
    &["ZADD seckill:hold:{t}m 5 a1", "ZADD seckill:hold:{t}m 9000000000000 a1"],
    &["ZADD seckill:hold:{t}m 5 nobody"],
    &["ZREM seckill:hold:{t}m a1"],
    &["ZREM seckill:hold:{t}m a1 b1"],
    &["ZPOPMIN seckill:hold:{t}m 2"],
    &["ZADD seckill:hold:{t}m 5 a1", "ZREMRANGEBYSCORE seckill:hold:{t}m 0 5"],
    &["ZADD seckill:hold:{t}p 5 b1", "RENAME {t}rules-of-p seckill:voucher:{t}p"],
];

#[test]
fn a_deadline_that_changes_is_seen_by_the_very_next_try() {
    each_at_once(Primed::single(), SORTED_SET_CHANGES);
    each_at_once(Primed::cluster(), SORTED_SET_CHANGES);
}

const GOES: Ways = &[
    &["DEL seckill:voucher:{t}m", "INCRBY seckill:stock:{t}m 1"],
    &["UNLINK seckill:voucher:{t}m"],
    &["RENAME seckill:voucher:{t}m {t}x", "INCRBY seckill:stock:{t}m 1"],
    &["DEL seckill:hold:{t}m"],
    &["RENAME seckill:hold:{t}m {t}x"],
    &["ZADD seckill:hold:{t}m 5 a1", "RENAME seckill:book:{t}m {t}x"],
    &["RENAME seckill:hold:{t}m {t}x", "RENAME {t}x seckill:hold:{t}m"],
    &["DEL seckill:units:{t}m"],
    &["DEL seckill:stock:{t}m"],
    &["DEL seckill:stock:{t}u"],
    &["GETDEL seckill:stock:{t}u"],
    &["RENAME seckill:stock:{t}u {t}x"],
    &["DEL seckill:order:{t}u"],
    &["RENAME seckill:order:{t}u {t}x"],
    &["SREM seckill:order:{t}u alice"],
    &["SMOVE seckill:order:{t}u {t}x alice"],
    &["SADD {t}x bob", "SINTERSTORE seckill:order:{t}u {t}x"],
    &["DEL {t}lock"],
    &["RENAME {t}lock {t}x"],
];

const GOES_ELSEWHERE: Ways = &[
    &["DEL stream.orders"],
    &["MOVE seckill:voucher:{t}m 1", "SELECT 0", "INCRBY seckill:stock:{t}m 1"],
    &["MOVE seckill:hold:{t}m 1", "SELECT 0"],
    &["MOVE seckill:stock:{t}u 1", "SELECT 0"],
    &["MOVE seckill:order:{t}u 1", "SELECT 0"],
    &["MOVE {t}lock 1", "SELECT 0"],
];

#[test]
fn a_key_that_goes_is_missed_by_the_very_next_try() {
    each_at_once(Primed::single(), GOES);
    each_at_once(Primed::single(), GOES_ELSEWHERE);
    each_at_once(Primed::cluster(), GOES);
}

/// A key that ends without a command: the command before, the key, and the answer of a try
/// afterwards. The try is the first to read the key.
const ENDS: [(&str, &str, &str, &str); 7] = [
    ("PING", "seckill:stock:{t}u", "SECKILL.TRY {t}u cat o", "NOVOUCHER"),
    ("PING", "seckill:stock:{t}m", "SECKILL.TRY {t}m cat o", "NOVOUCHER"),
    ("PING", "seckill:order:{t}u", "SECKILL.TRY {t}u alice o", "0"),
    // With its rules the sale would have ended.
    ("SECKILL.ALTER {t}m END 1", "seckill:voucher:{t}m", "SECKILL.TRY {t}m cat o", "1"),
    ("PING", "seckill:hold:{t}m", "SECKILL.TRY {t}m cat o", "1"),
    ("PING", "seckill:units:{t}m", "SECKILL.TRY {t}m ann o", "1"),
    ("PING", "{t}lock", "SECKILL.TRY {t}u alice o", "2"),
];

fn answer(primed: &Primed, attempt: &str) -> String {
    let reply = match primed.server.run(attempt) {
        Value::Array(_) | Value::Nil => panic!("{attempt}"),
        reply => crate::harness::text(&reply),
    };
    reply.split(' ').next().unwrap_or_default().to_owned()
}

/// The voucher that is tried last before this key ends.
fn voucher_of(key: &str) -> Last {
    if key.ends_with('m') { Last::Managed } else { Last::Unmanaged }
}

#[test]
fn a_key_that_expires_is_missed_by_the_very_next_try() {
    for mut primed in [Primed::single(), Primed::cluster()] {
        // A command that reads the key finds it expired, or the server's search does.
        for is_searched in ["0", "1"] {
            primed.run(&[format!("DEBUG SET-ACTIVE-EXPIRE {is_searched}")]);
            for (before, key, attempt, wanted) in ENDS {
                let what = format!("{key} expires, searched for: {is_searched}");
                primed.again(&what, voucher_of(key));
                primed.run(&[before]);
                primed.run(&[format!("PEXPIRE {key} 1")]);
                let over = primed.server.clock_ms() + 5;
                primed.server.wait_until(over);
                assert_eq!(answer(&primed, attempt), wanted, "{what}");
                primed.check();
            }
        }
    }
}

#[test]
fn a_key_that_is_evicted_is_missed_by_the_very_next_try() {
    for mut primed in [Primed::single(), Primed::cluster()] {
        primed.run(&["CONFIG SET maxmemory-policy volatile-ttl"]);
        for (before, key, attempt, wanted) in ENDS {
            // Eviction of a lock is tested in `locks_wake::eviction_serves_the_next`.
            if key == "{t}lock" {
                continue;
            }
            primed.again(&format!("{key} is evicted"), voucher_of(key));
            let expire = format!("EXPIRE {key} 100000");
            primed.run(&["PERSIST {t}lock", before, &expire, "CONFIG SET maxmemory 1"]);
            // This asks for no key, because that could change what is remembered.
            let is_gone = || primed.server.info_number("evicted_keys") > 0;
            primed.server.until("an eviction", is_gone);
            primed.run(&["CONFIG SET maxmemory 0", "CONFIG RESETSTAT"]);
            assert_eq!(answer(&primed, attempt), wanted, "{key} is evicted");
            primed.check();
        }
    }
}

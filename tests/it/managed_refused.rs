//! Managed sales are not sold twice by a replica, evicted silently, or made of what was sold.

use crate::commands::{Row, World, rows};
use crate::harness::{Server, text};
use redis::Value;

/// A replica that accepts writes would sell the units of its primary a second time.
#[test]
fn a_replica_that_takes_writes_changes_no_managed_voucher() {
    let primary = Server::with().port().start();
    let replica = Server::with().config("replica-read-only no").replica_of(&primary).start();
    let world = World::make(None, |command| primary.run(command));
    primary.wait_for_replica(&replica);
    // A hold is due that only its primary may release.
    replica.check("> ZADD seckill:hold:5 5 f1 => 0");
    let is_about = |row: &Row| match row.call.split(' ').nth(1) {
        Some("@5" | "@6" | "@7" | "@9") => true,
        _ => row.call.ends_with(" MANAGED"),
    };
    let changes = |row: &Row| row.writes.iter().any(|line| !line.starts_with("HSETNX "));
    let calls = rows().into_iter().filter(|row| is_about(row) && changes(row));
    let calls: Vec<_> = calls.map(|row| row.call).chain(["SECKILL.TRY @5 new n1"]).collect();
    assert!(calls.len() > 20, "{calls:?}");
    for call in calls {
        let digest = replica.digest();
        let told = replica.say(&world.named(call));
        let wanted = "READONLY this is a replica, and only its primary sells managed vouchers";
        assert_eq!((told.as_str(), replica.digest()), (wanted, digest), "{call}");
    }
    // A try that changes nothing is answered; an unmanaged voucher is sold as the script sells it.
    replica.check("> SECKILL.TRY 7 alice o1 UNITS 2 => 0\n> SECKILL.TRY 8 new o1 => 0");
}

/// A sale that may be evicted as a whole is reported where operators look.
#[test]
fn a_sale_that_may_be_evicted_is_told() {
    let server = Server::start();
    let warned = || server.log().matches("maxmemory-policy").count();
    let mut creations = 0;
    let mut check = |policy: &str, limit: &str, wanted: Option<&str>| {
        server.check(&format!("> CONFIG SET maxmemory-policy {policy} maxmemory {limit}\nOK"));
        let before = warned();
        creations += 1;
        let (made, bare) = (format!("made{creations}"), format!("bare{creations}"));
        server.check(&format!("> SECKILL.CREATE {made} 5\nOK\n> SET seckill:stock:{bare} 5\nOK"));
        // One warning is enough, however many sales are created.
        server.check(&format!("> SECKILL.CREATE {made}-too 5\nOK"));
        for voucher in [made, bare] {
            let told = server.field(&format!("SECKILL.INFO {voucher}"), "eviction");
            let told = (told != Value::Nil).then(|| text(&told));
            assert_eq!(told.as_deref(), wanted, "{policy}, {limit}");
        }
        let warnings = warned() - before;
        assert_eq!(warnings, usize::from(wanted.is_some()), "{policy}, {limit}: {}", server.log());
    };
    for policy in ["allkeys-lru", "allkeys-lfu", "allkeys-random"] {
        check(policy, "500mb", Some(policy));
        check(policy, "0", None);
    }
    for policy in ["noeviction", "volatile-lru", "volatile-ttl"] {
        check(policy, "500mb", None);
    }
}

/// So is one with a stock, or another key, whose time to live a policy goes by.
#[test]
fn a_sale_with_an_evictable_key_is_told() {
    let server = Server::with().config("maxmemory 500mb").config("maxmemory-policy volatile-lru");
    let server = server.start();
    let warned = |what: &str| server.log().matches(what).count();
    assert_eq!(warned("may evict keys with a time to live"), 1);
    let policy_of = |voucher: &str| {
        let told = server.field(&format!("SECKILL.INFO {voucher}"), "eviction");
        (told != Value::Nil).then(|| text(&told))
    };
    let volatile = Some("volatile-lru".to_owned());
    server.check("> SET seckill:stock:1 5 EX 1000\nOK\n> SET seckill:stock:2 5\nOK");
    assert_eq!([policy_of("1"), policy_of("2")], [volatile.clone(), None]);
    server.check("> SECKILL.CREATE 2 ADOPT\nOK");
    assert_eq!(warned("may evict a key of the new sale"), 0);
    // Each such sale is another that may end so.
    server.check("> SECKILL.CREATE 1 ADOPT\nOK\n> SET seckill:stock:3 5 EX 1000\nOK");
    server.check("> SECKILL.CREATE 3 ADOPT\nOK");
    assert_eq!(warned("may evict a key of the new sale"), 2);
    assert_eq!([policy_of("1"), policy_of("2")], [volatile.clone(), None]);
    server.check("> SECKILL.TRY 2 ann o1\n0\n> EXPIRE seckill:book:2 1000\n1");
    assert_eq!(policy_of("2"), volatile);
    server.check("> PERSIST seckill:stock:1\n1\n> CONFIG SET maxmemory-policy noeviction\nOK");
    assert_eq!([policy_of("1"), policy_of("2")], [None, None]);
}

#[test]
fn a_policy_that_evicts_is_told_at_the_start() {
    for (policy, limit, told) in [
        ("allkeys-lru", "100mb", "may evict the keys of sales"),
        ("volatile-ttl", "100mb", "may evict keys with a time to live"),
        ("noeviction", "100mb", ""),
        ("allkeys-lru", "0", ""),
    ] {
        let server = Server::with().config(format!("maxmemory {limit}"));
        let server = server.config(format!("maxmemory-policy {policy}")).start();
        let log = server.log();
        assert_eq!(log.matches("may evict").count(), usize::from(!told.is_empty()), "{log}");
        assert!(log.contains(told), "{log}");
    }
}

#[test]
fn a_voucher_that_somebody_has_bought_is_not_adopted() {
    let server = Server::observed().start();
    server.run("SET seckill:stock:7 5");
    server.run("SECKILL.TRY 7 alice o1");
    server.refused("SECKILL.CREATE 7 ADOPT HOLD 900000", "BUSYKEY");
    server.run("FLUSHALL");
    for (key, make) in [
        ("seckill:order:7", "SADD seckill:order:7 alice"),
        ("seckill:order:7", "SET seckill:order:7 of-another-type"),
        ("seckill:voucher:7", "SET seckill:voucher:7 {}"),
        ("seckill:book:7", "HSET seckill:book:7 o1 x"),
        ("seckill:units:7", "HSET seckill:units:7 alice 1:o1"),
        ("seckill:hold:7", "ZADD seckill:hold:7 1 o1"),
        ("seckill:extra:7", "SET seckill:extra:7 1"),
        ("seckill:outside:7", "HSET seckill:outside:7 o1 1"),
    ] {
        server.run("SET seckill:stock:7 5");
        server.run(make);
        server.refused("SECKILL.CREATE 7 ADOPT", "BUSYKEY");
        server.run(&format!("DEL {key}"));
    }
    server.check("> SECKILL.CREATE 7 ADOPT\nOK");
    server.refused("SECKILL.CREATE 7 ADOPT", "BUSYKEY");
    server.refused("SECKILL.CREATE 7 5", "BUSYKEY");
}

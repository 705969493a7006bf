//! Managed sales are not sold twice by a replica, or evicted silently.

use crate::harness::{Server, text};
use redis::Value;

/// A replica that accepts writes would sell the units of its primary a second time.
#[test]
fn a_replica_that_takes_writes_changes_no_managed_voucher() {
    let primary = Server::with().port().start();
    let replica = Server::with().config("replica-read-only no").replica_of(&primary).start();
    primary.check("> XGROUP CREATE stream.orders g 0 MKSTREAM\nOK");
    primary.check("> SECKILL.CREATE 7 9 HOLD 900000\nOK\n> SECKILL.TRY 7 dave due\n0");
    primary.check("> SECKILL.CREATE gone 5\nOK\n> SECKILL.CREATE full 1 HOLD 900000\nOK");
    primary.check("> SECKILL.TRY full ann due\n0\n> SET seckill:stock:bare 5\nOK");
    primary.run("XREADGROUP GROUP g c COUNT 100 STREAMS stream.orders >");
    primary.wait_for_replica(&replica);
    replica.check("> ZADD seckill:hold:full 5 due\n0");
    let entries = replica.run("XRANGE stream.orders - +");
    let Value::Array(entries) = entries else { panic!("{entries:?}") };
    let Some(Value::Array(first)) = entries.first() else { panic!("{entries:?}") };
    let rejected = format!("SECKILL.REJECT stream.orders g {}", text(&first[0]));
    for command in [
        "SECKILL.TRY 7 new o1",
        "SECKILL.TRY 7 new *",
        "SECKILL.MTRY 7 new o1 other o2",
        // A hold is due that only its primary may release.
        "SECKILL.TRY full new o1",
        "SECKILL.MTRY full new o1",
        "SECKILL.CONFIRM 7 dave due",
        "SECKILL.CANCEL 7 dave due",
        "SECKILL.EXTEND 7 dave due 9000000",
        "SECKILL.CREATE new 5",
        "SECKILL.CREATE bare ADOPT",
        "SECKILL.ALTER 7 LIMIT 2",
        "SECKILL.RESTOCK 7 1",
        "SECKILL.DROP gone",
        &rejected,
    ] {
        let digest = replica.digest();
        let wanted = "this is a replica, and only its primary sells managed vouchers";
        replica.check(&format!("> {command}\n(error) READONLY {wanted}"));
        assert_eq!(replica.digest(), digest, "{command}");
    }
    // A try that changes nothing is answered; an unmanaged voucher is sold as the script sells it.
    replica.check("> SECKILL.TRY 7 dave due\n0\n> SECKILL.TRY bare new o1\n0");
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

//! In a cluster, vouchers that were tried lately are known to be whole: no try checks their keys
//! again.

use super::calls;
use crate::cluster::whole_cluster;
use redis::Value;

#[test]
fn sold_out_tries_ask_once_where_the_keys_are() {
    let server = whole_cluster();
    server.check("> SET seckill:stock:{7} 0\nOK\n> SECKILL.TRY 7 alice o1\n1");
    let before = calls(&server, "exists");
    for user in 0..100 {
        let outcome = server.call(&["SECKILL.TRY", "7", &user.to_string(), "o1"]);
        assert_eq!(outcome, Value::Int(1), "{user}");
    }
    assert_eq!(calls(&server, "exists"), before, "an unmanaged voucher");
    server.check("> SECKILL.CREATE 8 1 HOLD 900000\nOK\n> SECKILL.TRY 8 alice o1\n0");
    server.check("> SECKILL.TRY 8 bob o2\n1");
    let before = calls(&server, "exists");
    for user in 0..100 {
        let outcome = server.call(&["SECKILL.TRY", "8", &user.to_string(), "o3"]);
        assert_eq!(outcome, Value::Int(1), "{user}");
    }
    assert_eq!(calls(&server, "exists"), before, "a managed voucher");
}

#[test]
fn accepted_tries_ask_once_where_the_keys_are() {
    let server = whole_cluster();
    server.run("SET seckill:stock:{7} 500");
    server.run("SECKILL.CREATE 8 500 HOLD 900000");
    for voucher in ["7", "8"] {
        let buy = |user: &str| {
            let outcome = server.call(&["SECKILL.TRY", voucher, user, user]);
            assert_eq!(outcome, Value::Int(0), "{user}");
        };
        // The first try makes the keys.
        buy("first");
        buy("second");
        let before = calls(&server, "exists");
        (0..100).for_each(|user| buy(&user.to_string()));
        assert_eq!(calls(&server, "exists"), before, "voucher {voucher}");
    }
}

#[test]
fn vouchers_that_take_turns_are_asked_for_once() {
    let server = whole_cluster();
    let lose = |vouchers: usize, user: &str| {
        let before = calls(&server, "exists");
        for voucher in 0..vouchers {
            let outcome = server.call(&["SECKILL.TRY", &voucher.to_string(), user, "o"]);
            assert_eq!(outcome, Value::Int(1), "{voucher} {user}");
        }
        calls(&server, "exists") - before
    };
    for voucher in 0..64 {
        server.check(&format!("> SECKILL.CREATE {voucher} 1 HOLD 900000\nOK"));
        server.check(&format!("> SECKILL.TRY {voucher} ann a\n0"));
    }
    lose(8, "bob");
    assert_eq!(lose(8, "cid"), 0);
    // An event ends what is known of its voucher, not of others.
    for key in ["units:{7}", "book:{7}", "hold:{3}", "voucher:{0}", "order:{1}"] {
        assert_eq!(server.run(&format!("RENAME seckill:{key} {key}")), Value::Okay, "{key}");
        assert_eq!(server.run(&format!("RENAME {key} seckill:{key}")), Value::Okay, "{key}");
        assert_eq!(lose(8, "dan"), 1, "{key}");
    }
    // But for the few that find no room beside others.
    lose(64, "eve");
    let asked = lose(64, "eva");
    assert!(asked < 7, "{asked} of 64");
}

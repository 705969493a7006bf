//! In a cluster, the voucher tried last is known to be whole: no try checks its keys again.

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

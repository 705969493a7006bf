//! Whatever the module remembers between tries, it must notice what other clients did to the keys.

use crate::harness::Server;
use crate::observe::integer;
use redis::Value;

#[test]
fn a_buyer_who_was_removed_can_buy_again() {
    let removals: [&[&str]; 12] = [
        &["SREM seckill:order:7 alice"],
        &["DEL seckill:order:7"],
        &["UNLINK seckill:order:7"],
        &["RENAME seckill:order:7 elsewhere"],
        &["SMOVE seckill:order:7 elsewhere alice"],
        // Some servers select the other database: see docs/operating.md.
        &["MOVE seckill:order:7 5", "SELECT 0"],
        &["PEXPIREAT seckill:order:7 1"],
        &["FLUSHALL", "SET seckill:stock:7 5"],
        &["FLUSHDB ASYNC", "SET seckill:stock:7 5"],
        &["SWAPDB 0 4", "SET seckill:stock:7 5"],
        &["SADD other bob", "SINTERSTORE seckill:order:7 other"],
        &["MULTI", "DEL seckill:order:7", "EXEC"],
    ];
    let server = Server::start();
    for removal in removals {
        server.run("FLUSHALL");
        server.check("> SET seckill:stock:7 5\nOK\n> SECKILL.TRY 7 alice o1\n0");
        server.check("> SECKILL.TRY 7 alice o2\n2");
        for command in removal {
            let reply = server.run(command);
            assert!(!matches!(reply, Value::ServerError(_)), "{command}: {reply:?}");
        }
        let again = server.run("SECKILL.TRY 7 alice o3");
        assert_eq!(again, Value::Int(0), "after {removal:?}");
        server.check("> SISMEMBER seckill:order:7 alice\n1\n> SECKILL.TRY 7 alice o4\n2");
    }
}

#[test]
fn a_buyer_who_was_added_by_others_has_bought() {
    let server = Server::observed().start();
    server.run("MSET seckill:stock:7 5 stock 5");
    server.run("XADD stream.orders 1-1 a b");
    for add in [
        "SADD seckill:order:7 u1 u2",
        "SUNIONSTORE seckill:order:7 seckill:order:7 more",
        "COPY more seckill:order:7 REPLACE",
    ] {
        server.run("DEL more");
        server.run("SADD more u3 u4");
        server.run(add);
        let added = integer(&server.run("SCARD seckill:order:7"));
        assert!(added > 0);
        for user in ["u1", "u2", "u3", "u4"] {
            if server.run(&format!("SISMEMBER seckill:order:7 {user}")) == Value::Int(1) {
                let again = server.silent(&format!("SECKILL.TRY 7 {user} o1"));
                assert_eq!(again, Value::Int(2), "{user} after {add}");
                let keys = "stock seckill:order:7 stream.orders";
                let again = server.silent(&format!("SECKILL.TRYKEYS {keys} 7 {user} o1"));
                assert_eq!(again, Value::Int(2), "{user} after {add}");
            }
        }
    }
}

#[test]
fn a_restart_forgets_nothing_and_invents_nothing() {
    let mut server = Server::observed().start();
    server.check("> SET seckill:stock:7 5\nOK\n> SECKILL.TRY 7 alice o1\n0");
    server.kill9();
    server.start_again();
    assert_eq!(server.silent("SECKILL.TRY 7 alice o2"), Value::Int(2));
    server.check("> SECKILL.TRY 7 bob o2\n0\n> GET seckill:stock:7\n3");
}

#[test]
fn the_same_user_in_two_databases_is_two_buyers() {
    let server = Server::start();
    let mut other = server.client();
    other.run("SELECT 1");
    server.run("SET seckill:stock:7 5");
    other.run("SET seckill:stock:7 5");
    server.check("> SECKILL.TRY 7 alice o1\n0\n> SECKILL.TRY 7 alice o1\n2");
    other.check("> SECKILL.TRY 7 alice o1\n0\n> SECKILL.TRY 7 alice o1\n2");
    server.check("> SWAPDB 0 1\nOK\n> SECKILL.TRY 7 alice o1\n2\n> SREM seckill:order:7 alice\n1");
    other.check("> SECKILL.TRY 7 alice o1\n2");
    server.check("> SECKILL.TRY 7 alice o1\n0");
}

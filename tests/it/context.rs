//! The commands in every context of Redis: transactions, scripts, replicas, other clients.

use crate::harness::{Client, Server, text, wait_for};
use crate::observe::{assert_error, integer};
use redis::Value;

/// What an application can send instead of its scripts; the documentation shows both.
pub const SELL: &str = "return redis.call('SECKILL.TRY', ARGV[1], ARGV[2], ARGV[3])";
pub const UNLOCK: &str = "return redis.call('LOCK.RELEASE', KEYS[1], ARGV[1])";

#[test]
fn a_transaction_is_exact() {
    let server = Server::start();
    server.check(
        "
        > SET seckill:stock:7 1
        OK
        > SET lock t
        OK
        > MULTI
        OK
        > SECKILL.TRY 7 alice o1
        QUEUED
        > SECKILL.TRY 7 bob o2
        QUEUED
        > SECKILL.TRY 8 bob o2
        QUEUED
        > SECKILL.TRYKEYS seckill:stock:7 b o 7 carol o3
        QUEUED
        > LOCK.RELEASE lock t
        QUEUED
        > EXEC
        1) (integer) 0
        2) (integer) 1
        3) (error) NOVOUCHER ...
        4) (integer) 1
        5) (integer) 1
        > DBSIZE
        3
        ",
    );
}

#[test]
fn a_wrong_argument_count_aborts_a_transaction() {
    let server = Server::start();
    server.check(
        "
        > MULTI
        OK
        > SECKILL.TRY 7 alice
        (error) ERR wrong number of arguments for 'seckill.try' command
        > EXEC
        (error) EXECABORT ...
        ",
    );
}

/// Runs `command` on another connection between WATCH of `key` and EXEC. Did EXEC execute?
pub fn watch_survives(server: &Server, key: &str, command: &str) -> bool {
    let mut watcher = server.client();
    watcher.run(&format!("WATCH {key}"));
    server.run(command);
    watcher.run("MULTI");
    watcher.run("PING");
    watcher.run("EXEC") != Value::Nil
}

#[test]
fn a_sale_aborts_those_who_watch_its_keys() {
    let server = Server::start();
    server.run("MSET seckill:stock:7 100 stock 100 other 1");
    let mut user = 0;
    for key in ["seckill:stock:7", "seckill:order:7", "stream.orders"] {
        user += 1;
        let sale = format!("SECKILL.TRY 7 u{user} o1");
        assert!(!watch_survives(&server, key, &sale), "{key}");
        // And again when all keys exist.
        user += 1;
        let sale = format!("SECKILL.TRY 7 u{user} o1");
        assert!(!watch_survives(&server, key, &sale), "{key}");
    }
    for key in ["stock", "buyers", "orders"] {
        user += 1;
        let sale = format!("SECKILL.TRYKEYS stock buyers orders 7 u{user} o1");
        assert!(!watch_survives(&server, key, &sale), "{key}");
    }
    assert!(watch_survives(&server, "other", "SECKILL.TRY 7 last o1"));
    assert!(watch_survives(
        &server,
        "orders",
        "SECKILL.TRYKEYS stock buyers orders 7 n o NOSTREAM"
    ));
    server.run("SET lock t");
    assert!(watch_survives(&server, "lock", "LOCK.RELEASE lock u"));
    assert!(!watch_survives(&server, "lock", "LOCK.RELEASE lock t"));
}

#[test]
fn losers_and_refusals_disturb_no_watch() {
    let server = Server::start();
    server.run("MSET seckill:stock:7 1 seckill:stock:8 5.5 seckill:stock:9 5 seckill:stock:10 5");
    server.run("RPUSH seckill:order:9 a");
    server.run("SECKILL.TRY 7 alice o1");
    server.run("SADD seckill:order:10 alice");
    for (voucher, keys) in [
        ("7", "seckill:stock:7 seckill:order:7"),
        ("8", "seckill:stock:8 seckill:order:8"),
        ("9", "seckill:stock:9 seckill:order:9"),
        ("10", "seckill:stock:10 seckill:order:10"),
        ("11", "seckill:stock:11 seckill:order:11"),
    ] {
        let keys = format!("{keys} stream.orders");
        let command = format!("SECKILL.TRY {voucher} alice o1");
        assert!(watch_survives(&server, &keys, &command), "{command}");
    }
}

#[test]
fn scripts_and_functions_can_sell() {
    let server = Server::start();
    server.run("SET seckill:stock:7 3");
    let script = "return {redis.call('SECKILL.TRY',ARGV[1],'alice','o1'), \
                  redis.call('seckill.try',ARGV[1],'alice','o2'), \
                  redis.pcall('SECKILL.TRY','8','alice','o2')}";
    let replies: Vec<Value> = match server.call(&["EVAL", script, "0", "7"]) {
        Value::Array(replies) => replies,
        other => panic!("{other:?}"),
    };
    assert_eq!(replies[..2], [Value::Int(0), Value::Int(2)]);
    assert_error(&replies[2], "NOVOUCHER", "pcall");

    let library = "#!lua name=shop\nredis.register_function('buy', function(keys, args) \
                   return redis.call('SECKILL.TRY', keys[1], args[1], args[2]) end)";
    assert_eq!(text(&server.call(&["FUNCTION", "LOAD", library])), "shop");
    server.check("> FCALL buy 1 7 bob o3\n0\n> FCALL buy 1 7 bob o3\n2");
    server.run("SET lock t");
    server.check("> EVAL \"return redis.call('LOCK.RELEASE', KEYS[1], 't')\" 1 lock\n1");
    // An error stops the script and keeps its earlier effects, as with any command.
    let error = server.run("EVAL \"return redis.call('SECKILL.TRY', '8', 'alice', 'o1')\" 0");
    assert!(text(&error).starts_with("NOVOUCHER "), "{error:?}");
}

#[test]
fn read_only_scripts_cannot_sell() {
    let server = Server::observed().start();
    server.run("SET seckill:stock:7 3");
    let sell = "EVAL_RO \"return redis.call('SECKILL.TRY', '7', 'alice', 'o1')\" 0";
    server.refused_by_server(sell, "ERR");
    server.run("SET lock t");
    let release = "EVAL_RO \"return redis.call('LOCK.RELEASE', KEYS[1], 't')\" 1 lock";
    server.refused_by_server(release, "ERR");
}

#[test]
fn the_one_line_scripts_that_applications_keep() {
    let server = Server::start();
    server.run("MSET seckill:stock:7 1 lock:7 token");
    let sell = text(&server.call(&["SCRIPT", "LOAD", SELL]));
    let unlock = text(&server.call(&["SCRIPT", "LOAD", UNLOCK]));
    let outcome = |user: &str| server.run(&format!("EVALSHA {sell} 0 7 {user} 1001"));
    assert_eq!(outcome("5"), Value::Int(0));
    assert_eq!(outcome("5"), Value::Int(1));
    server.run("SET seckill:stock:7 1");
    assert_eq!(outcome("5"), Value::Int(2));
    let release = |token: &str| server.run(&format!("EVALSHA {unlock} 1 lock:7 {token}"));
    assert_eq!(
        [release("other"), release("token"), release("token")].map(|r| integer(&r)),
        [0, 1, 0]
    );
}

#[test]
fn a_replica_refuses() {
    let primary = Server::with().port().start();
    primary.run("MSET seckill:stock:7 1 seckill:stock:8 0 lock t");
    let replica = Server::with().replica_of(&primary).start();
    primary.wait_for_replica(&replica);
    for command in [
        "SECKILL.TRY 7 alice o1",
        "SECKILL.TRY 8 alice o1",
        "SECKILL.TRYKEYS seckill:stock:7 b o 7 alice o1",
        "LOCK.RELEASE lock t",
        "LOCK.RELEASE lock u",
    ] {
        let error = text(&replica.run(command));
        assert!(error.starts_with("READONLY"), "{command}: {error}");
    }
    assert_eq!(primary.digest(), replica.digest());
}

#[test]
fn a_full_server_refuses_to_sell_but_releases_locks() {
    let server = Server::with().aof().start();
    server.run("MSET seckill:stock:7 1 lock t");
    let digest = server.digest();
    server.run("CONFIG SET maxmemory 1");
    let written = server.aof_of(|| {
        server.check(
            "
            > SECKILL.TRY 7 alice o1
            (error) OOM ...
            > SECKILL.TRYKEYS seckill:stock:7 b o 7 alice o1
            (error) OOM ...
            ",
        );
    });
    assert!(written.is_empty(), "{written:?}");
    assert_eq!(server.digest(), digest);
    server.check("> LOCK.RELEASE lock t\n1\n> CONFIG SET maxmemory 0\nOK");
    server.check("> SECKILL.TRY 7 alice o1\n0");
}

#[test]
fn a_primary_that_lacks_replicas_refuses() {
    let server = Server::observed().start();
    server.run("MSET seckill:stock:7 1 lock t");
    server.run("CONFIG SET min-replicas-to-write 1");
    server.refused_by_server("SECKILL.TRY 7 alice o1", "NOREPLICAS");
    server.refused_by_server("LOCK.RELEASE lock t", "NOREPLICAS");
}

#[test]
fn a_try_waits_while_writes_are_paused() {
    let server = Server::observed().start();
    server.run("MSET seckill:stock:7 1 lock t");
    server.run("CLIENT PAUSE 60000 WRITE");
    let mut paused = block(&server, "SECKILL.TRY 7 alice o1");
    server.check("> DBSIZE\n2\n> CLIENT UNPAUSE\nOK");
    assert_eq!(paused.receive(), Value::Int(0));
    server.check("> DBSIZE\n4\n> GET seckill:stock:7\n0");
}

/// Sends a blocking command and returns once the server has the client blocked.
pub fn block(server: &Server, command: &str) -> Client {
    let mut client = server.client();
    let before = server.info_number("blocked_clients");
    client.send(&crate::transcript::argv(command));
    let blocked = wait_for("the client to block", || {
        (server.info_number("blocked_clients") > before).then_some(())
    });
    blocked.unwrap_or_else(|late| panic!("{command}: {late}"));
    client
}

#[test]
fn readers_that_wait_for_orders_are_woken() {
    let server = Server::start();
    server.check("> MSET seckill:stock:7 50 stock 50\nOK");
    server.check("> XGROUP CREATE stream.orders g1 $ MKSTREAM\nOK");
    let sales = [
        ("XREAD BLOCK 0 STREAMS stream.orders $", "SECKILL.TRY 7 a o1"),
        ("XREADGROUP GROUP g1 c1 BLOCK 0 STREAMS stream.orders >", "SECKILL.TRY 7 b o2 UNITS 2"),
        ("XREAD BLOCK 0 STREAMS new $", "SECKILL.TRYKEYS stock buyers new 7 a o1"),
        (
            "XREAD BLOCK 0 STREAMS stream.orders $",
            "EVAL \"return redis.call('SECKILL.TRY','7','c','o3')\" 0",
        ),
    ];
    for (wait, sale) in sales {
        // The group has seen no entry of earlier rounds.
        server.run("XGROUP SETID stream.orders g1 $");
        let mut reader = block(&server, wait);
        assert_eq!(server.run(sale), Value::Int(0), "{sale}");
        let read = format!("{:?}", reader.receive());
        assert!(read.contains("bulk-string") && !read.contains("nil"), "{wait}: {read}");
    }
    let mut reader = block(&server, "XREAD BLOCK 0 STREAMS stream.orders $");
    server.check("> MULTI\nOK\n> SECKILL.TRY 7 z o9\nQUEUED\n> EXEC\n1) 0");
    assert_ne!(reader.receive(), Value::Nil);
}

#[test]
fn replies_are_integers_in_both_protocols() {
    let server = Server::start();
    server.run("MSET seckill:stock:7 1 lock t");
    let mut client = server.client();
    for protocol in ["2", "3"] {
        client.run(&format!("HELLO {protocol}"));
        server.run("MSET seckill:stock:7 1 lock t");
        server.run("DEL seckill:order:7");
        assert_eq!(client.run("SECKILL.TRY 7 alice o1"), Value::Int(0));
        assert_eq!(client.run("SECKILL.TRY 7 alice o1"), Value::Int(1));
        assert_eq!(client.run("LOCK.RELEASE lock t"), Value::Int(1));
        assert_error(&client.run("SECKILL.TRY 8 alice o1"), "NOVOUCHER", "SECKILL.TRY");
    }
}

#[test]
fn every_database_is_its_own() {
    let server = Server::start();
    let mut other = server.client();
    other.run("SELECT 9");
    server.run("SET seckill:stock:7 1");
    other.run("SET seckill:stock:7 1");
    server.check("> SECKILL.TRY 7 alice o1\n0\n> SECKILL.TRY 7 bob o2\n1");
    other.check("> SECKILL.TRY 7 alice o1\n0\n> SECKILL.TRY 7 bob o2\n1\n> DBSIZE\n3");
    server.check("> DBSIZE\n3\n> SWAPDB 0 9\nOK\n> SET seckill:stock:7 1\nOK");
    server.check("> SECKILL.TRY 7 alice o1\n2");
}

#[test]
fn a_reload_changes_nothing() {
    let server = Server::start();
    server.check("> SET seckill:stock:7 5 PXAT 33333333333333\nOK\n> SECKILL.TRY 7 alice o1\n0");
    let digest = server.digest();
    assert_eq!(server.run("DEBUG RELOAD"), Value::Okay);
    assert_eq!(server.digest(), digest);
    server.check("> SECKILL.TRY 7 alice o2\n2\n> SECKILL.TRY 7 bob o2\n0");
    server.check("> FLUSHALL\nOK\n> SECKILL.TRY 7 alice o2\n(error) NOVOUCHER ...");
}

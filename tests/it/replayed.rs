//! Histories with every kind of effect: replicas and files have the same data without the module,
//! whatever comes in between.

use crate::aof::{is, shown};
use crate::harness::{Server, text};
use crate::observe::words;
use crate::reject::deliver;
use redis::Value;

fn number(server: &Server, command: &str) -> i64 {
    redis::from_redis_value(server.run(command)).expect("a number")
}

/// What the library of functions can do, too.
fn sell_something(server: &Server) {
    server.run("MSET seckill:stock:7 20 seckill:stock:9 -1 stock 9 lock t");
    server.run("SET seckill:stock:8 1000 PXAT 33333333333333");
    server.run("XGROUP CREATE stream.orders g1 0 MKSTREAM");
    for round in 0..60 {
        let user = format!("user-{}", round % 40);
        server.run(&format!("SECKILL.TRY 7 {user} o{round}"));
        server.run(&format!("SECKILL.TRY 8 {user} o{round} UNITS {}", round % 7 + 1));
        server.run(&format!("SECKILL.TRY 9 {user} o{round}"));
        server.run(&format!("SECKILL.TRYKEYS stock buyers orders 7 {user} o{round}"));
        server.run(&format!("SECKILL.TRY 8 {round} o{round}"));
    }
    server.run(r#"SECKILL.TRY 8 "\x00\xff\r\n" "" "#);
    server.run("LOCK.RELEASE lock t");
    server.run("SET lock2 t PXAT 33333333333333");
    assert_eq!(number(server, "GET seckill:stock:7"), 0);
}

/// Managed sales with every kind of change, batches, bare stocks and generated ids.
fn sell_and_release(server: &Server) {
    server.run("SECKILL.CREATE a 400 LIMIT 3 HOLD 30");
    server.run("SECKILL.CREATE b 400 LIMIT 2");
    server.run("MSET seckill:stock:c 40 bare 100");
    server.run("PEXPIREAT seckill:stock:a 33333333333333");
    for round in 0..60 {
        let user = format!("u{}", round % 25);
        for voucher in ["a", "b", "c"] {
            server.run(&format!("SECKILL.TRY {voucher} {user} o{round} UNITS {}", round % 3 + 1));
            server.run(&format!("SECKILL.MTRY {voucher} {user} p{round} v{round} q{round} z *"));
            if round % 4 == 0 {
                server.run(&format!("SECKILL.CANCEL {voucher} {user} o{round}"));
            }
            if round % 4 == 1 {
                server.run(&format!("SECKILL.CONFIRM {voucher} {user} o{round}"));
            }
        }
        server.run(&format!("SECKILL.DEDUCT bare {}", round % 5 + 1));
        server.run(&format!("SECKILL.RETURN bare {}", round % 7 + 1));
        server.run(&format!("SECKILL.NEXTID ids COUNT {}", round + 1));
        if round % 10 == 0 {
            server.run("SECKILL.RESTOCK a 1");
            server.run("SECKILL.ALTER b HOLD 50");
        }
    }
    server.call(&["SECKILL.TRY", "a", "bytes\r\n:", ":id\r\n"]);
    server.run("SECKILL.CREATE gone 5");
    server.run("SECKILL.TRY gone alice o1");
    server.run("SECKILL.DROP gone");
    server.until("all holds to end", || {
        server.run("EXISTS seckill:hold:a seckill:hold:b") == Value::Int(0)
    });
    assert!(server.info_number("seckill_orders_expired") > 5);
    assert_eq!([server.differences("a"), server.differences("b")], [[""; 0]; 2]);
}

/// Rejections of every kind.
fn sell_and_reject(server: &Server) {
    server.run("XGROUP CREATE stream.orders g $");
    server.run("SECKILL.CREATE d 90 LIMIT 3 HOLD 900000");
    server.run("SET seckill:stock:e 90 PXAT 33333333333333");
    for round in 0..60 {
        let user = format!("u{}", round % 25);
        for voucher in ["d", "e"] {
            server.run(&format!("SECKILL.TRY {voucher} {user} o{round} UNITS {}", round % 3 + 1));
        }
        match round % 6 {
            0 => server.run(&format!("SECKILL.CANCEL d {user} o{round}")),
            1 => server.run(&format!("SECKILL.CONFIRM d {user} o{round}")),
            2 => server.run("XADD stream.orders * a b"),
            _ => Value::Nil,
        };
        if round % 10 == 0 {
            server.run(r#"SECKILL.TRY d "\r\n\x00" "\xff:""#);
            server.run(r#"XADD stream.orders * userId "\r\n\x00" voucherId d id "\xff:""#);
        }
        for (index, id) in deliver(server, "stream.orders").iter().enumerate() {
            if (round + index) % 2 == 0 {
                let reject = r#"SECKILL.REJECT stream.orders g ID REASON "\x00\xff\r\n""#;
                assert_eq!(server.run(&reject.replace("ID", id)), Value::Int(1), "{round}");
            }
        }
    }
    assert_eq!(server.differences("d"), [""; 0]);
    assert!(server.info_number("seckill_orders_rejected") > 10);
    assert!(number(server, "XLEN stream.orders.dlq") > 30);
}

fn everything(server: &Server) {
    sell_something(server);
    if server.info("seckill_tries_accepted").is_some() {
        sell_and_release(server);
        sell_and_reject(server);
    }
}

/// Also compares what DEBUG DIGEST leaves out: expiry times, stream bookkeeping, groups.
pub fn assert_same(one: &Server, other: &Server) {
    assert_eq!(one.digest(), other.digest());
    let mut keys = words(one.run("KEYS *"));
    keys.sort();
    for key in keys {
        let ask = |server: &Server, command: &str| server.run(&format!("{command} {key}"));
        assert_eq!(ask(one, "PEXPIRETIME"), ask(other, "PEXPIRETIME"), "{key}");
        if ask(one, "TYPE") == Value::SimpleString("stream".into()) {
            let of = |server: &Server| {
                let info: Vec<Value> =
                    redis::from_redis_value(ask(server, "XINFO STREAM")).expect("XINFO");
                let field = |pair: &[Value]| (pair[0].clone(), pair[1].clone());
                let mut pairs: Vec<_> = info.chunks(2).map(field).collect();
                // The layout of a tree in memory may differ.
                pairs.retain(|(name, _)| !text(name).starts_with("radix"));
                pairs
            };
            assert_eq!(of(one), of(other), "{key}");
            let groups = |server: &Server| {
                let groups: Vec<Vec<Value>> =
                    redis::from_redis_value(ask(server, "XINFO GROUPS")).expect("XINFO");
                // XREADGROUP of Redis 7.0 does not replicate how many entries it has read.
                let counts = ["entries-read", "lag"];
                let is_fact = |pair: &&[Value]| !counts.contains(&text(&pair[0]).as_str());
                let facts = |group: &Vec<Value>| {
                    let name = text(&group[1]);
                    let pending = server.run(&format!("XPENDING {key} {name}"));
                    let facts = group.chunks(2).filter(is_fact).flatten().cloned();
                    facts.chain([pending]).collect::<Vec<_>>()
                };
                groups.iter().map(facts).collect::<Vec<_>>()
            };
            assert_eq!(groups(one), groups(other), "{key}");
        }
    }
}

/// A server without the module that starts from this one's file has the same data.
pub fn assert_replayed(server: &Server) {
    let copy = Server::with().aof().without_module().data_of(server).start();
    assert_same(server, &copy);
}

#[test]
fn an_aof_is_replayed_without_the_module() {
    let server = Server::with().aof().start();
    everything(&server);
    assert_replayed(&server);
    const PLAIN: &str = "SET MSET DEL SADD SREM DECR DECRBY INCRBY XADD HSET HSETNX HDEL ZADD ZREM \
                         UNLINK MULTI EXEC PEXPIREAT XACK XCLAIM XGROUP FUNCTION";
    for argv in server.aof() {
        let line = shown(&argv);
        let name = line.split(' ').next().expect("a name");
        assert!(PLAIN.split(' ').any(|plain| plain == name) && !line.contains(" * "), "{line}");
    }
}

#[test]
fn an_rdb_is_loaded_without_the_module() {
    let server = Server::start();
    everything(&server);
    assert_eq!(server.run("SAVE"), Value::Okay);
    let copy = Server::with().without_module().data_of(&server).start();
    assert_same(&server, &copy);
}

#[test]
fn a_replica_without_the_module_has_the_same_data() {
    let primary = Server::with().port().start();
    primary.check("> SET seckill:stock:6 5\nOK\n> SECKILL.TRY 6 alice o1\n0");
    let replica = Server::with().without_module().replica_of(&primary).start();
    primary.wait_for_replica(&replica);
    // Some of the data has come with the snapshot, the rest comes command by command.
    everything(&primary);
    primary.wait_for_replica(&replica);
    assert_same(&primary, &replica);
}

#[test]
fn a_replica_with_the_module_sells_on_when_promoted() {
    let primary = Server::with().port().start();
    let replica = Server::with().replica_of(&primary).start();
    primary.wait_for_replica(&replica);
    everything(&primary);
    primary.wait_for_replica(&replica);
    assert_same(&primary, &replica);
    assert_eq!(replica.info("seckill_tries_accepted").as_deref(), Some("0"));
    replica.check(
        "
        > REPLICAOF NO ONE => OK
        > SECKILL.TRY 7 late o1 => 1
        > SECKILL.TRY 8 user-0 o1 => 2
        > SECKILL.TRY 8 late o1 => 0
        > SECKILL.TRY d late fresh => 0
        ",
    );
}

#[test]
fn a_rewritten_aof_is_exact() {
    for preamble in ["yes", "no"] {
        let config = format!("aof-use-rdb-preamble {preamble}");
        let mut server = Server::with().aof().config(config).start();
        everything(&server);
        server.run("BGREWRITEAOF");
        server.until("the rewrite", || {
            let is = |field: &str| server.info(field).as_deref() == Some("1");
            server.run("SECKILL.TRY 8 during-rewrite o1");
            !is("aof_rewrite_in_progress") && !is("aof_rewrite_scheduled")
        });
        assert_eq!(server.info("aof_last_bgrewrite_status").as_deref(), Some("ok"));
        server.check("> SECKILL.TRY 8 after-rewrite o1\n0");
        let digest = server.digest();
        assert_replayed(&server);
        server.kill9();
        server.start_again();
        assert_eq!(server.digest(), digest);
    }
}

#[test]
fn a_transaction_or_script_is_written_as_one() {
    let server = Server::with().aof().start();
    server.run("SET seckill:stock:7 5");
    let in_multi = server.aof_of(|| {
        let commands = ["TRY 7 alice o1", "TRY 7 alice o2", "TRY 7 bob o3"];
        let commands = commands.map(|command| format!("SECKILL.{command}"));
        let [one, two, three] = &commands;
        let replies = server.transaction(&[one, "SET other 1", two, three]);
        assert_eq!(replies, [Value::Int(0), Value::Okay, Value::Int(2), Value::Int(0)]);
    });
    let in_lua = server.aof_of(|| {
        let script = "redis.call('SECKILL.TRY','7','carol','o1') redis.call('SET','other','2') \
                      return redis.call('SECKILL.TRY','7','dave','o1')";
        assert_eq!(server.call(&["EVAL", script, "0"]), Value::Int(0));
    });
    for commands in [in_multi, in_lua] {
        let names = commands.iter().map(|argv| String::from_utf8_lossy(&argv[0]).to_uppercase());
        let mut names: Vec<_> = names.collect();
        assert_eq!((names.remove(0).as_str(), names.pop().as_deref()), ("MULTI", Some("EXEC")));
        names.sort();
        assert_eq!(names, ["DECR", "DECR", "SADD", "SADD", "SET", "XADD", "XADD"]);
    }
}

#[test]
fn effects_go_to_the_database_of_the_client() {
    let server = Server::with().aof().start();
    server.check(
        "
        > SELECT 3 => OK
        > SET seckill:stock:7 5 => OK
        > SECKILL.TRY 7 alice o1 => 0
        > DBSIZE => 3
        > SELECT 0 => OK
        > DBSIZE => 0
        > SECKILL.TRY 7 alice o1 => (error) NOVOUCHER ...
        ",
    );
    let commands = server.aof_with_selects();
    let selects: Vec<_> = commands.iter().filter(|argv| is(argv, "SELECT")).map(shown).collect();
    assert_eq!(selects, ["SELECT 3"]);
    assert_replayed(&server);
}

//! The effects that a server writes: plain commands that a server without the module can repeat.

use crate::aof::{is, shown};
use crate::harness::{Builder, Server, text, wait_for};
use crate::observe::{integer, words};
use redis::Value;

/// The commands that `act` adds, as text; the stream id that XRANGE shows for the last entry of
/// `stream` is written as ID.
fn written(server: &Server, stream: &str, act: &str) -> Vec<String> {
    let commands = server.aof_of(|| assert_eq!(server.run(act), Value::Int(0), "{act}"));
    let last = server.run(&format!("XREVRANGE {stream} + - COUNT 1"));
    let last: Vec<(String, Vec<Vec<u8>>)> = redis::from_redis_value(last).expect("entries");
    let commands = commands.iter().map(shown);
    match last.first() {
        Some((id, _)) => commands.map(|line| line.replace(id.as_str(), "ID")).collect(),
        None => commands.collect(),
    }
}

/// The order within one transaction is free: no client sees the steps in between.
pub fn assert_transaction(mut lines: Vec<String>, mut wanted: Vec<&str>) {
    assert_eq!(lines.first().map(String::as_str), Some("MULTI"), "{lines:?}");
    assert_eq!(lines.last().map(String::as_str), Some("EXEC"), "{lines:?}");
    wanted.extend(["MULTI", "EXEC"]);
    wanted.sort_unstable();
    lines.sort_unstable();
    assert_eq!(lines, wanted);
}

#[test]
fn a_sale_is_written_as_three_plain_commands() {
    let server = Server::with().aof().start();
    server.run("SET seckill:stock:7 5");
    assert_transaction(
        written(&server, "stream.orders", "SECKILL.TRY 7 alice o1"),
        vec![
            "DECR seckill:stock:7",
            "SADD seckill:order:7 alice",
            "XADD stream.orders ID userId alice voucherId 7 id o1",
        ],
    );
    assert_transaction(
        written(&server, "stream.orders", "SECKILL.TRY 7 bob o2 UNITS 3"),
        vec![
            "DECRBY seckill:stock:7 3",
            "SADD seckill:order:7 bob",
            "XADD stream.orders ID userId bob voucherId 7 id o2 units 3",
        ],
    );
}

#[test]
fn a_sale_by_keys_is_written_the_same_way() {
    let server = Server::with().aof().start();
    server.run("SET stock 5");
    assert_transaction(
        written(&server, "orders", "SECKILL.TRYKEYS stock buyers orders 7 alice o1"),
        vec!["DECR stock", "SADD buyers alice", "XADD orders ID userId alice voucherId 7 id o1"],
    );
    assert_transaction(
        written(&server, "none", "SECKILL.TRYKEYS stock buyers stock 7 bob o1 NOSTREAM"),
        vec!["DECR stock", "SADD buyers bob"],
    );
}

#[test]
fn what_is_not_done_is_not_written() {
    let server = Server::with()
        .aof()
        .config("seckill.unlimited-stock yes")
        .config("seckill.order-stream \"\"")
        .start();
    server.run("SET seckill:stock:7 -1");
    let lines = written(&server, "none", "SECKILL.TRY 7 alice o1");
    let mut effects = lines;
    effects.retain(|line| line != "MULTI" && line != "EXEC");
    assert_eq!(effects, ["SADD seckill:order:7 alice"]);
}

#[test]
fn bytes_are_written_as_they_are() {
    let server = Server::with().aof().start();
    server.run(r#"SET "seckill:stock:\x00\xff" 5"#);
    assert_transaction(
        written(&server, "stream.orders", r#"SECKILL.TRY "\x00\xff" "a\r\nb" "" "#),
        vec![
            r"DECR seckill:stock:\x00\xff",
            r"SADD seckill:order:\x00\xff a\r\nb",
            r"XADD stream.orders ID userId a\r\nb voucherId \x00\xff id ",
        ],
    );
}

#[test]
fn a_release_is_written_as_del() {
    let server = Server::with().aof().start();
    server.run("SET lock t PX 1000000");
    let lines = server.aof_of(|| assert_eq!(server.run("LOCK.RELEASE lock t"), Value::Int(1)));
    assert_eq!(lines.iter().map(shown).collect::<Vec<_>>(), ["DEL lock"]);
}

#[test]
fn a_transaction_or_script_is_written_as_one() {
    let server = Server::with().aof().start();
    server.run("SET seckill:stock:7 5");
    let in_multi = server.aof_of(|| {
        server.check(
            "
            > MULTI
            OK
            > SECKILL.TRY 7 alice o1
            QUEUED
            > SET other 1
            QUEUED
            > SECKILL.TRY 7 alice o2
            QUEUED
            > SECKILL.TRY 7 bob o3
            QUEUED
            > EXEC
            1) 0
            2) OK
            3) 2
            4) 0
            ",
        );
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
        assert_eq!(names.iter().filter(|name| *name == "SET").count(), 1);
        names.sort();
        assert_eq!(names, ["DECR", "DECR", "SADD", "SADD", "SET", "XADD", "XADD"]);
    }
}

#[test]
fn effects_go_to_the_database_of_the_client() {
    let server = Server::with().aof().start();
    server.check(
        "
        > SELECT 3
        OK
        > SET seckill:stock:7 5
        OK
        > SECKILL.TRY 7 alice o1
        0
        > DBSIZE
        3
        > SELECT 0
        OK
        > DBSIZE
        0
        > SECKILL.TRY 7 alice o1
        (error) NOVOUCHER ...
        ",
    );
    let commands = server.aof_with_selects();
    let selects: Vec<_> = commands.iter().filter(|argv| is(argv, "SELECT")).map(shown).collect();
    assert_eq!(selects, ["SELECT 3"]);
    let copy = Server::with().aof().without_module().data_of(&server).start();
    assert_eq!(copy.digest(), server.digest());
}

/// A sale with every kind of effect, independent of the server.
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
    assert_eq!(integer(&server.run("GET seckill:stock:7").into_number()), 0);
}

trait IntoNumber {
    fn into_number(self) -> Value;
}

impl IntoNumber for Value {
    /// The integer in a string reply.
    fn into_number(self) -> Value {
        Value::Int(redis::from_redis_value(self).expect("a number"))
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
                    group.chunks(2).filter(is_fact).flatten().cloned().collect::<Vec<_>>()
                };
                groups.iter().map(facts).collect::<Vec<_>>()
            };
            assert_eq!(groups(one), groups(other), "{key}");
        }
    }
}

#[test]
fn an_aof_is_replayed_without_the_module() {
    let server = Server::with().aof().start();
    sell_something(&server);
    let copy = Server::with().aof().without_module().data_of(&server).start();
    assert_same(&server, &copy);
    for argv in server.aof() {
        let name = shown(&argv);
        assert!(!name.starts_with("SECKILL.") && !name.starts_with("LOCK."), "{name}");
    }
}

#[test]
fn an_rdb_is_loaded_without_the_module() {
    let server = Server::start();
    sell_something(&server);
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
    // Half of the data arrives with the snapshot, half arrives command by command.
    sell_something(&primary);
    primary.wait_for_replica(&replica);
    assert_same(&primary, &replica);
}

#[test]
fn a_replica_with_the_module_sells_on_when_promoted() {
    let primary = Server::with().port().start();
    let replica = Server::with().replica_of(&primary).start();
    primary.wait_for_replica(&replica);
    sell_something(&primary);
    primary.wait_for_replica(&replica);
    assert_same(&primary, &replica);
    assert_eq!(replica.info("seckill_tries_accepted").as_deref(), Some("0"));
    replica.check(
        "
        > REPLICAOF NO ONE
        OK
        > SECKILL.TRY 7 late o1
        1
        > SECKILL.TRY 8 user-0 o1
        2
        > SECKILL.TRY 8 late o1
        0
        ",
    );
}

#[test]
fn losing_tries_write_nothing() {
    let server = Server::with().aof().start();
    server.check("> SET seckill:stock:7 1\nOK\n> SECKILL.TRY 7 alice o1\n0\n> SET lock t\nOK");
    let lines = server.aof_of(|| {
        for _ in 0..10 {
            server.run("SECKILL.TRY 7 bob o2");
            server.run("SECKILL.TRY 8 bob o2");
            server.run("SECKILL.TRYKEYS seckill:stock:7 seckill:order:7 s 7 bob o2");
            server.run("LOCK.RELEASE lock u");
        }
    });
    assert!(lines.is_empty(), "{:?}", lines.iter().map(shown).collect::<Vec<_>>());
}

#[test]
fn a_rewritten_aof_is_exact() {
    for preamble in ["yes", "no"] {
        let config = format!("aof-use-rdb-preamble {preamble}");
        let mut server = Server::with().aof().config(config).start();
        sell_something(&server);
        server.run("BGREWRITEAOF");
        let rewritten = wait_for("the rewrite", || {
            let busy = server.info("aof_rewrite_in_progress").as_deref() == Some("1")
                || server.info("aof_rewrite_scheduled").as_deref() == Some("1");
            server.run("SECKILL.TRY 8 during-rewrite o1");
            (!busy).then_some(())
        });
        rewritten.expect("BGREWRITEAOF");
        assert_eq!(server.info("aof_last_bgrewrite_status").as_deref(), Some("ok"));
        server.check("> SECKILL.TRY 8 after-rewrite o1\n0");
        let digest = server.digest();
        let copy = Server::with().aof().without_module().data_of(&server).start();
        assert_same(&server, &copy);
        server.kill9();
        server.start_again();
        assert_eq!(server.digest(), digest);
    }
}

fn crash_in_the_middle(builder: Builder) {
    let mut server = builder.start();
    server.run("SET seckill:stock:7 100000");
    // More tries are sent than replies are read: the server is killed in the middle of a pipeline.
    let mut client = server.client();
    for user in 0..3000 {
        client.send(&["SECKILL.TRY", "7", &format!("u{user}"), &format!("o{user}")]);
    }
    let acknowledged = 1000;
    for _ in 0..acknowledged {
        assert_eq!(client.receive(), Value::Int(0));
    }
    server.kill9();
    server.start_again();
    let left = integer(&server.run("GET seckill:stock:7").into_number());
    let sold = 100_000 - left;
    assert!((acknowledged..=3000).contains(&sold), "sold {sold}");
    assert_eq!(integer(&server.run("SCARD seckill:order:7")), sold);
    assert_eq!(integer(&server.run("XLEN stream.orders")), sold);
    for user in 0..3000 {
        let bought = server.run(&format!("SISMEMBER seckill:order:7 u{user}"));
        assert_eq!(bought, Value::Int(i64::from(user < sold)), "u{user}");
    }
}

#[test]
fn a_crash_keeps_every_acknowledged_sale_and_no_half() {
    crash_in_the_middle(Server::with().aof());
}

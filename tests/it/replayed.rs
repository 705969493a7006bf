//! What one server has written, another one has without the module. Histories of every kind are in
//! `tests/storm`.

use crate::aof::{is, shown};
use crate::harness::{Server, text};
use crate::observe::words;
use redis::Value;

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

//! Draws in every context of Redis: transactions, scripts, replicas, other clients.

use crate::context::{block, watch_survives};
use crate::harness::{Server, text};
use crate::observe::{assert_error, bytes_list};
use redis::Value;

#[test]
fn only_a_change_disturbs_those_who_watch() {
    let server = Server::start();
    let keys = ["seckill:codes:7", "seckill:winners:7", "stream.draws"];
    for (index, key) in keys.into_iter().enumerate() {
        server.run("RPUSH seckill:codes:7 a b");
        let draw = |user: &str| format!("SECKILL.DRAW 7 {user}{index}");
        assert!(!watch_survives(&server, key, &draw("first")), "{key}");
        assert!(!watch_survives(&server, key, &draw("second")), "{key}");
        assert!(watch_survives(&server, key, &draw("third")), "{key}");
        assert!(watch_survives(&server, key, &draw("first")), "{key}");
        let undraw = format!("SECKILL.UNDRAW 7 first{index}");
        assert_eq!(watch_survives(&server, key, &undraw), key == "stream.draws", "{key}");
        assert!(watch_survives(&server, key, &undraw), "{key}");
        server.run("DEL seckill:codes:7");
    }
}

#[test]
fn a_cached_winner_is_invalidated_by_a_draw_only() {
    let server = Server::observed().start();
    server.run("RPUSH seckill:codes:7 a b");
    let recorder = server.record();
    server.run("SECKILL.DRAW 7 alice");
    server.run("SECKILL.DRAW 7 alice");
    server.run("SECKILL.DRAW 8 alice");
    let mut heard = recorder.finish(&server);
    heard.retain(|event| event.starts_with("invalidated"));
    heard.sort();
    let keys = ["seckill:codes:7", "seckill:winners:7", "stream.draws"];
    assert_eq!(heard, keys.map(|key| format!("invalidated {key}")));
}

#[test]
fn transactions_and_scripts_can_draw() {
    let server = Server::start();
    server.check(
        r#"
        > RPUSH seckill:codes:7 a b
        2
        > MULTI
        OK
        > SECKILL.DRAW 7 alice
        QUEUED
        > SECKILL.DRAW 7 alice
        QUEUED
        > SECKILL.UNDRAW 7 alice
        QUEUED
        > SECKILL.DRAW 7 bob
        QUEUED
        > EXEC
        1) 1) 0
           2) a
        2) 1) 2
           2) a
        3) 1
        4) 1) 0
           2) a
        > EVAL "return redis.call('SECKILL.DRAW', KEYS[1], ARGV[1])[2]" 1 7 carol
        b
        > EVAL "return tostring(redis.call('SECKILL.DRAW', KEYS[1], ARGV[1])[2])" 1 7 dave
        false
        > EVAL "return redis.call('SECKILL.UNDRAW', KEYS[1], ARGV[1])" 1 7 carol
        1
        > EVAL_RO "return redis.call('SECKILL.DRAW', KEYS[1], 'x')" 1 7
        (error) ERR ...
        > LRANGE seckill:codes:7 0 -1
        1) b
        "#,
    );
}

#[test]
fn null_is_that_of_the_protocol() {
    let server = Server::start();
    let mut client = server.client();
    for protocol in ["2", "3"] {
        client.run(&format!("HELLO {protocol}"));
        client.run("RPUSH seckill:codes:7 a");
        let user = format!("u{protocol}");
        client.check(&format!(
            "> SECKILL.DRAW 7 {user}\n1) 0\n2) a\n> SECKILL.DRAW 7 z\n1) 1\n2) (nil)"
        ));
        client.check(&format!("> SECKILL.DRAW 7 {user}\n1) 2\n2) a"));
        assert_error(&client.run("SECKILL.DRAW"), "ERR", "SECKILL.DRAW");
    }
}

#[test]
fn a_replica_refuses() {
    let primary = Server::with().port().start();
    primary.run("RPUSH seckill:codes:7 a");
    let replica = Server::with().replica_of(&primary).start();
    primary.wait_for_replica(&replica);
    for command in ["SECKILL.DRAW 7 alice", "SECKILL.UNDRAW 7 alice"] {
        assert!(text(&replica.run(command)).starts_with("READONLY "), "{command}");
    }
    assert_eq!(primary.digest(), replica.digest());
}

#[test]
fn a_full_server_takes_back_but_does_not_give() {
    let server = Server::with().aof().start();
    server.run("RPUSH seckill:codes:7 a b");
    server.run("SECKILL.DRAW 7 alice");
    server.refused_when_full("SECKILL.DRAW 7 bob");
    server.run("CONFIG SET maxmemory 1");
    server.check("> SECKILL.UNDRAW 7 alice\n1\n> CONFIG SET maxmemory 0\nOK");
    server.check("> LRANGE seckill:codes:7 0 -1\n1) a\n2) b");
}

#[test]
fn who_waits_for_codes_or_draws_is_woken() {
    let server = Server::start();
    server.run("RPUSH seckill:codes:7 a");
    let mut reader = block(&server, "XREAD BLOCK 0 STREAMS stream.draws $");
    server.check("> SECKILL.DRAW 7 alice\n1) 0\n2) a");
    assert!(format!("{:?}", reader.receive()).contains("bulk-string"));
    let mut reader = block(&server, "XREAD BLOCK 0 STREAMS stream.draws $");
    server.run("RPUSH seckill:codes:7 b");
    server.check("> SECKILL.DRAW 7 bob\n1) 0\n2) b");
    assert!(format!("{:?}", reader.receive()).contains("bulk-string"));
    let mut popper = block(&server, "BLPOP seckill:codes:7 0");
    server.check("> SECKILL.UNDRAW 7 alice\n1");
    assert_eq!(bytes_list(popper.receive()), [b"seckill:codes:7".as_slice(), b"a"]);
    server.check("> EXISTS seckill:codes:7\n0");
}

#[test]
fn a_draw_waits_while_writes_are_paused() {
    let server = Server::start();
    server.run("RPUSH seckill:codes:7 a");
    server.run("CLIENT PAUSE 60000 WRITE");
    let mut paused = block(&server, "SECKILL.DRAW 7 alice");
    server.check("> EXISTS seckill:winners:7\n0\n> CLIENT UNPAUSE\nOK");
    let drawn = Value::Array(vec![Value::Int(0), Value::BulkString(b"a".to_vec())]);
    assert_eq!(paused.receive(), drawn);
}

#[test]
fn every_database_is_its_own() {
    let server = Server::start();
    let mut other = server.client();
    other.run("SELECT 9");
    server.run("RPUSH seckill:codes:7 a");
    other.check("> SECKILL.DRAW 7 alice\n1) 1\n2) (nil)\n> RPUSH seckill:codes:7 b\n1");
    server.check("> SECKILL.DRAW 7 alice\n1) 0\n2) a");
    other.check("> SECKILL.DRAW 7 alice\n1) 0\n2) b\n> DBSIZE\n2");
}

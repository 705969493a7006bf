//! The effects of draws.

use crate::aof::shown;
use crate::effects::assert_transaction;
use crate::events::assert_like;
use crate::harness::{Server, text};
use redis::Value;

/// The commands that `act` adds to the file, with the id of the last entry written as ID.
fn written(server: &Server, act: &str) -> Vec<String> {
    let commands = server.aof_of(|| {
        let reply = server.run(act);
        assert!(!matches!(reply, Value::ServerError(_)), "{act}: {reply:?}");
    });
    let last = server.run("XREVRANGE stream.draws + - COUNT 1");
    let last: Vec<(String, Vec<Vec<u8>>)> = redis::from_redis_value(last).expect("entries");
    let id = last.first().map_or("none", |(id, _)| id.as_str());
    commands.iter().map(|line| shown(line).replace(id, "ID")).collect()
}

#[test]
fn draws_are_written_as_plain_commands() {
    let server = Server::with().aof().start();
    server.run("RPUSH seckill:codes:7 a b");
    for (user, code) in [("alice", "a"), ("bob", "b")] {
        let (hset, xadd) = (
            format!("HSET seckill:winners:7 {user} {code}"),
            format!("XADD stream.draws ID userId {user} poolId 7 code {code}"),
        );
        assert_transaction(
            written(&server, &format!("SECKILL.DRAW 7 {user}")),
            vec!["LPOP seckill:codes:7", &hset, &xadd],
        );
    }
    for (user, code) in [("alice", "a"), ("bob", "b")] {
        let (lpush, hdel) =
            (format!("LPUSH seckill:codes:7 {code}"), format!("HDEL seckill:winners:7 {user}"));
        assert_transaction(
            written(&server, &format!("SECKILL.UNDRAW 7 {user}")),
            vec![&lpush, &hdel],
        );
    }
    server.run("CONFIG SET seckill.draw-stream ''");
    assert_transaction(
        written(&server, "SECKILL.DRAW 7 carol"),
        vec!["LPOP seckill:codes:7", "HSET seckill:winners:7 carol b"],
    );
    for lost in ["DRAW 7 carol", "DRAW 8 carol", "UNDRAW 7 zoe", "UNDRAW 8 carol"] {
        assert_eq!(written(&server, &format!("SECKILL.{lost}")), Vec::<String>::new());
    }
}

#[test]
fn a_transaction_is_written_as_one() {
    let server = Server::with().aof().start();
    server.run("RPUSH seckill:codes:7 a b");
    let lines = server.aof_of(|| {
        for command in ["MULTI", "SECKILL.DRAW 7 x", "SECKILL.DRAW 7 y", "SECKILL.UNDRAW 7 x"] {
            server.run(command);
        }
        assert!(matches!(server.run("EXEC"), Value::Array(_)));
    });
    let names: Vec<_> =
        lines.iter().map(|argv| text(&Value::BulkString(argv[0].clone()))).collect();
    let wanted = ["MULTI", "LPOP", "HSET", "XADD", "LPOP", "HSET", "XADD", "LPUSH", "HDEL", "EXEC"];
    assert_eq!(names, wanted);
}

#[test]
fn events_are_those_of_the_plain_commands() {
    let draw = "SECKILL.DRAW 7 alice";
    let drawn = [
        "LPOP seckill:codes:7",
        "HSET seckill:winners:7 alice a",
        "XADD stream.draws * userId alice",
    ];
    let (one, two) = ("RPUSH seckill:codes:7 a", "RPUSH seckill:codes:7 a b");
    let before = ["RPUSH seckill:codes:7 z", "SECKILL.DRAW 7 zoe"];
    assert_like(&[one], draw, &drawn);
    assert_like(&[two], draw, &drawn);
    assert_like(&[before[0], before[1], one], draw, &drawn);
    assert_like(&[two, "CONFIG SET seckill.draw-stream ''"], draw, &drawn[..2]);
    let undraw = "SECKILL.UNDRAW 7 alice";
    let undrawn = ["LPUSH seckill:codes:7 a", "HDEL seckill:winners:7 alice"];
    assert_like(&[one, draw], undraw, &undrawn);
    assert_like(&[two, draw], undraw, &undrawn);
    assert_like(&[before[0], before[1], two, draw], undraw, &undrawn);
}

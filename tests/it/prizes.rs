//! SECKILL.DRAW and SECKILL.UNDRAW: prize codes, each drawn once, at most one per user.

use crate::harness::Server;
use redis::Value;

#[test]
fn losers_leave_no_trace() {
    let server = Server::observed().start();
    let empty = Value::Array(vec![Value::Int(1), Value::Nil]);
    let again = Value::Array(vec![Value::Int(2), Value::BulkString(b"c".to_vec())]);
    assert_eq!(server.silent("SECKILL.DRAW 7 alice"), empty);
    assert_eq!(server.silent("SECKILL.UNDRAW 7 alice"), Value::Int(0));
    server.run("RPUSH seckill:codes:7 c");
    assert_eq!(server.silent("SECKILL.UNDRAW 7 alice"), Value::Int(0));
    server.run("SECKILL.DRAW 7 alice");
    for _ in 0..2 {
        assert_eq!(server.silent("SECKILL.DRAW 7 alice"), again);
        assert_eq!(server.silent("SECKILL.DRAW 7 bob"), empty);
        assert_eq!(server.silent("SECKILL.UNDRAW 7 bob"), Value::Int(0));
        server.run("RPUSH seckill:codes:8 d");
    }
    // A user who has a code gets it again, whatever happened to the other keys.
    server.run("SET seckill:codes:7 spoiled");
    server.run("DEL stream.draws");
    server.run("SET stream.draws spoiled");
    assert_eq!(server.silent("SECKILL.DRAW 7 alice"), again);
    server.run("DEL seckill:codes:7");
    assert_eq!(server.silent("SECKILL.DRAW 7 bob"), empty);
}

#[test]
fn the_stream_can_be_named_or_turned_off() {
    let server = Server::observed().start();
    server.run("RPUSH seckill:codes:7 a b c d");
    server.check(
        "
        > SECKILL.DRAW 7 alice
        1) 0
        2) a
        > CONFIG SET seckill.draw-stream draws => OK
        > SECKILL.DRAW 7 bob
        1) 0
        2) b
        > XLEN draws => 1
        > CONFIG SET seckill.draw-stream '' => OK
        > SECKILL.DRAW 7 carol
        1) 0
        2) c
        > XLEN stream.draws => 1
        > DBSIZE => 4
        ",
    );
    for name in ["seckill:codes:7", "seckill:winners:7"] {
        let refused = server.say(&format!("CONFIG SET seckill.draw-stream {name}"));
        assert!(refused.contains("must not make names that other keys"), "{name}: {refused}");
    }
    server.check("> CONFIG GET seckill.draw-stream\n1) \"seckill.draw-stream\"\n2) \"\"");
    server.run("CONFIG SET seckill.draw-stream stream.draws");
    server.check("> SECKILL.DRAW 7 dave\n1) 0\n2) d");
}

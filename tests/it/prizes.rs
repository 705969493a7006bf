//! SECKILL.DRAW and SECKILL.UNDRAW: prize codes, each drawn once, at most one per user.

use crate::harness::Server;
use crate::observe::bytes_list;
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
fn a_key_of_the_wrong_type_is_refused_before_anything_changes() {
    let server = Server::observed().start();
    let makes = ["SET K a", "RPUSH K a", "HSET K f v", "SADD K a", "ZADD K 1 a", "XADD K 1-1 f v"];
    for (key, right) in
        [("seckill:codes:7", "RPUSH"), ("seckill:winners:7", "HSET"), ("stream.draws", "XADD")]
    {
        for make in makes.iter().filter(|make| !make.starts_with(right)) {
            server.run("FLUSHALL");
            server.run("RPUSH seckill:codes:7 one two");
            server.run("HSET seckill:winners:7 zoe zero");
            server.run(&format!("DEL {key}"));
            server.run(&make.replace('K', key));
            server.refused("SECKILL.DRAW 7 alice", "WRONGTYPE");
            if key != "stream.draws" {
                server.refused("SECKILL.UNDRAW 7 zoe", "WRONGTYPE");
            }
        }
    }
    // Putting a code back does not use the stream.
    server.check("> SECKILL.UNDRAW 7 zoe\n1\n> TYPE stream.draws\nzset");
}

#[test]
fn a_stream_that_is_full_is_refused() {
    let server = Server::observed().start();
    server.run("RPUSH seckill:codes:7 one");
    server.run("XADD stream.draws 18446744073709551615-18446744073709551615 a b");
    let error = server.refused("SECKILL.DRAW 7 alice", "ERR");
    assert_eq!(error, "ERR the draw stream has used up its ids");
    // Without entries the stream is still full.
    server.run("XTRIM stream.draws MAXLEN 0");
    let error = server.refused("SECKILL.DRAW 7 alice", "ERR");
    assert_eq!(error, "ERR the draw stream has used up its ids");
    server.run("DEL stream.draws");
    server.run("XGROUP CREATE stream.draws g $ MKSTREAM");
    server.check("> SECKILL.DRAW 7 alice\n1) 0\n2) one\n> XLEN stream.draws\n1");
}

#[test]
fn pool_user_and_code_are_bytes() {
    let server = Server::start();
    let long = vec![b'k'; 512];
    let odd: [&[u8]; 8] = [b"", b"\0", b"\xff\r\n", b"007", b"12345", b"-1", b"{}x", &long];
    for text in odd {
        server.run("FLUSHALL");
        let codes = [b"seckill:codes:", text].concat();
        server.call(&[b"RPUSH".as_slice(), &codes, text, b"other"]);
        let draw = [b"SECKILL.DRAW".as_slice(), text, text];
        let shown = text.escape_ascii().to_string();
        for outcome in [0, 2] {
            let wanted = [Value::Int(outcome), Value::BulkString(text.to_vec())];
            assert_eq!(server.call(&draw), Value::Array(wanted.to_vec()), "{shown:.20}");
        }
        let winners = [b"seckill:winners:", text].concat();
        let pairs = bytes_list(server.call(&[b"HGETALL".as_slice(), &winners]));
        assert_eq!(pairs, [text, text]);
        assert_eq!(
            server.call(&[b"SECKILL.UNDRAW".as_slice(), text, text]),
            Value::Int(1),
            "{shown:.20}"
        );
        let back = bytes_list(server.call(&[b"LRANGE".as_slice(), &codes, b"0", b"-1"]));
        assert_eq!(back, [text, b"other"]);
    }
}

#[test]
fn a_code_that_was_pushed_twice_is_given_twice() {
    let server = Server::start();
    server.check(
        "
        > RPUSH seckill:codes:7 x y x
        3
        > SECKILL.DRAW 7 alice
        1) 0
        2) x
        > LRANGE seckill:codes:7 0 -1
        1) y
        2) x
        > SECKILL.DRAW 7 bob
        1) 0
        2) y
        > SECKILL.DRAW 7 carol
        1) 0
        2) x
        > SECKILL.UNDRAW 7 alice
        1
        > HGETALL seckill:winners:7
        1) bob
        2) y
        3) carol
        4) x
        ",
    );
}

#[test]
fn times_to_live_stay_while_the_keys_do() {
    let server = Server::start();
    server.check(
        "
        > RPUSH seckill:codes:7 a b
        2
        > HSET seckill:winners:7 zoe z
        1
        > PEXPIREAT seckill:codes:7 33333333333333
        1
        > PEXPIREAT seckill:winners:7 33333333333334
        1
        > SECKILL.DRAW 7 alice
        1) 0
        2) a
        > SECKILL.UNDRAW 7 zoe
        1
        > PEXPIRETIME seckill:codes:7
        33333333333333
        > PEXPIRETIME seckill:winners:7
        33333333333334
        > LRANGE seckill:codes:7 0 -1
        1) z
        2) b
        > PEXPIREAT seckill:codes:7 1
        1
        > SECKILL.DRAW 7 bob
        1) 1
        2) (nil)
        > SECKILL.UNDRAW 7 alice
        1
        > PEXPIRETIME seckill:codes:7
        -1
        > LRANGE seckill:codes:7 0 -1
        1) a
        > EXISTS seckill:winners:7
        0
        ",
    );
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
        > CONFIG SET seckill.draw-stream draws
        OK
        > SECKILL.DRAW 7 bob
        1) 0
        2) b
        > XLEN draws
        1
        > CONFIG SET seckill.draw-stream ''
        OK
        > SECKILL.DRAW 7 carol
        1) 0
        2) c
        > XLEN stream.draws
        1
        > DBSIZE
        4
        ",
    );
    for (name, right) in [("seckill:codes:7", "the list"), ("seckill:winners:7", "the hash")] {
        server.run(&format!("CONFIG SET seckill.draw-stream {name}"));
        for command in ["SECKILL.DRAW 7 dave", "SECKILL.UNDRAW 7 alice"] {
            let error = server.refused(command, "ERR");
            assert_eq!(error, "ERR the keys of a pool must all be different", "{right}");
        }
    }
    server.run("CONFIG SET seckill.draw-stream stream.draws");
    server.check("> SECKILL.DRAW 7 dave\n1) 0\n2) d");
}

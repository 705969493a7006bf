//! Waiting lists amid full streams, and keys that other clients edit, move or restore.

use crate::harness::Server;
use crate::waiting::{LAST_ID, waiting};
use redis::Value;

/// What refuses to promote refuses no command.
#[test]
fn a_full_stream_refuses_no_cancellation() {
    let server = Server::start();
    waiting(&server, 900_000);
    server.run(&format!("XSETID stream.orders {LAST_ID}"));
    server.check("> SECKILL.CANCEL 7 ann o1\n1\n> GET seckill:stock:7\n1");
    assert_eq!(server.state("7", "o2"), "waiting");
    server.check("> SECKILL.TRY 7 dan o4\n1\n> SECKILL.TRY 7 dan o4 WAITLIST\n6");
    let told = || server.log().contains("orders that wait were not promoted");
    server.until("a line in the log", told);
    server.run("DEL stream.orders");
    server.wait_for_state("7", "o2", "held");
    server.assert_book("7", [0, 1, 0]);
}

#[test]
fn keys_that_somebody_edited_do_no_harm() {
    let server = Server::observed().start();
    for value in ["RPUSH seckill:wait:7 a", "SET seckill:wait:7 a", "HSET seckill:wait:7 a b"] {
        server.run("FLUSHALL");
        server.check("> SECKILL.CREATE 7 1 HOLD 900000\nOK\n> SECKILL.TRY 7 ann o1\n0");
        server.run(value);
        server.check(
            "
            > SECKILL.TRY 7 bob o2 => 1
            > SECKILL.TRY 7 bob o2 WAITLIST => (error) WRONGTYPE ...
            > SECKILL.CANCEL 7 ann o1 => 1
            > SECKILL.TRY 7 bob o2 => (error) WRONGTYPE ...
            > SECKILL.DROP 7 => 1
            ",
        );
    }
    // Members that are no orders, or can't be read, leave the queue.
    waiting(&server, 900_000);
    for (score, member) in [("-inf", "nobody"), ("-5", "o1"), ("0.5", "\\xff"), ("0.25", "junk")] {
        server.run(&format!("ZADD seckill:wait:7 {score} \"{member}\""));
    }
    server.run("HSET seckill:book:7 junk rubbish");
    server.check("> SECKILL.CANCEL 7 ann o1\n1");
    server.wait_for_state("7", "o2", "held");
    server.check("> ZRANGE seckill:wait:7 0 -1\n1) o3");
    assert!(server.log().contains("has left the waiting list"), "{}", server.log());
    // A ticket beyond all others.
    server.run("ZADD seckill:wait:7 inf o3");
    server.refused("SECKILL.TRY 7 dan o5 WAITLIST", "ERR");
    server.check("> ZADD seckill:wait:7 7 o3\n0\n> SECKILL.TRY 7 dan o5 WAITLIST\n6");
    assert_eq!(server.run("ZSCORE seckill:wait:7 o5"), Value::BulkString(b"8".to_vec()));
}

/// The book may be on its way: RESTORE of key after key.
#[test]
fn a_line_without_its_book_waits_for_it() {
    let server = Server::start();
    waiting(&server, 900_000);
    server.check("> RENAME seckill:book:7 away\nOK\n> SECKILL.RESTOCK 7 1\n1");
    let told = || server.log().contains("orders that wait were not promoted");
    server.until("a line in the log", told);
    server.check("> ZCARD seckill:wait:7\n2\n> RENAME away seckill:book:7\nOK");
    server.wait_for_state("7", "o2", "held");
    server.assert_book("7", [0, 2, 0]);
}

/// Keys of a queue are found however they get there, and forgotten with their database.
#[test]
fn a_line_is_found_wherever_it_appears() {
    let mut server = Server::with().aof().start();
    // Nobody hears of a stock that another client changes, and of a total.
    let free = "EVAL \"local rules = redis.call('GET', KEYS[1]) \
        redis.call('SET', KEYS[1], (string.gsub(rules, '1', '3', 1))) \
        return redis.call('INCR', KEYS[2])\" 2 seckill:voucher:7 seckill:stock:7";
    let get_there = [
        "RENAME seckill:wait:7 x\nRENAME x seckill:wait:7",
        "COPY seckill:wait:7 x\nDEL seckill:wait:7\nCOPY x seckill:wait:7",
        "SWAPDB 0 1\nSWAPDB 0 1\nZADD seckill:wait:7 XX 2 o3",
        "DEBUG RELOAD",
    ];
    for steps in get_there {
        server.run("FLUSHALL");
        waiting(&server, 900_000);
        let commands: Vec<&str> = [free].into_iter().chain(steps.lines()).collect();
        for (command, reply) in commands.iter().zip(server.transaction(&commands)) {
            assert!(!matches!(reply, Value::ServerError(_)), "{command}: {reply:?}");
        }
        server.wait_for_state("7", "o2", "held");
    }
    server.run("FLUSHALL");
    waiting(&server, 900_000);
    server.run(free);
    server.restart();
    server.wait_for_state("7", "o2", "held");
    // Without rules a queue is left alone, until there are some.
    let rules = server.say("GET seckill:voucher:7");
    server.check("> RENAME seckill:voucher:7 away\nOK\n> INCRBY seckill:stock:7 1\n1");
    server.run("ZADD seckill:wait:7 XX 5 o3");
    server.check("> RENAME away seckill:voucher:7\nOK");
    server.wait_for_state("7", "o3", "held");
    assert!(rules.contains("900000"), "{rules}");
}

//! The commands in every context of Redis: transactions, scripts, replicas, other clients.

use crate::harness::{Client, Server, text};
use crate::metadata::calls;
use crate::reject::ordered;
use redis::Value;

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
    server.until(command, || server.info_number("blocked_clients") > before);
    client
}

#[test]
fn clients_that_wait_for_entries_or_codes_are_woken() {
    let server = Server::start();
    server.run("MSET seckill:stock:7 50 stock 50");
    server.run("SECKILL.CREATE 8 50 LIMIT 9 HOLD 900000");
    server.run("SECKILL.TRY 8 a o1");
    server.run("RPUSH seckill:codes:7 x");
    server.check("> XGROUP CREATE stream.orders g1 $ MKSTREAM\nOK");
    for (wait, command) in [
        ("XREAD BLOCK 0 STREAMS stream.orders $", "SECKILL.TRY 7 a o1"),
        ("XREADGROUP GROUP g1 c1 BLOCK 0 STREAMS stream.orders >", "SECKILL.TRY 7 b o2 UNITS 2"),
        ("XREAD BLOCK 0 STREAMS new $", "SECKILL.TRYKEYS stock buyers new 7 a o1"),
        (
            "XREAD BLOCK 0 STREAMS stream.orders $",
            "EVAL \"return redis.call('SECKILL.TRY','7','c','o3')\" 0",
        ),
        ("XREAD BLOCK 0 STREAMS stream.orders.confirmed $", "SECKILL.CONFIRM 8 a o1"),
        ("XREAD BLOCK 0 STREAMS stream.orders.released $", "SECKILL.CANCEL 8 a o1"),
        ("XREAD BLOCK 0 STREAMS stream.draws $", "SECKILL.DRAW 7 a"),
        ("BLPOP seckill:codes:7 0", "SECKILL.UNDRAW 7 a"),
    ] {
        // The group has seen no entry of earlier rounds.
        server.run("XGROUP SETID stream.orders g1 $");
        let mut reader = block(&server, wait);
        let reply = server.run(command);
        assert!(!matches!(reply, Value::ServerError(_)), "{command}: {reply:?}");
        let read = format!("{:?}", reader.receive());
        assert!(read.contains("bulk-string") && !read.contains("nil"), "{wait}: {read}");
    }
    let mut reader = block(&server, "XREAD BLOCK 0 STREAMS stream.orders $");
    server.check("> MULTI\nOK\n> SECKILL.TRY 7 z o9\nQUEUED\n> EXEC\n1) 0");
    assert_ne!(reader.receive(), Value::Nil);
}

#[test]
fn a_rejection_and_an_expiry_wake_readers_and_disturb_watchers() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 9 HOLD 900000");
    let id = ordered(&server, "SECKILL.TRY 7 alice o1");
    server.run("SECKILL.TRY 7 bob o2");
    for (command, streams) in [
        (format!("SECKILL.REJECT stream.orders g {id}"), &["dlq", "released"][..]),
        ("ZADD seckill:hold:7 5 o2".to_owned(), &["released"]),
    ] {
        let wait = |name: &&str| format!("XREAD BLOCK 0 STREAMS stream.orders.{name} $");
        let mut readers: Vec<_> = streams.iter().map(|name| block(&server, &wait(name))).collect();
        let keys = ["stream.orders.released", "seckill:stock:7", "seckill:book:7"];
        let mut watchers = keys.map(|key| {
            let mut client = server.client();
            client.run(&format!("WATCH {key}"));
            client
        });
        server.run(&command);
        readers.iter_mut().for_each(|reader| assert_ne!(reader.receive(), Value::Nil, "{command}"));
        for watcher in &mut watchers {
            watcher.check("> MULTI\nOK\n> PING\nQUEUED\n> EXEC\n(nil)");
        }
    }
}

/// What the server itself enforces by the flags of a command, and by its number of arguments.
#[test]
fn flags_and_numbers_of_arguments_are_enforced_by_the_server() {
    let server = Server::with().port().start();
    let replica = Server::with().replica_of(&server).start();
    server.wait_for_replica(&replica);
    for ((name, arity, flags, ..), sentence) in calls(&server) {
        let sentence = sentence.as_str();
        let has = |flag| flags.split(' ').any(|own| own == flag);
        let refuses = |server: &Server, command: &str, words: &str| {
            let reply = server.run(command);
            matches!(reply, Value::ServerError(_)) && text(&reply).contains(words)
        };
        assert_eq!(refuses(&replica, sentence, "READONLY "), has("write"), "{name}");
        server.run("CONFIG SET maxmemory 1");
        assert_eq!(refuses(&server, sentence, "OOM "), has("denyoom"), "{name}");
        server.run("CONFIG SET maxmemory 0 min-replicas-to-write 2");
        assert_eq!(refuses(&server, sentence, "NOREPLICAS "), has("write"), "{name}");
        server.run("CONFIG SET min-replicas-to-write 0");
        let words = sentence.split(' ').map(|word| format!("'{word}'")).collect::<Vec<_>>();
        let script = format!("EVAL_RO \"return redis.pcall({})\" 0", words.join(","));
        assert_eq!(refuses(&server, &script, "Write commands are not"), has("write"), "{name}");
        let fewest = usize::try_from(arity.abs()).expect("small") - 1;
        let mut wrong: Vec<usize> = (0..fewest).collect();
        wrong.extend((arity > 0).then_some(fewest + 1));
        for number in wrong {
            let command = format!("{name}{}", " a".repeat(number));
            let error = format!("ERR wrong number of arguments for '{name}' command");
            assert_eq!(server.say(&command), error, "{command}");
        }
    }
    server.check("> DBSIZE\n0");
}

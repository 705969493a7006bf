//! Keyspace events and client-side caching: the same as if the plain commands had been sent.

use crate::harness::Server;
use redis::Value;

/// The sorted events that listeners receive while `commands` run, without stream ids.
fn heard(server: &Server, commands: &[&str]) -> Vec<String> {
    let recorder = server.record();
    for command in commands {
        let reply = server.run(command);
        assert!(!matches!(reply, Value::ServerError(_)), "{command}: {reply:?}");
    }
    let mut heard = recorder.finish(server);
    heard.sort();
    // A key is invalidated once per turn of the event loop, and the number of turns varies.
    heard.dedup_by(|one, other| one == other && one.starts_with("invalidated"));
    heard
}

#[test]
fn events_are_of_the_classes_of_the_plain_commands() {
    let server = Server::observed().start();
    for classes in ["E$", "Es", "Et", "Eg", "En", "K$", "Kst"] {
        server.run(&format!("CONFIG SET notify-keyspace-events {classes}"));
        for (ours, plain) in [
            ("SECKILL.TRYKEYS s b o 7 alice o1", &["DECR s", "SADD b alice", "XADD o * u a"][..]),
            ("LOCK.RELEASE lock t", &["DEL lock"]),
        ] {
            let [one, other] = [&[ours][..], plain].map(|commands| {
                server.run("FLUSHALL");
                server.run("MSET s 5 lock t");
                heard(&server, commands)
            });
            assert_eq!(one, other, "{classes}: {ours}");
        }
    }
}

#[test]
fn a_cached_stock_is_invalidated_by_a_sale_only() {
    let server = Server::observed().start();
    server.run("SET seckill:stock:7 2");
    let mut reader = server.client();
    let mut listener = server.client();
    let id = crate::observe::integer(&listener.run("CLIENT ID"));
    listener.run("SUBSCRIBE __redis__:invalidate");
    reader.run(&format!("CLIENT TRACKING ON REDIRECT {id}"));
    let mut cache = || {
        reader.run("GET seckill:stock:7");
        reader.run("SMEMBERS seckill:order:7");
        reader.run("XLEN stream.orders");
    };
    cache();
    server.run("SECKILL.TRY 7 alice o1");
    let mut keys: Vec<_> = (0..3).map(|_| format!("{:?}", listener.receive())).collect();
    keys.sort();
    for (message, key) in keys.iter().zip(["seckill:order:7", "seckill:stock:7", "stream.orders"]) {
        assert!(message.contains(key), "{message} is not about {key}");
    }
    cache();
    // Losing tries invalidate nothing: the next message is caused by a plain SET.
    server.check("> SECKILL.TRY 7 alice o1\n2\n> SECKILL.TRY 8 alice o1\n(error) NOVOUCHER ...");
    server.check("> SET seckill:stock:7 0\nOK");
    assert!(format!("{:?}", listener.receive()).contains("seckill:stock:7"));
    cache();
    server.check("> SECKILL.TRY 7 bob o2\n1\n> DEL stream.orders\n1");
    assert!(format!("{:?}", listener.receive()).contains("stream.orders"));
}

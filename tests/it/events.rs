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

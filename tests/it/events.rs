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

/// Two servers in the same state: one runs our command, the other the plain ones.
pub fn assert_like(setup: &[&str], ours: &str, plain: &[&str]) {
    assert_like_of("KEAn", setup, ours, plain);
}

/// Like `assert_like`, for these classes of events only.
fn assert_like_of(classes: &str, setup: &[&str], ours: &str, plain: &[&str]) {
    let [one, other] = [(); 2].map(|()| Server::observed().start());
    let classes = format!("CONFIG SET notify-keyspace-events {classes}");
    for command in setup.iter().chain(&[classes.as_str()]) {
        one.run(command);
        other.run(command);
    }
    let mut transaction = vec!["MULTI"];
    transaction.extend(plain);
    transaction.push("EXEC");
    assert_eq!(heard(&one, &[ours]), heard(&other, &transaction), "{ours}");
    let count = |server: &Server| server.run("DBSIZE");
    assert_eq!(count(&one), count(&other), "{ours}");
}

#[test]
fn a_sale_fires_the_events_of_its_plain_commands() {
    let plain = [
        "DECR seckill:stock:7",
        "SADD seckill:order:7 alice",
        "XADD stream.orders * userId alice voucherId 7 id o1",
    ];
    let first = ["SET seckill:stock:7 5"];
    let later = ["SET seckill:stock:7 5", "SADD seckill:order:7 zoe", "XADD stream.orders 1-1 a b"];
    let last = ["SET seckill:stock:7 1 EX 1000"];
    for setup in [first.as_slice(), &later, &last] {
        assert_like(setup, "SECKILL.TRY 7 alice o1", &plain);
    }
    let plain = ["DECRBY s 2", "SADD b alice", "XADD o * userId alice units 2"];
    assert_like(&["SET s 5"], "SECKILL.TRYKEYS s b o 7 alice o1 UNITS 2", &plain);
    assert_like(&["SET s 5"], "SECKILL.TRYKEYS s b s 7 alice o1 UNITS 2 NOSTREAM", &plain[..2]);
}

#[test]
fn events_are_of_the_classes_of_the_plain_commands() {
    let setup = ["SET s 5", "SET lock t"];
    let sale = ["DECR s", "SADD b alice", "XADD o * userId alice"];
    for classes in ["E$", "Es", "Et", "Eg", "En", "K$", "Kst"] {
        assert_like_of(classes, &setup, "SECKILL.TRYKEYS s b o 7 alice o1", &sale);
        assert_like_of(classes, &setup, "LOCK.RELEASE lock t", &["DEL lock"]);
    }
}

#[test]
fn an_unlimited_sale_fires_nothing_for_the_stock() {
    let setup = ["CONFIG SET seckill.unlimited-stock yes", "SET s -1"];
    let with_module = Server::observed().start();
    for command in setup {
        with_module.run(command);
    }
    let events = heard(&with_module, &["SECKILL.TRYKEYS s b o 7 alice o1"]);
    assert!(!events.iter().any(|event| event.ends_with(" s")), "{events:?}");
    assert!(events.contains(&"sadd b".to_owned()) && events.contains(&"xadd o".to_owned()));
}

#[test]
fn a_release_fires_the_events_of_del() {
    assert_like(&["SET lock t PX 1000000"], "LOCK.RELEASE lock t", &["DEL lock"]);
    assert_like(&["SET lock t"], "LOCK.RELEASE lock t", &["DEL lock"]);
}

#[test]
fn losers_and_refusals_fire_nothing() {
    let server = Server::observed().start();
    server.run("SET seckill:stock:7 1");
    server.run("SECKILL.TRY 7 alice o1");
    server.run("SET lock t");
    let commands = [
        "SECKILL.TRY 7 alice o1",
        "SECKILL.TRY 7 bob o1",
        "SECKILL.TRYKEYS seckill:stock:7 b o 7 bob o1",
        "LOCK.RELEASE lock u",
        "LOCK.RELEASE none u",
    ];
    assert_eq!(heard(&server, &commands), Vec::<String>::new());
    server.silent("SECKILL.TRY 8 alice o1");
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

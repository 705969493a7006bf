//! Scripts that commands replace, as other parties see them: transactions, protocols, access rules,
//! MONITOR, the slow log, clusters, replicas, other scripts.

use redis::Value;

use crate::cluster::{two_nodes, whole_cluster};
use crate::harness::{Server, text};
use crate::observe::assert_error;
use crate::scripts::{SELL, UNLOCK, entries, replaced, server, sha1};

#[test]
fn transactions_and_pipelines() {
    let server = server();
    let (sell, unlock) = (sha1(SELL), sha1(UNLOCK));
    server.check(&format!(
        "
        > MULTI => OK
        > EVALSHA {sell} 0 7 alice o1 => QUEUED
        > SET lock t => QUEUED
        > EVALSHA {unlock} 1 lock t => QUEUED
        > EVALSHA {sell} 0 7 alice o2 => QUEUED
        > EXEC
        1) 0
        2) OK
        3) 1
        4) 2
        > MULTI => OK
        > EVALSHA {sell} 0 7 bob => QUEUED
        > EXEC => 1) (error) NOSCRIPT ...
        "
    ));
    let mut client = server.client();
    for number in 0..200 {
        client.send(&["EVALSHA", &sell, "0", "7", &format!("u{}", number % 50), "o"]);
        client.send(&["EVAL", UNLOCK, "1", "lock", "t"]);
        client.send(&["PING"]);
    }
    for number in 0..200 {
        let outcome = if number < 50 { 0 } else { 2 };
        assert_eq!(client.receive(), Value::Int(outcome), "{number}");
        assert_eq!(client.receive(), Value::Int(0));
        assert_eq!(text(&client.receive()), "PONG");
    }
    server.check("> GET seckill:stock:7\n49");
}

#[test]
fn replies_are_those_of_the_command() {
    let server = Server::start();
    let setting = format!("{} SECKILL.STATUS KEYS[1] ARGV[1]", sha1(SELL));
    server.call(&["CONFIG", "SET", "seckill.scripts", &setting]);
    server.run("SECKILL.CREATE 7 5");
    server.run("SECKILL.TRY 7 alice o1");
    for protocol in ["2", "3"] {
        let mut client = server.client();
        client.call(&["HELLO", protocol]);
        let command = client.run("SECKILL.STATUS 7 alice");
        assert_eq!(matches!(command, Value::Map(_)), protocol == "3", "{command:?}");
        assert_eq!(client.call(&["EVALSHA", &sha1(SELL), "1", "7", "alice"]), command);
        assert_eq!(client.call(&["EVAL", SELL, "1", "7", "alice"]), command);
    }
}

#[test]
fn access_rules_see_the_command() {
    let server = server();
    let sell = sha1(SELL);
    let call = format!("EVALSHA {sell} 0 7 alice o1");
    let user = |rules: &str| crate::security::user(&server, rules);
    let error = text(&user("+@all -seckill.try ~*").run(&call));
    assert!(error.starts_with("NOPERM ") && error.contains("'seckill.try'"), "{error}");
    assert!(text(&user("+evalsha ~*").run(&call)).starts_with("NOPERM "));
    assert!(text(&user("+seckill.try ~8").run(&call)).starts_with("NOPERM "));
    server.check("> GET seckill:stock:7\n100");
    // Neither the right to run scripts nor the right to the keys is needed.
    let mut bob = user("+seckill.try ~7");
    bob.check(&format!("> {call}\n0\n> EVALSHA {sell} 0 7 alice\n(error) NOPERM ..."));
    bob.check("> EVAL 'return 1' 0\n(error) NOPERM ...");
    // Of all these calls one was answered.
    assert_eq!(replaced(&server), 1);
    let logged = format!("{:?}", server.run("ACL LOG"));
    assert!(logged.contains("seckill.try"), "{logged}");
}

#[test]
fn monitor_and_slow_log_show_the_command() {
    let server = server();
    server.run("CONFIG SET slowlog-log-slower-than 0");
    let mut monitor = server.client();
    monitor.run("MONITOR");
    let sell = sha1(SELL);
    server.check(&format!("> EVALSHA {sell} 0 7 alice o1\n0"));
    server.call(&["EVAL", SELL, "0", "7", "bob", "o2"]);
    let mut seen = String::new();
    while !seen.contains("\"bob\"") {
        seen += &text(&monitor.receive());
    }
    let slow = format!("{:?}", server.run("SLOWLOG GET 10"));
    server.run("CONFIG SET slowlog-log-slower-than 10000");
    assert!(seen.contains("\"SECKILL.TRY\" \"7\" \"alice\" \"o1\""), "{seen}");
    assert!(!seen.to_lowercase().contains("\"eval"), "{seen}");
    assert!(slow.contains("SECKILL.TRY") && !slow.contains("EVALSHA"), "{slow}");
    let stats = server.info("cmdstat_seckill.try").expect("calls of SECKILL.TRY");
    assert!(stats.starts_with("calls=2,"), "{stats}");
}

#[test]
fn a_cluster_redirects_a_client_that_named_no_key() {
    let (source, target) = two_nodes();
    let sell = sha1(SELL);
    for node in [&source, &target] {
        node.call(&["CONFIG", "SET", "seckill.scripts", &entries()]);
    }
    source.run("SET seckill:stock:{7} 5");
    let call = format!("EVALSHA {sell} 0 7 alice o1");
    let moved = target.say(&call);
    assert!(moved.starts_with("MOVED ") && moved.ends_with(&source.port().to_string()), "{moved}");
    let moved = text(&target.call(&["EVAL", SELL, "0", "7", "alice", "o1"]));
    assert!(moved.starts_with("MOVED "), "{moved}");
    source.check(&format!("> {call}\n0\n> {call}\n2\n> GET seckill:stock:{{7}}\n4"));
    // A batch of calls, all of them sent before the client reads an answer.
    let mut client = target.client();
    for number in 0..100 {
        client.send(&["EVALSHA", &sell, "0", "7", &number.to_string(), "o"]);
    }
    for _ in 0..100 {
        assert_error(&client.receive(), "MOVED", "a batch");
    }
    let server = whole_cluster();
    server.call(&["CONFIG", "SET", "seckill.scripts", &entries()]);
    server.run("SET seckill:stock:{7} 1");
    let client = redis::cluster::ClusterClient::new(vec![server.address()]).expect("a client");
    let mut connection = client.get_connection().expect("a connection");
    let mut evalsha = redis::cmd("EVALSHA");
    let outcome: i64 =
        evalsha.arg(&[&sell, "0", "7", "alice", "o1"]).query(&mut connection).expect("an outcome");
    assert_eq!(outcome, 0);
}

#[test]
fn a_client_that_wants_no_replies_gets_none() {
    let server = server();
    let sell = sha1(SELL);
    let mut client = server.client();
    client.send(&["CLIENT", "REPLY", "OFF"]);
    client.send(&["EVALSHA", &sell, "0", "7", "alice", "o1"]);
    client.send(&["EVAL", SELL, "0", "7", "bob", "o2"]);
    client.send(&["EVALSHA", &sell, "0", "7"]);
    client.send(&["CLIENT", "REPLY", "ON"]);
    assert_eq!(text(&client.receive()), "OK");
    client.send(&["CLIENT", "REPLY", "SKIP"]);
    client.send(&["EVALSHA", &sell, "0", "7", "carol", "o3"]);
    client.check("> SCARD seckill:order:7\n3");
}

#[test]
fn replicas_and_files_get_plain_commands() {
    let primary =
        Server::with().port().aof().config(format!("seckill.scripts '{}'", entries())).start();
    let replica = Server::with()
        .replica_of(&primary)
        .config(format!("seckill.scripts '{}'", entries()))
        .start();
    primary.run("SET seckill:stock:7 3");
    let sell = sha1(SELL);
    for user in ["alice", "bob", "alice", "carol", "dave"] {
        primary.call(&["EVALSHA", &sell, "0", "7", user, "o"]);
    }
    primary.wait_for_replica(&replica);
    assert_eq!(primary.digest(), replica.digest());
    // A replica leaves scripts as they are.
    replica.check(&format!("> EVALSHA {sell} 0 7 erin o\n(error) NOSCRIPT ..."));
    assert_eq!(replaced(&replica), 0);
    let written = format!("{:?}", primary.aof());
    assert!(!written.to_uppercase().contains("EVAL") && !written.contains("SECKILL.TRY"));
}

/// Calls in scripts pass filters too. The server refuses them, as without the setting.
#[test]
fn scripts_that_call_scripts_are_refused_as_ever() {
    let with = server();
    let setting = format!("{}; {} SECKILL.TRY 7 b c UNITS 2", entries(), sha1("return 1"));
    with.call(&["CONFIG", "SET", "seckill.scripts", &setting]);
    let without = Server::start();
    let calls = [
        format!("return redis.call('EVALSHA', '{}', 0, '7', 'alice', 'o')", sha1(SELL)),
        format!("return redis.call('EVALSHA', '{}', 0)", sha1("return 1")),
        "return redis.call('EVAL', 'return 1', '0')".to_owned(),
    ];
    for _ in 0..50 {
        for call in &calls {
            let [one, other] = [&with, &without].map(|server| server.call(&["EVAL", call, "0"]));
            assert!(matches!(other, Value::ServerError(_)), "{other:?}");
            assert_eq!(text(&one), text(&other));
        }
    }
    assert_eq!(replaced(&with), 0);
    with.check("> GET seckill:stock:7\n100");
    assert_eq!(with.call(&["EVAL", "return 1", "0"]), Value::Int(0));
}

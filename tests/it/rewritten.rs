//! Configurations that CONFIG REWRITE has written, by an operator or by a Sentinel: servers start
//! from them again.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::harness::{Builder, Server, module, program, text, wait_for};
use kit::pages::page;
use redis::{Client, Value};

/// A server as docs/installing.md sets it up: its own file loads the module, and another one, with
/// a setting of the module, is included.
fn server(folder: &Path, name: &str) -> Builder {
    let included = folder.join(name);
    let settings = page("packaging/seckill.conf") + "seckill.name-bytes-max 100\n";
    fs::write(&included, settings).expect("a file");
    Server::with().port().config(format!("include {}", included.display()))
}

/// The lines of the file that the server was started with, of which there must be one.
fn loads(server: &Server) -> usize {
    let conf = fs::read_to_string(server.dir().join("redis.conf")).expect("a file");
    conf.lines().filter(|line| line.starts_with("loadmodule ")).count()
}

#[test]
fn a_rewritten_configuration_starts_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = server(folder.path(), "included.conf").start();
    server.check("> CONFIG SET seckill.missing-stock sold-out\nOK");
    for _ in 0..2 {
        server.check("> CONFIG REWRITE\nOK");
        server.restart();
        server.check("> CONFIG GET seckill.name-bytes-max\n1) seckill.name-bytes-max\n2) 100");
        server.check("> SECKILL.TRY nothing ann o1\n1");
        assert_eq!(loads(&server), 1);
    }
}

#[test]
fn both_servers_of_a_failover_by_sentinel_start_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = |name| server(folder.path(), name).config("seckill.missing-stock sold-out");
    let primary = server("a.conf").start();
    primary.check("> SECKILL.CREATE 7 5\nOK\n> SECKILL.TRY 7 ann o1\n0");
    let replica = server("b.conf").replica_of(&primary).start();
    primary.wait_for_replica(&replica);
    let sentinel = Server::with()
        .without_module()
        .port()
        .config(format!("sentinel monitor sale 127.0.0.1 {} 1", primary.port()))
        .start();
    // A Sentinel closes the connections of a server whose role it changes, a new one, too.
    let role = |server: &Server| match redis::cmd("ROLE").query(server.client().raw()) {
        Ok(Value::Array(fields)) => text(&fields[0]),
        other => format!("{other:?}"),
    };
    // Refused until the Sentinel knows that the replica is a good one.
    let asked = || sentinel.own().call(&["SENTINEL", "FAILOVER", "sale"]);
    sentinel.until("a failover", || asked() == Value::Okay);
    primary.until("the other role", || role(&primary) == "slave");
    replica.until("the other role, too", || role(&replica) == "master");
    drop(sentinel);
    let mut servers = [replica, primary];
    for server in &mut servers {
        server.reconnect();
        server.restart();
        assert_eq!(loads(server), 1);
        server.check("> CONFIG GET seckill.name-bytes-max\n1) seckill.name-bytes-max\n2) 100");
    }
    assert_eq!(servers.each_ref().map(role), ["master", "slave"]);
    servers[0].check("> SECKILL.TRY 8 ann o1\n1");
}

/// Starts a server by these words, as an operator or a chart does, asks whether it has the module
/// and its setting, and has it write its configuration.
fn started_by(folder: &Path, words: &[&str]) -> String {
    let socket = folder.join("socket");
    let mut child = Command::new(program())
        .args(words)
        .args(["--unixsocket", socket.to_str().expect("a path"), "--logfile", "log"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .spawn()
        .expect("a server");
    let address = format!("redis+unix://{}", socket.display());
    let connect = || {
        let mut client = Client::open(address.as_str()).ok()?.get_connection().ok()?;
        redis::cmd("PING").query::<String>(&mut client).ok()?;
        Some(client)
    };
    let mut client = wait_for("the server", connect).unwrap_or_else(|late| panic!("{late}"));
    let mut ask = |words: &[&str]| {
        let reply = redis::cmd(words[0]).arg(&words[1..]).query::<Value>(&mut client);
        reply.map_or_else(|error| error.to_string(), |reply| format!("{reply:?}"))
    };
    ask(&["REPLICAOF", "NO", "ONE"]);
    ask(&["CONFIG", "SET", "seckill.name-bytes-max", "100"]);
    let setting = ask(&["CONFIG", "GET", "seckill.name-bytes-max"]);
    assert!(setting.contains("100"), "{words:?}: {setting}");
    ask(&["SET", "seckill:stock:7", "5"]);
    assert_eq!(ask(&["SECKILL.TRY", "7", "ann", "o1"]), "int(0)", "{words:?}");
    let written = ask(&["CONFIG", "REWRITE"]);
    child.kill().expect("its end");
    child.wait().expect("its end");
    fs::remove_file(socket).expect("its socket");
    written
}

/// Where docs/kubernetes.md says what loads the module.
#[test]
fn operators_and_charts_load_the_module_by_words_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let module = module().to_str().expect("a path");
    let file = |name: &str, lines: &str| {
        fs::write(folder.path().join(name), format!("port 0\n{lines}\n")).expect("a file");
    };
    let starts = |words: &[&str]| started_by(folder.path(), words);
    // A command of its own, behind a file that the operator makes.
    file("operator.conf", "replicaof 127.0.0.1 1\nsave 900 1\nuser pinger -@all +ping on >x");
    starts(&["operator.conf", "--loadmodule", module]);
    // Options only: there is no file to be written.
    file("included.conf", "seckill.name-bytes-max 50");
    let written = starts(&["--include", "included.conf", "--loadmodule", module]);
    assert!(written.contains("without a config file"), "{written}");
    // A line of its own file, with the settings beside it or in another file; and once more.
    file("line.conf", &format!("loadmodule {module}\nseckill.name-bytes-max 50"));
    file("lines.conf", &format!("loadmodule {module}\ninclude included.conf"));
    for conf in ["line.conf", "lines.conf"] {
        for _ in 0..2 {
            assert_eq!(starts(&[conf]), "ok", "{conf}");
        }
    }
}

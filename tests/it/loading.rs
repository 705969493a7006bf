//! Loading and unloading the module in a running server.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::harness::{Client, Server, left_out, module, text, tool};
use crate::memory::load;
use crate::observe::{integer, words};
use redis::Value;

#[test]
fn a_running_server_can_load_and_unload() {
    let server = Server::with().without_module().start();
    server.run("SET seckill:stock:7 100");
    for round in 0..3 {
        assert_eq!(load(&server, ""), Value::Okay);
        server.check(&format!("> SECKILL.TRY 7 u{round} o1\n0\n> SECKILL.TRY 7 u{round} o1\n2"));
        let info = server.info("seckill_tries_accepted");
        assert_eq!(info.as_deref(), Some("1"), "a fresh load counts from zero");
        server.run("CONFIG SET seckill.order-stream other");
        assert_eq!(server.run("MODULE UNLOAD seckill"), Value::Okay);
        let gone = server.say("SECKILL.TRY 7 z o1");
        assert!(gone.starts_with("ERR unknown command"), "{gone}");
        assert_eq!(server.info("seckill_tries_accepted"), None);
        server.check("> CONFIG GET seckill.*\n(empty array)");
    }
    server.check("> GET seckill:stock:7\n97\n> XLEN stream.orders\n3\n> EXISTS other\n0");
}

#[test]
fn it_cannot_be_loaded_twice() {
    let server = Server::start();
    assert!(text(&load(&server, "")).starts_with("ERR"));
    let says = "not loaded: a module of this name is loaded already";
    assert!(server.log().contains(says), "{}", server.log());
    server.check("> SET seckill:stock:7 1\nOK\n> SECKILL.TRY 7 a o1\n0");
    let twice = Server::with().config(format!("loadmodule {}", module().display()));
    let log = twice.try_start().err().expect("no start");
    assert!(log.contains(says), "{log}");
}

/// As docs/operating.md says of servers that never have the module.
#[test]
fn without_the_module_no_rule_may_name_its_commands() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("users.acl");
    for rule in ["+seckill.try", "+@all -seckill.drop", "+get (+lock.release ~*)"] {
        let users = format!("user default on nopass ~* &* +@all\nuser shop on >pw ~* {rule}\n");
        fs::write(&file, users).expect("a file");
        let server = || Server::with().config(format!("aclfile {}", file.display()));
        assert_eq!(words(server().start().run("ACL LIST")).len(), 2, "{rule}");
        let log = server().without_module().try_start().err().expect("no start");
        assert!(log.contains("Unknown command or category name in ACL"), "{rule}: {log}");
    }
    fs::write(&file, "user default on nopass ~* &* +@all\n").expect("a file");
    let line = format!("aclfile {}", file.display());
    let server = Server::with().without_module().config(line).start();
    fs::write(&file, "user shop on >pw ~* +seckill.try\n").expect("a file");
    assert!(server.say("ACL LOAD").contains("Unknown command or category name in ACL"));
    assert_eq!(words(server.run("ACL LIST")).len(), 1);
}

#[test]
fn unloading_waits_for_acl_rules_that_name_our_commands() {
    let rules = [
        "+seckill.try", "+@all -lock.release", "+@all -seckill.try +@write", "+seckill.trykeys",
        "+get +SECKILL.TRY ~*", "+get (+lock.release ~*)",
    ];
    for rule in rules {
        let server = Server::start();
        let set = server.run(&format!("ACL SETUSER bob on >pw {rule}"));
        assert_eq!(set, Value::Okay, "{rule}");
        let refused = server.say("MODULE UNLOAD seckill");
        assert!(refused.starts_with("ERR"), "{rule}: {refused}");
        assert!(words(server.run("ACL LIST")).iter().any(|line| line.contains("user bob")));
        server.check("> SET seckill:stock:7 1\nOK\n> SECKILL.TRY 7 alice o1\n0");
        server.check("> ACL DELUSER bob\n1\n> MODULE UNLOAD seckill\nOK\n> PING\nPONG");
        assert_eq!(words(server.run("ACL LIST")).len(), 1);
    }
}

#[test]
fn unloading_survives_other_acl_rules() {
    let server = Server::start();
    server.run("ACL SETUSER bob on >pw +@all -debug ~*");
    server.run("ACL SETUSER eve on nopass +get ~seckill.try");
    // If the server lets modules make categories, a rule may name them.
    let named = server.run("ACL SETUSER cat on nopass +@seckill") == Value::Okay;
    let unloaded = server.say("MODULE UNLOAD seckill");
    assert!(unloaded == "OK" || named, "{unloaded}");
    assert_eq!(words(server.run("ACL LIST")).len(), 3 + usize::from(named));
    server.check("> PING\nPONG");
    if unloaded == "OK" {
        assert_eq!(load(&server, ""), Value::Okay);
    }
    server.check("> SET seckill:stock:7 1\nOK\n> SECKILL.TRY 7 alice o1\n0");
    assert_eq!(words(server.run("ACL LIST")).len(), 3 + usize::from(named));
}

#[test]
fn module_load_takes_arguments_and_configs() {
    let server = Server::with().without_module().start();
    let path = module().display();
    server.check(&format!("> MODULE LOAD {path} hash-tags yes\nOK"));
    server.check("> CONFIG GET seckill.hash-tags\n1) \"seckill.hash-tags\"\n2) \"yes\"");
    let load = "CONFIG seckill.stock-prefix conf: ARGS stock-prefix args: buyers-prefix args:";
    server.check(&format!("> MODULE UNLOAD seckill\nOK\n> MODULE LOADEX {path} {load}\nOK"));
    server.check("> CONFIG GET seckill.stock-prefix\n1) \"seckill.stock-prefix\"\n2) \"conf:\"");
    server.check("> CONFIG GET seckill.buyers-prefix\n1) \"seckill.buyers-prefix\"\n2) \"args:\"");
}

#[test]
fn a_module_with_holds_stays_until_they_are_settled() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 5 HOLD 900000");
    server.check("> SECKILL.TRY 7 alice o1\n0\n> MODULE UNLOAD seckill\n(error) ERR ...");
    server.check("> SECKILL.CONFIRM 7 alice o1\n1");
    server.until("nothing to be due", || server.run("MODULE UNLOAD seckill") == Value::Okay);
    assert_eq!(load(&server, ""), Value::Okay);
    server.check("> SECKILL.TRY 7 alice o1\n0\n> PING\nPONG");
}

/// The server follows pointers to the latest command of a client, and to queued commands.
#[test]
fn unloading_waits_for_clients_that_used_it() {
    let server = Server::start();
    server.run("SET seckill:stock:7 9");
    let refused = |what: &str| {
        let reply = server.say("MODULE UNLOAD seckill");
        assert!(reply.starts_with("ERR"), "{what}: {reply}");
        assert!(server.log().contains("not unloaded"), "{what}: {}", server.log());
    };
    let mut client = server.client();
    client.check("> SECKILL.TRY 7 alice o1\n0");
    refused("the latest command");
    client.check("> PING\nPONG\n> MULTI\nOK\n> SECKILL.TRY 7 bob o2\nQUEUED\n> PING\nQUEUED");
    refused("a queued command");
    client.check("> EXEC\n1) 0\n2) PONG");
    // Unloading within a transaction, before a command that would no longer exist.
    client.check("> MULTI\nOK\n> MODULE UNLOAD seckill\nQUEUED\n> SECKILL.TRY 7 cid o3\nQUEUED");
    let Value::Array(replies) = client.run("EXEC") else { panic!("no replies") };
    assert!(text(&replies[0]).starts_with("ERR"), "{replies:?}");
    assert_eq!(replies[1], Value::Int(0));
    client.check("> LOCK.INFO none\n(nil)");
    refused("another command");
    client.check("> PING\nPONG");
    server.check("> MODULE UNLOAD seckill\nOK\n> GET seckill:stock:7\n6");
    assert!(server.say("CLIENT LIST").contains("cmd=ping"));
    client.check("> SECKILL.TRY 7 eve o4\n(error) ERR unknown command...");
    client.check("> PING\nPONG");
}

#[test]
fn unloading_is_refused_where_clients_cannot_be_listed() {
    let server = Server::with().config("rename-command CLIENT CL").start();
    server.check("> SET seckill:stock:7 1\nOK\n> SECKILL.TRY 7 alice o1\n0\n> PING\nPONG");
    let reply = server.say("MODULE UNLOAD seckill");
    assert!(reply.starts_with("ERR"), "{reply}");
    assert!(server.log().contains("CLIENT can't be called"), "{}", server.log());
    server.check("> SECKILL.TRY 7 bob o2\n1");
}

/// Sends tries, locks and queries until it is stopped. Returns the number of accepted tries.
fn traffic(mut client: Client, number: usize, stop: &AtomicBool) -> i64 {
    let (mut accepted, mut round) = (0, 0);
    while !stop.load(Ordering::Relaxed) {
        round += 1;
        let mut commands = vec![
            format!("SECKILL.TRY 7 u{number}-{round} o{number}-{round}"),
            format!("LOCK.ACQUIRE lock {number} 100000 BLOCK 2 FENCE"),
            format!("LOCK.RELEASE lock {number}"),
            "SECKILL.INFO 7".to_owned(),
        ];
        if round % 16 == 0 {
            commands.push("SECKILL.CREATE m 5 HOLD 1".to_owned());
            commands.push(format!("SECKILL.TRY m u{number} *"));
        }
        // Other commands for a while: only then can the module be unloaded.
        commands.extend((0..100).map(|_| "PING".to_owned()));
        for command in &commands {
            client.send(&crate::transcript::argv(command));
        }
        for command in &commands {
            let reply = client.receive();
            accepted += i64::from(command.starts_with("SECKILL.TRY 7") && reply == Value::Int(0));
            if matches!(reply, Value::ServerError(_)) {
                let error = text(&reply);
                let expected =
                    error.starts_with("ERR unknown command") || error.contains("BUSYKEY");
                assert!(expected, "{command}: {error}");
            }
        }
    }
    accepted
}

#[test]
fn it_comes_and_goes_under_traffic() {
    let server = Server::with().without_module().start();
    server.run("SET seckill:stock:7 1000000");
    let stop = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..3)
        .map(|number| {
            let (client, stop) = (server.client(), Arc::clone(&stop));
            thread::spawn(move || traffic(client, number, &stop))
        })
        .collect();
    let mut refused = 0;
    for _ in 0..30 {
        assert_eq!(load(&server, ""), Value::Okay);
        server.until("a sale", || server.info_number("seckill_tries_accepted") > 3);
        // Refused while holds are open, or while a client's latest command is one of the module's.
        server.until("an unloading", || {
            let reply = server.run("MODULE UNLOAD seckill");
            refused += i32::from(reply != Value::Okay);
            reply == Value::Okay
        });
    }
    stop.store(true, Ordering::Relaxed);
    let accepted: i64 = threads.into_iter().map(|thread| thread.join().expect("a client")).sum();
    println!("{accepted} accepted, {refused} unloadings refused");
    let left: i64 = server.say("GET seckill:stock:7").parse().expect("units");
    assert_eq!(left, 1_000_000 - accepted);
    assert_eq!(integer(&server.run("SCARD seckill:order:7")), accepted);
    assert!(!server.log().contains("a bug in"), "{}", server.log());
    assert_eq!(load(&server, ""), Value::Okay);
    assert_eq!(server.differences("m"), Vec::<String>::new());
}

/// It crashed there, at the first hash table.
#[test]
fn a_server_with_badly_aligned_memory_is_refused() {
    let server = Server::start();
    let process = server.info_number("process_id");
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).expect("what it has loaded");
    if !maps.contains("libjemalloc.so") {
        left_out("a server with badly aligned memory: this one has its allocator inside");
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let shim = dir.path().join("misaligned.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/misaligned.c");
    let shim_path = shim.to_str().expect("a path");
    assert!(tool(&["cc", "-shared", "-fPIC", "-O1", "-fno-builtin", "-o", shim_path, source]));
    let server = Server::with().without_module().env("LD_PRELOAD", &shim).start();
    let refused = text(&load(&server, ""));
    assert!(refused.starts_with("ERR"), "{refused}");
    assert!(server.log().contains("aligns memory to 8 bytes only"), "{}", server.log());
    server.check("> SET a 1\nOK\n> PING\nPONG");
}

/// Newer servers look commands up before the ones in front of them have run.
#[test]
fn unloading_waits_for_what_was_sent_behind_a_blocking_call() {
    let server = Server::start();
    let unload = || server.say("MODULE UNLOAD seckill");
    let mut client = server.client();
    client.run("CLIENT SETNAME impatient");
    let call = |words: &[&str]| redis::cmd(words[0]).arg(&words[1..]).get_packed_command();
    let both = [call(&["BLPOP", "q", "0"]), call(&["SECKILL.TRY", "7", "alice", "o1"])].concat();
    client.raw().send_packed_command(&both).expect("sent");
    let is_blocked = |name: &str| {
        let clients = server.say("CLIENT LIST");
        clients.lines().any(|line| line.contains(name) && line.contains(" flags=b"))
    };
    server.until("a blocked client", || is_blocked("impatient"));
    assert!(unload().starts_with("ERR"), "{}", server.log());
    assert!(server.log().contains("name=impatient"), "{}", server.log());
    server.check("> RPUSH q x\n1");
    assert!(matches!(client.receive(), Value::Array(_)));
    assert!(text(&client.receive()).starts_with("NOVOUCHER"));
    client.run("PING");
    // A worker that merely waits prevents it only where nobody can know that it has sent no more.
    let mut worker = server.client();
    worker.run("CLIENT SETNAME waits");
    server.run("XGROUP CREATE s g $ MKSTREAM");
    worker.send(&["XREADGROUP", "GROUP", "g", "w", "BLOCK", "0", "STREAMS", "s", ">"]);
    server.until("a worker", || is_blocked("waits"));
    let is_ahead = words(server.run("CONFIG GET lookahead")).len() == 2
        || server.say("CLIENT LIST").contains(" capa=");
    if is_ahead {
        assert!(unload().starts_with("ERR"));
        assert!(server.log().contains("name=waits"), "{}", server.log());
        server.run("XADD s * a b");
        assert!(matches!(worker.receive(), Value::Array(_)));
    }
    assert_eq!(unload(), "OK", "{}", server.log());
    server.check("> PING\nPONG");
}

/// Only Redis shows that a client has sent more behind its own MODULE UNLOAD.
#[test]
fn unloading_is_refused_to_a_client_that_goes_on() {
    let server = Server::start();
    if server.info("valkey_version").is_some() {
        return left_out("Valkey does not show what it has parsed ahead");
    }
    let call = |words: &[&str]| redis::cmd(words[0]).arg(&words[1..]).get_packed_command();
    let unload = call(&["MODULE", "UNLOAD", "seckill"]);
    let all = [unload, call(&["SECKILL.TRY", "7", "alice", "o1"]), call(&["PING"])].concat();
    let mut client = server.client();
    client.raw().send_packed_command(&all).expect("sent");
    let [_, tried, pong] = [(); 3].map(|()| text(&client.receive()));
    assert!(tried.starts_with("NOVOUCHER") || tried.starts_with("ERR unknown command"), "{tried}");
    assert_eq!(pong, "PONG");
    server.check("> PING\nPONG");
}

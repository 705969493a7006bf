//! Loading the module into a running server, where it stays.

use std::fs;

use crate::harness::{Server, left_out, module, text, tool};
use crate::memory::load;
use crate::observe::words;
use redis::Value;

/// Servers keep pointers to the commands of a module that was used, and crash on those.
#[test]
fn a_module_stays() {
    let refused = |server: &Server, reply: &str| {
        assert!(reply.starts_with("ERR"), "{reply}");
        assert!(server.log().contains("not unloaded: servers keep pointers"), "{}", server.log());
        server.check("> DEL seckill:order:7\n1\n> SECKILL.TRY 7 alice o1\n0");
    };
    let server = Server::with().without_module().start();
    server.check("> SET seckill:stock:7 9\nOK\n> SADD seckill:order:7 x\n1");
    // Right behind the load, before the server's first cron.
    let load = format!("MODULE LOAD {}", module().display());
    let words = [load.as_str(), "MODULE UNLOAD seckill"].map(crate::transcript::argv);
    let [loaded, unloaded] = &server.client().together(&words)[..] else { panic!("no replies") };
    assert_eq!(*loaded, Value::Okay);
    refused(&server, &text(unloaded));
    server.until("a cron", || server.info_number("uptime_in_seconds") > 1);
    refused(&server, &server.say("MODULE UNLOAD seckill"));
    let server = Server::start();
    server.check("> SET seckill:stock:7 9\nOK\n> SADD seckill:order:7 x\n1");
    refused(&server, &server.say("MODULE UNLOAD seckill"));
}

/// Newer servers unload their modules before they exit.
#[test]
fn a_server_exits_without_a_word_of_the_module() {
    let mut server = Server::start();
    let mut client = server.client();
    client.run("LOCK.INFO none");
    client.send(&["BLPOP", "k", "0"]);
    assert!(server.stop().success());
    let log = server.log();
    assert!(log.contains("bye bye") && !log.contains("not unloaded"), "{log}");
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
fn module_load_takes_arguments_and_configs() {
    let server = Server::with().without_module().start();
    let path = module().display();
    server.check(&format!("> MODULE LOAD {path} hash-tags yes\nOK"));
    server.check("> CONFIG GET seckill.hash-tags\n1) \"seckill.hash-tags\"\n2) \"yes\"");
    let load = "CONFIG seckill.stock-prefix conf: ARGS stock-prefix args: buyers-prefix args:";
    let server = Server::with().without_module().start();
    server.check(&format!("> MODULE LOADEX {path} {load}\nOK"));
    server.check("> CONFIG GET seckill.stock-prefix\n1) \"seckill.stock-prefix\"\n2) \"conf:\"");
    server.check("> CONFIG GET seckill.buyers-prefix\n1) \"seckill.buyers-prefix\"\n2) \"args:\"");
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

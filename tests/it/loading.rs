//! Loading and unloading the module in a running server.

use crate::harness::{Server, module, text};
use crate::observe::words;
use redis::Value;

fn load(server: &Server, args: &str) -> Value {
    server.run(&format!("MODULE LOAD {} {args}", module().display()))
}

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
        let gone = text(&server.run("SECKILL.TRY 7 z o1"));
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
    server.check("> SET seckill:stock:7 1\nOK\n> SECKILL.TRY 7 a o1\n0");
}

#[test]
fn unloading_waits_for_acl_rules_that_name_our_commands() {
    let rules = [
        "+seckill.try",
        "+@all -lock.release",
        "+@all -seckill.try +@write",
        "+seckill.trykeys",
        "+get +SECKILL.TRY ~*",
        "+get (+lock.release ~*)",
    ];
    for rule in rules {
        let server = Server::start();
        let set = server.run(&format!("ACL SETUSER bob on >pw {rule}"));
        assert_eq!(set, Value::Okay, "{rule}");
        let refused = text(&server.run("MODULE UNLOAD seckill"));
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
    // Where the server has categories of ours, a rule may name them.
    let named = server.run("ACL SETUSER cat on nopass +@seckill") == Value::Okay;
    let unloaded = text(&server.run("MODULE UNLOAD seckill"));
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
fn the_server_ends_cleanly_with_the_module() {
    let mut server = Server::with().aof().start();
    server.check("> SET seckill:stock:7 5\nOK\n> SECKILL.TRY 7 alice o1\n0");
    let digest = server.digest();
    assert!(server.stop().success(), "{}", server.log());
    server.start_again();
    assert_eq!(server.digest(), digest);
    server.check("> SECKILL.TRY 7 alice o1\n2");
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
    let unloaded = crate::harness::wait_for("nothing to be due", || {
        (server.run("MODULE UNLOAD seckill") == Value::Okay).then_some(())
    });
    unloaded.unwrap_or_else(|late| panic!("{late}"));
    assert_eq!(load(&server, ""), Value::Okay);
    server.check("> SECKILL.TRY 7 alice o1\n0\n> PING\nPONG");
}

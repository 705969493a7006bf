//! Settings of the server itself that decide what the module may do: `import-mode`, renamed
//! commands, clients that are redirected instead of unblocked.

use crate::harness::{Server, left_out, text};
use crate::observe::words;
use redis::Value;

/// The server itself writes these around the effects of a command, and reads them at its start.
#[test]
fn a_module_is_not_loaded_where_effects_could_not_be_read_again() {
    for name in ["MULTI", "EXEC", "HSETNX"] {
        let renamed = Server::with().config(format!("rename-command {name} \"\""));
        let log = renamed.try_start().err().expect("no start");
        assert!(log.contains(&format!("this server has no command {name},")), "{log}");
    }
}

/// `CONFIG` is renamed in many redis.conf files, and the policy is shown all the same.
#[test]
fn eviction_is_told_without_config() {
    for (limit, told) in
        [("maxmemory 50mb", Value::BulkString(b"allkeys-lru".into())), ("", Value::Nil)]
    {
        let server = Server::with().config("rename-command CONFIG \"\"").config(limit);
        let server = server.config("maxmemory-policy allkeys-lru").start();
        server.check("> SECKILL.CREATE 7 10\nOK");
        assert_eq!(server.field("SECKILL.INFO 7", "eviction"), told);
        assert_eq!(server.log().contains("may evict the keys of sales"), told != Value::Nil);
    }
}

/// What the module looks up when settings change is no command of a client.
#[test]
fn settings_put_nothing_else_into_the_slow_log() {
    let server = Server::start();
    server.check("> CONFIG SET slowlog-log-slower-than 0\nOK\n> SLOWLOG RESET\nOK");
    for setting in ["masterauth ''", "seckill.waitlist-max 9", "maxmemory 900mb"] {
        server.check(&format!("> CONFIG SET {setting}\nOK"));
    }
    server.check("> DEBUG SLEEP 0.2\nOK\n> SLOWLOG LEN\n5");
}

/// Payments of orders that no stream tells of reach nobody.
#[test]
fn holds_without_streams_are_warned_of_once() {
    let server = Server::start();
    let told =
        || server.log().matches("orders are held while seckill.order-stream is empty").count();
    server.check("> SECKILL.CREATE 1 5 HOLD 5000\nOK\n> CONFIG SET seckill.order-stream \"\"\nOK");
    server.check("> SECKILL.CREATE 2 5\nOK");
    assert_eq!(told(), 0);
    server.check("> SECKILL.CREATE 3 5 HOLD 5000\nOK\n> SECKILL.ALTER 2 HOLD 5000\nOK");
    assert_eq!(told(), 1);
    server.check("> CONFIG SET seckill.stock-prefix s:\nOK\n> SECKILL.CREATE 4 5\nOK");
    server.check("> SECKILL.ALTER 4 HOLD 5000\nOK");
    assert_eq!(told(), 2);
}

/// The target of a migration tool: while it copies, the source still expires the same holds.
#[test]
fn nothing_happens_in_the_background_while_another_server_is_the_truth() {
    let server = Server::start();
    if words(server.run("CONFIG GET import-mode")).is_empty() {
        return left_out("import-mode: this server has none");
    }
    let mut session = server.client();
    session.check("> LOCK.ACQUIRE s ann 900000 SESSION\n1\n> LOCK.ACQUIRE l ann 900000\n1");
    let mut waiter = server.waiter("LOCK.ACQUIRE l bob 900000 BLOCK 60000");
    server.check("> SECKILL.CREATE 7 5 HOLD 300\nOK\n> CONFIG SET import-mode yes\nOK");
    server.check("> SECKILL.TRY 7 ann o1\n0");
    let over = server.clock_ms() + 900;
    server.check("> DEL l\n1");
    drop(session);
    server.wait_until(over);
    server
        .check("> ZCARD seckill:hold:7\n1\n> GET seckill:stock:7\n4\n> GET s\nann\n> EXISTS l\n0");
    assert_eq!(server.in_queue(), 1);
    server.check("> CONFIG SET import-mode no\nOK");
    assert_eq!(waiter.receive(), Value::Int(1));
    server.until("the session's end", || server.run("EXISTS s") == Value::Int(0));
    server.until("the hold's end", || server.run("EXISTS seckill:hold:7") == Value::Int(0));
    server.assert_book("7", [5, 0, 0]);
}

/// Valkey tells a client that can be redirected nothing, if a module has blocked it.
#[test]
fn who_can_be_redirected_is_told_that_its_server_turned_replica() {
    let primary = Server::with().port().start();
    let other = Server::with().port().start();
    primary.run("LOCK.ACQUIRE lock ann 1000000");
    let mut waiter = primary.client();
    if matches!(waiter.run("CLIENT CAPA redirect"), Value::ServerError(_)) {
        return left_out("CLIENT CAPA redirect: this server has none");
    }
    primary.queue(&mut waiter, "LOCK.ACQUIRE lock bob 1000000 BLOCK 600000");
    primary.run(&format!("REPLICAOF 127.0.0.1 {}", other.port()));
    let told = text(&waiter.receive());
    assert!(told.starts_with("UNBLOCKED "), "{told}");
    assert_eq!(primary.in_queue(), 0);
}

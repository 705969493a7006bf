//! A load that is refused, or that the server undoes.

use super::load;
use crate::harness::{Server, module};
use redis::Value;

/// Causes every event that a module can subscribe to.
fn cause_every_event(server: &Server) {
    for command in [
        "SET a 1", "ZADD seckill:hold:7 5 o1", "SADD s m", "SET e 1 PX 1",
        "RENAME a seckill:voucher:7", "ZREM seckill:hold:7 o1", "CONFIG SET maxmemory 0",
        "SWAPDB 0 1", "FLUSHALL", "SET a 1", "SAVE", "DEBUG RELOAD", "REPLICAOF 127.0.0.1 1",
        "REPLICAOF NO ONE", "DEL a",
    ] {
        let reply = server.run(command);
        assert!(!matches!(reply, Value::ServerError(_)), "{command}: {reply:?}");
    }
    // A few ticks of the server's cron.
    server.wait_until(server.clock_ms() + 250);
}

/// MODULE LOADEX sets configurations after the module was loaded, and unloads it when one of them
/// is refused. No timer may be armed at that moment.
#[test]
fn a_load_that_is_refused_at_its_end_leaves_nothing_behind() {
    let first = Server::start();
    first.check("> SECKILL.CREATE 7 5 HOLD 900000\nOK\n> SECKILL.TRY 7 ann a1\n0\n> SAVE\nOK");
    for refused in [
        "LOAD PATH hold-sweep-ms 99999",
        "LOAD PATH nosuch 1",
        "LOAD PATH stock-prefix",
        "LOAD PATH stock-prefix a: stock-prefix b:",
        "LOADEX PATH CONFIG seckill.nosuch 1",
        "LOADEX PATH CONFIG seckill.hold-sweep-ms 99999",
    ] {
        let server = Server::with().without_module().data_of(&first).start();
        let reply = server
            .say(&format!("MODULE {refused}").replace("PATH", module().to_str().expect("a path")));
        assert!(reply.starts_with("ERR"), "{refused}: {reply}");
        let modules = format!("{:?}", server.run("MODULE LIST"));
        assert!(!modules.contains("seckill"), "{refused}: {modules}");
        cause_every_event(&server);
        assert_eq!(load(&server, ""), Value::Okay);
        server.check("> SECKILL.CREATE 8 5 HOLD 20\nOK\n> SECKILL.TRY 8 ann a1\n0");
        server.wait_for_state("8", "a1", "expired");
    }
}

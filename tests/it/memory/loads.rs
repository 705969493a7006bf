//! A load that the server undoes.

use super::load;
use crate::harness::{Server, module};
use redis::Value;

/// MODULE LOADEX sets configurations after the module was loaded, and unloads it when one of them
/// is refused. No timer may be armed at that moment.
#[test]
fn a_load_that_is_refused_at_its_end_leaves_nothing_behind() {
    let first = Server::start();
    first.check("> SECKILL.CREATE 7 5 HOLD 900000\nOK\n> SECKILL.TRY 7 ann a1\n0\n> SAVE\nOK");
    let server = Server::with().without_module().data_of(&first).start();
    let path = module().display();
    for refused in ["CONFIG seckill.nosuch 1", "CONFIG seckill.hold-sweep-ms 99999"] {
        let reply = server.say(&format!("MODULE LOADEX {path} {refused}"));
        assert!(reply.starts_with("ERR"), "{refused}: {reply}");
        let modules = format!("{:?}", server.run("MODULE LIST"));
        assert!(!modules.contains("seckill"), "{refused}: {modules}");
        server.check("> ZADD seckill:hold:7 9000000000000 a1\n0");
        server.check("> SET a 1\nOK\n> DEBUG RELOAD\nOK\n> PING\nPONG");
    }
    assert_eq!(load(&server, ""), Value::Okay);
    server.run("ZADD seckill:hold:7 5 a1");
    server.wait_for_state("7", "a1", "expired");
}

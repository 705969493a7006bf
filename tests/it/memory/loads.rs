//! The module is unloaded, and loaded again into a server in which everything may have changed.

use super::load;
use super::primed::{LASTS, OVER, Primed};
use crate::harness::{Server, module};
use redis::Value;

fn unload(server: &Server) {
    // The latest command of the client must not be one of the module's.
    server.run("PING");
    server.until("the unload", || server.run("MODULE UNLOAD seckill") == Value::Okay);
}

#[test]
fn what_happens_between_an_unload_and_a_load_is_seen() {
    // The holds return: they were renamed because they would have prevented the unload.
    let back = ["RENAME {t}hold-m seckill:hold:{t}m", "RENAME {t}hold-p seckill:hold:{t}p"];
    let changes: [&[&str]; 6] = [
        &[],
        &[OVER],
        &["ZADD {t}hold-m 5 a1"],
        &["DEL seckill:order:{t}u", "INCRBY seckill:stock:{t}m 1"],
        &["DEL seckill:voucher:{t}m", "DEL seckill:stock:{t}u"],
        &["ZADD {t}hold-p 5 b1", "RENAME {t}rules-of-p seckill:voucher:{t}p"],
    ];
    for mut primed in [Primed::single(), Primed::cluster()] {
        for change in changes {
            for last in LASTS {
                primed.again(&format!("{change:?}, unloaded"), last);
                // bob disconnects. The next priming waits until he has left.
                primed.bob = None;
                primed.server.wait_for_line(0);
                for voucher in ["m", "p"] {
                    primed
                        .run(&[format!("RENAME seckill:hold:{{t}}{voucher} {{t}}hold-{voucher}")]);
                }
                unload(&primed.server);
                primed.run(change);
                primed.run(&back);
                assert_eq!(load(&primed.server, ""), Value::Okay);
                primed.check_tries();
                primed.check_holds();
                primed.bob =
                    Some(primed.server.waiter("LOCK.ACQUIRE {t}lock bob 1000000 BLOCK 600000"));
                primed.check_line();
            }
        }
    }
}

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

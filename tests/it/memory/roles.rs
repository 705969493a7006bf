//! A server is promoted or demoted.

use super::load;
use super::primed::{LASTS, OVER, Primed};
use super::slots::wait_for_open_holds;
use crate::harness::Server;
use crate::observe::integer;
use redis::Value;

/// The replica is written to directly: a change while it releases nothing by itself.
#[test]
fn what_happens_between_a_demotion_and_a_promotion_is_seen() {
    let mut primed = Primed::on(Server::with().port().config("replica-read-only no").start());
    for last in LASTS {
        for change in ["ZADD seckill:hold:{t}m 5 a1", OVER, "DEL seckill:stock:{t}u"] {
            primed.again(change, last);
            primed.run(&["REPLICAOF 127.0.0.1 1"]);
            primed.check_line_ended("UNBLOCKED");
            primed.run(&["ZADD seckill:hold:{t}m 7 b1"]);
            primed.at_once(&[change]);
            primed.check_tries();
            primed
                .run(&["ZADD seckill:hold:{t}p 5 b1", "RENAME {t}rules-of-p seckill:voucher:{t}p"]);
            // A replica expires no hold.
            let over = primed.server.clock_ms() + 100;
            primed.server.wait_until(over);
            assert_eq!(primed.server.state("{t}p", "b1"), "held", "{change}");
            primed.run(&["REPLICAOF NO ONE"]);
            primed.check_tries();
            primed.check_holds();
            primed.server.wait_for_state("{t}p", "b1", "expired");
            primed.run(&["DEL {t}lock"]);
            primed.server.check("> LOCK.ACQUIRE {t}lock ann 1000000\n1");
            primed.bob =
                Some(primed.server.waiter("LOCK.ACQUIRE {t}lock bob 1000000 BLOCK 600000"));
            primed.check_line();
        }
    }
}

/// A replica learns of holds from its primary's commands, so it does not scan for them when it is
/// promoted: it knows new and changed holds, and not those that were deleted.
#[test]
fn a_promoted_replica_knows_the_holds_already() {
    let primary = Server::with().port().start();
    let replica = Server::with().replica_of(&primary).start();
    primary.wait_for_replica(&replica);
    let sell = |voucher: &str, hold_ms: u32| {
        primary.check(&format!("> SECKILL.CREATE {voucher} 5 HOLD {hold_ms}\nOK"));
        primary.check(&format!("> SECKILL.TRY {voucher} ann a1\n0"));
    };
    sell("long", 900_000);
    sell("paid", 900_000);
    sell("dropped", 900_000);
    sell("due", 2500);
    primary.check("> SECKILL.CONFIRM paid ann a1\n1\n> SECKILL.CANCEL dropped ann a1\n1");
    primary.check("> SECKILL.DROP dropped\n1");
    primary.wait_for_replica(&replica);
    let before = super::calls(&replica, "scan");
    let deadline = integer(&primary.field("SECKILL.ORDER due a1", "deadline"));
    drop(primary);
    replica.check("> REPLICAOF NO ONE\nOK");
    if replica.clock_ms() < deadline - 1000 {
        wait_for_open_holds(&replica, 2);
    }
    replica.wait_for_state("due", "a1", "expired");
    wait_for_open_holds(&replica, 1);
    assert_eq!(super::calls(&replica, "scan"), before, "looked for holds");
    replica.assert_book("long", [4, 1, 0]);
    replica.assert_book("paid", [4, 0, 1]);
}

/// A module that is loaded into a replica scans for holds there, and expires them once promoted.
#[test]
fn a_replica_that_looked_for_holds_expires_them_when_promoted() {
    let first = Server::start();
    first.check("> SECKILL.CREATE 7 5 HOLD 900000\nOK\n> SECKILL.TRY 7 ann a1\n0\n> SAVE\nOK");
    // A primary without the module leaves due holds as they are.
    let primary = Server::with().without_module().data_of(&first).port().start();
    primary.check("> ZADD seckill:hold:7 5 a1\n0\n> DEBUG POPULATE 40000 filler 8\nOK");
    let replica = Server::with().without_module().replica_of(&primary).start();
    primary.wait_for_replica(&replica);
    assert_eq!(load(&replica, ""), Value::Okay);
    // Long enough for a scan by the replica, if it makes one.
    replica.wait_until(replica.clock_ms() + 300);
    assert_eq!(replica.state("7", "a1"), "held");
    replica.check("> REPLICAOF NO ONE\nOK");
    replica.wait_for_state("7", "a1", "expired");
    replica.assert_book("7", [5, 0, 0]);
}

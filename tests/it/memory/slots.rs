//! Slots that leave a node whole, as Redis 8.4 and later move them: no key fires an event then.

use super::knows;
use super::primed::{LASTS, Primed};
use crate::cluster::{slot, two_nodes};
use crate::harness::{Server, text, wait_for};
use crate::observe::integer;
use redis::Value;

/// Two nodes that can move slots whole; none where the server can't.
fn two_nodes_that_migrate() -> Option<(Server, Server)> {
    let nodes = two_nodes();
    if !knows(&nodes.0, "CLUSTER MIGRATION STATUS ALL") {
        return None;
    }
    // A node that loses its last slot becomes a replica.
    import(&nodes.1, "{other}");
    Some(nodes)
}

/// Moves the slot of `key` to `target`, and waits until it is there.
fn import(target: &Server, key: &str) {
    let moving = slot(target, key.as_bytes());
    let reply = target.run(&format!("CLUSTER MIGRATION IMPORT {moving} {moving}"));
    assert!(!matches!(reply, Value::ServerError(_)), "{reply:?}");
    let come = wait_for("the slot", || {
        matches!(target.call(&["EXISTS", key]), Value::Int(_)).then_some(())
    });
    come.unwrap_or_else(|late| panic!("{late}\n{}", target.log()));
}

#[test]
fn holds_of_a_slot_that_left_whole_are_forgotten() {
    let Some((source, target)) = two_nodes_that_migrate() else { return };
    source.check("> SECKILL.CREATE 7 5 HOLD 4000\nOK\n> SECKILL.TRY 7 alice o1\n0");
    let deadline = integer(&source.field("SECKILL.ORDER 7 o1", "deadline"));
    import(&target, "7");
    let open = || source.info_number("seckill_holds_open");
    let forgotten = wait_for("the holds to be forgotten", || (open() == 0).then_some(()));
    forgotten.unwrap_or_else(|late| panic!("{late}: {} are open\n{}", open(), source.log()));
    // The hold ends where it is now; where it was, nothing is due any more.
    target.wait_for_state("7", "o1", "expired");
    target.assert_book("7", [5, 0, 0]);
    source.wait_until(deadline + 1500);
    assert_eq!(open(), 0);
    assert!(!source.log().contains("expired holds stay for now"), "{}", source.log());
    let unloaded = wait_for("the unload", || {
        (source.run("MODULE UNLOAD seckill") == Value::Okay).then_some(())
    });
    unloaded.unwrap_or_else(|late| panic!("{late}\n{}", source.log()));
}

#[test]
fn a_client_that_waits_for_a_lock_whose_slot_leaves_whole_is_answered_at_once() {
    let Some((source, target)) = two_nodes_that_migrate() else { return };
    source.run("LOCK.ACQUIRE lock ann 1000000");
    let mut bob = source.waiter("LOCK.ACQUIRE lock bob 1000000 WAIT 10000");
    let mut cid = source.waiter("LOCK.ACQUIRE lock cid 1000000 WAIT 10000 FENCE");
    // A lock of another slot stays, and so does its line.
    source.run("LOCK.ACQUIRE stays ann 1000000");
    let mut dan = source.waiter("LOCK.ACQUIRE stays dan 1000000 WAIT 60000");
    import(&target, "lock");
    for waiter in [&mut bob, &mut cid] {
        let reply = text(&waiter.receive());
        assert!(reply.starts_with("TRYAGAIN "), "{reply}");
    }
    assert_eq!(source.in_line(), 1);
    target.check("> GET lock\nann\n> LOCK.RELEASE lock ann\n1");
    source.check("> LOCK.RELEASE stays ann\n1");
    assert_eq!(dan.receive(), Value::Int(1));
}

/// There and back, changed meanwhile: neither node answers by what it knew before.
#[test]
fn a_slot_that_comes_back_whole_is_seen_as_it_is() {
    let Some((source, target)) = two_nodes_that_migrate() else { return };
    let (mut here, there) = (Primed::on(source), Primed::on(target));
    let rules = "SET seckill:voucher:{t}u \
        '{\"total\":9,\"begin\":null,\"end\":1,\"limit\":1,\"hold\":null}'";
    for change in [
        &["PING"][..],
        &[rules],
        &["ZADD seckill:hold:{t}m 5 a1"],
        &["DEL seckill:stock:{t}u", "DEL seckill:voucher:{t}m"],
        &["DEL seckill:order:{t}u", "SET seckill:stock:{t}m 1"],
        &["ZADD seckill:hold:{t}p 5 b1", "RENAME {t}rules-of-p seckill:voucher:{t}p"],
    ] {
        for last in LASTS {
            here.again(&format!("{change:?}, moved whole"), last);
            import(&there.server, "{t}");
            here.check_line_ended("TRYAGAIN");
            there.check_tries();
            there.run(change);
            there.check_tries();
            there.check_holds();
            import(&here.server, "{t}");
            here.check_tries();
            here.check_holds();
            here.server.check("> DEL {t}lock\n1\n> LOCK.ACQUIRE {t}lock ann 1000000\n1");
            here.bob = Some(here.server.waiter("LOCK.ACQUIRE {t}lock bob 1000000 WAIT 600000"));
            here.check_line();
            let open = || there.server.info_number("seckill_holds_open");
            let forgotten = wait_for("the holds to be forgotten", || (open() == 0).then_some(()));
            forgotten.unwrap_or_else(|late| panic!("{change:?}: {late}: {} are open", open()));
        }
    }
}

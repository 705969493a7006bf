//! Slots that move whole, as Redis 8.4 and later and Valkey 9 and later move them: no key fires an
//! event when it leaves.

use super::primed::{LASTS, OVER, Primed};
use crate::cluster::two_nodes;
use crate::harness::{Server, text};
use crate::observe::integer;
use crate::whole_slots::Mover;
use redis::Value;

/// Two nodes that can move slots whole, or None if the server can't.
fn two_nodes_that_migrate() -> Option<(Server, Server, Mover)> {
    let (source, target) = two_nodes();
    let mover = Mover::of(&source)?;
    // A node that loses its last slot becomes a replica.
    mover.move_slot(&source, &target, "{other}");
    Some((source, target, mover))
}

pub fn wait_for_open_holds(server: &Server, wanted: i64) {
    let what = format!("{wanted} open holds");
    server.until(&what, || server.info_number("seckill_holds_open") == wanted);
}

#[test]
fn holds_of_a_slot_that_left_whole_are_forgotten() {
    let Some((source, target, mover)) = two_nodes_that_migrate() else { return };
    source.check("> SECKILL.CREATE 7 1 HOLD 4000\nOK\n> SECKILL.TRY 7 alice o1\n0");
    source.check("> SECKILL.TRY 7 bob o2 WAITLIST\n6");
    let deadline = integer(&source.field("SECKILL.ORDER 7 o1", "deadline"));
    mover.move_slot(&source, &target, "7");
    wait_for_open_holds(&source, 0);
    // The hold expires at the new owner, for the order in the queue; at the old one nothing is due
    // any more.
    target.wait_for_state("7", "o1", "expired");
    target.wait_for_state("7", "o2", "expired");
    target.assert_book("7", [1, 0, 0]);
    assert_eq!(target.info_number("seckill_orders_promoted"), 1);
    source.wait_until(deadline + 1500);
    wait_for_open_holds(&source, 0);
    assert!(!source.log().contains("expired holds were not released"), "{}", source.log());
}

#[test]
fn a_client_that_waits_for_a_lock_whose_slot_leaves_whole_is_answered_at_once() {
    let Some((source, target, mover)) = two_nodes_that_migrate() else { return };
    source.run("LOCK.ACQUIRE lock ann 1000000");
    let mut bob = source.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 10000");
    let mut cid = source.waiter("LOCK.ACQUIRE lock cid 1000000 BLOCK 10000 FENCE");
    // A lock in another slot stays, and so does its line.
    source.run("LOCK.ACQUIRE stays ann 1000000");
    let mut dan = source.waiter("LOCK.ACQUIRE stays dan 1000000 BLOCK 60000");
    mover.move_slot(&source, &target, "lock");
    for waiter in [&mut bob, &mut cid] {
        let reply = text(&waiter.receive());
        assert!(reply.starts_with("TRYAGAIN "), "{reply}");
    }
    assert_eq!(source.in_queue(), 1);
    target.check("> GET lock\nann\n> LOCK.RELEASE lock ann\n1");
    source.check("> LOCK.RELEASE stays ann\n1");
    assert_eq!(dan.receive(), Value::Int(1));
}

/// Away and back, with changes meanwhile: neither node answers by what it knew before.
#[test]
fn a_slot_that_comes_back_whole_is_seen_as_it_is() {
    let Some((source, target, mover)) = two_nodes_that_migrate() else { return };
    let (mut here, there) = (Primed::on(source), Primed::on(target));
    for change in [
        &["PING"][..],
        &[OVER],
        &["ZADD seckill:hold:{t}m 5 a1"],
        &["DEL seckill:stock:{t}u", "DEL seckill:voucher:{t}m"],
        &["DEL seckill:order:{t}u", "SET seckill:stock:{t}m 1"],
        &["ZADD seckill:hold:{t}p 5 b1", "RENAME {t}rules-of-p seckill:voucher:{t}p"],
    ] {
        for last in LASTS {
            here.again(&format!("{change:?}, moved whole"), last);
            mover.move_slot(&here.server, &there.server, "{t}");
            here.check_line_ended("TRYAGAIN");
            there.check_tries();
            there.run(change);
            there.check_tries();
            there.check_holds();
            mover.move_slot(&there.server, &here.server, "{t}");
            here.check_tries();
            here.check_holds();
            here.server.check("> DEL {t}lock\n1\n> LOCK.ACQUIRE {t}lock ann 1000000\n1");
            here.bob = Some(here.server.waiter("LOCK.ACQUIRE {t}lock bob 1000000 BLOCK 600000"));
            here.check_line();
            wait_for_open_holds(&there.server, 0);
        }
    }
}

/// All keys have arrived, but the target does not own the slot.
#[test]
fn a_hold_expires_at_the_source_until_its_slot_is_handed_over() {
    let Some((source, target, mover)) = two_nodes_that_migrate() else { return };
    source.check("> SECKILL.CREATE 7 5 HOLD 1500\nOK\n> SECKILL.TRY 7 alice o1\n0");
    source.check("> SECKILL.TRY 7 bob o2\n0\n> SECKILL.EXTEND 7 bob o2 3600000\n1");
    mover.hold_up(&source, &target, true);
    mover.begin(&source, &target, "7");
    mover.wait_for_copy(&target);
    if mover == Mover::Valkey {
        wait_for_open_holds(&target, 2);
    }
    // Both nodes have the hold when it is due.
    source.wait_for_state("7", "o1", "expired");
    assert_eq!(target.info_number("seckill_orders_expired"), 0, "{}", target.log());
    mover.cancel(&source, &target);
    mover.hold_up(&source, &target, false);
    // The keys that arrived are gone, without an event for each.
    wait_for_open_holds(&target, 0);
    target.check("> DBSIZE\n0");
    wait_for_open_holds(&source, 1);
    source.assert_book("7", [4, 1, 0]);
    assert_eq!(source.info_number("seckill_orders_expired"), 1);
    source.check("> XLEN stream.orders.released:{7}\n1\n> SECKILL.TRY 7 carol o3\n0");
    assert!(!source.log().contains("expired holds were not released"), "{}", source.log());
}

/// A move that was cancelled and requested again.
#[test]
fn a_hold_that_moves_at_the_second_attempt_expires_once() {
    let Some((source, target, mover)) = two_nodes_that_migrate() else { return };
    source.check("> SECKILL.CREATE 7 5 HOLD 2500\nOK\n> SECKILL.TRY 7 alice o1\n0");
    mover.hold_up(&source, &target, true);
    mover.begin(&source, &target, "7");
    mover.wait_for_copy(&target);
    mover.cancel(&source, &target);
    mover.hold_up(&source, &target, false);
    mover.move_slot(&source, &target, "7");
    target.wait_for_state("7", "o1", "expired");
    target.assert_book("7", [5, 0, 0]);
    wait_for_open_holds(&source, 0);
    // On a busy machine, the hold may have been due before the slot moved.
    let expired = [&source, &target].map(|node| node.info_number("seckill_orders_expired"));
    assert_eq!(expired.iter().sum::<i64>(), 1, "{expired:?}");
}

//! The stream of confirmed orders: one entry per accepted confirmation, or none if it is off.

use crate::cluster::{slot, two_nodes, whole_cluster};
use crate::effects::{assert_same, assert_transaction};
use crate::events::assert_like;
use crate::harness::{Server, text};
use crate::managed_effects::written;
use crate::observe::{integer, words};
use redis::Value;

const LAST_ID: &str = "18446744073709551615-18446744073709551615";

fn entries(server: &Server, stream: &str) -> i64 {
    integer(&server.call(&["XLEN", stream]))
}

#[test]
fn a_confirmed_order_has_one_entry_with_its_fields() {
    let server = Server::observed().start();
    server.check(
        r#"
        > SECKILL.CREATE 7 9 LIMIT 3 HOLD 900000
        OK
        > SECKILL.TRY 7 alice o1
        (integer) 0
        > SECKILL.TRY 7 alice o2 UNITS 2
        (integer) 0
        > SECKILL.CONFIRM 7 alice o1
        (integer) 1
        > SECKILL.CONFIRM 7 alice o2
        (integer) 1
        > XRANGE stream.orders.confirmed - +
        1) 1) "1722509999999-0"
           2) 1) "userId"
              2) "alice"
              3) "voucherId"
              4) "7"
              5) "id"
              6) "o1"
              7) "sale"
              8) "1795344856123456"
        2) 1) "1722509999999-0"
           2)  1) "userId"
               2) "alice"
               3) "voucherId"
               4) "7"
               5) "id"
               6) "o2"
               7) "units"
               8) "2"
               9) "sale"
              10) "1795344856123456"
        "#,
    );
    // An order that is sold already, and an unknown one.
    assert_eq!(server.unchanged("SECKILL.CONFIRM 7 alice o1"), Value::Int(2));
    assert_eq!(server.silent("SECKILL.CONFIRM 7 bob o1"), Value::Int(0));
    server.check("> SECKILL.CANCEL 7 alice o1\n1");
    assert_eq!(server.unchanged("SECKILL.CONFIRM 7 alice o1"), Value::Int(3));
    assert_eq!(entries(&server, "stream.orders.confirmed"), 2);
}

#[test]
fn what_was_sold_at_once_and_what_is_late_have_none() {
    let server = Server::start();
    server.check(
        "
        > SECKILL.CREATE 7 9
        OK
        > SECKILL.TRY 7 alice o1
        0
        > SECKILL.CONFIRM 7 alice o1
        2
        > SECKILL.CREATE 8 9 HOLD 1
        OK
        > MULTI
        OK
        > SECKILL.TRY 8 alice o2
        QUEUED
        > DEBUG SLEEP 0.01
        QUEUED
        > SECKILL.CONFIRM 8 alice o2
        QUEUED
        > EXEC
        1) 0
        2) OK
        3) 3
        > SECKILL.CONFIRM 8 alice o2
        3
        > XLEN stream.orders.released
        1
        > EXISTS stream.orders.confirmed
        0
        ",
    );
}

#[test]
fn the_setting_takes_effect_at_once() {
    let server = Server::with().config("seckill.confirmed-stream no").start();
    server.check(
        "
        > SECKILL.CREATE 7 9 LIMIT 9 HOLD 900000
        OK
        > SECKILL.TRY 7 alice o1
        0
        > SECKILL.CONFIRM 7 alice o1
        1
        > EXISTS stream.orders.confirmed
        0
        > SECKILL.TRY 7 alice o2
        0
        > CONFIG SET seckill.confirmed-stream yes
        OK
        > SECKILL.CONFIRM 7 alice o2
        1
        > XLEN stream.orders.confirmed
        1
        > SECKILL.TRY 7 alice o3
        0
        > CONFIG SET seckill.order-stream o seckill.order-fields \"u v i\"
        OK
        > SECKILL.CONFIRM 7 alice o3
        1
        > XRANGE o.confirmed - +
        1) 1) \"1722509999999-0\"
           2) 1) \"u\"
              2) \"alice\"
              3) \"v\"
              4) \"7\"
              5) \"i\"
              6) \"o3\"
              7) \"sale\"
              8) \"1795344856123456\"
        > SECKILL.TRY 7 alice o4
        0
        > CONFIG SET seckill.order-stream ''
        OK
        > SECKILL.CONFIRM 7 alice o4
        1
        > EXISTS .confirmed
        0
        > XLEN stream.orders.confirmed
        1
        ",
    );
}

#[test]
fn the_entry_and_the_order_are_one_transaction() {
    let server = Server::with().aof().start();
    server.run("SECKILL.CREATE 7 9 LIMIT 3 HOLD 900000");
    server.run("SECKILL.TRY 7 alice o1 UNITS 2");
    assert_transaction(
        written(&server, "SECKILL.CONFIRM 7 alice o1"),
        vec![
            "HSET seckill:book:7 o1 sold:2:0:alice",
            "DEL seckill:extra:7",
            "ZREM seckill:hold:7 o1",
            "XADD stream.orders.confirmed ID userId alice voucherId 7 id o1 units 2 sale SALE",
        ],
    );
    server.run("SECKILL.TRY 7 alice o2");
    server.run("CONFIG SET seckill.confirmed-stream no");
    assert_transaction(
        written(&server, "SECKILL.CONFIRM 7 alice o2"),
        vec!["HSET seckill:book:7 o2 sold:1:0:alice", "ZREM seckill:hold:7 o2"],
    );
    let copy = Server::with().aof().without_module().data_of(&server).start();
    assert_same(&server, &copy);
}

#[test]
fn events_are_those_of_an_xadd() {
    let setup = ["SECKILL.CREATE 7 9 HOLD 900000", "SECKILL.TRY 7 alice o1"];
    let without = ["HSET seckill:book:7 o1 x", "ZREM seckill:hold:7 o1"];
    let with = [without.as_slice(), &["XADD stream.orders.confirmed * a b"]].concat();
    let confirm = "SECKILL.CONFIRM 7 alice o1";
    assert_like(&setup, confirm, &with);
    let later = [setup.as_slice(), &["XADD stream.orders.confirmed 1-1 a b"]].concat();
    assert_like(&later, confirm, &with);
    let off = [setup.as_slice(), &["CONFIG SET seckill.confirmed-stream no"]].concat();
    assert_like(&off, confirm, &without);
}

#[test]
fn a_stream_that_takes_no_entry_refuses_before_the_first_write() {
    let server = Server::observed().start();
    for (make, code) in [
        ("SET stream.orders.confirmed a".to_owned(), "WRONGTYPE"),
        ("RPUSH stream.orders.confirmed a".to_owned(), "WRONGTYPE"),
        (format!("XADD stream.orders.confirmed {LAST_ID} a b"), "ERR"),
    ] {
        server.run("FLUSHALL");
        server.run("SECKILL.CREATE 7 9 LIMIT 3 HOLD 900000");
        server.run("SECKILL.TRY 7 alice o1 UNITS 2");
        server.run("SECKILL.TRY 7 alice o2");
        server.run("SECKILL.CONFIRM 7 alice o2");
        server.run("DEL stream.orders.confirmed");
        server.run(&make);
        let error = server.refused("SECKILL.CONFIRM 7 alice o1", code);
        if code == "ERR" {
            assert!(error.contains("used up its ids"), "{error}");
            server.run("XTRIM stream.orders.confirmed MAXLEN 0");
            let error = server.refused("SECKILL.CONFIRM 7 alice o1", code);
            assert!(error.contains("used up its ids"), "{error}");
        }
        // Nothing would be appended, so the stream does not matter.
        assert_eq!(server.unchanged("SECKILL.CONFIRM 7 alice o2"), Value::Int(2));
        assert_eq!(server.silent("SECKILL.CONFIRM 7 bob o1"), Value::Int(0));
        server
            .check("> CONFIG SET seckill.confirmed-stream no\nOK\n> SECKILL.CONFIRM 7 alice o1\n1");
        server.run("CONFIG SET seckill.confirmed-stream yes");
    }
}

#[test]
fn a_late_confirmation_needs_no_stream_of_confirmed_orders() {
    let server = Server::start();
    server.check(
        "
        > SET stream.orders.confirmed a
        OK
        > SECKILL.CREATE 7 1 HOLD 20
        OK
        > SECKILL.TRY 7 alice o1
        0
        ",
    );
    server.wait_for_state("7", "o1", "expired");
    server.check("> SECKILL.CONFIRM 7 alice o1\n3\n> SECKILL.TRY 7 bob o2\n0");
}

#[test]
fn a_name_that_is_also_another_keys_is_refused() {
    for (name, value) in [
        ("seckill.stock-prefix", "o.confirmed"),
        ("seckill.buyers-prefix", "o.confirmed"),
        ("seckill.order-stream", "seckill:book:7"),
    ] {
        let server = Server::observed().config("seckill.order-stream o").start();
        let voucher = if value == "o.confirmed" { "''" } else { "7.confirmed" };
        server.call(&["CONFIG", "SET", name, value]);
        server.refused(&format!("SECKILL.CREATE {voucher} 5 HOLD 900000"), "ERR");
    }
}

#[test]
fn a_confirmation_wakes_readers_and_is_one_step_with_its_transaction() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 9 LIMIT 2 HOLD 900000");
    let mut reader = server.client();
    reader.send(&["XREAD", "BLOCK", "0", "STREAMS", "stream.orders.confirmed", "$"]);
    server.check(
        "
        > MULTI
        OK
        > SECKILL.TRY 7 alice o1
        QUEUED
        > SECKILL.CONFIRM 7 alice o1
        QUEUED
        > EXEC
        1) 0
        2) 1
        > SECKILL.TRY 7 alice o2
        0
        > EVAL \"return redis.call('SECKILL.CONFIRM', KEYS[1], ARGV[1], ARGV[2])\" 1 7 alice o2
        1
        ",
    );
    assert_ne!(reader.receive(), Value::Nil);
    assert_eq!(entries(&server, "stream.orders.confirmed"), 2);
}

#[test]
fn what_was_paid_is_confirmed_when_the_memory_is_full() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 9 HOLD 900000");
    server.run("SECKILL.TRY 7 alice o1");
    server.run("CONFIG SET maxmemory 1");
    server.check("> SECKILL.CONFIRM 7 alice o1\n1\n> XLEN stream.orders.confirmed\n1");
}

#[test]
fn a_replica_without_the_module_has_the_same_stream() {
    let primary = Server::with().port().start();
    let replica = Server::with().without_module().replica_of(&primary).start();
    primary.wait_for_replica(&replica);
    primary.run("SECKILL.CREATE 7 40 LIMIT 40 HOLD 900000");
    for order in 0..20 {
        primary.run(&format!("SECKILL.TRY 7 alice o{order}"));
        primary.run(&format!("SECKILL.CONFIRM 7 alice o{order}"));
    }
    primary.wait_for_replica(&replica);
    assert_same(&primary, &replica);
    assert_eq!(entries(&replica, "stream.orders.confirmed"), 20);
}

#[test]
fn in_a_cluster_the_stream_is_in_the_vouchers_slot() {
    let server = whole_cluster();
    for (voucher, tag) in [("7", "{7}"), ("{shop3}:7", "{shop3}")] {
        server.run(&format!("SECKILL.CREATE {voucher} 5 HOLD 900000"));
        server.run(&format!("SECKILL.TRY {voucher} alice o1"));
        assert_eq!(server.run(&format!("SECKILL.CONFIRM {voucher} alice o1")), Value::Int(1));
        assert_eq!(entries(&server, &format!("stream.orders.confirmed:{tag}")), 1);
    }
}

#[test]
fn while_its_slot_is_moved_no_entry_is_written_beside_the_stream() {
    let (source, target) = two_nodes();
    source.check(
        "
        > SECKILL.CREATE {7} 9 LIMIT 9 HOLD 900000
        OK
        > SECKILL.TRY {7} alice o1 UNITS 2
        0
        > SECKILL.TRY {7} alice o2
        0
        > SECKILL.TRY {7} alice o3
        0
        > SECKILL.CONFIRM {7} alice o2
        1
        > SECKILL.CANCEL {7} alice o3
        1
        ",
    );
    let id = |server: &Server| text(&server.run("CLUSTER MYID"));
    let moving = slot(&source, b"7");
    target.run(&format!("CLUSTER SETSLOT {moving} IMPORTING {}", id(&source)));
    source.run(&format!("CLUSTER SETSLOT {moving} MIGRATING {}", id(&target)));
    let migrate = |key: &str| {
        let reply = source.run(&format!("MIGRATE 127.0.0.1 {} {key} 0 5000", target.port()));
        assert_eq!(reply, Value::Okay, "{key}");
    };
    let keys = words(source.run("KEYS *"));
    assert_eq!(keys.len(), 10, "{keys:?}");
    let confirmed = "stream.orders.confirmed:{7}";
    keys.iter().filter(|key| *key != confirmed).for_each(|key| migrate(key));
    // All keys but the stream of confirmed orders have arrived.
    target.check("> ASKING\nOK\n> SECKILL.CONFIRM {7} alice o1\n(error) TRYAGAIN ...");
    assert!(text(&source.run("SECKILL.CONFIRM {7} alice o1")).starts_with("ASK"));
    migrate(confirmed);
    target.check("> ASKING\nOK\n> SECKILL.CONFIRM {7} alice o1\n1");
    for server in [&target, &source] {
        let moved = server.run(&format!("CLUSTER SETSLOT {moving} NODE {}", id(&target)));
        assert_eq!(moved, Value::Okay);
    }
    assert_eq!(entries(&target, confirmed), 2);
    target.assert_book("{7}", [6, 0, 3]);
    source.check("> DBSIZE\n0");
}

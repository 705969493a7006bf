//! SECKILL.MTRY: many tries in one command, on unmanaged and managed vouchers, and the errors that
//! refuse the whole batch.

use crate::cluster::{Move, two_nodes, whole_cluster};
use crate::harness::{Server, text};
use crate::observe::{integer, words};
use crate::replayed::assert_replayed;
use redis::Value;

#[test]
fn tries_see_those_before_them() {
    let server = Server::observed().start();
    server.check(
        "
        > SET seckill:stock:7 3 EXAT 4102444800
        OK
        > SECKILL.MTRY 7 alice o1 bob o2 alice o3
        1) 0
        2) 0
        3) 2
        > SECKILL.MTRY 7 alice o4 carol o5 dave o6 carol o7
        1) 2
        2) 0
        3) 1
        4) 1
        > GET seckill:stock:7
        0
        > EXPIRETIME seckill:stock:7
        4102444800
        > SMISMEMBER seckill:order:7 alice bob carol dave
        1) 1
        2) 1
        3) 1
        4) 0
        > XLEN stream.orders
        3
        ",
    );
    let losers = server.silent("SECKILL.MTRY 7 alice o8 dave o9");
    assert_eq!(losers, Value::Array(vec![Value::Int(1); 2]));
    server.run("SET seckill:stock:7 5");
    let repeats = server.silent("SECKILL.MTRY 7 alice o8 bob o9 alice o10");
    assert_eq!(repeats, Value::Array(vec![Value::Int(2); 3]));
}

#[test]
fn managed_tries_see_those_before_them() {
    let server = Server::observed().start();
    server.check(
        "
        > SECKILL.CREATE 7 4 LIMIT 2 HOLD 900000
        OK
        > SECKILL.MTRY 7 alice o1 alice o1 bob o1 alice o2 alice o3
        1) 0
        2) 0
        3) (error) ORDERID ...
        4) 0
        5) 2
        > SECKILL.CANCEL 7 alice o1
        1
        > SECKILL.MTRY 7 alice o1 bob o4 bob o5 bob o6 carol o7 carol o8
        1) 5
        2) 0
        3) 0
        4) 2
        5) 0
        6) 1
        > HGET seckill:units:7 bob
        2:o5
        > ZCARD seckill:hold:7
        4
        ",
    );
    server.assert_book("7", [0, 4, 0]);
    server.run("SECKILL.ALTER 7 BEGIN 9999999999999");
    server.check("> SECKILL.MTRY 7 zoe o20 alice o2\n1) 3\n2) 0");
    server.run("SECKILL.ALTER 7 BEGIN 0 END 1");
    server.check("> SECKILL.MTRY 7 zoe o20 alice o2\n1) 4\n2) 0");
}

/// Generated ids: one before a batch, those of two tries in a batch of five, and one after it.
fn ids_of(setup: &str, hash_tags: &str, stream: &str) -> [u64; 4] {
    let server = Server::start();
    server.run(&format!("CONFIG SET seckill.hash-tags {hash_tags}"));
    server.run(setup);
    let next = || text(&server.run("SECKILL.NEXTID order")).parse::<u64>().expect("an id");
    let before = next();
    server.check("> SECKILL.MTRY 7 z *\n1) 1) 0\n   2) ...");
    let reply = server.run("SECKILL.MTRY 7 a * b o2 a * c * d *");
    let Value::Array(elements) = reply else { panic!("{reply:?}") };
    let refused = |outcome| Value::Array(vec![Value::Int(outcome), Value::Nil]);
    assert_eq!([&elements[1], &elements[2]], [&Value::Int(0), &refused(2)]);
    assert_eq!(elements[4], refused(1));
    let made = [0, 3].map(|index| {
        let Value::Array(pair) = &elements[index] else { panic!("{elements:?}") };
        assert_eq!(integer(&pair[0]), 0);
        text(&pair[1])
    });
    let entries = format!("{:?}", server.run(&format!("XRANGE {stream} - +")));
    assert!(made.iter().all(|id| entries.contains(id)), "{made:?}: {entries}");
    let [one, two] = made.map(|id| id.parse().expect("an id"));
    [before, one, two, next()]
}

#[test]
fn ids_are_made_for_accepted_tries_only() {
    for setup in ["SET seckill:stock:7 4", "SECKILL.CREATE 7 4"] {
        let ids = ids_of(setup, "auto", "stream.orders");
        assert_eq!(ids.map(|id| id & 0xffff_ffff), [1, 3, 4, 5], "{setup}");
    }
    for setup in ["SET seckill:stock:{7} 4", "SECKILL.CREATE 7 4"] {
        let [_, one, two, _] = ids_of(setup, "yes", "stream.orders:{7}");
        assert_eq!(one + 1, two, "{setup}");
    }
}

#[test]
fn what_refuses_the_command_leaves_no_trace() {
    let server = Server::observed().start();
    let many: String = (0..1025).map(|number| format!(" u{number} o{number}")).collect();
    server.run("SET seckill:stock:7 2000");
    server.refused("SECKILL.MTRY 7 alice o1 bob", "ERR");
    server.check(
        "> SECKILL.MTRY 7 a o b\n(error) ERR wrong number of arguments for 'seckill.mtry' command",
    );
    let error = server.refused(&format!("SECKILL.MTRY 7{many}"), "ERR");
    assert_eq!(error, "ERR at most 1024 pairs of user and orderid are allowed");
    let error = server.refused(&format!("SECKILL.MTRY 7{}", full_of_bytes(1)), "ERR");
    assert_eq!(error, "ERR at most 262144 bytes of users and orderids together are allowed");
    server.refused("SECKILL.MTRY 8 alice o1 bob o2", "NOVOUCHER");
    for (key, code) in [("order", "WRONGTYPE"), ("stock", "ERR")] {
        server.run(&format!("SET seckill:{key}:7 text"));
        server.refused("SECKILL.MTRY 7 alice o1 bob o2", code);
        server.run(&format!("DEL seckill:{key}:7"));
        server.run("SET seckill:stock:7 2000");
    }
    server.run("SET stream.orders text");
    server.refused("SECKILL.MTRY 7 alice o1 bob o2", "WRONGTYPE");
    server.run("DEL stream.orders");
    server.run("XADD stream.orders 18446744073709551615-18446744073709551615 a b");
    server.refused("SECKILL.MTRY 7 alice o1 bob o2", "ERR");
    server.run("DEL stream.orders");
    // The largest batch.
    let all = full_of_bytes(0);
    let Value::Array(answers) = server.run(&format!("SECKILL.MTRY 7{all}")) else { panic!() };
    assert_eq!(answers, vec![Value::Int(0); 1024]);
    server.check("> GET seckill:stock:7\n976\n> XLEN stream.orders\n1024");
}

/// The most pairs, whose names have the most bytes together, and so many more.
fn full_of_bytes(more: usize) -> String {
    let pairs = (0..1024).map(|number| format!(" {number:0>128} {number:0>128}"));
    format!("{}{}", pairs.collect::<String>(), "x".repeat(more))
}

#[test]
fn a_stream_that_is_full_half_way_refuses_the_rest_alone() {
    for setup in ["SET seckill:stock:7 9", "SECKILL.CREATE 7 9 LIMIT 2 HOLD 900000"] {
        let server = Server::with().aof().start();
        server.run(setup);
        server.run("XADD stream.orders 18446744073709551615-18446744073709551613 a b");
        server.check(
            "
            > SECKILL.MTRY 7 a o1 b o2 c o3 a o1 d o4 c o3
            1) 0
            2) 0
            3) (error) ERR the order stream has used up its ids
            4) ...
            5) (error) ERR the order stream has used up its ids
            6) (error) ERR the order stream has used up its ids
            > GET seckill:stock:7
            7
            > SCARD seckill:order:7
            2
            > XLEN stream.orders
            3
            ",
        );
        assert_replayed(&server);
    }
}

#[test]
fn a_full_stream_is_told_before_buyers_of_another_kind() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 9 LIMIT 3");
    server.run("SECKILL.TRY 7 alice o1");
    server.run("DEL stream.orders");
    server.run("XADD stream.orders 18446744073709551615-18446744073709551614 a b");
    server.run("SET seckill:order:7 text");
    // Alice has units, so nobody looks for her among the buyers.
    server.check(
        "
        > SECKILL.MTRY 7 bob o2 alice o3 carol o4 alice o5
        1) (error) WRONGTYPE Operation against a key holding the wrong kind of value
        2) 0
        3) (error) ERR the order stream has used up its ids
        4) (error) ERR the order stream has used up its ids
        > SECKILL.TRY 7 carol o4
        (error) ERR the order stream has used up its ids
        ",
    );
}

#[test]
fn spoiled_fields_refuse_their_own_tries_only() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 9 LIMIT 2");
    server.run("HSET seckill:book:7 bad junk");
    server.run("HSET seckill:units:7 eve junk");
    server.check(
        "
        > SECKILL.MTRY 7 alice o1 alice bad eve o2 bob o3
        1) 0
        2) (error) ERR the records of this voucher can't be read, see SECKILL.AUDIT
        3) (error) ERR the records of this voucher can't be read, see SECKILL.AUDIT
        4) 0
        > GET seckill:stock:7
        7
        ",
    );
}

#[test]
fn outcomes_are_counted_one_by_one() {
    let server = Server::start();
    server.run("SET seckill:stock:7 2");
    server.run("SECKILL.MTRY 7 a o1 a o2 b o3 c o4 d o5");
    server.run("SECKILL.MTRY 7 c o4 d o5");
    server.run("SECKILL.CREATE 8 1");
    server.run("SECKILL.MTRY 8 a o1 a o1 a o2 b o3");
    server.run("SECKILL.ALTER 8 END 1");
    server.run("SECKILL.MTRY 8 z o4 a o1");
    for (name, count) in [
        ("accepted", 3),
        ("sold_out", 5),
        ("at_limit", 2),
        ("repeated", 2),
        ("ended", 1),
        ("not_started", 0),
    ] {
        let field = format!("seckill_tries_{name}");
        assert_eq!(server.info_number(&field), count, "{name}");
    }
}

#[test]
fn an_error_within_a_batch_within_a_script() {
    let server = Server::start();
    server.run("SECKILL.CREATE 8 5");
    let script = "return redis.call('SECKILL.MTRY', KEYS[1], 'a', 'o1', 'b', 'o1')";
    match server.call(&["EVAL", script, "1", "8"]) {
        Value::Array(answers) => {
            assert_eq!(answers[0], Value::Int(0));
            assert!(text(&answers[1]).starts_with("ORDERID "), "{answers:?}");
        }
        // Valkey 9 makes the first error of an array the reply to the whole call.
        error => assert!(text(&error).starts_with("ORDERID"), "{error:?}"),
    }
    server.assert_book("8", [4, 0, 1]);
}

#[test]
fn a_cluster_has_all_keys_of_a_batch_in_one_slot() {
    let server = whole_cluster();
    server.run("SET seckill:stock:{7} 2");
    server.check("> SECKILL.MTRY 7 a o1 b o2 c o3\n1) 0\n2) 0\n3) 1");
    server.check("> SECKILL.CREATE {s}:8 2 HOLD 900000\nOK");
    server.check("> SECKILL.MTRY {s}:8 a o1 b o2 c o3\n1) 0\n2) 0\n3) 1");
    let keys = words(server.run("KEYS *"));
    assert!(keys.iter().all(|key| key.contains("{7}") || key.contains("{s}")), "{keys:?}");
    let reply = text(&server.run("SECKILL.MTRY a}b a o1"));
    assert!(reply.starts_with("ERR voucher must not be empty or contain }"), "{reply}");
}

#[test]
fn a_batch_waits_for_a_slot_that_is_moved() {
    let (source, target) = two_nodes();
    source.check("> SET seckill:stock:{7} 9\nOK\n> SECKILL.MTRY 7 a o1 b o2\n1) 0\n2) 0");
    Move::begin(&source, &target, "7").key("seckill:order:{7}");
    // No key has the voucher's own name, so the source answers ASK or TRYAGAIN and sells nothing.
    let reply = text(&source.run("SECKILL.MTRY 7 a o3 c o4"));
    assert!(reply.starts_with("ASK ") || reply.starts_with("TRYAGAIN "), "{reply}");
    let mut asking = target.client();
    asking.run("ASKING");
    let reply = text(&asking.run("SECKILL.MTRY 7 a o3 c o4"));
    assert!(reply.starts_with("TRYAGAIN "), "{reply}");
    source.check("> GET seckill:stock:{7}\n7\n> XLEN stream.orders:{7}\n2");
}

/// What is wrong with an order of the book concerns the pairs that name it.
#[test]
fn an_overdue_order_that_cannot_be_released_is_an_error_of_its_own_pair() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 9 HOLD 1");
    server.run("SET stream.orders.released text");
    let deadline = server.place_hold("7 alice o1");
    server.wait_until(deadline);
    server.run("SECKILL.ALTER 7 HOLD 900000");
    server.check(
        "
        > SECKILL.MTRY 7 alice o1 bob o2 alice o1
        1) (error) WRONGTYPE Operation against a key holding the wrong kind of value
        2) 0
        3) (error) WRONGTYPE Operation against a key holding the wrong kind of value
        ",
    );
}

//! SECKILL.MTRY: many tries in one command, on unmanaged and managed vouchers, and the errors that
//! refuse the whole batch.

use crate::harness::{Server, text};
use crate::observe::integer;
use redis::Value;

/// Generated ids: one before a batch, those of two tries in a batch of five, and one after it.
fn ids_of(setup: &str, hash_tags: &str, stream: &str) -> [u64; 4] {
    let server = Server::start();
    server.run(&format!("CONFIG SET seckill.hash-tags {hash_tags}"));
    server.run(setup);
    let next = || server.say("SECKILL.NEXTID order").parse::<u64>().expect("an id");
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

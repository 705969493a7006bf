//! What carts write, and where: entries, undo, transactions, keys, clusters.

use crate::carts::{books, codes, three};
use crate::cluster::whole_cluster;
use crate::harness::{Server, text};
use crate::observe::{assert_error, words};
use crate::replayed::assert_replayed;
use redis::Value;

/// The fields of a stream's entries.
fn said(server: &Server, stream: &str) -> Vec<String> {
    let entries = server.run(&format!("XRANGE {stream} - +"));
    let entries: Vec<(String, Vec<String>)> = redis::from_redis_value(entries).expect("entries");
    entries.iter().map(|(_, fields)| fields.join(" ")).collect()
}

#[test]
fn entries_say_how_many_there_are() {
    let server = Server::start();
    three(&server, "");
    server.run("SECKILL.TRYALL b 1 a 2 ann o1");
    server.run("SECKILL.TRYALL c 1 ann o2");
    let said = said(&server, "stream.orders");
    let sales = ["b", "a", "c"].map(|voucher| server.sale_of(voucher));
    let [b, a, c] = &sales;
    assert_eq!(
        said,
        [
            format!("userId ann voucherId b id o1 sale {b} cart 2"),
            format!("userId ann voucherId a id o1 units 2 sale {a} cart 2"),
            format!("userId ann voucherId c id o2 sale {c}"),
        ]
    );
    // What becomes of a part is said as of any order.
    server.check("> SECKILL.CONFIRM b ann o1 REF p1\n2\n> SECKILL.CANCEL a ann o1\n1");
    for stream in ["confirmed", "released"] {
        let entries = format!("{:?}", server.run(&format!("XRANGE stream.orders.{stream} - +")));
        assert!(!entries.contains("cart"), "{entries}");
    }
    let error = server.say("CONFIG SET seckill.order-fields 'user cart id'");
    assert!(error.contains("must not use") && error.contains("cart"), "{error}");
    server.run("CONFIG SET seckill.order-stream ''");
    assert_eq!(codes(&server, "a 1 c 1 bob o3"), [0, 0]);
}

/// A payment is of one voucher's book, so its reference pays a part in each, once.
#[test]
fn one_reference_pays_all_parts() {
    let server = Server::start();
    three(&server, "HOLD 900000");
    server.run("SECKILL.TRYALL a 1 b 2 ann o1");
    server.run("SECKILL.TRY a bob o2");
    for voucher in ["a", "b"] {
        let confirm = format!("SECKILL.CONFIRM {voucher} ann o1 REF p1");
        server.check(&format!("> {confirm}\n1\n> {confirm}\n2"));
    }
    // Not of another order.
    server.check("> SECKILL.CONFIRM a bob o2 REF p1\n(error) REF ...");
    // The units of a part that is released are those that are refunded of the payment.
    server.check("> SECKILL.CANCEL b ann o1\n1");
    books(&server, [[1, 1, 1], [3, 0, 0], [3, 0, 0]]);
    let [a, b] = ["a", "b"].map(|voucher| server.sale_of(voucher));
    for (stream, wanted) in [
        (
            "confirmed",
            vec![
                format!("userId ann voucherId a id o1 sale {a} ref p1 payment first"),
                format!("userId ann voucherId b id o1 units 2 sale {b} ref p1 payment first"),
            ],
        ),
        (
            "released",
            vec![format!(
                "userId ann voucherId b id o1 units 2 sale {b} ref p1 reason cancelled was sold"
            )],
        ),
    ] {
        assert_eq!(said(&server, &format!("stream.orders.{stream}")), wanted, "{stream}");
    }
}

/// The stream takes two of three entries: these are taken back, as are the buyers.
#[test]
fn what_is_refused_late_is_taken_back() {
    let server = Server::with().aof().start();
    three(&server, "HOLD 900000");
    server.run("SECKILL.TRY b ann o0");
    server.run("XTRIM stream.orders MAXLEN 0");
    server.run("XADD stream.orders 18446744073709551615-18446744073709551613 a b");
    let keys = || {
        let mut keys = server.snapshot();
        keys.remove("stream.orders");
        keys
    };
    let before = keys();
    let lines = server.aof_of(|| {
        let reply = server.run("SECKILL.TRYALL a 1 b 1 c 1 ann o1");
        let error = assert_error(&reply, "ERR", "a full stream");
        assert_eq!(error, "ERR the order stream has used up its ids");
    });
    assert_eq!(keys(), before);
    assert_eq!(server.run("XLEN stream.orders"), Value::Int(1));
    let names: Vec<_> =
        lines.iter().map(|line| text(&Value::BulkString(line[0].clone()))).collect();
    let wanted = ["MULTI", "SADD", "SADD", "XADD", "XDEL", "XADD", "XDEL", "SREM", "SREM", "EXEC"];
    assert_eq!(names, wanted);
    books(&server, [[3, 0, 0], [2, 1, 0], [3, 0, 0]]);
    // The id is not burnt.
    server.run("DEL stream.orders");
    assert_eq!(codes(&server, "a 1 b 1 c 1 ann o1"), [0, 0, 0]);
    assert_replayed(&server);
}

#[test]
fn the_buyers_of_the_last_are_no_set() {
    let server = Server::observed().start();
    three(&server, "");
    server.run("SET seckill:order:c x");
    server.refused("SECKILL.TRYALL a 1 b 1 c 1 ann o1", "WRONGTYPE");
    server.run("DEL seckill:order:c");
    server.run("RPUSH stream.orders x");
    server.refused("SECKILL.TRYALL a 1 b 1 ann o1", "WRONGTYPE");
    server.run("DEL stream.orders");
    // No stream yet, and then one for all.
    assert_eq!(codes(&server, "a 1 b 1 c 1 ann o1"), [0, 0, 0]);
    server.check("> XLEN stream.orders\n3");
    // Somebody has added the buyer: taking back would take that, too.
    server.run("SADD seckill:order:a bob");
    assert_eq!(codes(&server, "a 1 b 1 bob o2"), [0, 0]);
    assert!(server.differences("b").is_empty());
}

#[test]
fn carts_in_transactions_and_scripts() {
    let server = Server::start();
    three(&server, "");
    server.run("SECKILL.CREATE sold-out 0");
    let cart = |last: &str| format!("SECKILL.TRYALL a 1 b 1 {last} 1 ann o1");
    let replies = server.transaction(&[&cart("sold-out"), &cart("c"), &cart("c")]);
    let wanted = [[7, 7, 1], [0, 0, 0], [0, 0, 0]];
    assert_eq!(replies, wanted.map(|it| Value::Array(it.map(Value::Int).to_vec())));
    let script = "return redis.call('SECKILL.TRYALL', KEYS[1], 1, KEYS[2], 1, 'bob', 'o2')";
    let reply = server.call(&["EVAL", script, "2", "a", "sold-out"]);
    assert_eq!(reply, Value::Array(vec![Value::Int(7), Value::Int(1)]));
    let reply = server.call(&["EVAL", script, "2", "a", "b"]);
    assert_eq!(reply, Value::Array(vec![Value::Int(0); 2]));
    books(&server, [[1, 0, 2], [1, 0, 2], [2, 0, 1]]);
}

#[test]
fn every_voucher_is_a_key() {
    let server = Server::start();
    three(&server, "");
    let keys = |call: &str| words(server.run(&format!("COMMAND GETKEYS {call}")));
    assert_eq!(keys("SECKILL.TRYALL a 1 user orderid"), ["a"]);
    assert_eq!(keys("SECKILL.TRYALL a 1 b 22 c 3 user orderid"), ["a", "b", "c"]);
    let flags = format!("{:?}", server.run("COMMAND GETKEYSANDFLAGS SECKILL.TRYALL a 1 b 2 u o"));
    assert_eq!(flags.matches("update").count(), 2, "{flags}");
    // Read and write of each.
    server.run("ACL SETUSER bob on >pw ~a ~b %R~c +seckill.tryall");
    let mut bob = server.client();
    bob.check("> AUTH bob pw\nOK");
    for refused in ["a 1 c 1", "c 1 a 1", "a 1 b 1 d 1"] {
        let reply = bob.run(&format!("SECKILL.TRYALL {refused} ann o1"));
        assert!(text(&reply).starts_with("NOPERM"), "{reply:?}");
    }
    books(&server, [[3, 0, 0], [3, 0, 0], [3, 0, 0]]);
    bob.check("> SECKILL.TRYALL a 1 b 1 ann o1\n1) 0\n2) 0");
}

#[test]
fn full_memory_and_replicas_refuse_carts() {
    let primary = Server::with().port().start();
    three(&primary, "");
    primary.check("> SECKILL.TRYALL a 1 b 1 ann o1\n1) 0\n2) 0");
    primary.run("CONFIG SET maxmemory 1");
    for articles in ["a 1 b 1 bob o2", "a 1 b 1 ann o1"] {
        let reply = primary.say(&format!("SECKILL.TRYALL {articles}"));
        assert!(reply.starts_with("OOM"), "{reply}");
    }
    primary.run("CONFIG SET maxmemory 0");
    let replica = Server::with().config("replica-read-only no").replica_of(&primary).start();
    primary.wait_for_replica(&replica);
    let digest = replica.digest();
    for articles in ["a 1 b 1 bob o2", "a 9 b 1 bob o2", "a 1 b 1 ann o1"] {
        let reply = replica.say(&format!("SECKILL.TRYALL {articles}"));
        let wanted = "READONLY this is a replica, and only its primary sells managed vouchers";
        assert_eq!(reply, wanted, "{articles}");
    }
    assert_eq!(replica.digest(), digest);
}

#[test]
fn vouchers_of_a_cart_are_in_one_slot() {
    let server = whole_cluster();
    server.check(
        "
        > SECKILL.CREATE {s}1 3 => OK
        > SECKILL.CREATE {s}2 3 => OK
        > SECKILL.CREATE 3 3 => OK
        > SECKILL.TRYALL {s}1 1 3 1 ann o1 => (error) CROSSSLOT ...
        ",
    );
    assert_eq!(codes(&server, "{s}1 1 {s}2 1 ann o1"), [0, 0]);
    for voucher in ["{s}1", "{s}2"] {
        server.assert_book(voucher, [2, 0, 1]);
    }
    server.assert_book("3", [3, 0, 0]);
}

#[test]
fn a_sale_that_came_key_by_key_is_refused() {
    let server = Server::start();
    three(&server, "");
    server.run("SECKILL.TRY b ann o0");
    server.run("RENAME seckill:stock:b x");
    server.run("RENAME seckill:voucher:b y");
    server.run("RENAME y seckill:voucher:b");
    assert_error(&server.run("SECKILL.TRYALL a 1 b 1 ann o1"), "INCOMPLETE", "a sale");
    // Before the errors of articles.
    assert_error(&server.run("SECKILL.TRYALL none 1 b 1 ann o1"), "INCOMPLETE", "a sale");
    server.run("RENAME x seckill:stock:b");
    assert_eq!(codes(&server, "a 1 b 1 ann o1"), [0, 0]);
}

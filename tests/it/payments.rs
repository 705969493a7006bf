//! References of payments: SECKILL.CONFIRM with REF.

use crate::effects::assert_transaction;
use crate::harness::Server;
use crate::managed_effects::written;
use crate::reject::entries;
use redis::Value;

const CREATE: &str = "SECKILL.CREATE 7 9 LIMIT 5 HOLD 900000";

/// A server with the held order o1 of alice.
fn held() -> Server {
    let server = Server::observed().start();
    server.run(CREATE);
    server.check("> SECKILL.TRY 7 alice o1\n0");
    server
}

/// The reference in the reply of ORDER.
fn reference(server: &Server, id: &str) -> Option<Vec<u8>> {
    let Value::Array(mut pairs) = server.run(&format!("SECKILL.ORDER 7 {id}")) else {
        panic!("no order")
    };
    redis::from_redis_value(pairs.swap_remove(9)).expect("a reference or none")
}

/// The value of a field of a stream's last entry.
fn last_of(server: &Server, stream: &str, field: &str) -> Option<Vec<u8>> {
    let (_, fields) = entries(server, stream).pop().expect("an entry");
    fields.chunks(2).find(|pair| pair[0] == field.as_bytes()).map(|pair| pair[1].clone())
}

#[test]
fn an_order_is_paid_under_one_reference() {
    let server = held();
    assert_eq!(reference(&server, "o1"), None);
    server.check("> SECKILL.CONFIRM 7 alice o1 REF pay-1\n1");
    assert_eq!(reference(&server, "o1"), Some(b"pay-1".to_vec()));
    assert_eq!(last_of(&server, "stream.orders.confirmed", "ref"), Some(b"pay-1".to_vec()));
    // Retries of a client that got no answer, and of one that gives no reference.
    for again in ["SECKILL.CONFIRM 7 alice o1 REF pay-1", "seckill.confirm 7 alice o1"] {
        let (reply, line) = server.replicated_again(again);
        assert_eq!(
            (reply, line.as_str()),
            (Value::Int(2), "HSET seckill:book:7 o1 sold:1:ref5:pay-1:alice")
        );
    }
    server.refused("SECKILL.CONFIRM 7 alice o1 REF pay-2", "PAID");
    server.refused("SECKILL.CONFIRM 7 alice o1 REF PAY-1", "PAID");
    // Another user learns nothing of the order.
    assert_eq!(server.silent("SECKILL.CONFIRM 7 bob o1 REF pay-2"), Value::Int(0));
    assert_eq!(reference(&server, "o1"), Some(b"pay-1".to_vec()));
    server.check("> XLEN stream.orders.confirmed\n1\n> SECKILL.TRY 7 alice o1\n0");
    server.assert_book("7", [8, 0, 1]);
    server.assert_reload_changes_nothing();
}

#[test]
fn an_order_sold_without_a_reference_takes_the_first() {
    let server = held();
    server.check("> SECKILL.CONFIRM 7 alice o1\n1");
    assert_eq!(last_of(&server, "stream.orders.confirmed", "ref"), None);
    server.check("> SECKILL.CONFIRM 7 alice o1 REF pay-1\n2");
    assert_eq!(reference(&server, "o1"), Some(b"pay-1".to_vec()));
    server.refused("SECKILL.CONFIRM 7 alice o1 REF pay-2", "PAID");
    // The order was confirmed before: there is no second entry.
    server.check("> XLEN stream.orders.confirmed\n1");
    // An order that the try itself has sold.
    server.check("> SECKILL.ALTER 7 HOLD 0\nOK\n> SECKILL.TRY 7 bob o2 UNITS 2\n0");
    server.check("> SECKILL.CONFIRM 7 bob o2 REF pay-3\n2\n> XLEN stream.orders.confirmed\n1");
    server.refused("SECKILL.CONFIRM 7 bob o2 REF pay-4", "PAID");
    server.assert_book("7", [6, 0, 3]);
}

/// A refund needs the payment to which it belongs.
#[test]
fn a_released_order_keeps_its_reference() {
    let server = held();
    server.check("> SECKILL.CONFIRM 7 alice o1 REF pay-1\n1\n> SECKILL.CANCEL 7 alice o1\n1");
    assert_eq!(last_of(&server, "stream.orders.released", "ref"), Some(b"pay-1".to_vec()));
    assert_eq!(last_of(&server, "stream.orders.released", "was"), Some(b"sold".to_vec()));
    assert_eq!(reference(&server, "o1"), Some(b"pay-1".to_vec()));
    server.check("> SECKILL.CONFIRM 7 alice o1 REF pay-1\n3\n> SECKILL.TRY 7 alice o1\n5");
    server.assert_book("7", [9, 0, 0]);
    // An order that was never paid has no reference.
    server.check("> SECKILL.TRY 7 alice o2\n0\n> SECKILL.CANCEL 7 alice o2\n1");
    assert_eq!(last_of(&server, "stream.orders.released", "ref"), None);
    // Too late: the payment must be refunded, and the order is not sold.
    server.check("> SECKILL.CONFIRM 7 alice o2 REF pay-2\n3");
    assert_eq!(reference(&server, "o2"), None);
}

#[test]
fn a_reference_may_be_any_bytes() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 7 99 LIMIT 99 HOLD 900000");
    let longest = vec![b':'; 512];
    let references: [&[u8]; 7] = [b":", b"a:b", b"\0", b"\xff\r\n", b"ref5:", b"12", &longest];
    for (number, reference) in references.into_iter().enumerate() {
        let id = format!("o{number}");
        let user: &[u8] = if number % 2 == 0 { b"a:b\0" } else { b"" };
        let ours =
            |command: &[&[u8]]| server.call(&[command, &[b"7", user, id.as_bytes()]].concat());
        assert_eq!(ours(&[b"SECKILL.TRY"]), Value::Int(0));
        let confirm = |reference: &[u8]| {
            server.call(&[b"SECKILL.CONFIRM", &b"7"[..], user, id.as_bytes(), b"REF", reference])
        };
        assert_eq!(confirm(reference), Value::Int(1));
        assert_eq!(confirm(reference), Value::Int(2));
        assert!(matches!(confirm(b"another"), Value::ServerError(_)));
        assert_eq!(self::reference(&server, &id).as_deref(), Some(reference));
        assert_eq!(last_of(&server, "stream.orders.confirmed", "ref").as_deref(), Some(reference));
        assert_eq!(ours(&[b"SECKILL.CANCEL"]), Value::Int(1));
        assert_eq!(last_of(&server, "stream.orders.released", "ref").as_deref(), Some(reference));
    }
    server.assert_book("7", [99, 0, 0]);
}

#[test]
fn a_reference_is_given_once_and_is_something() {
    let server = held();
    for wrong in ["REF", "REF ''", "REF a REF a", "REF a b", "a", "REF a SALE", "IF held"] {
        server.refused(&format!("SECKILL.CONFIRM 7 alice o1 {wrong}"), "ERR");
    }
    let error =
        server.refused(&format!("SECKILL.CONFIRM 7 alice o1 REF {}", "r".repeat(513)), "ERR");
    assert_eq!(error, "ERR reference must be at most 512 bytes long");
    let sale = server.sale_of("7");
    server.check(&format!("> SECKILL.CONFIRM 7 alice o1 SALE {sale} REF pay-1\n1"));
}

#[test]
fn what_a_reference_writes() {
    let server = Server::with().aof().start();
    server.run(CREATE);
    server.check("> SECKILL.TRY 7 alice o1 UNITS 2\n0\n> SECKILL.TRY 7 bob o2\n0");
    assert_transaction(
        written(&server, "SECKILL.CONFIRM 7 alice o1 REF pay-1"),
        vec![
            "XADD stream.orders.confirmed ID userId alice voucherId 7 id o1 units 2 sale SALE \
             ref pay-1",
            "HSET seckill:book:7 o1 sold:2:ref5:pay-1:alice",
            "ZREM seckill:hold:7 o1",
            "DEL seckill:extra:7",
        ],
    );
    server.run("SECKILL.CONFIRM 7 bob o2");
    assert_eq!(
        written(&server, "SECKILL.CONFIRM 7 bob o2 REF pay-2"),
        ["HSET seckill:book:7 o2 sold:1:ref5:pay-2:bob"]
    );
    assert_transaction(
        written(&server, "SECKILL.CANCEL 7 alice o1"),
        vec![
            "XADD stream.orders.released ID userId alice voucherId 7 id o1 units 2 sale SALE \
             ref pay-1 reason cancelled was sold",
            "HSET seckill:book:7 o1 cancelled:2:ref5:pay-1:alice",
            "HDEL seckill:units:7 alice",
            "SREM seckill:order:7 alice",
            "INCRBY seckill:stock:7 2",
        ],
    );
}

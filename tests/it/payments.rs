//! References of payments: SECKILL.CONFIRM with REF. And orders that keep a part.

use crate::harness::Server;
use crate::reject::{entries, last_of};
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

/// What is announced of payments: reference and what it is to its order.
fn announced(server: &Server) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let all = entries(server, "stream.orders.confirmed").into_iter().map(|(_, fields)| {
        let value = |name: &str| {
            let mut pairs = fields.chunks(2);
            pairs
                .find(|pair| pair[0] == name.as_bytes())
                .map_or_else(String::new, |it| text(&it[1]))
        };
        (value("ref"), value("payment"))
    });
    all.collect()
}

fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter().map(|(reference, payment)| (reference.to_string(), payment.to_string())).collect()
}

#[test]
fn each_payment_is_recorded_once_and_answered_alike() {
    let server = held();
    assert_eq!(reference(&server, "o1"), None);
    server.check("> SECKILL.CONFIRM 7 alice o1 REF pay-1\n1");
    assert_eq!(reference(&server, "o1"), Some(b"pay-1".to_vec()));
    let sale = server.sale_of("7");
    for (request, answer, payment) in [
        ("alice o1 REF pay-1", 2, "pay-1 first"),
        ("alice o1 REF pay-2", 5, "pay-2 second"),
        ("alice o1 REF pay-2", 5, "pay-2 second"),
        // Another user learns nothing of the order.
        ("bob o1 REF pay-3", 0, "pay-3 unknown"),
        ("alice o9 REF pay-4", 0, "pay-4 unknown"),
    ] {
        server.check(&format!("> SECKILL.CONFIRM 7 {request}\n{answer}"));
        let (reference, outcome) = payment.split_once(' ').expect("two words");
        let id = request.split(' ').nth(1).expect("an order");
        server.check(&format!("> HGET seckill:payments:7 {reference}\n{outcome}:{sale}:{id}"));
        // A client that got no answer asks again, and waits for the replicas.
        let (reply, line) = server.replicated_again(&format!("SECKILL.CONFIRM 7 {request}"));
        let wanted = format!("HSET seckill:payments:7 {reference} {outcome}:SALE:{id}");
        assert_eq!((reply, line), (Value::Int(answer), wanted));
    }
    let (reply, line) = server.replicated_again("seckill.confirm 7 alice o1");
    let again = "HSET seckill:book:7 o1 sold:1:0,ref5:pay-1:alice";
    assert_eq!((reply, line.as_str()), (Value::Int(2), again));
    let once =
        [("pay-1", "first"), ("pay-2", "second"), ("pay-3", "unknown"), ("pay-4", "unknown")];
    assert_eq!(announced(&server), pairs(&once));
    assert_eq!(server.info_number("seckill_payments_to_refund"), 3);
    server.check("> SECKILL.TRY 7 alice o1\n0");
    server.assert_book("7", [8, 0, 1]);
    server.assert_reload_changes_nothing();
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
        assert_eq!(self::reference(&server, &id).as_deref(), Some(reference));
        assert_eq!(last_of(&server, "stream.orders.confirmed", "ref").as_deref(), Some(reference));
        let another = [b"another".as_slice(), id.as_bytes()].concat();
        assert_eq!(confirm(&another), Value::Int(5));
        assert_eq!(ours(&[b"SECKILL.CANCEL"]), Value::Int(1));
        assert_eq!(last_of(&server, "stream.orders.released", "ref").as_deref(), Some(reference));
    }
    server.assert_book("7", [99, 0, 0]);
}

#[test]
fn an_order_keeps_a_part() {
    let server = Server::observed().start();
    server
        .check("> SECKILL.CREATE 7 9 LIMIT 5 HOLD 900000\nOK\n> SECKILL.TRY 7 alice o1 UNITS 5\n0");
    server.check("> SECKILL.CANCEL 7 alice o1 KEEP 3\n1");
    server.assert_book("7", [6, 3, 0]);
    // What is to be left is named, so a repeat releases nothing.
    for kept in [3, 4, 9] {
        let request = format!("SECKILL.CANCEL 7 alice o1 KEEP {kept}");
        let (reply, line) = server.replicated_again(&request);
        assert_eq!((reply, line.ends_with(",asked5:alice")), (Value::Int(2), true), "{line}");
    }
    // The limit counts what is kept; the try is still the one for five.
    server.check("> SECKILL.TRY 7 alice o2 UNITS 2\n0\n> SECKILL.TRY 7 alice o3\n2");
    server.check("> SECKILL.TRY 7 alice o1 UNITS 5\n0");
    let units = ["units", "asked"].map(|field| server.field("SECKILL.ORDER 7 o1", field));
    assert_eq!(units, [3, 5].map(Value::Int));
    server.refused("SECKILL.TRY 7 alice o1 UNITS 3", "ORDERID");
    server.check("> SECKILL.CONFIRM 7 alice o1\n1\n> SECKILL.CANCEL 7 alice o1 KEEP 1 IF held\n3");
    server.check("> SECKILL.CANCEL 7 alice o1 IF sold KEEP 1\n1");
    server.assert_book("7", [6, 2, 1]);
    assert_eq!(server.silent("SECKILL.CANCEL 7 bob o1 KEEP 1"), Value::Int(0));
    server.check("> SECKILL.CANCEL 7 alice o1\n1\n> SECKILL.CANCEL 7 alice o1 KEEP 1\n2");
    server.assert_book("7", [7, 2, 0]);
    for wrong in ["KEEP 0", "KEEP -1", "KEEP x", "KEEP", "KEEP 1 KEEP 1"] {
        server.refused(&format!("SECKILL.CANCEL 7 alice o2 {wrong}"), "ERR");
    }
    server.check("> SET seckill:stock:8 1\nOK\n> SECKILL.TRY 8 alice o1\n0");
    server.refused("SECKILL.CANCEL 8 alice o1 KEEP 1", "NOVOUCHER");
    server.assert_reload_changes_nothing();
}

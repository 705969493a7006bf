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
        ("alice o1 REF pay-1", 2, "first"),
        ("alice o1 REF pay-2", 5, "duplicate"),
        ("alice o1 REF pay-2", 5, "duplicate"),
        // Another user learns nothing of the order.
        ("bob o1 REF pay-3", 0, "unmatched"),
        ("alice o9 REF pay-4", 0, "unmatched"),
    ] {
        server.check(&format!("> SECKILL.CONFIRM 7 {request}\n{answer}"));
        let words: Vec<_> = request.split(' ').collect();
        let [user, id, _, reference] = words[..] else { panic!("{request}") };
        let of = |sale: &str| format!("{payment}:{sale},user{}:{user}:{id}", user.len());
        server.check(&format!("> HGET seckill:payments:7 {reference}\n{}", of(&sale.to_string())));
        // A client that got no answer asks again, and waits for the replicas.
        let (reply, line) = server.replicated_again(&format!("SECKILL.CONFIRM 7 {request}"));
        let wanted = format!("HSETNX seckill:payments:7 {reference} {}", of("SALE"));
        assert_eq!((reply, line), (Value::Int(answer), wanted));
    }
    let (reply, line) = server.replicated_again("seckill.confirm 7 alice o1");
    let again = "HSETNX seckill:book:7 o1 sold:1:0,ref5:pay-1:alice";
    assert_eq!((reply, line.as_str()), (Value::Int(2), again));
    let once = [
        ("pay-1", "first"),
        ("pay-2", "duplicate"),
        ("pay-3", "unmatched"),
        ("pay-4", "unmatched"),
    ];
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
    let longest = vec![b':'; 128];
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

/// A record of an earlier version has no user: the book has it, while the sale is on.
#[test]
fn records_of_an_earlier_version_are_read() {
    let server = held();
    server.check("> SECKILL.CONFIRM 7 alice o1 REF pay-1\n1");
    let sale = server.sale_of("7");
    let long = "x".repeat(129);
    for (reference, outcome) in [("pay-1", "first"), (&long, "late"), ("pay-3", "unmatched")] {
        server.call(&["HSET", "seckill:payments:7", reference, &format!("{outcome}:{sale}:o1")]);
    }
    server.check("> SECKILL.CONFIRM 7 alice o1 REF pay-1\n2");
    server.refused("SECKILL.CONFIRM 7 bob o1 REF pay-1", "REF");
    server.check(&format!("> SECKILL.CONFIRM 7 alice o1 REF {long}\n3"));
    let error = server.refused(&format!("SECKILL.CONFIRM 7 alice o1 REF y{long}"), "ERR");
    assert_eq!(error, "ERR reference must be at most 128 bytes long");
    server.check("> SECKILL.CONFIRM 7 alice o1 REF pay-3\n5\n> SECKILL.DROP 7\n1");
    server.check("> DEL seckill:last:7\n1\n> SECKILL.CONFIRM 7 bob o1 REF pay-1\n2");
}

/// A payment that comes when its sale is gone is recorded, but not by a wrong server.
#[test]
fn a_payment_without_a_sale_is_unknown() {
    let server = held();
    let sale = server.sale_of("7");
    server.check("> SECKILL.DROP 7 FORCE => 1\n> SECKILL.CONFIRM 7 alice o1 REF pay-1 => 0");
    server.check("> SECKILL.CONFIRM 7 alice o1 REF pay-2 SALE 5 => 0");
    server.check(&format!("> HGET seckill:payments:7 pay-1 => unmatched:{sale},user5:alice:o1"));
    server.check("> HGET seckill:payments:7 pay-2 => unmatched:5,user5:alice:o1");
    server.refused("SECKILL.CONFIRM 7 alice o1", "NOVOUCHER");
    server.refused("SECKILL.CONFIRM 8 alice o1 REF pay-1 SALE 5", "NOVOUCHER");
}

/// What pays is recorded though memory is full; what would only be kept comes again later.
#[test]
fn a_payment_that_pays_nothing_is_refused_while_memory_is_full() {
    let server = held();
    server.check("> SECKILL.CONFIRM 7 dan none REF old\n0\n> CONFIG SET maxmemory 1\nOK");
    // Redis 8.10 takes no subscriber then, so events are not recorded.
    for kept in ["dan none REF a1", "alice o1 REF a2 REFUND"] {
        let before = server.digest();
        let error = server.say(&format!("SECKILL.CONFIRM 7 {kept}"));
        assert!(error.starts_with("OOM memory is full, and this payment pays no order"), "{error}");
        assert_eq!(server.digest(), before, "{kept}");
    }
    server.check("> SECKILL.CONFIRM 7 dan none REF old\n0\n> SECKILL.CONFIRM 7 alice o1 REF a\n1");
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
    // The try is still the one for five.
    server.check("> SECKILL.TRY 7 alice o1 UNITS 5\n0");
    let units = ["units", "asked"].map(|field| server.field("SECKILL.ORDER 7 o1", field));
    assert_eq!(units, [3, 5].map(Value::Int));
    server.check("> SECKILL.CONFIRM 7 alice o1\n1\n> SECKILL.CANCEL 7 alice o1 KEEP 1 IF held\n3");
    server.check("> SECKILL.CANCEL 7 alice o1 IF sold KEEP 1\n1");
    server.assert_book("7", [8, 0, 1]);
    server.refused("SECKILL.CANCEL 7 alice o1 KEEP 0", "ERR");
    server.assert_reload_changes_nothing();
}

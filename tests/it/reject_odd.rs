//! SECKILL.REJECT on unusual entries and keys: what is refused, and that a refusal changes nothing.

use crate::harness::Server;
use crate::observe::integer;
use crate::reject::{appended, deliver, entries, letter, nothing_to_reject, ordered, rejected};
use redis::Value;

/// A server with a pending order of voucher 7, and the command that rejects it.
fn waiting(make: &str) -> (Server, String) {
    let server = Server::observed().start();
    server.run(make);
    let id = ordered(&server, "SECKILL.TRY 7 alice o1");
    (server, format!("SECKILL.REJECT stream.orders g {id}"))
}

const MANAGED: &str = "SECKILL.CREATE 7 5 HOLD 900000";
const UNMANAGED: &str = "SET seckill:stock:7 5";

#[test]
fn arguments_are_checked_first() {
    let server = Server::observed().start();
    server.check("> SET stream.orders a\nOK");
    for id in ["''", "-", "+", "*", "$", ">", "1-", "-1", "1-*", "abc", "1-2-3", "(1-0", "1.5"] {
        server.refused(&format!("SECKILL.REJECT stream.orders g {id}"), "ERR");
    }
    for id in ["18446744073709551616", "0-18446744073709551616", "99999999999999999999-0"] {
        server.refused(&format!("SECKILL.REJECT stream.orders g {id}"), "ERR");
    }
    for rest in ["REASON", "WHY a", "REASON a b", "REASON a REASON b", "a"] {
        server.refused(&format!("SECKILL.REJECT stream.orders g 1-1 {rest}"), "ERR");
    }
}

#[test]
fn there_must_be_a_stream_and_a_group() {
    let server = Server::observed().start();
    server.refused("SECKILL.REJECT none g 1-1", "NOGROUP");
    server.run("XADD stream.orders 1-1 a b");
    server.refused("SECKILL.REJECT stream.orders g 1-1", "NOGROUP");
    server.refused("SECKILL.REJECT stream.orders '' 1-1", "NOGROUP");
    for make in ["SET other a", "RPUSH other a", "SADD other a", "HSET other a b", "ZADD other 1 a"]
    {
        server.run(make);
        server.refused("SECKILL.REJECT other g 1-1", "WRONGTYPE");
        server.run("DEL other");
    }
}

#[test]
fn an_entry_that_is_gone_is_an_error() {
    for gone in ["XDEL stream.orders ID", "XTRIM stream.orders MAXLEN 0"] {
        let (server, reject) = waiting(MANAGED);
        let (id, _) = entries(&server, "stream.orders").pop().expect("an entry");
        server.run(&gone.replace("ID", &id));
        server.refused(&reject, "NOENTRY");
        server.check(&format!("> XACK stream.orders g {id}\n1"));
        nothing_to_reject(&server, &reject);
        server.assert_book("7", [4, 1, 0]);
    }
}

#[test]
fn half_an_id_is_one_that_ends_in_zero() {
    let server = Server::observed().start();
    for id in ["5-0", "5-1", "6-0"] {
        server.run(&format!("XADD s {id} a b"));
    }
    deliver(&server, "s");
    server.check("> SECKILL.REJECT s g 5\n1\n> SECKILL.REJECT s g 06-00\n1");
    assert_eq!(letter(&server, "s.dlq", "dlqId"), "6-0");
    nothing_to_reject(&server, "SECKILL.REJECT s g 5-0");
    server.check("> XPENDING s g - + 9\n1) 1) \"5-1\"\n   2) \"c\"\n   3) ...\n   4) 1");
}

#[test]
fn a_reason_is_any_text_kept_up_to_its_bound() {
    let server = Server::observed().start();
    let reject = |reason: &[u8]| {
        let id = appended(&server, "s", "a b");
        let command = [b"SECKILL.REJECT", "s".as_bytes(), b"g", id.as_bytes(), b"reason", reason];
        server.call(&command)
    };
    let (kept, long) = ([b'x'; 1024], [b'x'; 65_537]);
    for (reason, wanted) in [
        (b"".as_slice(), b"".as_slice()),
        (b"\0\xff\r\n%s", b"\0\xff\r\n%s"),
        (b"REASON", b"REASON"),
        (&kept, &kept),
        // The beginning of a longer one is kept, so that nobody fills the memory by reasons.
        (&long, &kept),
    ] {
        assert_eq!(reject(reason), Value::Int(1), "{}", reason.escape_ascii());
        let (_, fields) = entries(&server, "s.dlq").pop().expect("a letter");
        assert_eq!(fields[10..12], [b"dlqReason", wanted], "{}", reason.escape_ascii());
    }
    let last_reason = || letter(&server, "s.dlq", "dlqReason");
    let id = appended(&server, "s", "a b");
    server.check(&format!("> SECKILL.REJECT s g {id}\n1"));
    assert_eq!(last_reason(), "unspecified");
    // And none while memory is full.
    let id = appended(&server, "s", "a b");
    server.check("> CONFIG SET maxmemory 1\nOK");
    server.check(&format!("> SECKILL.REJECT s g {id} REASON why\n1"));
    assert_eq!(last_reason(), "unspecified");
}

#[test]
fn who_had_the_entry_does_not_matter() {
    let server = Server::observed().start();
    server.run(MANAGED);
    let id = ordered(&server, "SECKILL.TRY 7 alice o1");
    server.run(&format!("XCLAIM stream.orders g other 0 {id}"));
    server.run(&format!("XCLAIM stream.orders g third 0 {id}"));
    // Another group has its own list of pending entries.
    server.check("> XGROUP CREATE stream.orders h 0\nOK");
    server.run("XREADGROUP GROUP h c STREAMS stream.orders >");
    assert_eq!(rejected(&server, &id), "rejected");
    assert_eq!(letter(&server, "stream.orders.dlq", "dlqDeliveries"), "3");
    server.check(&format!("> SECKILL.REJECT stream.orders h {id}\n1"));
    assert_eq!(letter(&server, "stream.orders.dlq", "dlqOrder"), "released");
    assert_eq!(letter(&server, "stream.orders.dlq", "dlqGroup"), "h");
    server.assert_book("7", [5, 0, 0]);
    server.check("> XLEN stream.orders.released\n1\n> XLEN stream.orders.dlq\n2");
}

#[test]
fn spoiled_keys_are_refused_before_anything_changes() {
    let last = "18446744073709551615-18446744073709551615";
    let used_up = |stream: &str| format!("XADD {stream} {last} a b");
    let (dlq, released) = (used_up("stream.orders.dlq"), used_up("stream.orders.released"));
    let both = [
        ("SET stream.orders.dlq a", "WRONGTYPE"),
        ("SET stream.orders.released a", "WRONGTYPE"),
        (dlq.as_str(), "ERR"),
        (&released, "ERR"),
        ("SET seckill:stock:7 x", "ERR"),
        ("SET seckill:voucher:7 {}", "ERR"),
    ];
    let managed =
        [("HSET seckill:book:7 o1 garbled", "ERR"), ("HSET seckill:units:7 alice x", "ERR")];
    let others = ["stock", "order", "voucher", "book", "units", "hold"];
    for (make, rows) in [(MANAGED, [&both[..], &managed].concat()), (UNMANAGED, both.to_vec())] {
        for (spoil, code) in rows {
            let (server, reject) = waiting(make);
            server.run(spoil);
            server.refused(&reject, code);
            if spoil.starts_with("XADD") {
                // A stream that has used up its ids and has no entries.
                let stream = spoil.split(' ').nth(1).expect("a stream");
                server.check(&format!("> XTRIM {stream} MAXLEN 0\n1"));
                server.refused(&reject, code);
                server.run(&format!("DEL {stream}"));
                server.check(&format!("> {reject}\n1"));
            }
        }
        for kind in &others[..if make == MANAGED { 6 } else { 3 }] {
            let (server, reject) = waiting(make);
            server.run(&format!("DEL seckill:{kind}:7"));
            server.run(&format!("RPUSH seckill:{kind}:7 a"));
            server.refused(&reject, "WRONGTYPE");
        }
    }
    let (server, reject) = waiting(UNMANAGED);
    server.run("SET seckill:stock:7 9223372036854775807");
    server.refused(&reject, "ERR");
}

#[test]
fn a_stock_is_raised_by_the_book_and_never_made() {
    // If there is a book, it counts, and not what another client wrote into the entry.
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 7 9 LIMIT 5");
    server.check("> SECKILL.TRY 7 alice o1 UNITS 2\n0\n> SECKILL.TRY 7 bob o2 UNITS 2\n0");
    let sale = server.sale_of("7");
    let fields = format!("userId alice voucherId 7 id o1 units 5 sale {sale}");
    let forged = appended(&server, "stream.orders", &fields);
    assert_eq!(rejected(&server, &forged), "rejected");
    server.assert_book("7", [7, 0, 2]);
    // The stock never exceeds the total.
    server.check("> SET seckill:stock:7 8\nOK");
    let id =
        appended(&server, "stream.orders", &format!("userId bob voucherId 7 id o2 sale {sale}"));
    assert_eq!(rejected(&server, &id), "rejected");
    server.assert_book("7", [9, 0, 0]);
    for make in [MANAGED, UNMANAGED] {
        let (server, reject) = waiting(make);
        server.check(&format!("> DEL seckill:stock:7\n1\n> {reject}\n1"));
        server.check("> EXISTS seckill:stock:7 seckill:order:7\n0");
        assert_eq!(letter(&server, "stream.orders.dlq", "dlqOrder"), "rejected");
    }
    let server = Server::with().config("seckill.unlimited-stock yes").start();
    server.run("SET seckill:stock:7 -1");
    let id = ordered(&server, "SECKILL.TRY 7 alice o1 UNITS 3");
    server.check(&format!("> SECKILL.REJECT stream.orders g {id}\n1\n> GET seckill:stock:7\n-1"));
    server.check("> EXISTS seckill:order:7\n0");
}

#[test]
fn dead_letters_and_give_backs_can_be_rejected_too() {
    let server = Server::observed().start();
    server.run(UNMANAGED);
    let id = ordered(&server, "SECKILL.TRY 7 alice o1");
    assert_eq!(rejected(&server, &id), "rejected");
    server.check("> SECKILL.TRY 7 alice o2\n0");
    // Both entries report an order that was released, and do not affect the new order.
    for (stream, fields) in [("stream.orders.released", 8), ("stream.orders.dlq", 18)] {
        let id = deliver(&server, stream).pop().expect("an entry");
        let command = format!("SECKILL.REJECT {stream} g {id} REASON again");
        server.check(&format!("> {command}\n1"));
        nothing_to_reject(&server, &command);
        let (_, letter) = entries(&server, &format!("{stream}.dlq")).pop().expect("a letter");
        assert_eq!(letter.len(), fields + 12);
        let last = letter[fields..].iter().map(|word| String::from_utf8_lossy(word));
        let wanted = ["dlqStream", stream, "dlqGroup", "g", "dlqId", &id];
        assert_eq!(last.take(6).collect::<Vec<_>>(), wanted);
    }
    server.check("> GET seckill:stock:7\n4\n> SMEMBERS seckill:order:7\n1) alice");
    // An order in the stream of releases: acknowledged and appended to in one step.
    let id = appended(&server, "stream.orders.released", "userId alice voucherId 7 id o2");
    server.check(&format!("> SECKILL.REJECT stream.orders.released g {id}\n1"));
    assert_eq!(letter(&server, "stream.orders.released.dlq", "dlqOrder"), "rejected");
    server.check("> GET seckill:stock:7\n5\n> XLEN stream.orders.released\n3");
    assert_eq!(integer(&server.run("XLEN stream.orders")), 2);
}

#[test]
fn names_are_those_of_the_configuration() {
    let server = Server::observed()
        .config("seckill.order-stream s")
        .config("seckill.order-fields 'buyer item order'")
        .start();
    server.run(MANAGED);
    server.check("> SECKILL.TRY 7 alice o1\n0\n> SECKILL.TRY 7 bob o2\n0");
    let ids = deliver(&server, "s");
    server.check(&format!("> SECKILL.REJECT s g {}\n1\n> XLEN s.released\n1", ids[0]));
    server.assert_book("7", [4, 1, 0]);
    // Entries with the old field names are no longer orders.
    server.check("> CONFIG SET seckill.order-fields 'userId voucherId id'\nOK");
    server.check(&format!("> SECKILL.REJECT s g {}\n1", ids[1]));
    assert_eq!(letter(&server, "s.dlq", "dlqOrder"), "unknown");
    server.assert_book("7", [4, 1, 0]);
    // Without a stream of orders there is no stream of releases, but there are dead letters.
    server.check("> CONFIG SET seckill.order-stream ''\nOK");
    let id = appended(
        &server,
        "any",
        &format!("userId bob voucherId 7 id o2 sale {}", server.sale_of("7")),
    );
    server.check(&format!("> SECKILL.REJECT any g {id}\n1\n> XLEN s.released\n1"));
    assert_eq!(letter(&server, "any.dlq", "dlqOrder"), "rejected");
    server.assert_book("7", [5, 0, 0]);
}

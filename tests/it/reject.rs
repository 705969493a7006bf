//! SECKILL.REJECT: which entries it accepts, what it releases, what the dead letter contains.

use crate::harness::Server;
use crate::observe::integer;
use redis::Value;

/// Names and values of an entry's fields, alternating.
pub type Fields = Vec<Vec<u8>>;

/// The entries of a stream: ids and fields.
pub fn entries(server: &Server, stream: &str) -> Vec<(String, Fields)> {
    let reply = server.call(&["XRANGE", stream, "-", "+"]);
    redis::from_redis_value(reply).expect("entries")
}

/// Delivers the new entries of a stream to a consumer of the group `g`, which is made if it does
/// not exist. Returns the ids of the entries.
pub fn deliver(server: &Server, stream: &str) -> Vec<String> {
    server.call(&["XGROUP", "CREATE", stream, "g", "0", "MKSTREAM"]);
    let reply = server.call(&["XREADGROUP", "GROUP", "g", "c", "STREAMS", stream, ">"]);
    type Streams = Option<Vec<(String, Vec<(String, Fields)>)>>;
    let streams: Streams = redis::from_redis_value(reply).expect("streams");
    let entries = streams.into_iter().flatten().flat_map(|(_, entries)| entries);
    entries.map(|(id, _)| id).collect()
}

/// Runs a try that is accepted, and delivers its entry. Returns the id.
pub fn ordered(server: &Server, command: &str) -> String {
    assert_eq!(server.run(command), Value::Int(0), "{command}");
    deliver(server, "stream.orders").pop().expect("an entry")
}

/// Appends an entry with these fields, and delivers it. Returns the id.
pub fn appended(server: &Server, stream: &str, fields: &str) -> String {
    server.run(&format!("XADD {stream} * {fields}"));
    deliver(server, stream).pop().expect("an entry")
}

/// The value of a field of the last dead letter.
pub fn letter(server: &Server, stream: &str, field: &str) -> String {
    let (_, fields) = entries(server, stream).pop().expect("a dead letter");
    let found = fields.chunks(2).rev().find(|pair| pair[0] == field.as_bytes());
    String::from_utf8_lossy(&found.expect("the field")[1]).into_owned()
}

/// Rejects an entry that is not pending: only its acknowledgement is replicated again.
pub fn nothing_to_reject(server: &Server, command: &str) {
    let words: Vec<_> = command.split(' ').collect();
    let (reply, line) = server.replicated_again(command);
    assert_eq!(reply, Value::Int(0), "{command}");
    let wanted = format!("XACK {} {} {}", words[1], words[2], words[3]);
    assert!(line.starts_with(&wanted), "{command}: {line}");
}

/// Rejects a pending entry; returns from its dead letter what happened to its order.
pub fn rejected(server: &Server, id: &str) -> String {
    let command = format!("SECKILL.REJECT stream.orders g {id}");
    assert_eq!(server.run(&command), Value::Int(1), "{command}");
    nothing_to_reject(server, &command);
    letter(server, "stream.orders.dlq", "dlqOrder")
}

#[test]
fn a_sold_order_is_given_back_and_its_entry_is_a_dead_letter() {
    let server = Server::observed().start();
    server.check("> SECKILL.CREATE 7 5 LIMIT 3\nOK");
    let id = ordered(&server, "SECKILL.TRY 7 alice o1 UNITS 2");
    server.check(&format!(
        r#"
        > SECKILL.REJECT stream.orders g {id} REASON "no address"
        1
        > XPENDING stream.orders g
        1) 0
        2) (nil)
        3) (nil)
        4) (nil)
        > XLEN stream.orders
        1
        "#
    ));
    server.assert_book("7", [5, 0, 0]);
    let again = format!("SECKILL.REJECT stream.orders g {id}");
    nothing_to_reject(&server, &again);
    let (reply, line) = server.replicated_again("SECKILL.CANCEL 7 alice o1");
    assert_eq!((reply, &*line), (Value::Int(2), "HSET seckill:book:7 o1 rejected:2:0,sold:alice"));
    assert_eq!(server.unchanged("SECKILL.CONFIRM 7 alice o1"), Value::Int(3));
    assert_eq!(server.silent("SECKILL.CANCEL 7 bob o1"), Value::Int(0));
    server.check("> SECKILL.TRY 7 alice o1\n5\n> SECKILL.TRY 7 alice o2 UNITS 3\n0");
    assert_eq!(server.info_number("seckill_orders_rejected"), 1);
}

#[test]
fn an_unmanaged_order_is_given_back_by_membership() {
    let server = Server::observed().start();
    server.check("> SET seckill:stock:7 9 PXAT 33333333333333\nOK");
    let first = ordered(&server, "SECKILL.TRY 7 alice o1 UNITS 3");
    let second = ordered(&server, "SECKILL.TRY 7 bob o2");
    assert_eq!(rejected(&server, &first), "rejected");
    server.check(
        r#"
        > GET seckill:stock:7
        8
        > PEXPIRETIME seckill:stock:7
        33333333333333
        > SMEMBERS seckill:order:7
        1) "bob"
        > SECKILL.CANCEL 7 bob o2
        1
        > GET seckill:stock:7
        9
        "#,
    );
    // The user is no buyer any more, so there is nothing to release, but the entry is acknowledged.
    assert_eq!(rejected(&server, &second), "unknown");
    server.check("> GET seckill:stock:7\n9\n> EXISTS seckill:order:7\n0");
    assert_eq!(integer(&server.run("XLEN stream.orders.dlq")), 2);
    assert_eq!(server.info_number("seckill_orders_rejected"), 1);
    // There is no record of which order a user has: the new one is taken for the old one.
    let old = ordered(&server, "SECKILL.TRY 7 alice o3");
    server.check("> SECKILL.CANCEL 7 alice o3\n1\n> SECKILL.TRY 7 alice o4\n0");
    assert_eq!(rejected(&server, &old), "rejected");
    server.check("> GET seckill:stock:7\n9\n> EXISTS seckill:order:7\n0");
}

#[test]
fn what_is_not_pending_is_left_alone() {
    let server = Server::observed().start();
    server.check("> SET seckill:stock:7 9\nOK");
    let first = ordered(&server, "SECKILL.TRY 7 alice o1");
    server.check("> SECKILL.TRY 7 bob o2\n0\n> XGROUP CREATE stream.orders other 0\nOK");
    let (second, _) = entries(&server, "stream.orders").pop().expect("an entry");
    let ids = [
        format!("other {first}"),
        format!("g {second}"),
        "g 0-0".to_owned(),
        "g 5-5 REASON none".to_owned(),
        "g 18446744073709551615-18446744073709551615".to_owned(),
    ];
    for rest in ids {
        nothing_to_reject(&server, &format!("SECKILL.REJECT stream.orders {rest}"));
    }
    server.check(&format!("> XACK stream.orders g {first}\n1"));
    let command = format!("SECKILL.REJECT stream.orders g {first}");
    nothing_to_reject(&server, &command);
    // The command only checks whether the entry is pending.
    server.check("> SET stream.orders.dlq a\nOK");
    nothing_to_reject(&server, &command);
}

#[test]
fn what_is_no_order_leaves_all_the_same() {
    let server = Server::observed().start();
    server.check("> SECKILL.CREATE 7 5\nOK\n> SET seckill:stock:8 5\nOK");
    ordered(&server, "SECKILL.TRY 7 alice o1");
    ordered(&server, "SECKILL.TRY 8 alice o2");
    let sale = server.sale_of("7");
    let digest = |server: &Server| {
        let keys = ["stock:7", "order:7", "book:7", "units:7", "stock:8", "order:8"];
        keys.map(|key| server.run(&format!("DEBUG DIGEST-VALUE seckill:{key}")))
    };
    let before = digest(&server);
    for fields in [
        "a b",
        "userId alice voucherId 7",
        "voucherId 8 id o2 user alice",
        "userId alice userId alice voucherId 7 id o1",
        "userId alice voucherId 8 id o2 units 0",
        "userId alice voucherId 8 id o2 units many",
        "userId alice voucherId 8 id o2 units 1 units 1",
        "userId alice voucherId 8 id o2 reason cancelled",
        "userId alice voucherId 8 id o2 dlqReason none",
        &format!("userId alice voucherId 7 id o2 sale {sale}"),
        &format!("userId bob voucherId 7 id o1 sale {sale}"),
        // Entries of other sales.
        "userId alice voucherId 7 id o1",
        "userId alice voucherId 7 id o1 sale 1",
        &format!("userId alice voucherId 7 id o1 sale {sale} sale {sale}"),
        &format!("userId alice voucherId 8 id o2 sale {sale}"),
        "userId bob voucherId 8 id o2",
        "userId alice voucherId 9 id o1",
        "'' '' '' ''",
    ] {
        let id = appended(&server, "stream.orders", fields);
        assert_eq!(rejected(&server, &id), "unknown", "{fields}");
        assert_eq!(digest(&server), before, "{fields}");
        let (_, original) = entries(&server, "stream.orders").pop().expect("an entry");
        let (_, letter) = entries(&server, "stream.orders.dlq").pop().expect("a letter");
        assert_eq!(letter[..original.len()], original, "{fields}");
        assert_eq!(letter.len(), original.len() + 12, "{fields}");
    }
    server.check("> EXISTS stream.orders.released\n0");
    assert_eq!(server.info_number("seckill_orders_rejected"), 0);
    // Fields other than those of an order don't matter.
    let id = appended(
        &server,
        "stream.orders",
        &format!("from web id o1 voucherId 7 userId alice sale {sale}"),
    );
    assert_eq!(rejected(&server, &id), "rejected");
    server.assert_book("7", [5, 0, 0]);
}

/// What a program may reject on its own: an order that nobody has paid.
#[test]
fn unsold_keeps_what_is_sold_or_not_on_record() {
    let server = Server::observed().start();
    server.check("> SECKILL.CREATE 7 9 LIMIT 3 HOLD 900000\nOK\n> SET seckill:stock:8 9\nOK");
    let held = ordered(&server, "SECKILL.TRY 7 alice o1");
    let cancelled = ordered(&server, "SECKILL.TRY 7 bob o2");
    let paid = ordered(&server, "SECKILL.TRY 7 carol o3");
    let bare = ordered(&server, "SECKILL.TRY 8 dave o4");
    let stray = appended(&server, "stream.orders", "userId eve voucherId 7 id o5");
    let none = appended(&server, "stream.orders", "hello world");
    server.check("> SECKILL.CANCEL 7 bob o2\n1\n> SECKILL.CONFIRM 7 carol o3\n1");
    let unsold = |id: &str| format!("SECKILL.REJECT stream.orders g {id} REASON no UNSOLD");
    // The answer about the sold order tells what has become of it.
    let (reply, line) = server.replicated_again(&unsold(&paid));
    assert_eq!(reply, Value::Int(2));
    assert!(line.starts_with("HSET seckill:book:7 o3 sold:"), "{line}");
    for id in [&bare, &stray, &none] {
        assert_eq!(server.silent(&unsold(id)), Value::Int(2), "{id}");
    }
    for (id, fate) in [(&held, "rejected"), (&cancelled, "released")] {
        assert_eq!(server.run(&unsold(id)), Value::Int(1), "{id}");
        assert_eq!(letter(&server, "stream.orders.dlq", "dlqOrder"), fate);
        nothing_to_reject(&server, &unsold(id));
    }
    server.assert_book("7", [8, 0, 1]);
    // Without the word, each of them can be rejected.
    for (id, fate) in [(&paid, "rejected"), (&bare, "rejected"), (&none, "unknown")] {
        assert_eq!(rejected(&server, id), fate, "{id}");
    }
    for wrong in ["UNSOLD UNSOLD", "REASON", "UNSOLD REASON", "REASON a REASON b", "SOLD"] {
        server.refused(&format!("SECKILL.REJECT stream.orders g {stray} {wrong}"), "ERR");
    }
}

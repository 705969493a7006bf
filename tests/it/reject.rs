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

/// The value of a field of a stream's last entry.
pub fn last_of(server: &Server, stream: &str, field: &str) -> Option<Vec<u8>> {
    let (_, fields) = entries(server, stream).pop().expect("an entry");
    let found = fields.chunks(2).rev().find(|pair| pair[0] == field.as_bytes());
    found.map(|pair| pair[1].clone())
}

/// The value of a field of the last dead letter.
pub fn letter(server: &Server, stream: &str, field: &str) -> String {
    let value = last_of(server, stream, field).expect("the field");
    String::from_utf8_lossy(&value).into_owned()
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
    assert!(line.starts_with("HSETNX seckill:book:7 o3 sold:"), "{line}");
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
}

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
fn there_must_be_a_stream_and_a_group() {
    let server = Server::observed().start();
    server.refused("SECKILL.REJECT none g 1-1", "NOGROUP");
    server.run("XADD stream.orders 1-1 a b");
    server.refused("SECKILL.REJECT stream.orders g 1-1", "NOGROUP");
    server.refused("SECKILL.REJECT stream.orders '' 1-1", "NOGROUP");
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
fn dead_letters_and_give_backs_can_be_rejected_too() {
    let server = Server::observed().start();
    server.run(UNMANAGED);
    let id = ordered(&server, "SECKILL.TRY 7 alice o1");
    assert_eq!(rejected(&server, &id), "rejected");
    server.check("> SECKILL.TRY 7 alice o2\n0");
    // Both entries report an order that was released, and do not affect the new order.
    for (stream, fields) in [("stream.orders.released", 10), ("stream.orders.dlq", 18)] {
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

#[test]
fn rejecting_a_confirmation_leaves_the_order_sold() {
    for tags in ["auto", "yes"] {
        for off in [false, true] {
            let server = Server::with().config(format!("seckill.hash-tags {tags}")).start();
            let tail = if tags == "yes" { ":{7}" } else { "" };
            let stream = format!("stream.orders.confirmed{tail}");
            server.run("SECKILL.CREATE 7 5 HOLD 900000");
            server.run("SECKILL.TRY 7 alice o1");
            server.run("SECKILL.CONFIRM 7 alice o1");
            if off {
                // Entries from before these changes can be rejected as well.
                server.run("CONFIG SET seckill.confirmed-stream no");
                server.run("CONFIG SET seckill.order-stream other");
            }
            let reject = |stream: &str, id: &str| {
                server.run(&format!("SECKILL.REJECT {stream} g {id} REASON none"))
            };
            let id = deliver(&server, &stream).pop().expect("a confirmation");
            assert_eq!([reject(&stream, &id), reject(&stream, &id)], [1, 0].map(Value::Int));
            server.assert_book("7", [4, 0, 1]);
            assert_eq!(letter(&server, &format!("{stream}.dlq"), "dlqOrder"), "unknown");
            // The order itself can still be rejected by the consumer of orders.
            let orders = format!("stream.orders{tail}");
            let id = deliver(&server, &orders).pop().expect("an order");
            server.run("CONFIG SET seckill.order-stream stream.orders");
            assert_eq!(reject(&orders, &id), Value::Int(1));
            assert_eq!(server.state("7", "o1"), "rejected");
        }
    }
}

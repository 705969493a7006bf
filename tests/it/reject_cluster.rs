//! SECKILL.REJECT with hash tags and in clusters: dead letters in the slot of their stream, and no
//! partial changes while it moves.

use crate::cluster::{Move, slot, two_nodes, whole_cluster};
use crate::harness::{Server, text};
use crate::observe::{assert_error, words};
use crate::reject::{appended, deliver, entries, letter};
use redis::Value;

fn reject(server: &Server, stream: &str, id: &str) -> Value {
    server.call(&["SECKILL.REJECT", stream, "g", id])
}

#[test]
fn dead_letters_are_in_the_slot_of_their_stream() {
    let cluster = whole_cluster();
    let tagged = Server::with().config("seckill.hash-tags yes").start();
    for server in [&cluster, &tagged] {
        for (voucher, stream) in [
            ("7", "stream.orders:{7}"),
            ("{shop3}:7", "stream.orders:{shop3}"),
            ("{8}", "stream.orders:{8}"),
        ] {
            for make in ["SECKILL.CREATE <v> 5 HOLD 900000", "SET seckill:stock:<k> 5"] {
                server.run("FLUSHALL");
                let key = if voucher == "7" { "{7}" } else { voucher };
                server.run(&make.replace("<v>", voucher).replace("<k>", key));
                server.check(&format!("> SECKILL.TRY {voucher} alice o1\n0"));
                let id = deliver(server, stream).pop().expect("an entry");
                assert_eq!(reject(server, stream, &id), Value::Int(1), "{voucher}");
                assert_eq!(letter(server, &format!("{stream}.dlq"), "dlqOrder"), "rejected");
                server.check(&format!("> GET seckill:stock:{key}\n5"));
                let released = stream.replace("orders:", "orders.released:");
                assert_eq!(entries(server, &released).len(), 1, "{released}");
                let slots: Vec<_> = words(server.run("KEYS *"))
                    .iter()
                    .map(|key| slot(&cluster, key.as_bytes()))
                    .collect();
                assert!(slots.len() > 3 && slots.iter().all(|slot| *slot == slots[0]), "{voucher}");
            }
        }
        // A stream without a tag is put in braces, like a voucher.
        let id = appended(server, "plain", "a b");
        assert_eq!(reject(server, "plain", &id), Value::Int(1));
        assert_eq!(letter(server, "{plain}.dlq", "dlqStream"), "plain");
        for stray in ["a}b", "{}x", "}"] {
            let id = appended(server, stray, "a b");
            let before = server.digest();
            assert_error(&reject(server, stray, &id), "ERR", stray);
            assert_eq!(server.digest(), before, "{stray}");
        }
    }
    let plain = Server::with().config("seckill.hash-tags auto").start();
    for stream in ["a}b", "{}x", "stream.orders:{7}", "orders"] {
        let id = appended(&plain, stream, "a b");
        assert_eq!(reject(&plain, stream, &id), Value::Int(1));
        assert_eq!(letter(&plain, &format!("{stream}.dlq"), "dlqStream"), stream);
    }
}

#[test]
fn an_entry_of_another_slot_leaves_and_gives_nothing_back() {
    let server = whole_cluster();
    server.run("SET seckill:stock:{7} 5");
    server.check("> SECKILL.TRY 7 alice o1\n0\n> SADD buyers:{a} alice\n1\n> SET stock:{a} 5\nOK");
    let digests = || {
        ["seckill:stock:{7}", "seckill:order:{7}"]
            .map(|key| server.run(&format!("DEBUG DIGEST-VALUE {key}")))
    };
    let before = digests();
    for fields in [
        "userId alice voucherId 7 id o1",
        "userId alice voucherId a}b id o1",
        "userId alice voucherId '' id o1",
    ] {
        let id = appended(&server, "orders:{a}", fields);
        assert_eq!(reject(&server, "orders:{a}", &id), Value::Int(1), "{fields}");
        assert_eq!(letter(&server, "orders:{a}.dlq", "dlqOrder"), "unknown", "{fields}");
        assert_eq!(reject(&server, "orders:{a}", &id), Value::Int(0), "{fields}");
    }
    assert_eq!(digests(), before);
    // Any stream in the voucher's slot is accepted.
    let id = appended(&server, "{7}", "userId alice voucherId 7 id o1");
    assert_eq!(reject(&server, "{7}", &id), Value::Int(1));
    assert_eq!(letter(&server, "{7}.dlq", "dlqOrder"), "rejected");
    server.check("> GET seckill:stock:{7}\n5");
    // Outside of a cluster there are no slots.
    let server = Server::with().config("seckill.hash-tags yes").start();
    server.run("SET seckill:stock:{7} 5");
    server.check("> SECKILL.TRY 7 alice o1\n0");
    let id = appended(&server, "orders:{a}", "userId alice voucherId 7 id o1");
    assert_eq!(reject(&server, "orders:{a}", &id), Value::Int(1));
    server.check("> GET seckill:stock:{7}\n5");
    let id = appended(&server, "orders:{a}", "userId alice voucherId a}b id o1");
    assert_eq!(reject(&server, "orders:{a}", &id), Value::Int(1));
    assert_eq!(letter(&server, "orders:{a}.dlq", "dlqOrder"), "unknown");
}

#[test]
fn nothing_is_rejected_by_halves_while_a_slot_moves() {
    let (source, target) = two_nodes();
    source
        .check("> SECKILL.CREATE 7 5\nOK\n> SECKILL.TRY 7 alice o1\n0\n> SECKILL.TRY 7 bob o2\n0");
    let stream = "stream.orders:{7}";
    let ids = deliver(&source, stream);
    Move::begin(&source, &target, "7");
    let refused = |server: &Server, id: &str, code: &str| {
        let before = server.digest();
        if code == "TRYAGAIN" {
            server.run("ASKING");
        }
        let reply = text(&reject(server, stream, id));
        assert!(reply.starts_with(code), "{reply}, not {code}");
        assert_eq!(server.digest(), before, "{reply}");
    };
    // The dead letters may be on the other node. Calls that need none are answered.
    refused(&source, &ids[0], "TRYAGAIN the dead-letter stream");
    assert_eq!(reject(&source, stream, "5-5"), Value::Int(0));
    // The dead letters are here, and the voucher is not, or only in part.
    source.run(&format!("CLUSTER SETSLOT {} STABLE", slot(&source, b"7")));
    source.run("XADD stream.orders:{7}.dlq 1-1 a b");
    let moving = Move::begin(&source, &target, "7");
    refused(&source, &ids[0], "TRYAGAIN not all keys");
    moving.key("seckill:stock:{7}");
    refused(&source, &ids[0], "TRYAGAIN not all keys");
    moving.key(stream);
    refused(&source, &ids[0], "ASK ");
    refused(&target, &ids[0], "TRYAGAIN");
    for key in words(source.run("KEYS *")) {
        moving.key(&key);
    }
    moving.end();
    refused(&source, &ids[0], "MOVED ");
    for id in &ids {
        assert_eq!(reject(&target, stream, id), Value::Int(1));
        assert_eq!(reject(&target, stream, id), Value::Int(0));
    }
    target.assert_book("7", [5, 0, 0]);
    source.check("> DBSIZE\n0");
}

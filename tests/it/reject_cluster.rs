//! SECKILL.REJECT with hash tags and in clusters: dead letters in the slot of their stream.

use crate::cluster::whole_cluster;
use crate::harness::Server;
use crate::observe::assert_error;
use crate::reject::{appended, letter};
use redis::Value;

fn reject(server: &Server, stream: &str, id: &str) -> Value {
    server.call(&["SECKILL.REJECT", stream, "g", id])
}

#[test]
fn dead_letters_are_in_the_slot_of_their_stream() {
    let cluster = whole_cluster();
    let tagged = Server::with().config("seckill.hash-tags yes").start();
    for server in [&cluster, &tagged] {
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

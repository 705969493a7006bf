//! SECKILL.NEXTID with hash tags: the slot in the id, and one counter key per slot.

use redis::Value;

use crate::aof::shown;
use crate::cluster::{two_nodes, whole_cluster};
use crate::harness::Server;
use crate::nextid::{DAY, EPOCH, id, next, unix_s};
use crate::observe::{assert_error, integer, words};
use crate::slots::{Move, slot};

/// The last id stored in the only key of a server.
fn kept(server: &Server) -> (String, i64) {
    let keys = words(server.run("KEYS *"));
    let [key] = keys.as_slice() else { panic!("not one key: {keys:?}") };
    (key.clone(), id(&server.call(&["GET", key])))
}

#[test]
fn a_cluster_puts_the_slot_into_the_id() {
    let server = whole_cluster();
    let (mut last, wanted) = (0, slot(&server, b"order"));
    for count in (1..=300).chain([65_536; 12]) {
        let first = next(&server, "order", count);
        assert!(first > last, "{first} after {last}");
        last = first + i64::try_from(count).expect("small") - 1;
        for id in [first, last] {
            assert_eq!((id >> 18) & 0x3fff, wanted);
        }
        // All ids of a block have one second.
        assert_eq!(first >> 32, last >> 32);
        assert_eq!(kept(&server).1, last);
    }
    // Twelve such blocks have more ids than two seconds, but took less time: ids of later seconds.
    let now = unix_s(&server) - EPOCH;
    assert!(last >> 32 >= now, "{} before {now}", last >> 32);
    let (key, _) = kept(&server);
    assert_eq!(slot(&server, key.as_bytes()), wanted);
    let expiry = integer(&server.call(&["PEXPIRETIME", &key])) / 1000 - 2 * DAY - EPOCH;
    assert_eq!(expiry, last >> 32);
}

#[test]
fn a_counter_on_the_move_is_not_guessed() {
    let (source, target) = two_nodes();
    let last = next(&source, "order", 1);
    let (key, _) = kept(&source);
    // With a key of the prefix's own name, the server does not redirect clients.
    source.run("SET order here");
    let moving = Move::begin(&source, &target, "order");
    let asking = || {
        target.run("ASKING");
        target.run("SECKILL.NEXTID order")
    };
    // The counter is at the source and counts there. The target must not start a new one.
    let second = next(&source, "order", 1);
    assert!(second > last);
    assert_error(&asking(), "TRYAGAIN", "a counter that did not come yet");
    target.check("> DBSIZE\n0");
    // The counter has arrived and continues. The source must not start a new one.
    moving.key(&key);
    let digest = source.digest();
    assert_error(&source.run("SECKILL.NEXTID order"), "TRYAGAIN", "a counter that has left");
    assert_eq!(source.digest(), digest);
    let third = id(&asking());
    assert!(third > second);
    source.run("DEL order");
    assert!(source.say("SECKILL.NEXTID order").starts_with("ASK "));
    moving.end();
    assert!(next(&target, "order", 1) > third);
}

#[test]
fn hash_tags_without_a_cluster_give_the_ids_of_a_cluster() {
    let server = Server::observed().config("seckill.hash-tags yes").start();
    let first = next(&server, "order", 3);
    // The reply of CLUSTER KEYSLOT order.
    assert_eq!((first >> 18) & 0x3fff, 16_025);
    let (key, last) = kept(&server);
    assert_eq!((key.as_str(), last), ("icr:order:{260251}", first + 2));
    let lines = server.aof_of(|| assert!(next(&server, "order", 1) > last));
    let (_, last) = kept(&server);
    let expiry = integer(&server.call(&["PEXPIRETIME", &key]));
    let lines: Vec<_> = lines.iter().map(shown).collect();
    assert_eq!(lines, [format!("SET {key} {last} PXAT {expiry}")]);
    for prefix in ["a{b", "{}x", "{"] {
        let error = server.refused(&format!("SECKILL.NEXTID {prefix}"), "ERR");
        assert_eq!(error, "ERR prefix must not contain a brace outside a hash tag");
    }
    // A cluster continues the counter of this server.
    let dump = server.call(&["DUMP", &key]);
    let Value::BulkString(dump) = dump else { panic!("{dump:?}") };
    let node = whole_cluster();
    let restored = node.call(&[b"RESTORE".as_slice(), key.as_bytes(), b"0", &dump]);
    assert_eq!(restored, Value::Okay);
    assert!(next(&node, "order", 1) > last);
}

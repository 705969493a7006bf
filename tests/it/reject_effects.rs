//! The effects of SECKILL.REJECT, and where it can be called: plain commands, their events,
//! replicas, transactions, scripts, access rules, many clients.

use std::thread;

use crate::acl::user;
use crate::aof::without_sale_ids;
use crate::context::block;
use crate::effects::{assert_same, assert_transaction};
use crate::events::assert_like;
use crate::harness::Server;
use crate::managed_effects::written;
use crate::observe::integer;
use crate::reject::{appended, deliver, ordered};
use crate::transcript::argv;
use redis::Value;

/// The fields that the dead letter adds to those of its entry in the usual case.
fn ours(fate: &str) -> String {
    format!(
        "dlqStream stream.orders dlqGroup g dlqId ID dlqDeliveries 1 dlqReason unspecified \
         dlqOrder {fate}"
    )
}

#[test]
fn a_rejection_is_written_as_plain_commands() {
    let server = Server::with().aof().start();
    server.run("SECKILL.CREATE 7 9 LIMIT 3 HOLD 900000");
    let ack = "XACK stream.orders g ID";
    let order = "userId alice voucherId 7 id o1";
    let id = ordered(&server, "SECKILL.TRY 7 alice o1 UNITS 2");
    assert_transaction(
        written(&server, &format!("SECKILL.REJECT stream.orders g {id}")),
        vec![
            ack,
            &format!(
                "XADD stream.orders.dlq ID {order} units 2 deadline WHEN sale SALE {}",
                ours("rejected dlqWas held")
            ),
            &format!(
                "XADD stream.orders.released ID {order} units 2 sale SALE reason rejected was held"
            ),
            "INCRBY seckill:stock:7 2",
            "HSET seckill:book:7 o1 rejected:2:0:alice",
            "HDEL seckill:units:7 alice",
            "ZREM seckill:hold:7 o1",
            "DEL seckill:extra:7",
            "SREM seckill:order:7 alice",
        ],
    );
    let again = format!("SECKILL.REJECT stream.orders g {id}");
    assert_eq!(written(&server, &again), [ack]);
    let order = &format!("{order} sale {}", server.sale_of("7"));
    let id = appended(&server, "stream.orders", order);
    assert_transaction(
        written(&server, &format!("SECKILL.REJECT stream.orders g {id}")),
        vec![
            ack,
            &format!("XADD stream.orders.dlq ID {} {}", without_sale_ids(order), ours("released")),
        ],
    );
    server.run("SET seckill:stock:8 9");
    let id = ordered(&server, "SECKILL.TRY 8 alice o1 UNITS 3");
    let order = "userId alice voucherId 8 id o1 units 3";
    assert_transaction(
        written(&server, &format!("SECKILL.REJECT stream.orders g {id}")),
        vec![
            ack,
            &format!("XADD stream.orders.dlq ID {order} {}", ours("rejected")),
            &format!("XADD stream.orders.released ID {order} reason rejected"),
            "INCRBY seckill:stock:8 3",
            "SREM seckill:order:8 alice",
        ],
    );
}

#[test]
fn events_are_those_of_the_plain_commands() {
    let prepare =
        ["XGROUP CREATE stream.orders g $ MKSTREAM", "XSETID stream.orders 1999999999999"];
    let read = "XREADGROUP GROUP g c STREAMS stream.orders >";
    let reject = "SECKILL.REJECT stream.orders g 1999999999999-1";
    let given_up = ["XACK stream.orders g 1999999999999-1", "XADD stream.orders.dlq * a b"];
    let back = [
        "INCRBY seckill:stock:7 1",
        "SREM seckill:order:7 alice",
        "XADD stream.orders.released * a b",
    ];
    let booked = ["HSET seckill:book:7 o1 x", "HDEL seckill:units:7 alice"];
    let lifted = ["ZREM seckill:hold:7 o1"];
    let one = "SECKILL.TRY 7 alice o1";
    let like = |setup: &[&str], plain: &[&[&str]]| {
        let setup = [&prepare[..], setup, &[read]].concat();
        assert_like(&setup, reject, &[&given_up[..], &plain.concat()].concat());
    };
    like(&["SECKILL.CREATE 7 9 HOLD 900000", one], &[&back, &booked, &lifted]);
    like(&["SECKILL.CREATE 7 9", one], &[&back, &booked]);
    like(&["SET seckill:stock:7 9", one, "SECKILL.TRY 7 bob o2"], &[&back]);
    like(&["SECKILL.CREATE 7 9", one, "SECKILL.CANCEL 7 alice o1"], &[]);
    like(&["XADD stream.orders 1999999999999-1 a b"], &[]);
}

/// A history with rejections of every kind.
fn sell_and_reject(server: &Server) {
    server.run("SECKILL.CREATE 7 90 LIMIT 3 HOLD 900000");
    server.run("SET seckill:stock:8 90 PXAT 33333333333333");
    for round in 0..60 {
        let user = format!("u{}", round % 25);
        for voucher in ["7", "8"] {
            server.run(&format!("SECKILL.TRY {voucher} {user} o{round} UNITS {}", round % 3 + 1));
        }
        match round % 6 {
            0 => server.run(&format!("SECKILL.CANCEL 7 {user} o{round}")),
            1 => server.run(&format!("SECKILL.CONFIRM 7 {user} o{round}")),
            2 => server.run("XADD stream.orders * a b"),
            _ => Value::Nil,
        };
        if round % 10 == 0 {
            let odd: [&[u8]; 6] = [b"userId", b"\r\n\0", b"voucherId", b"7", b"id", b"\xff:"];
            server.call(&[&[b"SECKILL.TRY", odd[3], odd[1], odd[5]][..]].concat());
            server.call(&[&[b"XADD".as_slice(), b"stream.orders", b"*"], &odd[..]].concat());
        }
        for (index, id) in deliver(server, "stream.orders").iter().enumerate() {
            if (round + index) % 2 == 0 {
                let reject = [b"SECKILL.REJECT", "stream.orders".as_bytes(), b"g", id.as_bytes()];
                let reason: [&[u8]; 2] = [b"REASON", b"\0\xff\r\n"];
                let reply = server.call(&[&reject[..], &reason].concat());
                assert_eq!(reply, Value::Int(1), "{round}");
            }
        }
    }
    assert_eq!(server.differences("7"), Vec::<String>::new());
    assert!(server.info_number("seckill_orders_rejected") > 10);
    assert!(integer(&server.run("XLEN stream.orders.dlq")) > 30);
}

/// Both servers must also have the same entries pending.
fn assert_same_pending(one: &Server, other: &Server) {
    assert_same(one, other);
    let pending = |server: &Server| server.run("XPENDING stream.orders g");
    assert_eq!(pending(one), pending(other));
}

#[test]
fn an_aof_is_replayed_without_the_module() {
    let server = Server::with().aof().start();
    sell_and_reject(&server);
    let copy = Server::with().aof().without_module().data_of(&server).start();
    assert_same_pending(&server, &copy);
}

#[test]
fn a_replica_without_the_module_has_the_same_data() {
    let primary = Server::with().port().start();
    let replica = Server::with().without_module().replica_of(&primary).start();
    primary.wait_for_replica(&replica);
    sell_and_reject(&primary);
    primary.wait_for_replica(&replica);
    assert_same_pending(&primary, &replica);
}

#[test]
fn transactions_and_scripts_can_reject() {
    let server = Server::with().aof().start();
    server.run("SECKILL.CREATE 7 9 LIMIT 9");
    for number in 0..3 {
        server.check(&format!("> SECKILL.TRY 7 alice o{number}\n0"));
    }
    let ids = deliver(&server, "stream.orders");
    let reject = |id: &str| format!("SECKILL.REJECT stream.orders g {id}");
    let lines = server.aof_of(|| {
        server.check(&format!(
            "> MULTI\nOK\n> {0}\nQUEUED\n> {0}\nQUEUED\n> {1}\nQUEUED\n> EXEC\n1) 1\n2) 0\n3) 1",
            reject(&ids[0]),
            reject(&ids[1])
        ));
    });
    assert_eq!(lines.iter().filter(|argv| crate::aof::is(argv, "MULTI")).count(), 1);
    let script = "return redis.call('SECKILL.REJECT', KEYS[1], 'g', ARGV[1], 'REASON', 'r')";
    let run = |script: &str| server.call(&["EVAL", script, "1", "stream.orders", &ids[2]]);
    assert_eq!([run(script), run(script)], [Value::Int(1), Value::Int(0)]);
    server.assert_book("7", [9, 0, 0]);
    let copy = Server::with().aof().without_module().data_of(&server).start();
    assert_same_pending(&server, &copy);
    let read_only = server.call(&["EVAL_RO", script, "1", "stream.orders", &ids[2]]);
    assert!(matches!(read_only, Value::ServerError(_)), "{read_only:?}");
}

#[test]
fn a_full_server_rejects_and_a_replica_refuses() {
    let primary = Server::observed().port().start();
    primary.run("SECKILL.CREATE 7 9");
    let id = ordered(&primary, "SECKILL.TRY 7 alice o1");
    let reject = format!("SECKILL.REJECT stream.orders g {id}");
    let replica = Server::with().replica_of(&primary).start();
    primary.wait_for_replica(&replica);
    replica.check(&format!("> {reject}\n(error) READONLY ..."));
    primary.run("CONFIG SET min-replicas-to-write 2");
    let refused = primary.run(&reject);
    assert!(crate::harness::text(&refused).starts_with("NOREPLICAS"), "{refused:?}");
    primary.run("CONFIG SET min-replicas-to-write 0");
    primary.run("CONFIG SET maxmemory 1");
    primary.check(&format!("> {reject}\n1\n> CONFIG SET maxmemory 0\nOK"));
    primary.assert_book("7", [9, 0, 0]);
    primary.wait_for_replica(&replica);
    assert_same_pending(&primary, &replica);
}

#[test]
fn readers_of_dead_letters_are_woken_and_watchers_disturbed() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 9");
    let id = ordered(&server, "SECKILL.TRY 7 alice o1");
    let mut readers = ["stream.orders.dlq", "stream.orders.released"]
        .map(|stream| block(&server, &format!("XREAD BLOCK 0 STREAMS {stream} $")));
    let keys = ["stream.orders.dlq", "stream.orders.released", "seckill:stock:7", "seckill:book:7"];
    let mut watchers = keys.map(|key| {
        let mut client = server.client();
        client.run(&format!("WATCH {key}"));
        client
    });
    server.check(&format!("> SECKILL.REJECT stream.orders g {id}\n1"));
    for reader in &mut readers {
        assert_ne!(reader.receive(), Value::Nil);
    }
    for watcher in &mut watchers {
        watcher.check("> MULTI\nOK\n> PING\nQUEUED\n> EXEC\n(nil)");
    }
}

#[test]
fn a_rejection_needs_the_command_and_its_stream_only() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 9");
    let id = ordered(&server, "SECKILL.TRY 7 alice o1");
    let reject = format!("SECKILL.REJECT stream.orders g {id}");
    for rules in ["~other", "%R~stream.orders", "~seckill:* ~7 ~stream.orders.dlq"] {
        user(&server, &format!("+seckill.reject {rules}"))
            .check(&format!("> {reject}\n(error) NOPERM ..."));
    }
    user(&server, "+@all -seckill.reject ~*").check(&format!("> {reject}\n(error) NOPERM ..."));
    user(&server, "+seckill.reject ~stream.orders").check(&format!("> {reject}\n1"));
    server.assert_book("7", [9, 0, 0]);
    server.check("> XLEN stream.orders.dlq\n1");
}

#[test]
fn of_many_consumers_one_rejects() {
    let server = Server::with().aof().start();
    server.run("SECKILL.CREATE 7 500 LIMIT 5");
    server.run("SET seckill:stock:8 500");
    for number in 0..200 {
        server.run(&format!("SECKILL.TRY 7 u{} o{number} UNITS 2", number % 100));
        server.run(&format!("SECKILL.TRY 8 u{number} o{number} UNITS 2"));
    }
    let ids = deliver(&server, "stream.orders");
    let consumer = |mut client: crate::harness::Client, ids: Vec<String>| {
        for id in &ids {
            client.send(&argv(&format!("SECKILL.REJECT stream.orders g {id}")));
        }
        ids.iter().map(|_| integer(&client.receive())).sum::<i64>()
    };
    let clients: Vec<_> = (0..6).map(|_| server.client()).collect();
    let threads: Vec<_> = clients
        .into_iter()
        .map(|client| {
            let ids = ids.clone();
            thread::spawn(move || consumer(client, ids))
        })
        .collect();
    let ones: i64 = threads.into_iter().map(|thread| thread.join().expect("replies")).sum();
    assert_eq!(ones, i64::try_from(ids.len()).expect("a count"));
    server.assert_book("7", [500, 0, 0]);
    server.check("> GET seckill:stock:8\n500\n> EXISTS seckill:order:7 seckill:order:8\n0");
    let count = |stream: &str| integer(&server.run(&format!("XLEN {stream}")));
    assert_eq!([count("stream.orders.dlq"), count("stream.orders.released")], [ones, ones]);
    let copy = Server::with().aof().without_module().data_of(&server).start();
    assert_same_pending(&server, &copy);
}

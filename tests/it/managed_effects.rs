//! The effects of a managed sale: plain commands, absolute, complete, with their events.

use crate::aof::shown;
use crate::context::block;
use crate::effects::{assert_same, assert_transaction};
use crate::events::assert_like;
use crate::harness::{Server, in_time};
use crate::observe::integer;
use redis::Value;

/// The commands that `act` adds to the file, with stream ids as ID and deadlines as WHEN.
pub fn written(server: &Server, act: &str) -> Vec<String> {
    let commands = server.aof_of(|| {
        let reply = server.run(act);
        assert!(!matches!(reply, Value::ServerError(_)), "{act}: {reply:?}");
    });
    commands.iter().map(|argv| masked(&shown(argv))).collect()
}

/// A command with all 13-digit times, which entry ids and deadlines have, replaced.
fn masked(line: &str) -> String {
    let mask = |word: &str| {
        let is_time = |text: &str| text.len() == 13 && text.bytes().all(|b| b.is_ascii_digit());
        match word.split_once('-') {
            Some((ms, _)) if is_time(ms) => "ID".to_owned(),
            None if is_time(word) => "WHEN".to_owned(),
            _ => {
                let parts = word.split(':').map(|part| if is_time(part) { "WHEN" } else { part });
                parts.collect::<Vec<_>>().join(":")
            }
        }
    };
    line.split(' ').map(mask).collect::<Vec<_>>().join(" ")
}

#[test]
fn rules_and_stock_are_set() {
    let server = Server::with().aof().start();
    let rules = |total: i64, limit: i64| {
        format!(
            "SET seckill:voucher:7 {{\\\"total\\\":{total},\\\"begin\\\":null,\\\"end\\\":null,\
             \\\"limit\\\":{limit},\\\"hold\\\":null,\\\"sale\\\":SALE}} KEEPTTL"
        )
    };
    assert_transaction(
        written(&server, "SECKILL.CREATE 7 5"),
        vec![&rules(5, 1), "SET seckill:stock:7 5"],
    );
    assert_eq!(written(&server, "SECKILL.ALTER 7 LIMIT 2"), [rules(5, 2)]);
    assert_transaction(
        written(&server, "SECKILL.RESTOCK 7 3"),
        vec![&rules(8, 2), "INCRBY seckill:stock:7 3"],
    );
    assert_transaction(
        written(&server, "SECKILL.RESTOCK 7 -2"),
        vec![&rules(6, 2), "DECRBY seckill:stock:7 2"],
    );
    let dropped = written(&server, "SECKILL.DROP 7");
    assert!(dropped.len() == 1 && dropped[0].starts_with("UNLINK "), "{dropped:?}");
}

#[test]
fn a_held_order_through_its_life() {
    let server = Server::with().aof().start();
    server.run("SECKILL.CREATE 7 9 LIMIT 3 HOLD 900000");
    assert_transaction(
        written(&server, "SECKILL.TRY 7 alice o1 UNITS 2"),
        vec![
            "DECRBY seckill:stock:7 2",
            "SADD seckill:order:7 alice",
            "XADD stream.orders ID userId alice voucherId 7 id o1 units 2 deadline WHEN sale SALE",
            "HSET seckill:book:7 o1 held:2:WHEN:alice",
            "HSET seckill:units:7 alice 2:o1",
            "ZADD seckill:hold:7 WHEN o1",
            "INCRBY seckill:extra:7 1",
        ],
    );
    assert_transaction(
        written(&server, "SECKILL.TRY 7 alice o2 UNITS 1"),
        vec![
            "DECR seckill:stock:7",
            "XADD stream.orders ID userId alice voucherId 7 id o2 deadline WHEN sale SALE",
            "HSET seckill:book:7 o2 held:1:WHEN:alice",
            "HSET seckill:units:7 alice 3:o2",
            "ZADD seckill:hold:7 WHEN o2",
        ],
    );
    assert_transaction(
        written(&server, "SECKILL.CONFIRM 7 alice o2"),
        vec![
            "HSET seckill:book:7 o2 sold:1:0:alice",
            "ZREM seckill:hold:7 o2",
            "XADD stream.orders.confirmed ID userId alice voucherId 7 id o2 sale SALE",
        ],
    );
    assert_transaction(
        written(&server, "SECKILL.CANCEL 7 alice o1"),
        vec![
            "INCRBY seckill:stock:7 2",
            "HSET seckill:book:7 o1 cancelled:2:0:alice",
            "HSET seckill:units:7 alice 1:o2",
            "ZREM seckill:hold:7 o1",
            "DEL seckill:extra:7",
            "XADD stream.orders.released ID userId alice voucherId 7 id o1 units 2 \
             sale SALE reason cancelled was held",
        ],
    );
    assert_transaction(
        written(&server, "SECKILL.CANCEL 7 alice o2"),
        vec![
            "INCRBY seckill:stock:7 1",
            "HSET seckill:book:7 o2 cancelled:1:0,sold:alice",
            "HDEL seckill:units:7 alice",
            "SREM seckill:order:7 alice",
            "XADD stream.orders.released ID userId alice voucherId 7 id o2 sale SALE \
             reason cancelled was sold",
        ],
    );
    let again = ["HSET seckill:book:7 o1 cancelled:2:0:alice"];
    for command in ["CANCEL 7 alice o1", "TRY 7 alice o1", "CONFIRM 7 alice o1"] {
        assert_eq!(written(&server, &format!("SECKILL.{command}")), again);
    }
    assert_eq!(written(&server, "SECKILL.RESTOCK 7 0"), Vec::<String>::new());
}

#[test]
fn an_unmanaged_order_given_back() {
    let server = Server::with().aof().start();
    server.run("SET seckill:stock:7 9");
    server.run("SECKILL.TRY 7 alice o1");
    assert_transaction(
        written(&server, "SECKILL.CANCEL 7 alice o1"),
        vec![
            "INCRBY seckill:stock:7 1",
            "SREM seckill:order:7 alice",
            "XADD stream.orders.released ID userId alice voucherId 7 id o1 reason cancelled",
        ],
    );
}

#[test]
fn an_expiry_is_written_as_one_transaction() {
    let server = Server::with().aof().start();
    server.run("SECKILL.CREATE 7 9 HOLD 40");
    let lines = server.aof_of(|| {
        server.run("SECKILL.TRY 7 alice o1");
        server.wait_for_state("7", "o1", "expired");
    });
    let lines: Vec<_> = lines.iter().map(|argv| masked(&shown(argv))).collect();
    // After the transaction of the try.
    let end = lines.iter().position(|line| line == "EXEC").expect("the end of the try");
    assert_transaction(
        lines[end + 1..].to_vec(),
        vec![
            "INCRBY seckill:stock:7 1",
            "HSET seckill:book:7 o1 expired:1:0:alice",
            "HDEL seckill:units:7 alice",
            "SREM seckill:order:7 alice",
            "ZREM seckill:hold:7 o1",
            "XADD stream.orders.released ID userId alice voucherId 7 id o1 sale SALE \
             reason expired was held",
        ],
    );
}

#[test]
fn in_a_transaction_all_is_one() {
    let server = Server::with().aof().start();
    server.run("SECKILL.CREATE 7 9 HOLD 900000");
    let lines = server.aof_of(|| {
        server.check(
            "
            > MULTI
            OK
            > SECKILL.TRY 7 alice o1
            QUEUED
            > SECKILL.CONFIRM 7 alice o1
            QUEUED
            > SECKILL.TRY 7 alice o1
            QUEUED
            > SECKILL.CANCEL 7 alice o1
            QUEUED
            > EXEC
            1) 0
            2) 1
            3) 0
            4) 1
            ",
        );
    });
    let names: Vec<_> = lines.iter().map(shown).collect();
    assert_eq!(names.iter().filter(|line| *line == "MULTI").count(), 1, "{names:?}");
    assert_eq!(names.last().map(String::as_str), Some("EXEC"), "{names:?}");
    let copy = Server::with().aof().without_module().data_of(&server).start();
    assert_same(&server, &copy);
}

/// A history with every kind of change.
fn sell_and_give_back(server: &Server) {
    server.run("SECKILL.CREATE 7 40 LIMIT 3 HOLD 30");
    server.run("SECKILL.CREATE 8 40 LIMIT 2");
    server.run("SET seckill:stock:9 40");
    server.run("PEXPIREAT seckill:stock:7 33333333333333");
    for round in 0..60 {
        let user = format!("u{}", round % 25);
        for voucher in ["7", "8", "9"] {
            server.run(&format!("SECKILL.TRY {voucher} {user} o{round} UNITS {}", round % 3 + 1));
            if round % 4 == 0 {
                server.run(&format!("SECKILL.CANCEL {voucher} {user} o{round}"));
            }
            if round % 4 == 1 {
                server.run(&format!("SECKILL.CONFIRM {voucher} {user} o{round}"));
            }
        }
        if round % 10 == 0 {
            server.run("SECKILL.RESTOCK 7 1");
            server.run("SECKILL.ALTER 8 HOLD 50");
            server.run("SECKILL.TRY 8 star *");
        }
    }
    server.call(&["SECKILL.TRY", "7", "bytes\r\n:", ":id\r\n"]);
    server.run("SECKILL.CREATE gone 5");
    server.run("SECKILL.TRY gone alice o1");
    server.run("SECKILL.DROP gone");
    let over = crate::harness::wait_for("all holds to end", || {
        let held = |voucher| server.run(&format!("EXISTS seckill:hold:{voucher}"));
        (held("7") == Value::Int(0) && held("8") == Value::Int(0)).then_some(())
    });
    over.unwrap_or_else(|late| panic!("{late}\n{}", server.log()));
    assert!(server.info_number("seckill_orders_expired") > 5);
    assert_eq!(server.differences("7"), Vec::<String>::new());
    assert_eq!(server.differences("8"), Vec::<String>::new());
}

#[test]
fn an_aof_is_replayed_without_the_module() {
    let server = Server::with().aof().start();
    sell_and_give_back(&server);
    let copy = Server::with().aof().without_module().data_of(&server).start();
    assert_same(&server, &copy);
    for argv in server.aof() {
        let name = shown(&argv);
        let plain = [
            "SET",
            "DEL",
            "SADD",
            "SREM",
            "DECR",
            "DECRBY",
            "INCRBY",
            "XADD",
            "HSET",
            "HDEL",
            "ZADD",
            "ZREM",
            "UNLINK",
            "MULTI",
            "EXEC",
            "PEXPIREAT",
        ];
        let first = name.split(' ').next().expect("a name");
        assert!(plain.contains(&first), "{name}");
        assert!(!name.contains(" * "), "{name}");
    }
}

#[test]
fn a_replica_without_the_module_has_the_same_data() {
    let primary = Server::with().port().start();
    let replica = Server::with().without_module().replica_of(&primary).start();
    primary.wait_for_replica(&replica);
    sell_and_give_back(&primary);
    primary.wait_for_replica(&replica);
    assert_same(&primary, &replica);
}

#[test]
fn events_are_those_of_the_plain_commands() {
    let create = "SECKILL.CREATE 7 9 LIMIT 3 HOLD 900000";
    let sold = "SECKILL.CREATE 7 9 LIMIT 3";
    let one = "SECKILL.TRY 7 alice o1";
    let other = "SECKILL.TRY 7 bob o2";
    let tried = [
        "DECR seckill:stock:7",
        "SADD seckill:order:7 alice",
        "XADD stream.orders * a b",
        "HSET seckill:book:7 o1 x",
        "HSET seckill:units:7 alice x",
    ];
    let held = [tried.as_slice(), &["ZADD seckill:hold:7 5000000000000 o1"]].concat();
    assert_like(&[create], one, &held);
    assert_like(&[sold], one, &tried);
    assert_like(&[create, other], one, &held);
    let more = [
        "DECR seckill:stock:7",
        "XADD stream.orders * a b",
        "HSET seckill:book:7 o3 x",
        "HSET seckill:units:7 alice x",
        "ZADD seckill:hold:7 5000000000000 o3",
    ];
    assert_like(&[create, one], "SECKILL.TRY 7 alice o3", &more);
    let confirm = "SECKILL.CONFIRM 7 alice o1";
    let confirmed = [
        "HSET seckill:book:7 o1 x",
        "ZREM seckill:hold:7 o1",
        "XADD stream.orders.confirmed * a b",
    ];
    assert_like(&[create, one], confirm, &confirmed);
    assert_like(&[create, one, other], confirm, &confirmed);
    let cancel = "SECKILL.CANCEL 7 alice o1";
    let cancelled = [
        "INCRBY seckill:stock:7 1",
        "HSET seckill:book:7 o1 x",
        "HDEL seckill:units:7 alice",
        "SREM seckill:order:7 alice",
        "ZREM seckill:hold:7 o1",
        "XADD stream.orders.released * a b",
    ];
    assert_like(&[create, one], cancel, &cancelled);
    assert_like(&[create, one, other], cancel, &cancelled);
    assert_like(&[sold, one], cancel, &cancelled);
    let rules = "SET seckill:voucher:7 x";
    assert_like(&[], "SECKILL.CREATE 7 5", &[rules, "SET seckill:stock:7 5"]);
    assert_like(&[create], "SECKILL.ALTER 7 LIMIT 2", &[rules]);
    assert_like(&[create], "SECKILL.RESTOCK 7 2", &[rules, "INCRBY seckill:stock:7 2"]);
    let all = "UNLINK seckill:stock:7 seckill:order:7 seckill:voucher:7 seckill:book:7 \
               seckill:units:7 seckill:hold:7 seckill:extra:7";
    assert_like(&[sold, one], "SECKILL.DROP 7", &[all]);
    let unmanaged = ["SET seckill:stock:7 5", one];
    let plain = [
        "INCRBY seckill:stock:7 1",
        "SREM seckill:order:7 alice",
        "XADD stream.orders.released * a b",
    ];
    assert_like(&unmanaged, cancel, &plain);
}

#[test]
fn an_expiry_wakes_readers_and_disturbs_watchers() {
    let (server, mut reader, mut watcher) = in_time(60, |hold_ms| {
        let server = Server::start();
        server.run(&format!("SECKILL.CREATE 7 9 HOLD {hold_ms}"));
        let reader = block(&server, "XREAD BLOCK 0 STREAMS stream.orders.released $");
        let mut watcher = server.client();
        let over = server.place_hold("7 alice o1");
        watcher.run("WATCH seckill:stock:7");
        (server.clock_ms() < over).then_some((server, reader, watcher))
    });
    server.wait_for_state("7", "o1", "expired");
    assert_ne!(reader.receive(), Value::Nil);
    watcher.check("> MULTI\nOK\n> PING\nQUEUED\n> EXEC\n(nil)");
    assert_eq!(integer(&server.run("XLEN stream.orders.released")), 1);
}

//! Keys that other clients have spoiled: every command that needs one is refused, and changes
//! nothing.

use crate::commands::{Row, World, assert_answered, in_words, rows};
use crate::harness::Server;
use crate::observe::{assert_error, words};
use crate::waiting::LAST_ID;
use redis::Value;
use std::collections::BTreeSet;

/// The calls of the table that need a key.
fn needing(key: &str) -> Vec<&'static str> {
    let needs = |row: &Row| row.needs.iter().any(|need| need == key);
    let calls = rows().into_iter().filter(needs).map(|row| row.call);
    let calls: Vec<_> = calls.collect();
    assert!(!calls.is_empty(), "{key}");
    calls
}

/// Every key that a command needs.
fn needed() -> BTreeSet<String> {
    rows().into_iter().flat_map(|row| row.needs).collect()
}

/// The world of the table, made again for every spoiled key.
struct Spoiled {
    server: Server,
    world: World,
}

impl Spoiled {
    fn start() -> Self {
        Self::on(Server::observed().start())
    }

    fn on(server: Server) -> Self {
        server.run("CONFIG SET appendfsync no");
        let world = World::make(None, |command| server.run(command));
        Self { server, world }
    }

    /// Makes everything, and spoils it by these commands.
    fn by(&mut self, commands: &[&str]) {
        self.server.run("FLUSHALL");
        self.world = World::make(None, |command| self.server.run(command));
        commands.iter().for_each(|command| drop(self.server.run(&self.world.named(command))));
    }

    /// Makes everything, with a key of another type.
    fn by_type(&mut self, key: &str, make: &str) {
        self.by(&[&format!("DEL {key}"), &make.replace('K', key)]);
    }

    /// Every command is refused, or each try of a batch, with this code word; returns the errors.
    fn refuses(&self, commands: &[&str], code: &str) -> Vec<String> {
        let refused = |command: &&str| match self.server.silent(&self.world.named(command)) {
            Value::Array(errors) => errors,
            error => vec![error],
        };
        let errors = |command: &&str| {
            let errors = refused(command).into_iter();
            errors.map(|error| assert_error(&error, code, command)).collect::<Vec<_>>()
        };
        commands.iter().flat_map(errors).collect()
    }
}

#[test]
fn a_key_of_another_type_is_refused_before_anything_changes() {
    let makes = ["RPUSH K a", "SET K a", "SADD K a", "HSET K f v", "ZADD K 1 a", "XADD K 1-1 f v"];
    for key in &needed() {
        let mut spoiled = Spoiled::start();
        let is_of = |what: &[&str]| what.iter().any(|part| key.contains(part));
        let right = match key.as_str() {
            _ if is_of(&["stream", "orders"]) => "XADD",
            _ if is_of(&["seckill:order", "buyers"]) => "SADD",
            _ if is_of(&["book", "units", "payments", "winners", "outside", "extra:"]) => "HSET",
            _ if is_of(&["hold:", "wait:"]) => "ZADD",
            _ if is_of(&["codes"]) => "RPUSH",
            _ => "SET",
        };
        let calls = needing(key);
        // One other type is enough for most commands.
        for (number, make) in makes.iter().filter(|make| !make.starts_with(right)).enumerate() {
            spoiled.by_type(key, make);
            // Extra units are records: what else was written there can't be read.
            let code = if key.contains(":extra:") { "ERR" } else { "WRONGTYPE" };
            spoiled.refuses(if number == 0 { &calls } else { &calls[..1] }, code);
        }
    }
}

/// What the table doesn't name, a command can do without. Those that only look may tell of it.
#[test]
fn a_command_needs_no_other_key_of_its_voucher() {
    let mut spoiled = Spoiled::on(Server::start());
    let there = words(spoiled.server.run("KEYS *"));
    let mut seen = 0;
    for Row { call, answer, needs, writes } in rows() {
        let needs: Vec<_> = needs.iter().map(|key| spoiled.world.named(key)).collect();
        let of = call.split(['@', ' ']).nth(2).unwrap_or_default();
        let is_near = |key: &&String| key.ends_with(&format!(":{of}")) || key.contains("stream.");
        for key in there.iter().filter(is_near).filter(|key| !needs.contains(key)) {
            spoiled.by_type(key, if key.contains("codes") { "SET K a" } else { "RPUSH K a" });
            let got = in_words(&spoiled.server.run(&spoiled.world.named(call)));
            // Who waits is promoted later.
            match writes.is_empty() || of == "5" {
                true => assert!(!got.starts_with("(error) WRONG"), "{call} with {key}: {got}"),
                false => assert_answered(&format!("{call} with {key}"), answer, &got),
            }
            seen += 1;
        }
    }
    assert!(seen > 150, "{seen}");
}

#[test]
fn a_stock_that_is_no_integer_is_refused() {
    let mut spoiled = Spoiled::start();
    let stocks =
        ["5.5", "' 5'", "+5", "007", "-0", "''", "abc", "9223372036854775808", "\"5\\x00\""];
    for stock in stocks {
        for key in ["seckill:stock:7", "seckill:stock:8", "seckill:stock:6", "stock"] {
            spoiled.by(&[&format!("SET {key} {stock}")]);
            for error in spoiled.refuses(&needing(key), "ERR") {
                assert_eq!(error, "ERR stock is not an integer or out of range", "{key} {stock}");
            }
        }
    }
    spoiled.server.call(&["SET", "seckill:stock:8", &"1".repeat(1 << 20)]);
    spoiled.refuses(&["SECKILL.TRY 8 bob o2"], "ERR");
}

#[test]
fn rules_that_cannot_be_are_refused_by_every_command() {
    let spoiled = Spoiled::start();
    let key = "seckill:voucher:7";
    // What else can't be is in the tests of `domain`.
    let deep = "[".repeat(100_000);
    for rules in [r#"{"total":5,"begin":null,"end":null,"limit":1}"#, "", "\u{0}", &deep] {
        spoiled.server.call(&["SET", key, rules]);
        for error in spoiled.refuses(&needing(key), "ERR") {
            assert!(error.contains("rules"), "{rules:.50}: {error}");
        }
    }
    // A broken sale can be dropped.
    spoiled.server.check("> SECKILL.DROP 7 FORCE\n1");
}

#[test]
fn what_no_command_wrote_is_refused() {
    let records: &[&str] = &[
        "SECKILL.TRY 7 alice o1",
        "SECKILL.CONFIRM 7 alice o1",
        "SECKILL.EXTEND 7 alice o1 9000000",
        "SECKILL.CANCEL 7 alice o1",
        "SECKILL.ORDER 7 o1",
        "SECKILL.REJECT stream.orders g MANAGED",
    ];
    let units: &[&str] = &[
        "SECKILL.TRY 7 alice o2",
        "SECKILL.CANCEL 7 alice o1",
        "SECKILL.STATUS 7 alice",
        "SECKILL.REJECT stream.orders g MANAGED",
    ];
    let fences: &[&str] =
        &["LOCK.ACQUIRE lock ann 1000 FENCE", "LOCK.ACQUIRE lock ann 1000 BLOCK 1000 FENCE"];
    let ids: &[&str] = &["SECKILL.NEXTID order", "SECKILL.NEXTID order COUNT 65536"];
    let unread = "the records of this voucher can't be read";
    let full = "stock or total would be out of range";
    let mut spoiled = Spoiled::start();
    for (spoil, commands, wanted) in [
        ("HSET seckill:book:7 o1 garbled", records, unread),
        ("HSET seckill:units:7 alice x", units, unread),
        ("HSET seckill:payments:7 p x", &["SECKILL.CONFIRM 7 alice o1 REF p"], unread),
        ("RENAME seckill:codes:p seckill:extra:7", &["SECKILL.TRY 7 bob o2 UNITS 2"], ""),
        ("HSET seckill:extra:7 users x", &["SECKILL.TRY 7 bob o2 UNITS 2"], unread),
        (
            "SET seckill:stock:8 9223372036854775807",
            &["SECKILL.CANCEL 8 alice o1", "SECKILL.REJECT stream.orders g UNMANAGED"],
            full,
        ),
        ("SET stock 9223372036854775807", &["SECKILL.RETURN stock"], full),
        ("SET stock -2", &["SECKILL.DEDUCT stock", "SECKILL.RETURN stock"], "only -1 is allowed"),
        ("SET seckill:stock:6 -1", &["SECKILL.CREATE 6 ADOPT"], "stock must be 0 to"),
        ("SET COUNTER ''", ids, "not an integer"),
        ("SET COUNTER -1", ids, "not an integer"),
        ("SET COUNTER 9223372036854775808", ids, "not an integer"),
        ("SET COUNTER 4294967295", ids, "used up"),
        ("SET lock:fence x", fences, "fencing token is not an integer"),
        ("SET lock:fence 9223372036854775807", fences, "are used up"),
    ] {
        spoiled.by(&[spoil]);
        for error in spoiled.refuses(commands, "ERR") {
            assert!(error.contains(wanted), "{spoil}: {error}");
        }
    }
}

/// With entries or without: the greatest id is taken.
#[test]
fn a_stream_that_has_used_up_its_ids_is_refused() {
    let mut spoiled = Spoiled::start();
    let own = ["stream.orders.", "stream.draws", "orders"];
    for key in needed().iter().filter(|key| own.iter().any(|start| key.starts_with(start))) {
        spoiled.by(&[&format!("XADD {key} {LAST_ID} a b")]);
        for _ in 0..2 {
            for error in spoiled.refuses(&needing(key), "ERR") {
                let stream = match key.rsplit('.').next() {
                    Some("dlq") => "dead-letter stream",
                    Some("released") => "stream of released orders",
                    Some("confirmed") => "stream of confirmed orders",
                    Some("draws") => "draw stream",
                    _ => "order stream",
                };
                assert_eq!(error, format!("ERR the {stream} has used up its ids"), "{key}");
            }
            spoiled.server.run(&format!("XTRIM {key} MAXLEN 0"));
        }
    }
    spoiled.by(&[&format!("XADD stream.orders {LAST_ID} a b")]);
    for attempt in ["SECKILL.TRY 7 bob o2", "SECKILL.TRY 8 bob o2", "SECKILL.MTRY 8 bob o2"] {
        let error = spoiled.server.refused(attempt, "ERR");
        assert_eq!(error, "ERR the order stream has used up its ids");
    }
}

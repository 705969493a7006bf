//! Keys that other clients have spoiled: every command that needs one is refused, and changes
//! nothing.

use crate::harness::Server;
use crate::nextid::today;
use crate::reject::entries;
use crate::waiting::LAST_ID;

/// `alice` has a held order of the managed voucher 7, and has bought the unmanaged 8.
const SETUP: [&str; 10] = [
    "SECKILL.CREATE 7 9 LIMIT 3 HOLD 900000",
    "MSET seckill:stock:8 9 seckill:stock:6 9 stock 5",
    "XGROUP CREATE stream.orders g 0 MKSTREAM",
    "SECKILL.TRY 7 alice o1",
    "SECKILL.TRY 8 alice o1",
    "XREADGROUP GROUP g c STREAMS stream.orders >",
    "RPUSH seckill:codes:p one",
    "HSET seckill:winners:p zoe zero",
    "SECKILL.NEXTID order",
    "LOCK.ACQUIRE held zoe 900000",
];

/// In commands, the pending entries of the two orders; in keys, the counter of today's ids.
const MANAGED: &str = "SECKILL.REJECT stream.orders g MANAGED";
const UNMANAGED: &str = "SECKILL.REJECT stream.orders g UNMANAGED";
const COUNTER: &str = "COUNTER";

/// Keys, and the commands that need them.
const NEEDED: [(&str, &[&str]); 22] = [
    (
        "seckill:voucher:7",
        &[
            "SECKILL.TRY 7 bob o2",
            "SECKILL.TRY 7 alice o1",
            "SECKILL.TRY 7 bob *",
            "SECKILL.MTRY 7 bob o2",
            "SECKILL.ALTER 7 LIMIT 2",
            "SECKILL.RESTOCK 7 1",
            "SECKILL.CONFIRM 7 alice o1",
            "SECKILL.EXTEND 7 alice o1 9000000",
            "SECKILL.CANCEL 7 alice o1",
            "SECKILL.STATUS 7 alice",
            "SECKILL.INFO 7",
            "SECKILL.AUDIT 7",
            "SECKILL.AUDIT 7 CURSOR 0",
            MANAGED,
        ],
    ),
    (
        "seckill:stock:7",
        &[
            "SECKILL.TRY 7 bob o2",
            "SECKILL.TRY 7 bob *",
            "SECKILL.MTRY 7 bob o2",
            "SECKILL.RESTOCK 7 1",
            "SECKILL.CANCEL 7 alice o1",
            "SECKILL.INFO 7",
            "SECKILL.AUDIT 7",
            "SECKILL.AUDIT 7 CURSOR 0",
            MANAGED,
        ],
    ),
    (
        "seckill:stock:8",
        &["SECKILL.TRY 8 bob o2", "SECKILL.MTRY 8 bob o2", "SECKILL.CANCEL 8 alice o1", UNMANAGED],
    ),
    ("seckill:stock:6", &["SECKILL.CREATE 6 ADOPT", "SECKILL.INFO 6"]),
    (
        "seckill:order:7",
        &[
            "SECKILL.TRY 7 bob o2",
            "SECKILL.INFO 7",
            "SECKILL.AUDIT 7",
            "SECKILL.AUDIT 7 CURSOR 0",
            MANAGED,
        ],
    ),
    (
        "seckill:order:8",
        &["SECKILL.TRY 8 bob o2", "SECKILL.MTRY 8 bob o2", "SECKILL.CANCEL 8 alice o1", UNMANAGED],
    ),
    (
        "seckill:book:7",
        &[
            "SECKILL.TRY 7 bob o2",
            "SECKILL.CONFIRM 7 alice o1",
            "SECKILL.EXTEND 7 alice o1 9000000",
            "SECKILL.CANCEL 7 alice o1",
            "SECKILL.ORDER 7 o1",
            "SECKILL.STATUS 7 alice",
            "SECKILL.AUDIT 7",
            "SECKILL.AUDIT 7 CURSOR 0",
            MANAGED,
        ],
    ),
    (
        "seckill:units:7",
        &[
            "SECKILL.TRY 7 bob o2",
            "SECKILL.CANCEL 7 alice o1",
            "SECKILL.STATUS 7 alice",
            "SECKILL.AUDIT 7",
            "SECKILL.AUDIT 7 CURSOR 0",
            MANAGED,
        ],
    ),
    (
        "seckill:hold:7",
        &[
            "SECKILL.TRY 7 bob o2",
            "SECKILL.TRY 7 bob * UNITS 1",
            "SECKILL.CONFIRM 7 alice o1",
            "SECKILL.CANCEL 7 alice o1",
            "SECKILL.INFO 7",
            "SECKILL.AUDIT 7",
            "SECKILL.AUDIT 7 CURSOR 0",
            MANAGED,
        ],
    ),
    ("seckill:payments:7", &["SECKILL.CONFIRM 7 alice o1 REF pay-1"]),
    (
        "seckill:outside:7",
        &["SECKILL.RESTOCK 7 -1 FOR o9 SALE NOW", "SECKILL.RESTOCK 7 1 FOR o9 SALE NOW"],
    ),
    ("seckill:last:9", &["SECKILL.CREATE 9 5", "SECKILL.CONFIRM 9 alice o1 REF pay-1"]),
    (
        "stream.orders",
        &[
            "SECKILL.TRY 7 bob o2",
            "SECKILL.TRY 7 bob *",
            "SECKILL.TRY 8 bob o2",
            "SECKILL.MTRY 8 bob o2",
            "SECKILL.REJECT stream.orders g 1-1",
        ],
    ),
    ("stream.orders.confirmed", &["SECKILL.CONFIRM 7 alice o1"]),
    (
        "stream.orders.released",
        &[
            "SECKILL.CANCEL 7 alice o1",
            "SECKILL.CANCEL 8 alice o1",
            "SECKILL.DROP 7 FORCE",
            MANAGED,
            UNMANAGED,
        ],
    ),
    ("stream.orders.dlq", &[MANAGED, UNMANAGED]),
    (
        "stock",
        &[
            "SECKILL.DEDUCT stock",
            "SECKILL.RETURN stock 2",
            "SECKILL.TRYKEYS stock buyers orders 7 bob o2",
            "SECKILL.TRYKEYS stock buyers stock 7 bob o2 NOSTREAM",
        ],
    ),
    (
        "buyers",
        &[
            "SECKILL.TRYKEYS stock buyers orders 7 bob o2",
            "SECKILL.TRYKEYS stock buyers stock 7 bob o2 NOSTREAM",
        ],
    ),
    ("orders", &["SECKILL.TRYKEYS stock buyers orders 7 bob o2"]),
    ("seckill:codes:p", &["SECKILL.DRAW p ann", "SECKILL.UNDRAW p zoe"]),
    ("seckill:winners:p", &["SECKILL.DRAW p ann", "SECKILL.UNDRAW p zoe"]),
    ("stream.draws", &["SECKILL.DRAW p ann"]),
];

/// The same for keys of ids and locks.
const NEEDED_BY_OTHERS: [(&str, &[&str]); 3] = [
    (COUNTER, &["SECKILL.NEXTID order", "SECKILL.TRY 8 bob *"]),
    (
        "held",
        &[
            "LOCK.ACQUIRE held ann 5 BLOCK 5",
            "LOCK.RENEW held ann 5",
            "LOCK.RELEASE held ann",
            "LOCK.INFO held",
        ],
    ),
    (
        "lock:fence",
        &["LOCK.ACQUIRE lock ann 1000 FENCE", "LOCK.ACQUIRE lock ann 1000 BLOCK 1000 FENCE"],
    ),
];

/// A server that is set up again for every spoiled key, and its managed sale.
struct Spoiled {
    server: Server,
    sale: String,
}

impl Spoiled {
    fn start() -> Self {
        Self { server: Server::observed().start(), sale: String::new() }
    }

    /// Sets everything up, and spoils it by these commands.
    fn by(&mut self, commands: &[&str]) {
        self.server.run("FLUSHALL");
        SETUP.iter().for_each(|command| drop(self.server.run(command)));
        self.sale = self.server.sale_of("7");
        let counter = today(&self.server, "order");
        let spoil = commands.iter().map(|command| command.replace(COUNTER, &counter));
        spoil.for_each(|command| drop(self.server.run(&command)));
    }

    /// Every command is refused, with this code word; returns the errors.
    fn refuses(&self, commands: &[&str], code: &str) -> Vec<String> {
        let ids: Vec<String> = match self.server.run("TYPE stream.orders") {
            redis::Value::SimpleString(kind) if kind == "stream" => {
                entries(&self.server, "stream.orders").into_iter().map(|(id, _)| id).collect()
            }
            _ => vec!["1-1".to_owned(); 2],
        };
        let with_ids = |command: &&str| {
            let named = command.replace("SALE NOW", &format!("SALE {}", self.sale));
            named.replace("g MANAGED", &format!("g {}", ids[0])).replace("UNMANAGED", &ids[1])
        };
        commands.iter().map(|command| self.server.refused(&with_ids(command), code)).collect()
    }
}

#[test]
fn a_key_of_another_type_is_refused_before_anything_changes() {
    let mut spoiled = Spoiled::start();
    let makes = ["RPUSH K a", "SET K a", "SADD K a", "HSET K f v", "ZADD K 1 a", "XADD K 1-1 f v"];
    for (key, commands) in NEEDED.into_iter().chain(NEEDED_BY_OTHERS) {
        let is_of = |what: &[&str]| what.iter().any(|part| key.contains(part));
        let right = match key {
            _ if is_of(&["stream", "orders"]) => "XADD",
            _ if is_of(&["seckill:order", "buyers"]) => "SADD",
            _ if is_of(&["book", "units", "payments", "winners", "outside"]) => "HSET",
            _ if is_of(&["hold:"]) => "ZADD",
            _ if is_of(&["codes"]) => "RPUSH",
            _ => "SET",
        };
        // One other type is enough for most commands.
        for (number, make) in makes.iter().filter(|make| !make.starts_with(right)).enumerate() {
            spoiled.by(&[&format!("DEL {key}"), &make.replace('K', key)]);
            let commands = if number == 0 { commands } else { &commands[..1] };
            spoiled.refuses(commands, "WRONGTYPE");
        }
    }
}

#[test]
fn a_stock_that_is_no_integer_is_refused() {
    let mut spoiled = Spoiled::start();
    let stocks =
        ["5.5", "' 5'", "+5", "007", "-0", "''", "abc", "9223372036854775808", "\"5\\x00\""];
    for stock in stocks {
        for key in ["seckill:stock:7", "seckill:stock:8", "seckill:stock:6", "stock"] {
            let (_, commands) = NEEDED.into_iter().find(|row| row.0 == key).expect("a row");
            spoiled.by(&[&format!("SET {key} {stock}")]);
            for error in spoiled.refuses(commands, "ERR") {
                assert_eq!(error, "ERR stock is not an integer or out of range", "{key} {stock}");
            }
        }
    }
    spoiled.server.call(&["SET", "seckill:stock:8", &"1".repeat(1 << 20)]);
    spoiled.refuses(&["SECKILL.TRY 8 bob o2"], "ERR");
}

#[test]
fn rules_that_cannot_be_are_refused_by_every_command() {
    let mut spoiled = Spoiled::start();
    let (key, commands) = NEEDED[0];
    spoiled.by(&[]);
    // What else can't be is in the tests of `domain`.
    let deep = "[".repeat(100_000);
    for rules in [r#"{"total":5,"begin":null,"end":null,"limit":1}"#, "", "\u{0}", &deep] {
        spoiled.server.call(&["SET", key, rules]);
        for error in spoiled.refuses(commands, "ERR") {
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
        MANAGED,
    ];
    let units: &[&str] =
        &["SECKILL.TRY 7 alice o2", "SECKILL.CANCEL 7 alice o1", "SECKILL.STATUS 7 alice", MANAGED];
    let ids: &[&str] = &["SECKILL.NEXTID order", "SECKILL.NEXTID order COUNT 65536"];
    let unread = "the records of this voucher can't be read";
    let full = "stock or total would be out of range";
    let mut spoiled = Spoiled::start();
    for (spoil, commands, wanted) in [
        ("HSET seckill:book:7 o1 garbled", records, unread),
        ("HSET seckill:units:7 alice x", units, unread),
        ("HSET seckill:payments:7 p x", &["SECKILL.CONFIRM 7 alice o1 REF p"], unread),
        ("RPUSH seckill:extra:7 a", &["SECKILL.TRY 7 bob o2 UNITS 2"], ""),
        ("SET seckill:extra:7 x", &["SECKILL.TRY 7 bob o2 UNITS 2"], ""),
        (
            "SET seckill:stock:8 9223372036854775807",
            &["SECKILL.CANCEL 8 alice o1", UNMANAGED],
            full,
        ),
        ("SET stock 9223372036854775807", &["SECKILL.RETURN stock"], full),
        ("SET stock -2", &["SECKILL.DEDUCT stock", "SECKILL.RETURN stock"], "only -1 is allowed"),
        ("SET seckill:stock:6 -1", &["SECKILL.CREATE 6 ADOPT"], "stock must be 0 to"),
        ("SET COUNTER ''", ids, "not an integer"),
        ("SET COUNTER -1", ids, "not an integer"),
        ("SET COUNTER 9223372036854775808", ids, "not an integer"),
        ("SET COUNTER 4294967295", ids, "used up"),
        ("SET lock:fence x", NEEDED_BY_OTHERS[2].1, "fencing token is not an integer"),
        ("SET lock:fence 9223372036854775807", NEEDED_BY_OTHERS[2].1, "are used up"),
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
    for (key, commands) in NEEDED.into_iter().filter(|row| {
        let own = ["stream.orders.", "stream.draws", "orders"];
        own.iter().any(|start| row.0.starts_with(start))
    }) {
        spoiled.by(&[&format!("XADD {key} {LAST_ID} a b")]);
        for _ in 0..2 {
            for error in spoiled.refuses(commands, "ERR") {
                let stream = if key.ends_with(".dlq") { "dead-letter" } else { "stream" };
                let told = error.contains(stream) && error.ends_with("used up its ids");
                assert!(told, "{key}: {error}");
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

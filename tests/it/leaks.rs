//! Memory is released: after every command was answered in every way, many times, an empty server
//! uses as much memory as before.
//!
//! LEAK_COMMANDS=1000000 is the long form.

use std::collections::BTreeSet;

use crate::harness::{Client, Server};
use crate::observe::words;
use crate::transcript::argv;
use redis::Value;

const SHORT: usize = 60_000;

/// How much more memory an empty server may use after all rounds than after the first quarter. In
/// the long form, a leak of one byte in one command of a round would reach this.
const SLACK: i64 = 5 << 10;

/// The limit for the process's resident memory: the allocator takes it by the MB.
const RSS_SLACK: i64 = 6 << 20;

/// Commands that are answered at once. `@` is the number of the round.
const ROUND: &str = r#"
    SET seckill:stock:u@ 3 EX 1000
    SECKILL.TRY u@ alice o@
    SECKILL.TRY u@ alice o@
    SECKILL.TRY u@ bob * UNITS 2
    SECKILL.TRY u@ carol o3
    SECKILL.TRY u@ alice o UNITS x
    SECKILL.TRY none alice o
    SECKILL.TRY u@ alice
    SECKILL.CANCEL u@ alice o@
    SECKILL.CANCEL u@ alice o@
    SET stock 5
    SECKILL.TRYKEYS stock buyers orders u@ alice o@
    SECKILL.TRYKEYS stock buyers orders u@ alice o@
    SECKILL.TRYKEYS stock stock orders u@ alice o@
    SECKILL.TRYKEYS stock b stock u@ bob o@ UNITS 2 NOSTREAM
    SET seckill:stock:c@ 2 EX 1000
    SECKILL.MTRY c@ alice o1 bob * alice o3 carol o4
    SECKILL.MTRY c@ alice o1 bob * dave
    SECKILL.CREATE b@ 2 LIMIT 2 HOLD 900000
    SECKILL.MTRY b@ alice o1 alice o1 bob o1 bob * carol *
    SECKILL.DROP b@
    SECKILL.CREATE m@ 5 LIMIT 2 HOLD 900000
    SECKILL.CREATE m@ 5
    SECKILL.TRY m@ alice o1 UNITS 2
    SECKILL.TRY m@ alice o1 UNITS 2
    SECKILL.TRY m@ alice o2
    SECKILL.TRY m@ bob o1
    SECKILL.TRY m@ bob *
    SECKILL.TRY m@ carol o5
    SECKILL.CONFIRM m@ alice o1
    SECKILL.CONFIRM m@ alice o1
    SECKILL.CONFIRM m@ nobody o1
    SECKILL.ORDER m@ o1
    SECKILL.ORDER m@ none
    SECKILL.STATUS m@ alice
    SECKILL.STATUS m@ nobody
    SECKILL.INFO m@
    SECKILL.AUDIT m@
    SECKILL.CANCEL m@ alice o1
    SECKILL.CANCEL m@ alice o1
    SECKILL.EXTEND m@ alice o1 9
    SECKILL.EXTEND m@ bob o2 9999999
    SECKILL.ALTER m@ BEGIN 1 END 2
    SECKILL.ALTER m@ END 0x
    SECKILL.ALTER none LIMIT 5
    SECKILL.TRY m@ dave o6
    SECKILL.ALTER m@ BEGIN 9999999999999 END 0
    SECKILL.TRY m@ dave o6
    SECKILL.RESTOCK m@ 3
    SECKILL.RESTOCK m@ -100
    SET seckill:voucher:x@ {"total":1}
    SECKILL.TRY x@ alice o1
    SECKILL.CREATE e@ 2 HOLD 1
    SECKILL.TRY e@ alice o1
    XGROUP CREATE stream.orders g 0 MKSTREAM
    EVAL "REJECT" 0
    SECKILL.REJECT stream.orders g 1-1
    SECKILL.REJECT stream.orders none 1-1
    SECKILL.REJECT stream.orders g x
    SECKILL.DROP m@
    SECKILL.DROP m@ FORCE
    SECKILL.DROP m@ FORCE
    SECKILL.DEDUCT stock 2
    SECKILL.DEDUCT stock 100
    SECKILL.DEDUCT none
    SECKILL.RETURN stock
    SECKILL.RETURN none
    RPUSH seckill:codes:p@ a
    SECKILL.DRAW p@ ann
    SECKILL.DRAW p@ ann
    SECKILL.DRAW p@ bob
    SECKILL.UNDRAW p@ ann
    SECKILL.UNDRAW p@ ann
    SECKILL.NEXTID ids@ COUNT 3
    SECKILL.NEXTID ids@ COUNT 0
    LOCK.ACQUIRE lock@ t 100000 FENCE
    LOCK.ACQUIRE lock@ t 100000 FENCE
    LOCK.ACQUIRE lock@ u 100000
    LOCK.ACQUIRE lock@ u 100000 BLOCK x
    LOCK.ACQUIRE tied@ t 100000 SESSION
    LOCK.ACQUIRE tied@ t 100000 FENCE SESSION
    LOCK.ACQUIRE tied@ u 100000 SESSION
    LOCK.RELEASE tied@ t
    LOCK.ACQUIRE tied@ u 100000 SESSION
    LOCK.RENEW lock@ t 200000
    LOCK.RENEW lock@ u 200000
    LOCK.INFO lock@
    LOCK.INFO none
    LOCK.RELEASE lock@ u
    LOCK.RELEASE lock@ t
    LOCK.RELEASE stream.orders t
    MULTI
    SECKILL.TRY u@ eve o@
    LOCK.ACQUIRE lock@ t 100000 BLOCK 50
    LOCK.ACQUIRE lock@ u 100000 BLOCK 50
    SECKILL.CREATE m@ 5
    SECKILL.TRY m@ bob *
    LOCK.RELEASE lock@ t
    EXEC
    MULTI
    SECKILL.TRY u@ frank o@
    SECKILL.TRY
    EXEC
    EVAL "NESTED" 1 u@
"#;

/// Scripts, by their names in the round: a consumer that rejects every entry, and commands that are
/// refused or must not block.
const SCRIPTS: [(&str, &str); 2] = [
    (
        "REJECT",
        "local e = redis.call('XREADGROUP', 'GROUP', 'g', 'c', 'COUNT', '3', 'STREAMS', \
             'stream.orders', '>') \
         for _, x in ipairs(e[1][2]) do \
             redis.call('SECKILL.REJECT', 'stream.orders', 'g', x[1], 'REASON', 'odd') \
             redis.pcall('SECKILL.REJECT', 'stream.orders', 'g', x[1]) \
         end return 1",
    ),
    (
        "NESTED",
        "redis.pcall('SECKILL.TRY', KEYS[1], 'u', 'o') \
         redis.pcall('LOCK.ACQUIRE', 'l', 't', '9', 'SESSION') \
         redis.pcall('SECKILL.TRY', 'none', 'u', 'o') \
         redis.pcall('LOCK.ACQUIRE', 'l', 't', '9') \
         return redis.pcall('LOCK.ACQUIRE', 'l', 'u', '9', 'BLOCK', '9')",
    ),
];

struct Rounds {
    server: Server,
    client: Client,
    waiter: Client,
    lines: Vec<String>,
    sent: usize,
}

impl Rounds {
    fn new() -> Self {
        let server = Server::with().config("slowlog-max-len 0").start();
        let (client, waiter) = (server.client(), server.client());
        let lines = ROUND.lines().map(str::trim).filter(|line| !line.is_empty());
        Self { client, waiter, lines: lines.map(str::to_owned).collect(), server, sent: 0 }
    }

    /// Runs every command once; then the server is empty.
    fn round(&mut self, number: usize) {
        // Names are used again, so that what the server counts by name does not grow.
        let name = (number % 50).to_string();
        for line in &self.lines {
            let mut line = line.replace('@', &name);
            for (name, script) in SCRIPTS {
                line = line.replace(&format!("EVAL \"{name}\""), &format!("EVAL \"{script}\""));
            }
            self.client.send(&argv(&line));
        }
        for _ in 0..self.lines.len() {
            self.client.receive();
        }
        self.sent += self.lines.len();
        self.wait_for_locks(number);
        assert_eq!(self.server.run("FLUSHALL SYNC"), Value::Okay);
    }

    /// A wait for a lock that is granted, one that ends, and one of a client that disconnects.
    fn wait_for_locks(&mut self, number: usize) {
        self.client.check("> LOCK.ACQUIRE waited t 100000\n1");
        self.waiter.send(&argv("LOCK.ACQUIRE waited w 100000 BLOCK 60000 FENCE"));
        self.wait_for_line(1);
        self.client.check("> LOCK.RELEASE waited t\n1");
        assert!(matches!(self.waiter.receive(), Value::Int(1..)));
        if number.is_multiple_of(4) {
            self.waiter.check("> LOCK.ACQUIRE waited z 100000 BLOCK 1\n0");
        }
        if number.is_multiple_of(16) {
            let mut gone = self.server.client();
            gone.send(&argv("LOCK.ACQUIRE waited gone 100000 BLOCK 60000"));
            self.wait_for_line(1);
            drop(gone);
            self.wait_for_line(0);
        }
        self.sent += 4;
    }

    fn wait_for_line(&mut self, length: i64) {
        self.server.until("the line", || {
            self.client.field("LOCK.INFO waited", "waiters") == Value::Int(length)
        });
    }

    /// `used_memory` and the resident set size of the empty server.
    fn memory(&mut self) -> [i64; 2] {
        self.server.run("SCRIPT FLUSH SYNC");
        self.server.run("CONFIG RESETSTAT");
        self.server.run("MEMORY PURGE");
        ["used_memory", "used_memory_rss"].map(|field| self.server.info_number(field))
    }
}

#[test]
fn an_empty_server_has_as_much_memory_in_use_as_before() {
    let wanted = std::env::var("LEAK_COMMANDS").map_or(SHORT, |count| count.parse().expect("one"));
    let mut rounds = Rounds::new();
    let mut number = 0;
    while rounds.sent < wanted / 4 {
        rounds.round(number);
        number += 1;
    }
    every_command_was_called(&rounds.server);
    let before = rounds.memory();
    while rounds.sent < wanted {
        rounds.round(number);
        number += 1;
    }
    every_command_was_called(&rounds.server);
    let after = rounds.memory();
    // A regular exit: under valgrind, the server reports leaks when it exits.
    assert!(rounds.server.stop().success(), "{}", rounds.server.log());
    println!("{} commands: [used, resident] {before:?}, then {after:?}", rounds.sent);
    assert!(after[0] <= before[0] + SLACK, "in use: {before:?}, then {after:?}");
    assert!(after[1] <= before[1] + RSS_SLACK, "resident: {before:?}, then {after:?}");
    assert!(!rounds.server.log().contains("a bug in"), "{}", rounds.server.log());
}

/// Every command of the module must have been called here.
fn every_command_was_called(server: &Server) {
    let all = words(server.run("COMMAND LIST FILTERBY MODULE seckill"));
    let stats = server.say("INFO commandstats");
    let called: BTreeSet<&str> =
        stats.lines().filter_map(|line| line.strip_prefix("cmdstat_")?.split(':').next()).collect();
    for name in all {
        assert!(called.contains(name.as_str()), "{name} was not called:\n{stats}");
    }
}

//! Memory is released: after every command was answered in every way, many times, an empty server
//! uses as much memory as before.
//!
//! LEAK_COMMANDS=1000000 is the long form.

use crate::commands::{World, rows};
use crate::declared::Declared;
use crate::harness::{Client, Server, text};
use crate::transcript::argv;
use redis::Value;

const SHORT: usize = 120_000;

/// How much more memory an empty server may use after all rounds than after the first quarter. In
/// the long form, a leak of one byte in one command of a round would reach this.
const SLACK: i64 = 1 << 10;

/// The limit for the process's resident memory: the allocator takes it by the MB.
const RSS_SLACK: i64 = 6 << 20;

/// What the table of commands lacks, beside calls that say something wrong.
const MORE: &str = r#"
    SET seckill:stock:u 3 EX 1000
    SECKILL.TRY u alice o1
    SECKILL.TRY u bob * UNITS 2
    SECKILL.TRY u carol o3
    SECKILL.TRY u alice
    SECKILL.TRY none alice o
    SECKILL.TRYKEYS stock stock orders u alice o1
    SECKILL.MTRY u alice o1 bob * dave
    SECKILL.CREATE m 5 LIMIT 2 HOLD 900000
    SECKILL.MTRY m alice o1 alice o1 bob o1 bob * carol *
    SECKILL.CONFIRM m nobody o1
    SECKILL.EXTEND m alice o1 9
    SECKILL.ALTER m BEGIN 1 END 2
    SECKILL.TRY m dave o6
    SECKILL.ALTER m BEGIN 9999999999999 END 0
    SECKILL.TRY m dave o6
    SECKILL.RESTOCK m -100
    SECKILL.DROP m
    SET seckill:voucher:x {"total":1}
    SECKILL.TRY x alice o1
    SECKILL.CREATE e 2 HOLD 1
    SECKILL.TRY e alice o1
    SECKILL.REJECT stream.orders none 1-1
    SECKILL.DEDUCT none
    SECKILL.DRAW none ann
    LOCK.ACQUIRE tied t 100000 SESSION
    LOCK.ACQUIRE tied t 100000 FENCE SESSION
    LOCK.ACQUIRE tied u 100000 SESSION
    LOCK.RELEASE tied t
    LOCK.ACQUIRE tied u 100000 SESSION
    LOCK.RELEASE stream.orders t
    MULTI
    LOCK.ACQUIRE lock t 100000 BLOCK 50
    LOCK.ACQUIRE lock u 100000 BLOCK 50
    SECKILL.TRY m bob *
    EXEC
    MULTI
    SECKILL.TRY
    EXEC
    EVAL "NESTED" 1 u
"#;

/// Commands that are refused or must not block, in a script.
const NESTED: &str = "redis.pcall('SECKILL.TRY', KEYS[1], 'u', 'o') \
     redis.pcall('LOCK.ACQUIRE', 'l', 't', '9', 'SESSION') \
     redis.pcall('SECKILL.TRY', 'none', 'u', 'o') \
     redis.pcall('LOCK.ACQUIRE', 'l', 't', '9') \
     return redis.pcall('LOCK.ACQUIRE', 'l', 'u', '9', 'BLOCK', '9')";

struct Rounds {
    server: Server,
    client: Client,
    waiter: Client,
    /// Calls of the table, of which some end a sale.
    calls: Vec<&'static str>,
    more: Vec<Vec<Vec<u8>>>,
    sent: usize,
}

impl Rounds {
    fn new() -> Self {
        let server = Server::with().config("slowlog-max-len 0").start();
        let (client, waiter) = (server.client(), server.client());
        let mut calls: Vec<_> = rows().into_iter().map(|row| row.call).collect();
        calls.sort_by_key(|call| call.starts_with("SECKILL.DROP "));
        let more = MORE.replace("NESTED", NESTED);
        let more = more.lines().filter(|line| !line.trim().is_empty()).map(argv);
        let wrong = Declared::all(&server).into_iter().flat_map(|declared| {
            let lacking = declared.lacking().into_iter().map(|(call, _)| argv(&call));
            let odd = declared.values().into_iter().map(|(call, _)| argv(&call.replace('@', "''")));
            lacking.chain(odd).collect::<Vec<_>>()
        });
        let more = more.chain(wrong).collect();
        Self { server, client, waiter, calls, more, sent: 0 }
    }

    /// Runs every command, and those of the table again; then the server is empty.
    fn round(&mut self, number: usize) {
        let world = World::make(None, |command| self.client.run(command));
        let calls: Vec<_> = self.calls.iter().map(|call| argv(&world.named(call))).collect();
        for commands in [&calls, &calls, &self.more] {
            self.sent += self.client.together(commands).len();
        }
        self.wait_for_locks(number);
        assert_eq!(self.server.run("FLUSHALL SYNC"), Value::Okay);
    }

    /// A wait for a lock that is granted, one that ends, and one of a client that disconnects.
    fn wait_for_locks(&mut self, number: usize) {
        self.client.check("> LOCK.ACQUIRE waited t 100000\n1");
        self.waiter.send(&argv("LOCK.ACQUIRE waited w 100000 BLOCK 60000 FENCE"));
        self.wait_for_queue(1);
        self.client.check("> LOCK.RELEASE waited t\n1");
        assert!(matches!(self.waiter.receive(), Value::Int(1..)));
        if number.is_multiple_of(4) {
            self.waiter.check("> LOCK.ACQUIRE waited z 100000 BLOCK 1\n0");
        }
        if number.is_multiple_of(16) {
            let mut gone = self.server.client();
            gone.send(&argv("LOCK.ACQUIRE waited gone 100000 BLOCK 60000"));
            self.wait_for_queue(1);
            drop(gone);
            self.wait_for_queue(0);
        }
        self.sent += 4;
    }

    fn wait_for_queue(&mut self, length: i64) {
        self.server.until("the queue", || {
            self.client.field("LOCK.INFO waited", "waiters") == Value::Int(length)
        });
    }

    /// The memory in use and the resident set size of the empty server, without the buffers of its
    /// clients: a server shrinks them when it likes.
    fn memory(&mut self) -> [i64; 2] {
        self.server.run("SCRIPT FLUSH SYNC");
        self.server.run("CONFIG RESETSTAT");
        self.server.run("MEMORY PURGE");
        // At once, since between two commands it may shrink one.
        let both = self.server.transaction(&["CLIENT LIST", "INFO memory"]);
        let [clients, memory] = [text(&both[0]), text(&both[1])];
        let of_clients = clients.split_whitespace().filter_map(|it| it.strip_prefix("tot-mem="));
        let of_clients: i64 = of_clients.map(|it| it.parse::<i64>().expect("a size")).sum();
        let [used, resident] = ["used_memory:", "used_memory_rss:"].map(|name| {
            let value = memory.lines().find_map(|line| line.strip_prefix(name)).expect(name);
            value.trim().parse::<i64>().expect("a size")
        });
        [used - of_clients, resident]
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
    let before = rounds.memory();
    while rounds.sent < wanted {
        rounds.round(number);
        number += 1;
    }
    let after = rounds.memory();
    // A regular exit: under valgrind, the server reports leaks when it exits.
    assert!(rounds.server.stop().success(), "{}", rounds.server.log());
    println!("{} commands: [used, resident] {before:?}, then {after:?}", rounds.sent);
    assert!(after[0] <= before[0] + SLACK, "in use: {before:?}, then {after:?}");
    assert!(after[1] <= before[1] + RSS_SLACK, "resident: {before:?}, then {after:?}");
    assert!(!rounds.server.log().contains("a bug in"), "{}", rounds.server.log());
}

//! A sale over shards, and what must be true of it whenever nothing moves.

use redis::Value;

use crate::harness::{Server, text};
use crate::program::Program;

/// A sale of the voucher 7 on one server.
pub struct Shop {
    pub server: Server,
    pub shards: u32,
    pub stock: i64,
    pub managed: bool,
}

impl Shop {
    pub fn open(shards: u32, stock: i64, managed: bool) -> Self {
        let shop = Self {
            server: Server::with().port().config("seckill.hash-tags yes").start(),
            shards,
            stock,
            managed,
        };
        assert_eq!(shop.run(&shop.opening()), format!("opened {shards} of {shards} shards\n"));
        shop
    }

    /// A sale of unmanaged vouchers, and one of managed ones.
    pub fn of_both_kinds(shards: u32, stock: i64) -> impl Iterator<Item = Self> {
        [false, true].into_iter().map(move |managed| Self::open(shards, stock, managed))
    }

    /// Nothing is left of the sale but the id that its next one has to exceed.
    pub fn assert_gone(&self) {
        let Value::Array(keys) = self.ask("KEYS *") else { panic!("keys") };
        let keys: Vec<_> = keys.iter().map(text).collect();
        let left = keys.iter().filter(|key| !key.starts_with("seckill:last:"));
        assert_eq!(left.collect::<Vec<_>>(), Vec::<&String>::new());
    }

    pub fn opening(&self) -> String {
        let managed = if self.managed { " --managed" } else { "" };
        format!("open --shards {} --stock {}{managed}", self.shards, self.stock)
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.server.port())
    }

    pub fn start(&self, words: &str, die_at: Option<u32>) -> Program {
        Program::shards(&self.url(), &format!("--voucher 7 {words}"), die_at)
    }

    /// Runs seckill-shards, which must succeed, and returns its output.
    pub fn run(&self, words: &str) -> String {
        self.start(words, None).printed()
    }

    pub fn ask(&self, command: &str) -> Value {
        self.server.run(command)
    }

    pub fn number(&self, command: &str) -> i64 {
        match self.ask(command) {
            Value::Int(number) => number,
            Value::BulkString(text) => String::from_utf8_lossy(&text).parse().expect("a number"),
            Value::Nil => 0,
            other => panic!("{command}: {other:?}"),
        }
    }

    pub fn left(&self, shard: u32) -> i64 {
        self.number(&format!("GET seckill:stock:{{7#{shard}}}"))
    }

    pub fn try_as(&self, user: &str) -> i64 {
        let shard = shard_of(user.as_bytes(), self.shards);
        self.number(&format!("SECKILL.TRY 7#{shard} {user} o-{user}"))
    }

    /// Units that have left a shard and not reached the other, according to the journals.
    fn on_the_way(&self) -> i64 {
        let mut units = 0;
        for from in 0..self.shards {
            let out = self.ask(&format!("HGET seckill:shard:{{7#{from}}} out"));
            if out == Value::Nil {
                continue;
            }
            let out = text(&out);
            let parts: Vec<_> = out.split(':').collect();
            let [seq, to, of, _] = parts[..] else { panic!("the move {out}") };
            let came = self.ask(&format!("HGET seckill:shard:{{7#{to}}} in:{from}"));
            let is_there = came != Value::Nil && text(&came).split(':').next() == Some(seq);
            units += if is_there { 0 } else { of.parse::<i64>().expect("units") };
        }
        units
    }

    /// Every unit is on a shard, sold, or in exactly one journal, and the shards are correct.
    pub fn check(&self) {
        let (mut units, mut totals) = (self.on_the_way(), self.on_the_way());
        for shard in 0..self.shards {
            let sold = self.number(&format!("SCARD seckill:order:{{7#{shard}}}"));
            let left = self.left(shard);
            assert!(left >= 0, "shard {shard} has {left}");
            units += left + sold;
            if self.managed {
                let audit = self.audit(shard);
                let of = |name: &str| {
                    let found = audit.chunks(2).find(|pair| text(&pair[0]) == name);
                    found.expect("a field")[1].clone()
                };
                assert_eq!(of("differences"), Value::Array(Vec::new()), "shard {shard}");
                totals += text(&of("total")).parse::<i64>().expect("a total");
            }
        }
        assert_eq!(units, self.stock, "units of the sale");
        if self.managed {
            assert_eq!(totals, self.stock, "totals of the shards");
        }
    }

    /// The last step of the audit of a shard.
    fn audit(&self, shard: u32) -> Vec<Value> {
        let mut cursor = "0".to_owned();
        loop {
            let step = self.ask(&format!("SECKILL.AUDIT 7#{shard} CURSOR {cursor}"));
            let Value::Array(step) = step else { panic!("no audit: {step:?}") };
            let [next, Value::Array(fields)] = &step[..] else { panic!("no step: {step:?}") };
            cursor = text(next);
            if cursor == "0" {
                return fields.clone();
            }
        }
    }

    /// Checks that no units are on their way, according to the journals.
    pub fn check_finished(&self) {
        for shard in 0..self.shards {
            let out = self.ask(&format!("HEXISTS seckill:shard:{{7#{shard}}} out"));
            assert_eq!(out, Value::Int(0), "shard {shard}");
        }
        self.check();
    }
}

/// CRC16/XMODEM bit by bit, unlike the program's implementation.
pub fn shard_of(user: &[u8], shards: u32) -> u32 {
    let mut crc = 0_u32;
    for byte in user {
        crc ^= u32::from(*byte) << 8;
        for _ in 0..8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
        }
    }
    (crc & 0xffff) % shards
}

/// The seed of this run, printed; SEED repeats a run.
pub fn seed() -> u64 {
    let given = std::env::var("SEED").ok().map(|seed| seed.parse().expect("SEED is a number"));
    let seed = given.unwrap_or_else(|| fastrand::u64(..));
    println!("SEED={seed}");
    seed
}

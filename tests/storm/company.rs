//! Other commands that a server with the module gets: commands of other clients on the same keys,
//! and values that no client should have written.

use crate::grammar::Argv;

const VOUCHERS: [&[u8]; 7] = [b"7", b"7", b"7", b"8", b"{7}x", b"\0\xff", b"a}b"];

/// Keys of vouchers, pools, locks and counters that all clients write to. The grammar has values
/// for other keys.
pub const KEYS: [&str; 32] = [
    "seckill:stock:7", "seckill:order:7", "seckill:voucher:7", "seckill:book:7", "seckill:units:7",
    "seckill:hold:7", "seckill:extra:7", "seckill:payments:7", "seckill:outside:7",
    "seckill:last:7", "seckill:stock:8", "seckill:order:8", "seckill:voucher:8", "seckill:book:8",
    "seckill:units:8", "seckill:hold:8", "seckill:extra:8", "seckill:codes:7", "seckill:winners:7",
    "stream.orders", "stream.orders.released", "stream.orders.confirmed", "stream.orders.dlq",
    "stream.draws", "stock", "buyers", "orders", "bare", "lock", "lock:fence", "icr:7:{7}",
    "seckill:stock:{7}",
];

/// Texts that the module's keys contain, and some that they never should.
const VALUES: [&str; 18] = [
    "0",
    "1",
    "5",
    "30",
    "-1",
    "-7",
    "9223372036854775807",
    "none",
    "",
    "t0",
    "held:1:5:u1",
    "sold:2:0:u2",
    "held:9223372036854775807:99999999999999:u3",
    "held:1",
    "1:o1",
    "999:o2",
    r#"{"total":9,"begin":0,"end":0,"limit":2,"hold":15,"sale":7}"#,
    r#"{"total":-1}"#,
];

/// Bytes that no client should send.
pub fn odd(random: &mut fastrand::Rng) -> Vec<u8> {
    const ODD: [&[u8]; 12] = [
        b"",
        b"\0",
        b"\xff\xfe",
        b"\r\n",
        b"%s%n",
        b"{",
        b"}",
        b"{}",
        b"*",
        b"18446744073709551615-18446744073709551615",
        b"UNITS",
        b"nan",
    ];
    match random.u8(0..40) {
        0 => vec![random.u8(..); random.usize(0..70_000)],
        1..8 => (0..random.usize(0..40)).map(|_| random.u8(..)).collect(),
        _ => random.choice(ODD).expect("one").to_vec(),
    }
}

pub fn voucher(random: &mut fastrand::Rng) -> Vec<u8> {
    random.choice(VOUCHERS).expect("one").to_vec()
}

/// The subject of commands for a while, so that they meet: an order, and recent entries.
#[derive(Default)]
pub struct Topic {
    pub order: u32,
    pub entries: Vec<Vec<u8>>,
}

impl Topic {
    /// The order of the topic or, rarely, another.
    fn number(&self, random: &mut fastrand::Rng) -> u32 {
        match random.u8(0..8) {
            0 => random.u32(0..60),
            _ => self.order,
        }
    }

    pub fn user(&self, random: &mut fastrand::Rng) -> Vec<u8> {
        format!("u{}", self.number(random) % 8).into_bytes()
    }

    pub fn order_id(&self, random: &mut fastrand::Rng) -> Vec<u8> {
        match random.u8(0..8) {
            0 => b"*".to_vec(),
            _ => format!("o{}", self.number(random)).into_bytes(),
        }
    }

    pub fn entry(&self, random: &mut fastrand::Rng) -> Vec<u8> {
        random.choice(&self.entries).cloned().unwrap_or_else(|| b"1-1".to_vec())
    }

    /// Changes to another order from time to time.
    pub fn turn(&mut self, random: &mut fastrand::Rng) {
        if random.u8(0..4) == 0 {
            self.order = random.u32(0..60);
        }
    }

    pub fn hear_of(&mut self, entry: &[u8]) {
        if self.entries.len() == 20 {
            self.entries.remove(0);
        }
        self.entries.push(entry.to_vec());
    }
}

fn value(random: &mut fastrand::Rng) -> String {
    (*random.choice(&VALUES).expect("one")).to_owned()
}

/// Spoiled keys refuse everything until a client repairs them.
const ANEW: [&str; 4] = [
    "redis.call('SECKILL.DROP', '7') \
     local stock = '60' \
     if ARGV[1] == '15' then redis.call('SET', 'seckill:stock:7', stock) stock = 'ADOPT' end \
     return redis.call('SECKILL.CREATE', '7', stock, 'LIMIT', '9', 'HOLD', ARGV[1])",
    "redis.call('DEL', 'stream.orders', 'stream.orders.released', 'stream.orders.dlq', \
     'stream.orders.confirmed') \
     return redis.call('XGROUP', 'CREATE', 'stream.orders', 'g', '0', 'MKSTREAM')",
    "redis.call('DEL', 'seckill:codes:7', 'seckill:winners:7', 'stream.draws') \
     return redis.call('RPUSH', 'seckill:codes:7', 'a', 'b', 'c', 'd')",
    "redis.call('DEL', 'lock', 'lock:fence', 'buyers', 'orders') \
     redis.call('MSET', 'stock', '40', 'bare', '40') \
     redis.call('DEL', 'seckill:order:8') return redis.call('SET', 'seckill:stock:8', '40')",
];

/// A command that lets a sale continue: keys are made again, or a consumer reads.
pub fn help(random: &mut fastrand::Rng) -> Argv {
    let line = "XREADGROUP GROUP g c COUNT 5 STREAMS stream.orders >";
    match random.choice(&ANEW) {
        Some(script) if random.u8(0..3) == 0 => {
            let hold = random.choice(["0", "15", "1000000", "1000000"]).expect("one");
            ["EVAL", script, "0", hold].map(|word| word.as_bytes().to_vec()).to_vec()
        }
        _ => line.split(' ').map(|word| word.as_bytes().to_vec()).collect(),
    }
}

/// A command of another client.
pub fn command(random: &mut fastrand::Rng, topic: &Topic) -> Argv {
    let k = *random.choice(&KEYS).expect("one");
    let other = *random.choice(&KEYS).expect("one");
    let v = value(random);
    let m = if random.bool() { topic.user(random) } else { topic.order_id(random) };
    let m = String::from_utf8_lossy(&m);
    let number = random.i8(-3..6).to_string();
    let words: Vec<&str> = match random.u8(0..55) {
        0 | 1 => vec!["DEL", k],
        2 => vec!["UNLINK", k, other],
        3 => vec!["EXPIRE", k, "1000000"],
        4 => vec!["PEXPIRE", k, "15"],
        5 => vec!["PERSIST", k],
        6 | 7 => vec!["SET", k, &v],
        8 => vec!["SET", k, &v, "PX", "15"],
        9 => vec!["SET", k, &number, "KEEPTTL"],
        10 => vec!["INCRBY", k, &number],
        11 => vec!["APPEND", k, &number],
        12 => vec!["SETRANGE", k, "1", &v],
        13 | 14 => vec!["RENAME", k, other],
        15 => vec!["RENAMENX", k, other],
        16 | 17 => vec!["COPY", k, other, "REPLACE"],
        18 => vec!["COPY", k, other, "DB", "1", "REPLACE"],
        19 => vec!["MOVE", k, "1"],
        20 => vec!["EVAL", DUMP_RESTORE, "2", k, other],
        21 => vec!["SADD", k, &m],
        22 => vec!["SREM", k, &m],
        23 => vec!["SPOP", k],
        24 => vec!["RPUSH", k, &v],
        25 => vec!["LPOP", k],
        26 => vec!["LMOVE", k, other, "LEFT", "RIGHT"],
        27 | 28 => vec!["HSET", k, &m, &v],
        29 => vec!["HDEL", k, &m],
        30 => vec!["HINCRBY", k, &m, &number],
        31 | 32 => vec!["ZADD", k, random.choice(["5", "1e300", "-inf", "3e12"]).expect("one"), &m],
        33 => vec!["ZREM", k, &m],
        34 => vec!["ZPOPMIN", k],
        35 => vec!["XADD", k, "*", "userId", &m, "voucherId", "7", "id", &v],
        36 => vec!["XADD", k, "*", &v, &v],
        37 => vec!["XADD", k, "18446744073709551615-18446744073709551615", "a", "b"],
        38 => vec!["XTRIM", k, "MAXLEN", "5"],
        39 => vec!["XSETID", k, "9999999999999-5"],
        40 if random.u8(0..4) == 0 => vec!["XGROUP", "DESTROY", k, "g"],
        41 => vec!["XAUTOCLAIM", k, "g", "d", "0", "0"],
        42 => vec!["GETDEL", k],
        43 => vec!["SUNIONSTORE", k, other],
        44 => vec!["ZUNIONSTORE", k, "2", k, other],
        45 => vec!["SORT", k, "BY", "nosort", "STORE", other],
        46 => vec!["SWAPDB", "0", "1"],
        47 => vec!["SELECT", if random.u8(0..3) == 0 { "1" } else { "0" }],
        48 if random.u8(0..4) == 0 => vec!["FLUSHDB"],
        49 if random.u8(0..6) == 0 => vec!["FLUSHALL", "ASYNC"],
        50 => {
            vec!["CONFIG", "SET", "seckill.hash-tags", if number == "1" { "yes" } else { "auto" }]
        }
        51 => vec![
            "CONFIG",
            "SET",
            "seckill.unlimited-stock",
            if number == "1" { "yes" } else { "no" },
        ],
        // Servers before Redis 7.4 and Valkey 9 refuse the next three.
        52 => vec!["HEXPIRE", k, "1000000", "FIELDS", "1", &m],
        53 => vec!["HPEXPIRE", k, "15", "FIELDS", "1", &m],
        54 => vec!["HPERSIST", k, "FIELDS", "1", &m],
        _ => vec!["OBJECT", "ENCODING", k],
    };
    words.into_iter().map(|word| word.as_bytes().to_vec()).collect()
}

/// The keys of a sale leave, and come back one by one in any order, as a tool copies them.
pub fn key_by_key(random: &mut fastrand::Rng) -> Vec<Argv> {
    let mut keys: Vec<_> = KEYS.iter().filter(|key| key.ends_with(":7")).collect();
    let take = "local value = redis.call('DUMP', KEYS[1]) \
        if value then redis.call('SET', 'away:' .. KEYS[1], value) redis.call('DEL', KEYS[1]) end \
        return 1";
    let bring = "local value = redis.call('GETDEL', 'away:' .. KEYS[1]) \
        if value then redis.call('RESTORE', KEYS[1], 0, value, 'REPLACE') end return 1";
    let mut commands = Vec::new();
    for script in [take, bring] {
        random.shuffle(&mut keys);
        let eval = |key: &&&str| ["EVAL", script, "1", **key].map(|word| word.as_bytes().to_vec());
        commands.extend(keys.iter().map(|key| eval(key).to_vec()));
    }
    commands
}

/// Gives the keys in a word their names in a cluster, where those of a sale are in the slot of its
/// voucher. The others come to voucher 7.
pub fn put_into_one_slot(word: &mut Vec<u8>) {
    let Ok(text) = std::str::from_utf8(word) else { return };
    let mut text = text.to_owned();
    for key in KEYS.into_iter().filter(|key| !key.contains('{')) {
        let name = match key.rsplit_once(':') {
            Some((kind, voucher @ ("7" | "8"))) => format!("{kind}:{{{voucher}}}"),
            Some((lock, end)) => format!("{lock}{{7}}:{end}"),
            None if key.starts_with("stream") => format!("{key}:{{7}}"),
            None => format!("{key}{{7}}"),
        };
        if text == key {
            text = name;
        } else {
            text = text.replace(&format!("'{key}'"), &format!("'{name}'"));
        }
    }
    *word = text.into_bytes();
}

/// DUMP, and RESTORE of the result, in one step.
const DUMP_RESTORE: &str = "local value = redis.call('DUMP', KEYS[1]) \
    if value then redis.call('RESTORE', KEYS[2], 0, value, 'REPLACE') end return 1";

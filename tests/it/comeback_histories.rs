//! Random histories of who comes back, and of whatever can happen to a set of buyers meanwhile.
//!
//! A failing history is repeated with the seed that its message names: `SEED=<n> cargo test`.

use crate::comeback::asked;
use crate::differential::seed;
use crate::harness::{Client, Server, text};
use crate::observe::{bytes_list, integer};
use crate::transcript::argv;
use redis::Value;

/// What a history does besides trying, on both servers alike.
fn random_command(random: &mut fastrand::Rng) -> String {
    let key = |random: &mut fastrand::Rng| {
        let keys = ["seckill:order:7", "seckill:order:8", "aside"];
        random.choice(keys).expect("one")
    };
    let (one, other, user) = (key(random), key(random), random.u8(0..4));
    match random.u8(0..20) {
        0..4 => format!("SREM {one} {user}"),
        4..6 => format!("SADD {one} {user}"),
        6 => format!("DEL {one}"),
        7 => format!("RENAME {one} {other}"),
        8 => format!("COPY {one} {other} REPLACE"),
        9 => format!("SUNIONSTORE {one} {other}"),
        10 => format!("SDIFFSTORE {one} {one} {other}"),
        11 => format!("SMOVE {one} {other} {user}"),
        12 => format!("COPY {one} {other} DB 1 REPLACE"),
        13 => "SWAPDB 0 1".into(),
        14 => format!("EXPIRE {one} -1"),
        15 => format!("SET {one} x"),
        16 => format!("SINTERSTORE {one} {other}"),
        17 => "SELECT 1".into(),
        18 => "SELECT 0".into(),
        _ => "MSET seckill:stock:7 9 seckill:stock:8 9".into(),
    }
}

#[test]
fn histories_of_others_hands_on_the_sets_are_those_of_the_script() {
    let seed = seed();
    println!("SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let with_module = Server::start();
    let without = Server::with().without_module().start();
    let (mut module, mut reference) = (with_module.client(), without.client());
    let script = reference.call(&["SCRIPT", "LOAD", include_str!("seckill.lua")]);
    let mut outcomes = [0_usize; 3];
    for step in 0..20_000 {
        if random.u8(0..100) < 15 {
            let command = random_command(&mut random);
            let (ours, theirs) = (module.run(&command), reference.run(&command));
            assert_eq!(ours, theirs, "SEED={seed} step {step}: {command}");
            // Some servers select another database by themselves: see docs/operating.md.
            if command.contains("DB 1") {
                module.run("SELECT 0");
                reference.run("SELECT 0");
            }
        } else {
            let voucher = if random.bool() { "7" } else { "8" };
            let user = random.u8(0..4).to_string();
            let ours = module.call(&["SECKILL.TRY", voucher, &user, "o"]);
            let theirs = by_script(&mut reference, &text(&script), voucher, &user);
            let is_error = |reply: &Value| matches!(reply, Value::ServerError(_));
            let alike = ours == theirs || (is_error(&ours) && is_error(&theirs));
            assert!(alike, "SEED={seed} step {step}: {ours:?}, not {theirs:?}");
            if let Value::Int(outcome) = ours {
                outcomes[usize::try_from(outcome).expect("0, 1 or 2")] += 1;
            }
        }
    }
    assert!(outcomes.iter().all(|count| *count > 100), "{outcomes:?}");
    for key in ["seckill:order:7", "seckill:order:8", "aside"] {
        let count = format!("EXISTS {key}");
        assert_eq!(integer(&module.run(&count)), integer(&reference.run(&count)), "{key}");
    }
}

fn by_script(client: &mut Client, script: &str, voucher: &str, user: &str) -> Value {
    client.call(&["EVALSHA", script, "0", voucher, user, "o"])
}

/// All that can happen to the sets $A and $B, to a user $U in them, and to whatever else stands in
/// their place. Of what only newer servers know, older ones make an error, which is as good.
const HANDS: &[&str] = &[
    "SREM $A $U",
    "SREM $A a $U c",
    "SADD $A $U",
    "SADD $A a b c",
    "SPOP $A",
    "SPOP $A 2",
    "SMOVE $A $B $U",
    "SINTERSTORE $A $B",
    "SUNIONSTORE $A $B",
    "SUNIONSTORE $A some",
    "SDIFFSTORE $A $A $B",
    "DEL $A",
    "UNLINK $A $B",
    "RENAME $A $B",
    "RENAMENX $A $B",
    "COPY $A $B REPLACE",
    "COPY $A $B",
    "COPY $A $B DB 1 REPLACE\nSELECT 0",
    "MOVE $A 1\nSELECT 0",
    "SELECT 1\nMOVE $A 0\nSELECT 0",
    "SWAPDB 0 1\n$STOCK",
    "FLUSHDB\n$STOCK",
    "FLUSHALL ASYNC\n$STOCK",
    "DEBUG RELOAD\nSELECT 0",
    "EXPIRE $A -1",
    "PEXPIREAT $A 1000",
    "PEXPIRE $A 1",
    "PEXPIRE $A 5",
    "PERSIST $A",
    "MIGRATE 127.0.0.1 $PORT $A 0 5000 REPLACE",
    "MIGRATE 127.0.0.1 $PORT $A 0 5000 COPY REPLACE",
    "RESTORE $A 0 $DUMP REPLACE",
    "RESTORE $A 1000 $DUMP REPLACE ABSTTL",
    "SET $A x",
    "SET $A x PX 1",
    "SET $A x PXAT 1000",
    "SET $A x\nGETDEL $A",
    "GETEX $A PXAT 1000",
    "SET $A x\nDELEX $A IFEQ x",
    "SET $A x\nDELIFEQ $A x",
    "MSET $A 1 $B 2",
    "MSETEX 2 $A 1 $B 2 PXAT 1000",
    "BITOP NOT $A text",
    "BITOP NOT $A nothing",
    "SORT some ALPHA STORE $A",
    "SORT nothing STORE $A",
    "LPOP $A 9",
    "RPOPLPUSH $A $B",
    "LTRIM $A 5 1",
    "ZUNIONSTORE $A 1 $B",
    "ZINTERSTORE $A 2 $A $B",
    "ZRANGESTORE $A ranks 0 -1",
    "ZPOPMIN $A 9",
    "GEORADIUS places 15 37 9 km STORE $A",
    "GEOSEARCHSTORE $A places FROMLONLAT 0 0 BYRADIUS 1 km",
    "DEL $A\nHSET $A f v",
    "HDEL $A f",
    "HGETDEL $A FIELDS 1 f",
    "HPEXPIRE $A 0 FIELDS 1 f",
    "HPEXPIRE $A 1 FIELDS 1 f",
    "SECKILL.CANCEL 7 $U o",
    "SECKILL.CANCEL 8 $U o",
    "SECKILL.DROP 7\nSECKILL.CREATE 7 50\nSECKILL.TRY 7 $U o1\nSECKILL.DROP 7\n$STOCK",
    "MULTI\nSREM $A $U\nINCR $A\nSADD $A c\nEXEC",
    "EVAL \"redis.pcall('SREM','$A','$U') redis.pcall('GET','$A') redis.call('NONE')\" 0",
    "EVAL \"redis.setresp(3) redis.pcall('SPOP','$A') return redis.call('INCR','$A')\" 0",
    "DEBUG SLEEP 0.002",
    "DEBUG SET-ACTIVE-EXPIRE 0",
    "DEBUG SET-ACTIVE-EXPIRE 1",
];

const STOCK: &str = "MSET seckill:stock:7 99999 seckill:stock:8 99999 text x";

/// Tries, and asks the server for the same user in the same moment.
const TRY_AND_ASK: &str = "
    local said = redis.pcall(unpack(ARGV))
    return {said, redis.pcall('SISMEMBER', KEYS[1], ARGV[#ARGV - 1])}";

/// Deletes what is no set.
const CLEAR: &str = "return redis.call('TYPE', KEYS[1]).ok ~= 'set' and redis.call('DEL', KEYS[1])";

/// A client that sends many commands before it reads the replies.
struct Pipeline {
    client: Client,
    script: String,
    /// Of each command sent, whether its reply is to be judged.
    sent: Vec<bool>,
}

impl Pipeline {
    fn of(server: &Server) -> Self {
        let mut client = server.client();
        let script = text(&client.call(&["SCRIPT", "LOAD", TRY_AND_ASK]));
        Self { client, script, sent: Vec::new() }
    }

    fn send<A: AsRef<[u8]>>(&mut self, words: &[A], is_judged: bool) {
        self.client.send(words);
        self.sent.push(is_judged);
    }

    /// Tries, and asks the server for the same user, in a transaction or a script.
    fn attempt(&mut self, words: &[Vec<u8>], key: &str, is_script: bool) {
        if is_script {
            let mut all = ["EVALSHA", &self.script, "1", key].map(Vec::from).to_vec();
            all.extend_from_slice(words);
            self.send(&all, true);
        } else {
            let user = &words[words.len() - 2];
            self.send(&["MULTI"], false);
            self.send(words, false);
            self.send(&[b"SISMEMBER", key.as_bytes(), user], false);
            self.send(&["EXEC"], true);
        }
    }

    /// What the tries said, and the server.
    fn receive(&mut self) -> Vec<(Value, Value)> {
        let mut judged = Vec::new();
        for is_judged in std::mem::take(&mut self.sent) {
            match self.client.receive() {
                Value::Array(both) if is_judged => {
                    let [try_, asked] = <[Value; 2]>::try_from(both).expect("two replies");
                    judged.push((try_, asked));
                }
                reply => assert!(!is_judged, "{reply:?}"),
            }
        }
        judged
    }
}

/// What happens to the sets, and who tries meanwhile.
struct History {
    random: fastrand::Rng,
    pipeline: Pipeline,
    /// Where keys migrate to.
    elsewhere: Server,
    /// A set without most of the users.
    dump: Vec<u8>,
}

const USERS: [&str; 6] = [
    "a",
    "b",
    "c",
    "\"\"",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
];

impl History {
    fn on(server: &Server, seed: u64) -> Self {
        server.run("SADD donor b other");
        let dump = bytes_list(Value::Array(vec![server.run("DUMP donor")])).remove(0);
        let elsewhere = Server::with().port().without_module().start();
        let random = fastrand::Rng::with_seed(seed);
        Self { random, pipeline: Pipeline::of(server), elsewhere, dump }
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.random.usize(..all.len())]
    }

    fn run(&mut self, commands: &str) {
        for command in commands.lines() {
            let mut words = argv(command);
            for word in words.iter_mut().filter(|word| *word == b"$DUMP") {
                word.clone_from(&self.dump);
            }
            self.pipeline.send(&words, false);
        }
    }

    /// Somebody's hands on the sets. What they did, after which the database is that of before, on
    /// servers too that go along with a key: see docs/operating.md.
    fn hands(&mut self, keys: &[&str], user: &str) -> String {
        let (hands, one, other) = (self.one_of(HANDS), self.one_of(keys), self.one_of(keys));
        let hands = hands.replace("$STOCK", STOCK).replace("$U", user);
        let hands = hands.replace("$PORT", &self.elsewhere.port().to_string());
        let hands = hands.replace("$A", one).replace("$B", other);
        self.run(&hands);
        hands
    }

    /// A user who tries once, or again and again. What they sent.
    fn tries(&mut self, keys: &[&str], user: &str) -> String {
        let voucher = self.one_of(&["7", "8"]);
        let by_voucher = format!("seckill:order:{voucher}");
        let key = if self.random.u8(0..4) == 0 { self.one_of(keys) } else { &by_voucher };
        let words = if key == by_voucher {
            format!("SECKILL.TRY {voucher} {user} o")
        } else {
            format!("SECKILL.TRYKEYS seckill:stock:{voucher} {key} orders {voucher} {user} o")
        };
        for _ in 0..self.random.u8(1..4) {
            let is_script = self.random.bool();
            self.pipeline.attempt(&argv(&words), key, is_script);
        }
        words
    }

    /// Few users and few sets, so that they are remembered when something happens.
    fn round(&mut self) -> Vec<String> {
        self.run("DEL text\nSADD some a b\nZADD ranks 1 a\nGEOADD places 15 37 a");
        self.run(STOCK);
        // What is no set has been in the way for long enough.
        for key in KEYS {
            self.run(&format!("EVAL \"{CLEAR}\" 1 {key}"));
        }
        let users = [self.one_of(&USERS), self.one_of(&USERS)];
        let mut log = Vec::new();
        for _ in 0..40 {
            let user = self.one_of(&users);
            let is_hands = self.random.u8(0..100) < 15;
            log.push(if is_hands { self.hands(&KEYS, user) } else { self.tries(&KEYS, user) });
        }
        log
    }
}

const KEYS: [&str; 3] = ["seckill:order:7", "seckill:order:8", "aside"];

#[test]
fn whoever_is_told_that_they_have_bought_is_in_the_set() {
    let seed = seed();
    println!("SEED={seed}");
    let server = Server::start();
    let mut history = History::on(&server, seed);
    let (mut outcomes, mut judged) = ([0_i64; 3], 0_i64);
    for round in 0..500 {
        let log = history.round();
        for (said, is_in) in history.pipeline.receive() {
            judged += 1;
            let is_error = |reply: &Value| matches!(reply, Value::ServerError(_));
            let is_right = match said {
                Value::Int(outcome) => {
                    outcomes[usize::try_from(outcome).expect("0, 1 or 2")] += 1;
                    // Who has just bought is in, and who had.
                    is_in == Value::Int(1)
                }
                _ => is_error(&said) && is_error(&is_in),
            };
            assert!(is_right, "SEED={seed} round {round}: {said:?}, {is_in:?} in {log:#?}");
        }
    }
    let [accepted, sold_out, already] = outcomes;
    assert!(accepted > 500 && already > 5000 && sold_out == 0, "{outcomes:?}");
    // It would prove little if the module had asked each time.
    let by_module = asked(&server) - judged;
    assert!(by_module < already * 2 / 3, "asked {by_module} times, {outcomes:?}");
}

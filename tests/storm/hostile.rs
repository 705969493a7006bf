//! The users that SECURITY.md recommends, each taken over by an attacker: all commands that their
//! rules allow, and some that they don't, with arguments of any length, on a server with little
//! memory.
//!
//! The server survives and can be reached; an honest shop continues to sell and never gets OOM;
//! nothing that was sent is kept. The test prints how long a PING takes meanwhile, which depends on
//! the machine.

use crate::company::Topic;
use crate::grammar::{self, Argv, Command};
use crate::harness::{Client, Server, text, wait_for};
use crate::length::{self, Tally, goes_on, histories};
use redis::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const SHORT: usize = 6000;
const LONG: usize = 300_000;

/// Commands between two checks.
const BETWEEN_LOOKS: usize = 1000;

/// The keys that a user works on, and the commands in its rules.
struct Taken {
    client: Client,
    keys: Vec<String>,
    commands: Vec<String>,
}

/// The rules of SECURITY.md: the user, its password, its key patterns and its commands.
fn rules(line: &str) -> (String, String, Vec<String>, Vec<String>) {
    let words: Vec<&str> = line.split(' ').skip(2).collect();
    let with = |prefix: &str| -> Vec<String> {
        words.iter().filter_map(|word| word.strip_prefix(prefix)).map(str::to_owned).collect()
    };
    let patterns = [with("~"), with("%R~")].concat();
    (words[0].to_owned(), with(">").concat(), patterns, with("+"))
}

struct Siege {
    random: fastrand::Rng,
    server: Server,
    taken: Vec<Taken>,
    honest: Client,
    honest_tries: usize,
    commands: Vec<Command>,
    topic: Topic,
    tally: Tally,
    empty_memory: Option<i64>,
}

impl Siege {
    fn new(seed: u64) -> Self {
        // As in the redis.conf of this repository, but with less memory.
        let server = Server::with()
            .config("maxmemory 300mb")
            .config("maxmemory-policy noeviction")
            .config("maxmemory-clients 15%")
            .config("proto-max-bulk-len 1mb")
            .config("seckill.lock-wait-ms-max 3")
            .start();
        let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("SECURITY.md");
        let page = std::fs::read_to_string(page).expect("SECURITY.md");
        let mut taken = Vec::new();
        for line in page.lines().filter(|line| line.starts_with("ACL SETUSER ")) {
            let (name, password, patterns, commands) = rules(line);
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(server.call(&words), Value::Okay, "{line}");
            let mut client = server.client();
            assert_eq!(client.call(&["AUTH", &name, &password]), Value::Okay);
            let keys = patterns.iter().flat_map(|pattern| {
                (0..3).map(move |number| pattern.replace('*', &number.to_string()))
            });
            taken.push(Taken { client, keys: keys.collect(), commands });
        }
        let random = fastrand::Rng::with_seed(seed);
        let commands = grammar::commands(&server);
        let mut honest = server.client();
        honest.call(&["SECKILL.CREATE", "sale:honest", "1000000"]);
        honest.call(&["XGROUP", "CREATE", "stream.orders", "g", "0", "MKSTREAM"]);
        let (topic, tally) = (Topic::default(), Tally::default());
        Self {
            random,
            server,
            taken,
            honest,
            honest_tries: 0,
            commands,
            topic,
            tally,
            empty_memory: None,
        }
    }

    /// A sentence of the user's commands, mostly on keys of its own, with long words in it.
    fn sentence(&mut self, user: usize) -> Argv {
        let random = &mut self.random;
        let Taken { keys, commands, .. } = &self.taken[user];
        let own = random.choice(commands).expect("a command");
        let own = self.commands.iter().find(|command| command.name() == *own);
        let command = match own.filter(|_| random.u8(0..10) > 0) {
            Some(command) => command,
            None => random.choice(&self.commands).expect("a command"),
        };
        let mut argv = command.sentence(random, &self.topic);
        if argv.len() > 1 && random.u8(0..20) > 0 {
            argv[1] = random.choice(keys).expect("a key").clone().into_bytes();
        }
        if argv.len() > 1 && random.u8(0..4) == 0 {
            let lengths = [512, 513, 4096, 65_536, 65_537, 1 << 20];
            let len = *random.choice(&lengths).expect("a length");
            let place = random.usize(1..argv.len());
            let own = argv[place].clone();
            argv[place] = own.into_iter().chain(std::iter::repeat(b'x')).take(len).collect();
        }
        argv
    }

    fn burst(&mut self) {
        for user in 0..self.taken.len() {
            let count = self.random.usize(1..8);
            for _ in 0..count {
                self.topic.turn(&mut self.random);
                let sentence = self.sentence(user);
                self.taken[user].client.send(&sentence);
            }
            self.tally.commands += count;
            for _ in 0..count {
                let reply = self.taken[user].client.receive();
                self.tally.answered += 1;
                if let Value::ServerError(_) = &reply {
                    let error = text(&reply);
                    assert!(!error.contains("a bug in"), "{error}\n{}", self.server.log());
                    assert!(error.len() < 300, "an error has what was sent: {error:.300}");
                }
            }
        }
        // An honest client continues to sell.
        self.honest_tries += 1;
        let id = self.honest_tries.to_string();
        let answer = self.honest.call(&["SECKILL.TRY", "sale:honest", &id, &id]);
        assert_eq!(answer, Value::Int(0), "{id}: {answer:?}");
        // A consumer has read every entry, which the worker's user can then steal.
        let read = ["XREADGROUP", "GROUP", "g", "c", "STREAMS", "stream.orders", ">"];
        self.honest.call(&read);
    }

    /// Removes what was sold, and compares the memory that is left.
    fn look(&mut self) {
        self.tally.ends += 1;
        let used = self.server.info_number("used_memory");
        assert!(used < 200 << 20, "{used} bytes");
        self.nothing_long_is_kept();
        self.honest.call(&["FLUSHALL", "ASYNC"]);
        self.honest.call(&["SECKILL.CREATE", "sale:honest", "1000000"]);
        self.honest.call(&["XGROUP", "CREATE", "stream.orders", "g", "0", "MKSTREAM"]);
        self.honest_tries = 0;
        let first = *self.empty_memory.get_or_insert(self.server.info_number("used_memory"));
        // The server releases a connection's buffers within a few turns of its cron.
        let kept = || self.server.info_number("used_memory") - first;
        let let_go = wait_for("the memory", || (kept() < 16 << 20).then_some(()));
        let_go.unwrap_or_else(|late| panic!("{late}: {} bytes are kept", kept()));
        assert!(!self.server.log().contains("a bug in"), "{}", self.server.log());
    }
}

impl Siege {
    /// Names and ids have at most 512 bytes, and the prefixes and states before them add some. A
    /// reason has at most 1,024.
    fn nothing_long_is_kept(&mut self) {
        let keys = words(self.honest.call(&["KEYS", "*"]));
        assert!(keys.iter().any(|key| key.starts_with(b"seckill:book:")), "nothing was sold");
        for key in keys {
            assert!(key.len() < 600, "a name of {} bytes", key.len());
            let kind = text(&self.honest.call(&[b"TYPE".as_slice(), &key]));
            let read: &[&[u8]] = match kind.as_str() {
                "hash" => &[b"HGETALL", &key],
                "set" => &[b"SMEMBERS", &key],
                "zset" => &[b"ZRANGE", &key, b"0", b"-1"],
                "stream" => &[b"XRANGE", &key, b"-", b"+"],
                _ => &[b"GET", &key],
            };
            let longest = words(self.honest.call(read)).iter().map(Vec::len).max().unwrap_or(0);
            assert!(longest <= 1200, "{longest} bytes in {}", key.escape_ascii());
        }
    }
}

/// All texts of a reply.
fn words(reply: Value) -> Vec<Vec<u8>> {
    match reply {
        Value::BulkString(bytes) => vec![bytes],
        Value::Array(items) => items.into_iter().flat_map(words).collect(),
        _ => Vec::new(),
    }
}

/// Sends PINGs in sequence, and returns how long each took, sorted.
fn ping(client: &mut Client, until: &AtomicBool) -> Vec<Duration> {
    let mut took = Vec::new();
    while !until.load(Ordering::Relaxed) {
        let sent = Instant::now();
        assert!(matches!(client.call(&["PING"]), Value::SimpleString(_)));
        took.push(sent.elapsed());
        std::thread::sleep(Duration::from_micros(500));
    }
    took.sort();
    took
}

#[test]
fn users_who_mean_harm_do_none() {
    let commands = if length::is_long() { LONG } else { SHORT };
    histories("hostile users", 1, |seed| {
        let mut siege = Siege::new(seed);
        let mut pinging = siege.server.client();
        let is_over = AtomicBool::new(false);
        let took = std::thread::scope(|scope| {
            let pings = scope.spawn(|| ping(&mut pinging, &is_over));
            // The thread must end even if an assertion fails.
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let mut next = BETWEEN_LOOKS;
                while siege.tally.commands < commands || (length::is_long() && goes_on()) {
                    siege.burst();
                    if siege.tally.commands >= next {
                        next += BETWEEN_LOOKS;
                        siege.look();
                    }
                }
            }));
            is_over.store(true, Ordering::Relaxed);
            let took = pings.join().expect("pings");
            done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            took
        });
        let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
        println!(
            "{} PINGs: median {:?}, p99.9 {:?}, longest {:?}",
            took.len(),
            at(0.5),
            at(0.999),
            at(1.0)
        );
        siege.tally
    });
}

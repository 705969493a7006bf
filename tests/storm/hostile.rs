//! The users that SECURITY.md recommends, each taken over by an attacker: all commands that their
//! rules allow, and some that they don't, with arguments of any length, on a server with little
//! memory.
//!
//! The server survives and can be reached; an honest shop continues to sell and never gets OOM;
//! nothing that was sent is kept. No command makes the server do more than is bounded, on sales of
//! any size.

use crate::company::Topic;
use crate::grammar::{Argv, sentence};
use crate::harness::{Client, Server, text, wait_for};
use crate::length::{self, Tally, goes_on, histories};
use crate::work::{Works, counted};
use kit::declared::Declared;
use kit::transcript::argv;
use redis::Value;

const SHORT: usize = 6000;
const LONG: usize = 300_000;

/// Commands between two checks.
const BETWEEN_LOOKS: usize = 1000;

/// The orders of a sale that is audited in steps only, and of one that still is at once.
const ORDERS: [usize; 2] = [12_000, 1000];

/// Pairs of a full batch, and bytes of its users and order ids.
const BATCH: (usize, usize) = (1024, 262_144);

/// The keys that a user works on, and the commands in its rules.
struct Taken {
    client: Client,
    /// The same user with the rights to count the work of a command.
    counted: Client,
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
    commands: Vec<Declared>,
    topic: Topic,
    tally: Tally,
    works: Works,
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
        let mut taken = Vec::new();
        for line in kit::pages::users("## Users") {
            // The shop is a gateway that sends batches, too.
            let line = line.replace("+seckill.try ", "+seckill.try +seckill.mtry ");
            let (name, password, patterns, commands) = rules(&line);
            let login = |name: &str, more: &str| {
                let line = format!("{line}{more}");
                let mut words: Vec<&str> = line.split(' ').collect();
                words[2] = name;
                assert_eq!(server.call(&words), Value::Okay, "{line}");
                let mut client = server.client();
                assert_eq!(client.call(&["AUTH", name, &password]), Value::Okay);
                client
            };
            let client = login(&name, "");
            let counted = login(&format!("{name}-counted"), " +multi +exec +info");
            let keys = patterns.iter().flat_map(|pattern| {
                (0..3).map(move |number| pattern.replace('*', &number.to_string()))
            });
            taken.push(Taken { client, counted, keys: keys.collect(), commands });
        }
        let random = fastrand::Rng::with_seed(seed);
        let commands = Declared::all(&server);
        let honest = server.client();
        let (topic, tally) = (Topic::default(), Tally::default());
        let mut siege = Self {
            random,
            server,
            taken,
            honest,
            honest_tries: 0,
            commands,
            topic,
            tally,
            works: Works::default(),
            empty_memory: None,
        };
        siege.prepare();
        siege
    }

    /// Creates the sale of the honest shop, and large ones that all users work on.
    fn prepare(&mut self) {
        self.honest_tries = 0;
        self.honest.call(&["SECKILL.CREATE", "sale:honest", "1000000"]);
        self.honest.call(&["XGROUP", "CREATE", "stream.orders", "g", "0", "MKSTREAM"]);
        for (sale, orders) in ORDERS.into_iter().enumerate() {
            let sale = format!("sale:{sale}");
            self.honest.call(&["SECKILL.CREATE", &sale, "1000000", "HOLD", "9000000"]);
            for first in (0..orders).step_by(500) {
                let names: Vec<_> = (first..first + 500).map(|name| format!("x{name}")).collect();
                let pairs = names.iter().flat_map(|name| [name.as_str(), name.as_str()]);
                let batch: Vec<&str> = ["SECKILL.MTRY", &sale].into_iter().chain(pairs).collect();
                self.honest.call(&batch);
            }
        }
    }

    /// A batch with as many pairs and bytes as one may have, but for one time in four.
    fn batch(&mut self) -> Argv {
        let (pairs, bytes) = BATCH;
        let sale = self.random.choice(["sale:0", "sale:1"]).expect("a sale");
        let len = self.random.choice([7, 128, 129, 512]).expect("a length");
        let pairs = pairs.min(if len == 129 { pairs } else { bytes / (2 * len) });
        let mut argv = ["SECKILL.MTRY", sale].map(|word| word.as_bytes().to_vec()).to_vec();
        let first = self.random.u32(1_000_000..9_000_000) as usize;
        let names = (first..first + pairs).map(|name| format!("{name:x>len$}").into_bytes());
        argv.extend(names.flat_map(|name| [name.clone(), name]));
        argv
    }

    /// A sentence of the user's commands, mostly on keys of its own, with long words in it.
    fn sentence(&mut self, user: usize) -> Argv {
        let random = &mut self.random;
        let Taken { keys, commands, .. } = &self.taken[user];
        let own = random.choice(commands).expect("a command");
        if own == "seckill.mtry" && random.bool() {
            return self.batch();
        }
        let own = self.commands.iter().find(|command| command.name == *own);
        let command = match own.filter(|_| random.u8(0..10) > 0) {
            Some(command) => command,
            None => random.choice(&self.commands).expect("a command"),
        };
        let mut argv = sentence(command, random, &self.topic);
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
            if self.random.bool() {
                self.count_one(user);
                continue;
            }
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

    /// Sends one sentence, and looks at how much it makes the server do.
    fn count_one(&mut self, user: usize) {
        self.topic.turn(&mut self.random);
        let sentence = self.sentence(user);
        let (reply, work) = counted(&mut self.taken[user].counted, &sentence);
        self.tally.commands += 1;
        self.tally.answered += 1;
        if let Value::ServerError(_) = &reply {
            assert!(!text(&reply).contains("a bug in"), "{reply:?}\n{}", self.server.log());
        }
        if let Some(work) = work {
            self.works.note(&sentence, work);
        }
    }

    /// The office drops a large sale, as among the random commands it may not have done.
    fn drop_a_sale(&mut self) {
        self.honest.call(&["FLUSHALL", "SYNC"]);
        self.prepare();
        let may = |taken: &&mut Taken| taken.commands.iter().any(|own| own == "seckill.drop");
        let office = self.taken.iter_mut().find(may).expect("a user who drops");
        let argv = argv("SECKILL.DROP sale:0 FORCE");
        let (_, work) = counted(&mut office.counted, &argv);
        self.works.note(&argv, work.expect("work"));
    }

    /// Removes what was sold, and compares the memory that is left.
    fn look(&mut self) {
        self.tally.ends += 1;
        let used = self.server.info_number("used_memory");
        assert!(used < 200 << 20, "{used} bytes");
        self.nothing_long_is_kept();
        self.honest.call(&["FLUSHALL", "SYNC"]);
        let first = *self.empty_memory.get_or_insert(self.server.info_number("used_memory"));
        // The server releases a connection's buffers within a few turns of its cron.
        let kept = || self.server.info_number("used_memory") - first;
        let let_go = wait_for("the memory", || (kept() < 16 << 20).then_some(()));
        let_go.unwrap_or_else(|late| panic!("{late}: {} bytes are kept", kept()));
        assert!(!self.server.log().contains("a bug in"), "{}", self.server.log());
        self.prepare();
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

#[test]
fn users_who_mean_harm_do_none() {
    let commands = if length::is_long() { LONG } else { SHORT };
    histories("hostile users", 1, |seed| {
        let mut siege = Siege::new(seed);
        let mut next = BETWEEN_LOOKS;
        while siege.tally.commands < commands || (length::is_long() && goes_on()) {
            siege.burst();
            if siege.tally.commands >= next {
                next += BETWEEN_LOOKS;
                siege.look();
            }
        }
        siege.drop_a_sale();
        println!("the most work of a command:\n{}", siege.works);
        // Full batches and drops were among it, and the server counts what a client makes it do.
        assert!(siege.works.changes("seckill.mtry") > 2000, "{}", siege.works);
        assert!(siege.works.changes("seckill.drop") >= 600, "{}", siege.works);
        let all = "for number = 1, 2000 do redis.call('GET', number) end";
        let argv: Argv = ["EVAL", all, "0"].map(|word| word.as_bytes().to_vec()).to_vec();
        let (_, work) = counted(&mut siege.honest, &argv);
        assert!(work.expect("work").is_too_much(&argv), "{work:?}");
        siege.tally
    });
}

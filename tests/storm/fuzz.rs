//! All commands of the module, well and badly formed, with commands of other clients on the same
//! keys; alone, in MULTI and in scripts; on RESP2 and RESP3.
//!
//! The server survives, replicas and the append-only file agree with it, a reload changes nothing,
//! and its memory is released.

use crate::grammar::{Argv, sentence};
use crate::harness::{Builder, Client, Server, text};
use crate::length::{self, Tally, histories};
use crate::{company, company::Topic, length::goes_on};
use kit::declared::Declared;
use redis::Value;

const SHORT: usize = 20_000;
const LONG: usize = 1_000_000;

/// How much longer a history may become until every outcome has happened.
const LONGEST_IN_SHORTS: usize = 20;

/// Commands between two checks of everything.
const BETWEEN_LOOKS: usize = 2000;

/// Checks between two that also replay the append-only file and empty the server.
const LOOKS_A_REPLAY: usize = 5;

/// How much more memory an empty server may use than after its first replay. Buffers, tables of the
/// server and fragmentation are a few hundred KB; a leak of 8 bytes per command would be 8 MB.
const MEMORY_SLACK: i64 = 4 << 20;

/// Those that the commands select, and SECKILL_DATABASE of scripts/settings.
const DATABASES: [&str; 3] = ["0", "1", "5"];

struct Fuzz {
    random: fastrand::Rng,
    commands: Vec<Declared>,
    clients: Vec<Client>,
    topic: Topic,
    primary: Server,
    replicas: Vec<Server>,
    /// A node of a cluster, alone: its keys are those of hash tags.
    is_node: bool,
    has_field_ttls: bool,
    tally: Tally,
    empty_memory: Option<i64>,
}

/// Runs the commands in its arguments, each preceded by the number of its words.
const SCRIPT: &str = "local i = 1 \
    while i <= #ARGV do \
        local n = tonumber(ARGV[i]) \
        redis.pcall(unpack(ARGV, i + 1, i + n)) \
        i = i + 1 + n \
    end \
    return 1";

impl Fuzz {
    fn new(seed: u64, is_node: bool) -> Self {
        let builder = if is_node { Server::with().cluster() } else { Server::with().port() };
        let primary = builder
            .config("appendonly yes")
            .config("appendfsync no")
            .config("repl-backlog-size 16kb")
            .config("slowlog-max-len 0")
            .config("seckill.lock-wait-ms-max 3")
            .start();
        let replicas = if is_node {
            primary.check("> CLUSTER ADDSLOTSRANGE 0 16383\nOK");
            let is_ok = || primary.say("CLUSTER INFO").contains("cluster_state:ok");
            primary.until("the node to own all slots", is_ok);
            Vec::new()
        } else {
            let replica = |builder: Builder| builder.replica_of(&primary).start();
            [Server::with(), Server::with().without_module()].map(replica).into()
        };
        let mut clients: Vec<Client> = (0..4).map(|_| primary.client()).collect();
        for client in clients.iter_mut().skip(2) {
            let hello = client.call(&["HELLO", "3"]);
            assert!(matches!(hello, Value::Map(_)), "{hello:?}");
        }
        let random = fastrand::Rng::with_seed(seed);
        let commands = Declared::all(&primary);
        let known = primary.call(&["COMMAND", "INFO", "HPTTL"]);
        let has_field_ttls = matches!(&known, Value::Array(one) if one[0] != Value::Nil);
        Self {
            random,
            commands,
            clients,
            topic: Topic::default(),
            primary,
            replicas,
            is_node,
            has_field_ttls,
            tally: Tally::default(),
            empty_memory: None,
        }
    }

    fn command(&mut self) -> Argv {
        self.tally.commands += 1;
        match self.random.u8(0..20) {
            0..4 => company::help(&mut self.random),
            4..7 => company::command(&mut self.random, &self.topic),
            7..12 => self.likely(),
            _ => {
                let index = self.random.usize(..self.commands.len());
                sentence(&self.commands[index], &mut self.random, &self.topic)
            }
        }
    }

    /// A command for the sale that is created repeatedly: most of the time it exists.
    fn likely(&mut self) -> Argv {
        let user = self.topic.user(&mut self.random);
        let id = self.topic.order_id(&mut self.random);
        let (name, args): (&str, [Vec<u8>; 3]) = match self.random.u8(0..10) {
            0 | 1 => {
                let entry = self.topic.entry(&mut self.random);
                ("SECKILL.REJECT", [b"stream.orders".to_vec(), b"g".to_vec(), entry])
            }
            2 | 3 => ("SECKILL.CONFIRM", [b"7".to_vec(), user, id]),
            4 => ("SECKILL.CANCEL", [b"7".to_vec(), user, id]),
            _ => ("SECKILL.TRY", [b"7".to_vec(), user, id]),
        };
        [name.as_bytes().to_vec()].into_iter().chain(args).collect()
    }

    /// Some commands in the form in which they are sent: alone, in a transaction, in a script.
    fn phrase(&mut self) -> Vec<Argv> {
        if self.random.u8(0..100) == 0 {
            return company::key_by_key(&mut self.random);
        }
        let count = self.random.usize(1..5);
        let mut commands: Vec<Argv> = (0..count).map(|_| self.command()).collect();
        match self.random.u8(0..6) {
            0 => {
                commands.insert(0, vec![b"MULTI".to_vec()]);
                commands.push(vec![b"EXEC".to_vec()]);
                commands
            }
            // After some scripts that Valkey 9.1 refuses in a cluster it refuses all later ones.
            1 if !self.is_node => {
                let mut eval = ["EVAL", SCRIPT, "0"].map(|word| word.as_bytes().to_vec()).to_vec();
                for command in commands {
                    eval.push(command.len().to_string().into_bytes());
                    eval.extend(command);
                }
                vec![eval]
            }
            _ => commands,
        }
    }

    /// Sends some phrases on every connection before any answer is read.
    fn burst(&mut self) {
        let mut counts = vec![0; self.clients.len()];
        for (index, count) in counts.iter_mut().enumerate() {
            for _ in 0..self.random.usize(1..6) {
                self.topic.turn(&mut self.random);
                let mut phrase = self.phrase();
                if self.is_node {
                    phrase.iter_mut().flatten().for_each(company::put_into_one_slot);
                }
                *count += phrase.len();
                phrase.iter().for_each(|command| self.clients[index].send(command));
            }
        }
        for (index, count) in counts.into_iter().enumerate() {
            for _ in 0..count {
                let reply = self.clients[index].receive();
                self.tally.answered += 1;
                self.hear(&reply);
            }
        }
    }

    fn hear(&mut self, reply: &Value) {
        match reply {
            Value::ServerError(_) => {
                let error = text(reply);
                assert!(!error.contains("a bug in"), "{error}\n{}", self.primary.log());
            }
            Value::Array(items) => items.iter().for_each(|item| self.hear(item)),
            Value::Map(pairs) => pairs.iter().for_each(|(_, value)| self.hear(value)),
            Value::BulkString(bytes) if is_entry_id(bytes) => {
                self.topic.hear_of(bytes);
            }
            _ => {}
        }
    }

    /// Compares everything while nothing can change.
    fn look(&mut self, replay: bool) {
        // Short times to live are 15 ms here, the others an hour or more.
        self.primary.pause_without_short_lives(&DATABASES, 100_000, self.has_field_ttls);
        let digest = self.primary.digest();
        for replica in &self.replicas {
            self.primary.wait_for_replica(replica);
            assert_eq!(replica.digest(), digest, "a replica differs");
        }
        let keys = self.keys();
        assert_eq!(self.primary.run("DEBUG RELOAD"), Value::Okay);
        assert_eq!(self.keys(), keys, "DEBUG RELOAD has changed something");
        assert_eq!(self.primary.digest(), digest, "DEBUG RELOAD has changed something");
        if replay {
            let copy = Server::with().config("appendonly yes").without_module();
            let copy = copy.data_of(&self.primary).start();
            assert_eq!(copy.digest(), digest, "the append-only file differs");
        }
        assert_eq!(self.primary.run("CLIENT UNPAUSE"), Value::Okay);
        assert!(!self.primary.log().contains("a bug in"), "{}", self.primary.log());
        self.tally.ends += 1;
        if replay {
            self.empty();
        }
    }

    /// Every key with its type, a digest of its value, and its expiry, by database.
    fn keys(&self) -> Vec<[String; 5]> {
        let mut keys = Vec::new();
        for db in DATABASES {
            let mut client = self.primary.client();
            if client.call(&["SELECT", db]) != Value::Okay {
                // A cluster has one, but on Valkey 9.
                continue;
            }
            let names: Vec<Vec<u8>> =
                redis::from_redis_value(client.call(&["KEYS", "*"])).expect("keys");
            for name in names {
                let mut ask = |command: &[&str]| {
                    let command = command.iter().map(|word| word.as_bytes());
                    let command: Vec<_> = command.chain([name.as_slice()]).collect();
                    format!("{:?}", client.call(&command))
                };
                let kind = ask(&["TYPE"]);
                let (value, expiry) = (ask(&["DEBUG", "DIGEST-VALUE"]), ask(&["PEXPIRETIME"]));
                keys.push([db.into(), name.escape_ascii().to_string(), kind, value, expiry]);
            }
        }
        keys.sort();
        keys
    }

    fn counters(&self) -> String {
        self.primary.say("INFO seckill")
    }

    /// An outcome of tries that has not happened yet. Holds may or may not expire, and locks may or
    /// may not be waited for.
    fn missed_outcome(&self) -> Option<String> {
        let counters = self.counters();
        let mut tries = counters.lines().filter(|line| line.starts_with("seckill_tries"));
        tries.find(|line| line.trim_end().ends_with(":0")).map(str::to_owned)
    }

    /// Empties the server and compares the memory that it still uses.
    fn empty(&mut self) {
        self.primary.run("FLUSHALL SYNC");
        self.primary.run("SCRIPT FLUSH SYNC");
        self.primary.run("BGREWRITEAOF");
        self.primary.until("a rewrite", || {
            let busy = ["aof_rewrite_in_progress", "aof_rewrite_scheduled"];
            let busy = busy.map(|field| self.primary.info_number(field));
            busy == [0, 0]
        });
        for replica in &self.replicas {
            self.primary.wait_for_replica(replica);
        }
        let memory = self.primary.info_number("used_memory");
        let first = *self.empty_memory.get_or_insert(memory);
        assert!(memory < first + MEMORY_SLACK, "{first} bytes when empty, now {memory}");
        if length::is_long() && self.tally.ends.is_multiple_of(50) {
            println!("{}: {memory} bytes when empty, first {first}", self.tally);
        }
    }
}

fn is_entry_id(bytes: &[u8]) -> bool {
    let Some(dash) = bytes.iter().position(|byte| *byte == b'-') else { return false };
    dash == 13 && bytes.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-')
}

fn fuzz(name: &str, is_node: bool) {
    let commands = if length::is_long() { LONG } else { SHORT };
    histories(name, 1, |seed| {
        let mut fuzz = Fuzz::new(seed, is_node);
        let mut next = BETWEEN_LOOKS;
        // Some outcomes are rare, so a history without one of them goes on for a while.
        let longest = LONGEST_IN_SHORTS * commands;
        while fuzz.tally.commands < commands
            || (length::is_long() && goes_on())
            || (fuzz.tally.commands < longest && fuzz.missed_outcome().is_some())
        {
            fuzz.burst();
            if fuzz.tally.commands >= next {
                next += BETWEEN_LOOKS;
                let replay = (fuzz.tally.ends + 1).is_multiple_of(LOOKS_A_REPLAY);
                fuzz.look(replay);
            }
        }
        fuzz.look(true);
        println!("{}", fuzz.counters());
        let missed = fuzz.missed_outcome();
        assert_eq!(missed, None, "not happened in {} commands", fuzz.tally.commands);
        fuzz.tally
    });
}

#[test]
fn commands_in_any_company_do_no_harm() {
    fuzz("fuzzer", false);
}

/// With the databases of Valkey 9, if SECKILL_DATABASE says so.
#[test]
fn commands_in_any_company_do_no_harm_in_a_cluster() {
    fuzz("fuzzer of a cluster", true);
}

//! The drill: something is lost in the middle of a sale, and then an operator answers what a check
//! asks, by any answer, until it asks nothing.
//!
//! At its end the test counts by itself, from the answers that the payment provider got: each unit
//! paid is kept, on a line, or refunded elsewhere, once; the shop's tables are as the rows.

use std::collections::BTreeMap;
use std::fs::{self, File};

use kit::harness::last_appended;
use redis::Value;

use crate::check::checked;
use crate::databases::{Database, Kind};
use crate::harness::{Server, side_by_side};
use crate::shop::{Shop, random};
use crate::statements::documented;

const VOUCHER: &str = "7";
/// The shop's own stock never decides: more than a sale can take.
const SHOP_STOCK: i64 = 1_000;
const COMMANDS: u32 = 24;
/// Questions are answered this often before it counts as a dead end.
const STEPS: u32 = 160;
const AT_ONCE: usize = 5;

#[derive(Clone, Copy, Debug)]
enum Loss {
    OlderRdb,
    /// Twice.
    Two,
    Promotion,
    CutLog,
    Database,
    OneKey,
    Trimmed,
}

const LOSSES: [Loss; 7] = [
    Loss::OlderRdb,
    Loss::Two,
    Loss::Promotion,
    Loss::CutLog,
    Loss::Database,
    Loss::OneKey,
    Loss::Trimmed,
];

/// A payment, as the provider has it.
#[derive(Clone, Debug, Default)]
struct Paid {
    user: u32,
    id: usize,
    /// Units that were paid.
    units: i64,
    /// Units that were paid back without a line.
    back: i64,
}

struct Drill {
    shop: Shop,
    random: fastrand::Rng,
    statements: String,
    /// User, by order id less 1,000.
    orders: Vec<u32>,
    payments: BTreeMap<String, Paid>,
}

impl Drill {
    fn open(kind: Kind, random: fastrand::Rng, server: Server) -> Option<Self> {
        let mut shop = Shop::on(server, Database::open(kind)?, &[""]);
        let statements = shop.with_statements(&[(7, SHOP_STOCK)], &documented(kind));
        shop.sell_managed(VOUCHER, 12, "HOLD 600000 LIMIT 6");
        let (orders, payments) = (Vec::new(), BTreeMap::new());
        let drill = Self { shop, random, statements, orders, payments };
        drill.drain();
        Some(drill)
    }

    /// The worker runs until nothing is left to do.
    fn drain(&self) {
        self.shop.once(&["--statements", &self.statements]).ended();
        println!("worker --once");
    }

    /// A client's command. Each step is printed: a failed round is read from that.
    fn client(&self, command: &str) -> Value {
        let answer = self.shop.run(command);
        println!("{command}: {answer:?}");
        answer
    }

    /// A buyer, the payment service or the shop's staff.
    fn command(&mut self) {
        if self.orders.is_empty() || self.random.u32(0..10) < 4 {
            self.orders.push(self.random.u32(1..30));
            let at = self.orders.len() - 1;
            let (user, units) = (self.orders[at], self.random.u32(1..4));
            self.client(&format!("SECKILL.TRY 7 {user} {} UNITS {units}", 1_000 + at));
            return;
        }
        let at = self.random.usize(0..self.orders.len());
        let (user, id) = (self.orders[at], 1_000 + at);
        match self.random.u32(0..8) {
            0 => _ = self.client(&format!("SECKILL.CANCEL 7 {user} {id}")),
            1 => _ = self.client(&format!("SECKILL.CANCEL 7 {user} {id} KEEP 1")),
            2 => _ = self.client(&format!("SECKILL.TRY 7 {user} {id} UNITS 2")),
            more => self.pay(user, id, if more == 3 { "b" } else { "" }),
        }
    }

    /// The customer pays for what the order has; a known payment is sent again.
    fn pay(&mut self, user: u32, id: usize, more: &str) {
        let reference = format!("p{id}{more}");
        if !self.payments.contains_key(&reference) {
            let Value::Array(fields) = self.shop.run(&format!("SECKILL.ORDER 7 {id}")) else {
                return;
            };
            let fields = crate::shop::pairs(Value::Array(fields));
            if fields["user"] != user.to_string() {
                return;
            }
            let units = fields["units"].parse().expect("units");
            self.payments.insert(reference.clone(), Paid { user, id, units, back: 0 });
        }
        let units = self.payments[&reference].units;
        self.client(&format!("SECKILL.CONFIRM 7 {user} {id} REF {reference} UNITS {units}"));
    }

    fn sell(&mut self) {
        for _ in 0..COMMANDS {
            self.command();
            if self.random.u32(0..6) == 0 {
                self.drain();
            }
        }
    }

    fn lose(&mut self, loss: Loss) {
        match loss {
            Loss::OlderRdb | Loss::Two => {
                let rounds = if matches!(loss, Loss::Two) { 2 } else { 1 };
                for _ in 0..rounds {
                    self.shop.run("SAVE");
                    self.sell();
                    self.shop.returns_to_the_save();
                }
            }
            Loss::Promotion => {
                let replica = Server::with().port().replica_of(&self.shop.server).start();
                self.shop.server.wait_for_replica(&replica);
                assert_eq!(replica.call(&["REPLICAOF", "NO", "ONE"]), Value::Okay);
                self.sell();
                self.shop.server = replica;
                self.statements = self.shop.statements(&documented(self.shop.database.kind));
            }
            Loss::CutLog => {
                let log = last_appended(self.shop.server.dir());
                let end = fs::metadata(&log).expect("its log").len();
                self.sell();
                self.shop.server.kill9();
                let file = File::options().write(true).open(log).expect("its log");
                file.set_len(end).expect("a cut");
                self.shop.server.mend();
                self.shop.server.start_again();
            }
            Loss::Database => {
                // Of a database server another test makes no backup: there the worker was down.
                let Some(path) = self.shop.database.url.strip_prefix("sqlite:").map(str::to_owned)
                else {
                    return self.sell();
                };
                let backup = format!("{path}.backup");
                self.drain();
                fs::copy(&path, &backup).expect("a backup");
                self.sell();
                for more in ["-wal", "-shm"] {
                    let _ = fs::remove_file(format!("{path}{more}"));
                }
                fs::copy(&backup, &path).expect("it is restored");
            }
            Loss::OneKey => {
                self.sell();
                self.shop.run("DEL stream.orders.pairing");
            }
            Loss::Trimmed => {
                (0..COMMANDS).for_each(|_| self.command());
                for stream in ["stream.orders", "stream.orders.confirmed", "stream.orders.released"]
                {
                    self.shop.run(&format!("XTRIM {stream} MAXLEN 2"));
                }
            }
        }
    }

    /// Clients that got no answer repeat what they sent.
    fn repeat(&mut self) {
        for (reference, paid) in self.payments.clone() {
            if self.random.bool() {
                let more = reference.trim_start_matches(&format!("p{}", paid.id)).to_owned();
                self.pay(paid.user, paid.id, &more);
            }
        }
    }

    /// The provider's list.
    fn list(&self) -> String {
        let path = self.shop.server.dir().join("provider.csv");
        let lines = self.payments.iter().map(|(reference, paid)| {
            let refunded = paid.back + self.shop.refunds(reference);
            format!("{reference},{},{refunded}\n", paid.units)
        });
        let text = format!("ref,units,refunded\n{}", lines.collect::<String>());
        fs::write(&path, text).expect("write the list");
        path.to_str().expect("a path").to_owned()
    }

    /// Answers what is asked, until nothing is.
    fn follow(&mut self) {
        let mut last = String::new();
        for _ in 0..STEPS {
            self.drain();
            let refs = self.list();
            let options = ["--statements", &self.statements, "--refs", &refs, "--refs-prefix", "p"];
            let (code, json) =
                checked(&self.shop, &[&["--voucher", VOUCHER, "--json"], &options[..]].concat());
            println!("{code:?} {json}");
            last.clone_from(&json);
            let found: serde_json::Value = serde_json::from_str(&json).unwrap_or_default();
            if code == Some(0) {
                return;
            }
            let incomplete = found["incomplete"].to_string();
            if incomplete.contains("is not paired") {
                self.shop.resolves(&["--re-pair"], 0, &[]);
                continue;
            }
            let Some(first) = found["questions"].as_array().and_then(|all| all.first()).cloned()
            else {
                panic!("nothing is asked, and it is not consistent: {json}");
            };
            self.answer(&first);
        }
        panic!("a dead end: {last}");
    }

    fn answer(&mut self, question: &serde_json::Value) {
        let text = |name: &str| question[name].as_str().unwrap_or_default().to_owned();
        let (kind, command) = (text("kind"), text("command"));
        let reference = text("reference");
        let answers: Vec<String> = question["answers"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|answer| answer.as_str().map(str::to_owned))
            .collect();
        if kind == "unlisted" || kind == "payment" && self.random.bool() {
            let paid = self.payments[&reference].clone();
            let (user, id, units) = (paid.user, paid.id, paid.units);
            let confirm = format!("SECKILL.CONFIRM 7 {user} {id} REF {reference} UNITS {units}");
            let answer = self.client(&confirm);
            if !matches!(answer, Value::Int(0)) || kind == "unlisted" {
                return;
            }
        }
        if answers.is_empty() {
            assert!(!command.is_empty(), "no answer and no command: {question}");
            self.shop.pasted(&command);
            return;
        }
        let chosen = self.random.choice(&answers).expect("one").clone();
        let first = answers[0].split(' ').next().expect("a word");
        let word = chosen.split(' ').next().expect("a word");
        let command = command.replacen(&format!("--{first}"), &format!("--{word}"), 1);
        let before = self.elsewhere();
        self.shop.pasted(&command);
        // What was said to be refunded elsewhere, was: but for what the list says already.
        if kind != "refunded" {
            for (reference, units) in self.elsewhere() {
                let more = units - before.get(&reference).copied().unwrap_or(0);
                if let Some(paid) = self.payments.get_mut(&reference) {
                    paid.back += more;
                }
            }
        }
    }

    /// Units of payments that an operator has said were refunded without a line.
    fn elsewhere(&self) -> BTreeMap<String, i64> {
        let rows = "FROM seckill_payments WHERE ruled_elsewhere <> ''";
        let rows = self.shop.database.texts(["ref", "ruled_elsewhere"], rows);
        let mut all = BTreeMap::new();
        for [reference, units] in rows {
            *all.entry(reference).or_insert(0) += count(&units);
        }
        all
    }

    /// What is true at the end, counted without the worker's own sums.
    fn count(&self) {
        let rows = "FROM seckill_orders WHERE state = 'sold'";
        let kept = self.shop.database.texts(["COALESCE(ref, '')", "units"], rows);
        for (reference, paid) in &self.payments {
            let kept = kept.iter().filter(|[by, _]| by == reference);
            let kept: i64 = kept.map(|[_, units]| units.parse::<i64>().expect("units")).sum();
            let lines = self.shop.refunds(reference);
            let known = self
                .shop
                .database
                .texts(["flags"], &format!("FROM seckill_payments WHERE ref = '{reference}'"));
            assert!(!known.is_empty(), "payment {reference} is unknown: {paid:?}");
            assert_eq!(
                kept + lines + paid.back,
                paid.units,
                "{reference} {paid:?}: kept {kept}, lines {lines}"
            );
        }
        // The shop's own tables are as the rows.
        self.shop.check_shop(&[(7, SHOP_STOCK)]);
        let group = self.shop.group("stream.orders", crate::shop::GROUP).expect("a group");
        assert_eq!(group["pending"], "0");
    }
}

/// How many units a set has, such as `1-2,5-5`.
fn count(units: &str) -> i64 {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').expect("a range");
        let number = |text: &str| text.parse::<i64>().expect("a number");
        number(last) - number(first) + 1
    };
    units.split(',').filter(|range| !range.is_empty()).map(range).sum()
}

fn round(kind: Kind, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let loss = *random.choice(&LOSSES).expect("one");
    let server = match loss {
        Loss::CutLog => Server::with().aof().port().start(),
        _ => Server::with().port().start(),
    };
    println!("{loss:?}, seed {seed}");
    let Some(mut drill) = Drill::open(kind, random, server) else { return };
    drill.sell();
    drill.lose(loss);
    drill.repeat();
    drill.follow();
    drill.count();
}

/// The rounds of `make test` are the same each time. What is new is found by DRILL_ROUNDS.
const SEEDS: [u64; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

fn drill(kind: Kind) {
    let number = |name| std::env::var(name).ok().map(|it| it.parse::<u64>().expect("a number"));
    // A round that failed is repeated by the seed in the name of its thread.
    if let Some(seed) = number("DRILL_SEED") {
        return round(kind, seed);
    }
    let mut random = random();
    let seeds = match number("DRILL_ROUNDS") {
        Some(rounds) => (0..rounds).map(|_| random.u64(..)).collect(),
        None => SEEDS.to_vec(),
    };
    // A round waits for most of its time.
    for seeds in seeds.chunks(AT_ONCE) {
        side_by_side(seeds, |seed| format!("DRILL_SEED={seed}"), |seed| round(kind, *seed));
    }
}

#[test]
fn whatever_is_answered_leads_out_of_every_loss() {
    let kind = match std::env::var("DRILL_DATABASE").as_deref() {
        Err(_) => Kind::Sqlite,
        Ok("postgres") => Kind::Postgres,
        Ok("mariadb") => Kind::MariaDb,
        Ok("mysql") => Kind::MySql,
        Ok(other) => panic!("DRILL_DATABASE={other}"),
    };
    drill(kind);
}

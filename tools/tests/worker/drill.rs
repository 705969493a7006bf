//! The drill: something is lost in the middle of a sale, and then an operator answers what a check
//! asks, by any answer, until it asks nothing.
//!
//! At its end the test counts by itself, from the answers that the payment provider got: each unit
//! paid is kept, on a line, or refunded elsewhere, once; the shop's tables are as the rows.

use std::collections::BTreeMap;
use std::fs;

use domain::unit_set::UnitSet;
use redis::Value;

use crate::check::checked;
use crate::databases::{Database, Kind};
use crate::harness::{Server, side_by_side};
use crate::shop::{Shop, pairs, random};
use crate::statements::documented;

mod losses;

use losses::{LOSSES, Loss};

const VOUCHER: &str = "7";
/// The shop's own stock never decides: more than a sale can take.
const SHOP_STOCK: i64 = 1_000;
const COMMANDS: u32 = 24;
/// Questions are answered this often before it counts as a dead end.
const STEPS: u32 = 160;
const AT_ONCE: usize = 5;

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
    /// After so many answers the server returns to its last save.
    returns_after: u32,
}

impl Drill {
    fn open(kind: Kind, mut random: fastrand::Rng, server: Server) -> Option<Self> {
        let mut shop = Shop::on(server, Database::open(kind)?, &[""]);
        let statements = shop.with_statements(&[(7, SHOP_STOCK)], &documented(kind));
        // Holds of some sales end before the operator looks.
        let hold = random.choice([600_000, 600_000, 1_500]).expect("one");
        shop.sell_managed(VOUCHER, 12, &format!("HOLD {hold} LIMIT 6"));
        let (orders, payments) = (Vec::new(), BTreeMap::new());
        let drill = Self { shop, random, statements, orders, payments, returns_after: 0 };
        drill.drain();
        Some(drill)
    }

    /// The worker runs until nothing is left to do.
    fn drain(&self) {
        let mut worker = self.shop.once(&["--statements", &self.statements]);
        let status = worker.ended();
        println!("worker --once: {status}\n{}", worker.log());
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
        let kept = if self.random.bool() { " KEEP 1" } else { "" };
        match self.random.u32(0..14) {
            0 => _ = self.client(&format!("SECKILL.CANCEL 7 {user} {id}{kept}")),
            1 => _ = self.client(&format!("SECKILL.CANCEL 7 {user} {id}{kept} NORESTOCK")),
            2 => self.refund(user, id, kept),
            3 => _ = self.client(&format!("SECKILL.TRY 7 {user} {id} UNITS 2")),
            4 => _ = self.client(&format!("SECKILL.EXTEND 7 {user} {id} 600000")),
            5 => {
                let units = self.random.i32(-1..3);
                self.client(&format!("SECKILL.RESTOCK 7 {units}"));
            }
            more => self.pay(user, id, if more == 6 { "b" } else { "" }),
        }
    }

    fn order(&self, id: usize) -> Option<BTreeMap<String, String>> {
        match self.shop.run(&format!("SECKILL.ORDER 7 {id}")) {
            order @ Value::Array(_) => Some(pairs(order)),
            _ => None,
        }
    }

    /// The shop's staff refunds units at the provider, and says so.
    fn refund(&mut self, user: u32, id: usize, kept: &str) {
        let Some(order) = self.order(id) else { return };
        let answer = self.client(&format!("SECKILL.CANCEL 7 {user} {id}{kept} REFUNDED"));
        if answer == Value::Int(1) {
            let units: i64 = order["units"].parse().expect("units");
            let paid = self.payments.get_mut(&order["ref"]).expect("its payment");
            paid.back += units - i64::from(!kept.is_empty());
        }
    }

    /// The customer pays for what the order has; a known payment is sent again.
    fn pay(&mut self, user: u32, id: usize, more: &str) {
        let reference = format!("p{id}{more}");
        if !self.payments.contains_key(&reference) {
            let Some(fields) = self.order(id) else { return };
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

    /// Answers what is asked, until nothing is. Returns the units that were refunded although they
    /// were due to nobody, by reference: nobody can answer that.
    fn follow(&mut self) -> BTreeMap<String, i64> {
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
                let results = found["results"].as_array().expect("results").iter();
                let beyond = results.filter(|result| result["kind"] == "refunded_beyond");
                return beyond
                    .map(|it| (it["reference"].to_string(), it["units"].as_i64().expect("units")))
                    .map(|(reference, units)| (reference.trim_matches('"').to_owned(), units))
                    .collect();
            }
            let incomplete = found["incomplete"].to_string();
            if incomplete.contains("is not paired") {
                self.shop.resolves(&["--re-pair"], 0, &[]);
                continue;
            }
            // Of a hold that has just expired.
            if incomplete.contains("start seckill-worker") {
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
        let words: Vec<&str> =
            answers.iter().map(|answer| answer.split(' ').next().expect("a word")).collect();
        // Who has refunded knows it.
        let is_refunded = self.payments.get(&reference).is_some_and(|paid| {
            let elsewhere = self.elsewhere().get(&reference).copied().unwrap_or(0);
            paid.back > elsewhere
        });
        let refunded = words.iter().copied().find(|word| *word == "refunded" && is_refunded);
        let mut choose = || refunded.unwrap_or_else(|| self.random.choice(&words).expect("one"));
        let command_of =
            |word| command.replacen(&format!("--{}", words[0]), &format!("--{word}"), 1);
        let all = [command_of(choose()), command_of(choose())];
        match self.random.u32(0..8) {
            // Two operators at once, who don't agree.
            0 => _ = side_by_side(&all, |it| (*it).clone(), |command| self.shop.pasted(command)),
            // One who is interrupted, and types it again when it is asked again.
            1 => self.interrupted(&all[0]),
            _ => _ = self.shop.pasted(&all[0]),
        }
        // What was said to be refunded elsewhere, was.
        for (reference, units) in self.elsewhere() {
            if let Some(paid) = self.payments.get_mut(&reference) {
                paid.back = paid.back.max(units);
            }
        }
        if self.returns_after > 0 {
            self.returns_after -= 1;
            if self.returns_after == 0 {
                self.shop.returns_to_the_save();
                println!("-- the server returns to its save");
            }
        }
    }

    /// A command that is killed.
    fn interrupted(&mut self, command: &str) {
        let ms = self.random.u32(1..60);
        self.shop.pasted_after(&format!("timeout -s KILL 0.{ms:03} "), command);
    }

    /// Units of payments that were refunded without a line, as the tables know it.
    fn elsewhere(&self) -> BTreeMap<String, i64> {
        let rows = "FROM seckill_payments";
        let rows = self.shop.database.texts(["ref", "elsewhere", "ruled_elsewhere"], rows);
        let mut all = BTreeMap::new();
        for [reference, units, ruled] in rows {
            let units = [units, ruled].map(|set| UnitSet::parse(set.as_bytes()).expect("a set"));
            *all.entry(reference).or_insert(0) += units[0].union(&units[1]).count();
        }
        all
    }

    /// What is true at the end, counted without the worker's own sums.
    fn count(&self, beyond: &BTreeMap<String, i64>) {
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
                kept + lines + paid.back - beyond.get(reference).unwrap_or(&0),
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
    let beyond = drill.follow();
    drill.count(&beyond);
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

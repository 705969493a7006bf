//! The operator, who answers what a check asks.

use std::collections::BTreeMap;

use domain::unit_set::UnitSet;

use super::Drill;
use super::losses::{When, Who};
use crate::check::checked;
use crate::harness::side_by_side;

/// Questions are answered this often before it counts as a dead end.
const STEPS: u32 = 160;

/// What remains, and nobody can answer.
pub struct Results {
    /// Units that were refunded although they were due to nobody, by reference.
    pub beyond: BTreeMap<String, i64>,
    /// Units of orders that are kept and that the sale lacks, by voucher.
    pub oversold: BTreeMap<String, i64>,
}

impl Drill {
    /// Answers what is asked, until nothing is.
    pub fn follow(&mut self) -> Results {
        let mut last = String::new();
        for _ in 0..STEPS {
            self.drain();
            self.audits();
            let refs = self.list();
            let options = ["--statements", &self.statements, "--refs", &refs, "--refs-prefix", "p"];
            let (code, json) = checked(&self.shop, &[&["--json"], &options[..]].concat());
            println!("{code:?} {json}");
            last.clone_from(&json);
            let found: serde_json::Value =
                serde_json::from_str(&json).unwrap_or_else(|_| panic!("no verdict: {json}"));
            let incomplete: Vec<&str> = found["incomplete"]
                .as_array()
                .into_iter()
                .flatten()
                .flat_map(|it| it.as_str())
                .collect();
            // Nothing can be done about a sale that the server has lost.
            let is_over = incomplete.iter().all(|it| it.contains("no book to compare it with"));
            if found["questions"].as_array().is_some_and(Vec::is_empty) && is_over {
                if self.opens_shards(&found) {
                    continue;
                }
                let of = |kind: &str, name: &str| {
                    let mut units = BTreeMap::new();
                    let results = found["results"].as_array().expect("results").iter();
                    for result in results.filter(|result| result["kind"] == kind) {
                        let of = result[name].as_str().expect("a name").to_owned();
                        *units.entry(of).or_insert(0) += result["units"].as_i64().expect("units");
                    }
                    units
                };
                let beyond = of("refunded_beyond", "reference");
                return Results { beyond, oversold: of("oversold", "voucher") };
            }
            let incomplete = incomplete.join("\n");
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
        let is_of_payment = ["unlisted", "units"].contains(&&*kind);
        if is_of_payment || kind == "payment" && self.random.bool() {
            let is_known = self.confirm(&reference);
            if is_known || answers.is_empty() {
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
        let is_last = self.returns_after == 1;
        self.returns_after = self.returns_after.saturating_sub(1);
        match (self.loss.who, self.random.u32(0..8)) {
            _ if is_last && self.loss.when == When::Answering => {
                self.answers_a_dying_server(&all[0])
            }
            (Who::Two, 0..6) | (Who::Mostly, 0) => {
                side_by_side(&all, |it| (*it).clone(), |command| self.shop.pasted(command));
            }
            // Who is killed types it again when it is asked again.
            (Who::Killed, 0..6) | (Who::Mostly, 1) => self.interrupted(&all[0]),
            _ => _ = self.shop.pasted(&all[0]),
        }
        // What was said to be refunded elsewhere, was.
        for (reference, units) in self.elsewhere() {
            if let Some(paid) = self.payments.get_mut(&reference) {
                paid.back = paid.back.max(units);
            }
        }
        if is_last {
            self.returns();
        }
    }

    /// A command that is killed.
    fn interrupted(&mut self, command: &str) {
        let ms = self.random.u32(1..60);
        self.shop.pasted_after(&format!("timeout -s KILL 0.{ms:03} "), command);
    }

    /// The server is killed in the middle of it.
    fn answers_a_dying_server(&mut self, command: &str) {
        let ms = self.random.u32(1..60);
        let pid = self.shop.server.info("process_id").expect("its process");
        self.shop.pasted_after(&format!("(sleep 0.{ms:03}; kill -9 {pid}) & "), command);
    }

    /// Puts lost shards on sale again. False if none is left.
    fn opens_shards(&self, found: &serde_json::Value) -> bool {
        let results = found["results"].as_array().expect("results").iter();
        let lost: Vec<_> = results.filter(|it| it["kind"] == "not_on_sale").collect();
        for result in &lost {
            let voucher = result["voucher"].as_str().expect("a voucher");
            let (_, shard) = voucher.split_once('#').expect("a shard");
            let units = result["units"].to_string();
            self.shop.shards(&["reopen", "--shard", shard, "--units", &units]);
        }
        !lost.is_empty()
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
}

//! The operator, who answers what a check asks.

use std::collections::BTreeMap;

use domain::unit_set::UnitSet;

use super::Drill;
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
            let refs = self.list();
            let options = ["--statements", &self.statements, "--refs", &refs, "--refs-prefix", "p"];
            let (code, json) = checked(&self.shop, &[&["--json"], &options[..]].concat());
            println!("{code:?} {json}");
            last.clone_from(&json);
            let found: serde_json::Value =
                serde_json::from_str(&json).unwrap_or_else(|_| panic!("no verdict: {json}"));
            if code == Some(0) {
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
                self.returns_to_the_save();
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
}

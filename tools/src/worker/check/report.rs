//! What a check has found, as a table with lines, or as JSON.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use seckill_tools::sanitize::sanitize;
use seckill_tools::sharding::sale_of_shard;
use serde_json::{Value, json};

use super::questions::{About, Findings, Incomplete, Question, QuestionKind};
use crate::command_text::{CommandLine, WORKER, option, server_words, site_words};
use crate::options::Site;

pub(super) const SHARDS: &str = "seckill-shards";
/// Further lines of what could not be looked at are only counted.
const LINES_MAX: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Server and database agree on all that was compared.
    Consistent,
    /// They differ.
    Different,
    /// Nothing differs, but not all could be looked at.
    Incomplete,
}

impl Verdict {
    pub fn code(self) -> u8 {
        match self {
            Self::Consistent => 0,
            Self::Different => 1,
            Self::Incomplete => 3,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Consistent => "CONSISTENT",
            Self::Different => "DIFFERENT",
            Self::Incomplete => "INCOMPLETE",
        }
    }
}

pub struct Report {
    pub(super) found: Findings,
    /// Options that printed commands need.
    pub(super) site: Vec<String>,
    /// Those of them that say where the server is.
    pub(super) server: Vec<String>,
    database: &'static str,
}

impl Report {
    pub fn new(
        found: Findings,
        site: &Site,
        statements: Option<&Path>,
        database: &'static str,
    ) -> Self {
        let server = server_words(site);
        Self { found, site: site_words(site, statements), server, database }
    }

    pub fn verdict(&self) -> Verdict {
        match (self.found.questions.is_empty(), self.found.incomplete.is_empty()) {
            (false, _) => Verdict::Different,
            (true, false) => Verdict::Incomplete,
            (true, true) => Verdict::Consistent,
        }
    }

    pub fn json(&self) -> String {
        let questions = self.found.questions.iter().zip(1..).map(|((about, question), number)| {
            let About { kind, key, reference } = about;
            json!({
                "number": number,
                "kind": kind,
                "voucher": key.voucher,
                "sale": key.sale,
                "order": key.order,
                "user": key.user,
                "reference": reference,
                "rows": question.rows,
                "server": question.server,
                "answers": question.answers,
                "command": self.command(about, question),
            })
        });
        let results = self.found.results.iter().map(|((kind, key, reference), units)| {
            json!({
                "kind": kind,
                "voucher": key.voucher,
                "sale": key.sale,
                "order": key.order,
                "reference": reference,
                "units": units,
            })
        });
        let incomplete = self.found.incomplete.iter().map(|it| self.incomplete(it));
        let totals = &self.found.totals;
        let totals_of = |pair: [i64; 2]| json!({ "server": pair[0], "database": pair[1] });
        json!({
            "verdict": self.verdict().word(),
            "questions": questions.collect::<Vec<Value>>(),
            "results": results.collect::<Vec<Value>>(),
            "incomplete": incomplete.collect::<Vec<String>>(),
            "compared": {
                "references": totals.references.unwrap_or(0),
                "units": totals.units,
                "refunds": totals.refunds,
            },
            "totals": {
                "orders": totals_of(totals.orders),
                "held": totals_of(totals.held),
                "sold": totals_of(totals.sold),
                "buyers": totals_of(totals.buyers),
            },
        })
        .to_string()
    }

    /// The comparison as a table and lines; the last line is the verdict.
    pub fn text(&self) -> String {
        let (mut text, totals) = (String::new(), &self.found.totals);
        // Writing to a String can't fail.
        let _ = writeln!(text, "{:<26}{:>10} {:>10}", "", "in Redis", self.database);
        for (what, [server, rows]) in [
            ("orders", totals.orders),
            ("units held", totals.held),
            ("units sold", totals.sold),
            ("buyers (unmanaged)", totals.buyers),
        ] {
            let is_unmanaged = what.starts_with("buyers");
            if is_unmanaged && [server, rows] == [0, 0] {
                continue;
            }
            // Sales that are over, and what is ruled, are in the database alone.
            let mark = match (server == rows, self.verdict()) {
                (true, _) => "ok",
                (false, Verdict::Different) => "DIFFERS",
                (false, _) => "",
            };
            let line = format!("{what:<26}{server:>10} {rows:>10}  {mark}");
            let _ = writeln!(text, "{}", line.trim_end());
        }
        if totals.ruled > 0 {
            let _ = writeln!(text, "{:<26}{:>10} {:>10}", "ruled", "", totals.ruled);
        }
        // What the worker reads first, or is to be paired, may answer questions.
        let incomplete = &self.found.incomplete;
        for one in incomplete.iter().take(LINES_MAX) {
            let _ = writeln!(text, "{}", sanitize(&self.incomplete(one)));
        }
        more(&mut text, incomplete.len());
        let questions = &self.found.questions;
        for ((about, question), number) in questions.iter().zip(1..) {
            let _ = writeln!(text, "{number}. {}", self.line(about, question));
        }
        self.results(&mut text);
        let _ = writeln!(text, "{}", self.last_line());
        text
    }

    /// A question in one line, with the command that answers it.
    pub fn line(&self, about: &About, question: &Question) -> String {
        let About { kind, key, reference } = about;
        let [order, user, voucher] = [&key.order, &key.user, &key.voucher];
        let order = format!("order {order} of {user} for voucher {voucher}");
        let Question { rows, server, .. } = question;
        let says = match kind {
            QuestionKind::Shard => format!("{rows}, {server}"),
            QuestionKind::Repair | QuestionKind::Order => {
                format!("{order}: {rows} in the database; {server} on the server")
            }
            QuestionKind::Reference => format!("payment {reference} is of several orders: {rows}"),
            QuestionKind::Payment | QuestionKind::Unmatched => {
                format!("payment {reference} of {order}: {rows}; {server} on the server")
            }
            QuestionKind::Buyer => {
                format!(
                    "user {user} of voucher {voucher}: {rows} in the database; {server} on the \
                     server"
                )
            }
            QuestionKind::Sum => match server.is_empty() {
                true => format!("voucher {voucher}, sale {}: {rows}", key.sale),
                false => format!("voucher {voucher}, sale {}: {server}; {rows}", key.sale),
            },
            QuestionKind::Units | QuestionKind::Refunded => {
                format!("payment {reference} of {order}: {rows}; {server}")
            }
            QuestionKind::Unlisted => {
                format!("payment {reference} is in the list and not in the books: send its CONFIRM")
            }
        };
        match self.command(about, question) {
            command if command.is_empty() => sanitize(&says),
            command => format!("{}: {command}", sanitize(&says)),
        }
    }

    /// The command that answers a question, with its first answer. Empty where none does.
    fn command(&self, about: &About, question: &Question) -> String {
        let answer = question.answers.first().map(String::as_str).unwrap_or_default();
        let is_of_shards = answer.starts_with("drop ");
        let site = if is_of_shards { &self.server } else { &self.site };
        command_of(about, answer).map_or_else(String::new, |command| command.text(site))
    }

    fn incomplete(&self, one: &Incomplete) -> String {
        match one {
            Incomplete::Unread { voucher, entries } => format!(
                "{entries} entries of voucher {voucher} are not read or not written: start \
                 seckill-worker; if one runs, its log says why"
            ),
            Incomplete::Dropped { voucher, sale } if sale.is_empty() => format!(
                "voucher {voucher} is not on the server: there are no buyers to compare with"
            ),
            Incomplete::Dropped { voucher, sale } => format!(
                "sale {sale} of voucher {voucher} is not on the server, and no check has found it \
                 consistent before: there is no book to compare it with"
            ),
            Incomplete::Moving { voucher } => {
                format!("voucher {voucher} was sold while it was looked at: look again")
            }
            Incomplete::Before { orders } => format!(
                "{orders} orders were acknowledged by another consumer before this database was \
                 paired, and are not compared"
            ),
            Incomplete::Unpaired(text) => text.clone(),
        }
    }

    fn last_line(&self) -> String {
        let (found, word) = (&self.found, self.verdict().word());
        match self.verdict() {
            Verdict::Different => {
                let mut kinds: BTreeMap<QuestionKind, usize> = BTreeMap::new();
                for about in found.questions.keys() {
                    *kinds.entry(about.kind).or_default() += 1;
                }
                let repairs = kinds.remove(&QuestionKind::Repair).unwrap_or(0);
                let asked: usize = kinds.values().sum();
                let mut parts = Vec::new();
                if repairs > 0 {
                    parts.push(format!("{repairs} orders that check --repair writes"));
                }
                if asked > 0 {
                    parts.push(format!("{asked} questions"));
                }
                format!("{word}: {}", parts.join(", "))
            }
            Verdict::Incomplete => {
                format!("{word}: nothing differs in what could be compared")
            }
            Verdict::Consistent => format!("{word}: {}", self.compared()),
        }
    }

    /// What was compared, and what was not.
    fn compared(&self) -> String {
        let totals = &self.found.totals;
        let units = totals.sold[1].saturating_add(totals.held[1]);
        let mut parts = vec![format!("{} orders with {units} units", totals.orders[1])];
        if totals.buyers[1] > 0 {
            let (buyers, units) = (totals.buyers[1], totals.unmanaged);
            parts.push(format!(
                "{buyers} buyers of unmanaged vouchers with {units} units (units left were \
                 compared only with --stock)"
            ));
        }
        if let Some(references) = totals.references {
            let mut compared = vec![format!("{references} references")];
            compared.extend(totals.units.then(|| "units".to_owned()));
            compared.extend(totals.refunds.then(|| "refunds".to_owned()));
            parts.push(format!("the provider's list was compared by {}", compared.join(", ")));
        } else {
            parts.push("no list of the payment provider was compared (--refs)".to_owned());
        }
        if totals.foreign > 0 {
            let foreign = totals.foreign;
            parts.push(format!("{foreign} references of the list are not of these vouchers"));
        }
        if totals.without_ref > 0 {
            parts.push(format!("{} lines of the list have no ref", totals.without_ref));
        }
        if totals.unsaid > 0 {
            let unsaid = totals.unsaid;
            parts.push(format!("{unsaid} payments without UNITS: their units are not known"));
        }
        parts.join("; ")
    }
}

/// The command that gives an answer: `units 3` is `--units=3`.
pub fn command_of(about: &About, answer: &str) -> Option<CommandLine> {
    let About { kind, key, reference } = about;
    let sale = (!key.sale.is_empty()).then(|| option("sale", &key.sale));
    let voucher = option("voucher", &key.voucher);
    let its = [voucher.clone()].into_iter().chain(sale).chain([option("user", &key.user)]);
    let (word, number) = answer.split_once(' ').map_or((answer, None), |(a, b)| (a, Some(b)));
    let answered = number.map_or_else(|| format!("--{word}"), |number| option(word, number));
    let payment = option("payment", reference);
    let resolve = |options, order| Some(CommandLine::of(WORKER, &["resolve"], options, order));
    match kind {
        QuestionKind::Repair => {
            let options = vec![voucher, "--repair".to_owned()];
            Some(CommandLine::of(WORKER, &["check"], options, None))
        }
        _ if answer.is_empty() => None,
        QuestionKind::Reference => resolve(its.chain([payment]).collect(), Some(&key.order)),
        QuestionKind::Shard => {
            let sale = option("voucher", sale_of_shard(&key.voucher).unwrap_or_default());
            let shard = || option("shard", number.unwrap_or_default());
            match word {
                "drop" => Some(CommandLine::of(SHARDS, &[&sale, "drop"], vec![shard()], None)),
                _ => resolve(vec![sale, answered], None),
            }
        }
        // A part of a cart's payment is asked about alone.
        QuestionKind::Payment | QuestionKind::Unmatched | QuestionKind::Units => {
            resolve([payment, answered].into_iter().chain(its).collect(), None)
        }
        QuestionKind::Order | QuestionKind::Refunded => {
            // If no unit is kept, all was refunded.
            let kept = number.filter(|kept| *kept != "0").map(|kept| option("keep", kept));
            let options = its.chain(kept).chain([format!("--{word}")]);
            resolve(options.collect(), Some(&key.order))
        }
        QuestionKind::Buyer | QuestionKind::Sum | QuestionKind::Unlisted => None,
    }
}

fn more(text: &mut String, all: usize) {
    if all > LINES_MAX {
        let _ = writeln!(text, "and {} more: --json has them all", all - LINES_MAX);
    }
}

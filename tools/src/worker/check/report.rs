//! What a check has found, as a table with lines, or as JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

use domain::judge::{Finding, Judgement, Kind, Verdict};
use seckill_tools::sanitize::sanitize;

use super::references::Reference;

/// Further differences are only counted.
const LINES_MAX: usize = 20;
const IF_NOT: &str = "if it was not refunded as a whole";

pub struct Report {
    pub judgement: Judgement,
    /// References of payments that differ from the provider's; None if there is no list of these.
    pub references: Option<Vec<Reference>>,
}

impl Report {
    pub fn verdict(&self) -> Verdict {
        match &self.references {
            Some(found) if !found.is_empty() => Verdict::Different,
            _ => self.judgement.verdict(),
        }
    }

    pub fn json(&self) -> String {
        let Judgement { findings, totals, doubts, settled, disputed, .. } = &self.judgement;
        let totals: BTreeMap<&str, [i64; 2]> =
            totals.iter().map(|(what, server, rows)| (*what, [*server, *rows])).collect();
        let difference = |one: &Finding| {
            let Finding { voucher, sale, order, user, server, row, .. } = one;
            serde_json::json!({
                "voucher": voucher, "sale": sale, "order": order, "user": user,
                "server": server, "row": row
            })
        };
        let all = serde_json::json!({
            "verdict": self.verdict().word(),
            "agrees": self.verdict().code() == 0,
            "totals": totals,
            "differences": findings.iter().map(difference).collect::<Vec<_>>(),
            "unproved": doubts.iter().map(|doubt| doubt.line()).collect::<Vec<_>>(),
            "references": self.references,
            "disputed": disputed,
            "settled": settled,
        });
        all.to_string()
    }

    /// The comparison as a table and lines; the last line is the verdict.
    pub fn text(&self, database: &str) -> String {
        let found = &self.judgement;
        let mut text = String::new();
        // Writing to a String can't fail.
        let _ = writeln!(text, "{:<26}{:>10} {:>10}", "from server to rows", "in Redis", database);
        for (what, server, row) in &found.totals {
            let mark = if server == row { "ok" } else { "DIFFERS" };
            let _ = writeln!(text, "{what:<26}{server:>10} {row:>10}  {mark}");
        }
        for (what, number) in
            [("disputed rows", found.disputed), ("settled by a person", found.settled)]
        {
            if number > 0 {
                let _ = writeln!(text, "{what:<26}{:>10} {number:>10}", "");
            }
        }
        let more = |text: &mut String, all: usize| {
            if all > LINES_MAX {
                let _ = writeln!(text, "and {} more: --json has them all", all - LINES_MAX);
            }
        };
        for finding in found.findings.iter().take(LINES_MAX) {
            let _ = writeln!(text, "{}", sanitize(&line(finding)));
        }
        more(&mut text, found.findings.len());
        let references = self.references.as_deref().unwrap_or_default();
        for Reference { reference, provider, rows } in references.iter().take(LINES_MAX) {
            let [reference, provider, rows] =
                [reference, provider, rows].map(|text| sanitize(text));
            let _ =
                writeln!(text, "reference {reference}: {provider} in the file, {rows} in the rows");
        }
        more(&mut text, references.len());
        for doubt in found.doubts.iter().take(LINES_MAX) {
            let _ = writeln!(text, "{}", sanitize(&doubt.line()));
        }
        more(&mut text, found.doubts.len());
        let _ = writeln!(text, "{}", sanitize(&self.last_line(database)));
        text
    }

    fn last_line(&self, database: &str) -> String {
        let found = &self.judgement;
        let word = self.verdict().word();
        match self.verdict() {
            Verdict::Proved => {
                let (units, orders) = (found.units_sold(), found.orders_live());
                let limit = match found.above {
                    0 => "nobody beyond the limit".to_owned(),
                    above => format!("{above} users above today's limit, as Redis sold it"),
                };
                let refs = match self.references {
                    Some(_) => "payments as in the provider's list",
                    None => "payments were not compared with the provider's: --refs",
                };
                format!(
                    "{word}: {units} units sold in Redis, {orders} orders in {database}, {limit}; \
                     {refs}"
                )
            }
            Verdict::NothingSold => {
                format!("{word}: no orders in Redis, none in {database}")
            }
            Verdict::Different => format!("{word}: {}", self.different().join(", ")),
            Verdict::Unproved => {
                let mut doubts: Vec<_> =
                    found.doubts.iter().take(3).map(|doubt| doubt.what()).collect();
                if found.doubts.len() > doubts.len() {
                    doubts.push("..".to_owned());
                }
                format!("{word}: nothing differs, but not known: {}", doubts.join(", "))
            }
        }
    }

    /// What differs, in words.
    fn different(&self) -> Vec<String> {
        let found = &self.judgement;
        let (oversold, others): (Vec<_>, Vec<_>) =
            found.findings.iter().partition(|one| one.kind == Kind::Oversold);
        let mut names = Vec::new();
        if !others.is_empty() {
            names.push(format!("{} orders", others.len()));
        }
        if !oversold.is_empty() {
            names.push(format!("{} orders oversold", oversold.len()));
        }
        if let Some(references) = self.references.as_ref().filter(|all| !all.is_empty()) {
            names.push(format!("{} references", references.len()));
        }
        let totals = found.totals.iter().filter(|total| total.1 != total.2);
        names.extend(totals.map(|total| total.0.to_owned()));
        names
    }
}

/// What differs about an order, and what to do if a program can't.
fn line(finding: &Finding) -> String {
    let Finding { voucher, sale, order, user, server, row, reference, kind } = finding;
    let order = if order.is_empty() { "an order" } else { order };
    let of = if user.is_empty() { String::new() } else { format!(" of {user}") };
    let about =
        format!("{order}{of} for voucher {voucher}: {server} on the server, {row} in the rows");
    let settle = format!("seckill-worker settle {order} --voucher {voucher} --sale {sale}");
    match kind {
        Kind::Oversold => format!("{about}: repeat {settle} --keep when units are left"),
        Kind::Contradicts if !sale.is_empty() && !finding.order.is_empty() => {
            format!("{about}: {settle}, with --keep or --release")
        }
        Kind::Outside(units) => {
            format!("{about}: SECKILL.RESTOCK {voucher} {units} FOR {order} SALE {sale}")
        }
        Kind::Unheld => format!("{about}: {settle} --release"),
        Kind::Shared => format!(
            "{about}: {settle}, with --keep or --release: it was for both, or not for this one"
        ),
        Kind::Claimed => format!(
            "{about}: seckill-worker settle --voucher {voucher} --payment {reference} --keep"
        ),
        Kind::Twice if !sale.is_empty() => {
            format!("{about}: {settle} --release --not-refunded {IF_NOT}")
        }
        Kind::GoodsAndMoney if !sale.is_empty() => {
            format!("{about}: {settle} --release, or --keep --not-refunded {IF_NOT}")
        }
        Kind::Missing | Kind::Behind | Kind::Money | Kind::Owed => {
            format!("{about}: check --repair")
        }
        _ => about,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser;
    use domain::judge::Doubt;

    use super::*;
    use crate::options::Options;

    const KINDS: [Kind; 12] = [
        Kind::Missing,
        Kind::Behind,
        Kind::Contradicts,
        Kind::Unheld,
        Kind::Money,
        Kind::GoodsAndMoney,
        Kind::Twice,
        Kind::Owed,
        Kind::Shared,
        Kind::Claimed,
        Kind::Oversold,
        Kind::Outside(2),
    ];

    fn finding([order, user, server, row]: [&str; 4], kind: Kind) -> Finding {
        let [order, user, server, row] = [order, user, server, row].map(str::to_owned);
        let (voucher, sale) = ("7".to_owned(), "1795259348145000".to_owned());
        Finding { voucher, sale, order, user, server, row, reference: "A".to_owned(), kind }
    }

    fn page(name: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn the_lines_of_the_page_are_those_that_are_printed() {
        for name in ["backup.md", "zh-CN/backup.md"] {
            let page = page(name);
            for (words, kind) in [
                (["1001", "alice", "held", "sold"], Kind::Contradicts),
                (["1003", "carol", "unknown", "held"], Kind::Unheld),
                (["1005", "dave", "sold", "missing"], Kind::Missing),
            ] {
                let line = line(&finding(words, kind));
                assert!(page.contains(&format!("\n{line}\n")), "{name} lacks {line}");
            }
        }
    }

    /// The commands in a line, each as a person types it.
    fn commands(line: &str) -> Vec<String> {
        let Some(at) = line.find("seckill-worker ") else { return Vec::new() };
        let text = &line[at..];
        let end = [" if it was", " when units", ": it was"].iter().filter_map(|end| text.find(end));
        let text = &text[..end.min().unwrap_or(text.len())];
        let (first, ways) = match text.split_once(", with ").or_else(|| text.split_once(", or ")) {
            Some((first, ways)) => (first, ways),
            None => (text, ""),
        };
        let more = ways.replace("--paid and the units that the provider has", "--paid 2");
        let base = first.trim_end_matches(" --release");
        let ways = more.split(" or ").filter(|way| !way.is_empty());
        let mut all: Vec<_> = ways.map(|way| format!("{base} {way}")).collect();
        all.extend((!text.contains(", with ")).then(|| first.to_owned()));
        all
    }

    /// Each is one that the program takes, and whose options the page has.
    #[test]
    fn what_the_lines_advise_can_be_run() {
        let [voucher, reference, order, sale] = ["7", "A", "1001", "5"].map(str::to_owned);
        let doubts = [
            Doubt::Unknown {
                voucher: voucher.clone(),
                reference: reference.clone(),
                order: order.clone(),
            },
            Doubt::Untold { voucher, sale, order, reference, units: 1 },
        ];
        let found = KINDS.map(|kind| line(&finding(["1001", "alice", "a", "b"], kind)));
        let lines: Vec<_> = found.into_iter().chain(doubts.map(|doubt| doubt.line())).collect();
        let (page, mut count) = (page("worker.md"), 0);
        for line in &lines {
            let commands = commands(line);
            let ends = line.ends_with(": check --repair") || line.contains(": SECKILL.RESTOCK ");
            assert!(!commands.is_empty() || ends, "{line}");
            for command in commands {
                let words = command.split(' ').chain(["--database", "sqlite:a.db"]);
                let parsed = Options::try_parse_from(words).map(|options| options.check());
                assert!(matches!(parsed, Ok(Ok(()))), "{command}: {parsed:?}");
                let option = command.rsplit("--").next().unwrap().split(' ').next().unwrap();
                assert!(page.contains(&format!("--{option}")), "{option}");
                count += 1;
            }
        }
        assert_eq!(count, 12, "{lines:#?}");
    }
}

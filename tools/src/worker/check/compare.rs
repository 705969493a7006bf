//! Finds the differences between the server and the rows. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

use domain::book::State;
use seckill_tools::sanitize::sanitize;
use serde::Serialize;

use super::facts::Sold;
use crate::batch::Row;
use crate::store::Ledger;

/// Further differences are only counted.
const LINES_MAX: usize = 20;

/// An order whose row differs from the server's facts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Difference {
    pub voucher: String,
    /// Empty if only the user is known.
    pub order: String,
    pub user: String,
    /// The state on the server, and the state in the rows.
    pub server: String,
    pub row: String,
    #[serde(skip)]
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It is live but has no row.
    Missing,
    /// Its row is held, but the order no longer is.
    Behind,
    /// A person must look at it.
    Contradicts,
}

/// A line of the table: name, number on the server, number in the rows.
pub type Line = (&'static str, i64, i64);

#[derive(Debug, Serialize)]
pub struct Comparison {
    pub differences: Vec<Difference>,
    pub lines: Vec<Line>,
}

pub fn compare(all: &[Sold], ledger: &Ledger, stock: Option<i64>) -> Comparison {
    let mut differences = Vec::new();
    let mut sums = [("units sold", 0, 0), ("units in the sums", 0, 0), ("users who bought", 0, 0)];
    let (mut beyond, mut orders) = (0, (0, 0));
    for sold in all {
        let is_its = |row: &&Row| row.key.voucher == sold.voucher && row.key.sale == sold.sale;
        let rows: Vec<&Row> = ledger.rows.iter().filter(is_its).collect();
        differences_of(sold, &rows, &mut differences);
        let total = sold.total.or(stock);
        let units = total.map_or_else(|| sold.units(), |total| total - sold.left);
        let live: Vec<&&Row> = rows.iter().filter(|row| is_live(row)).collect();
        let mut bought: BTreeMap<&str, i64> = BTreeMap::new();
        for row in &live {
            // An unmanaged voucher limits orders per user, a managed one units per user.
            let counted = if sold.is_managed { row.units } else { 1 };
            *bought.entry(&row.user).or_default() += counted;
        }
        let sum = ledger.sums.get(&(sold.voucher.clone(), sold.sale.clone()));
        sums[0].1 += units;
        sums[0].2 += live.iter().map(|row| row.units).sum::<i64>();
        sums[1].1 += units;
        sums[1].2 += sum.copied().unwrap_or(0);
        sums[2].1 += sold.buyers;
        sums[2].2 += i64::try_from(bought.len()).unwrap_or(i64::MAX);
        beyond += bought.values().filter(|count| **count > sold.limit).count();
        orders.0 += match sold.is_managed {
            true => sold.orders.values().filter(|fact| fact.state.is_live()).count(),
            false => sold.users.len(),
        };
        orders.1 += live.len();
    }
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let mut lines = sums.to_vec();
    lines.insert(1, ("orders", number(orders.0), number(orders.1)));
    lines.push(("users beyond the limit", 0, number(beyond)));
    differences.sort();
    Comparison { differences, lines }
}

/// Notes of orders that were confirmed or released before they were read don't count.
fn is_live(row: &Row) -> bool {
    row.state.is_live() && !row.is_note()
}

fn differences_of(sold: &Sold, rows: &[&Row], differences: &mut Vec<Difference>) {
    let by_order: HashMap<&str, &Row> =
        rows.iter().filter(|row| !row.is_note()).map(|row| (&*row.key.order, *row)).collect();
    let mut tell = |kind, order: &str, user: &str, server: &str, row: &str| {
        let [order, user] = [order, user].map(str::to_owned);
        let (server, row) = (server.to_owned(), row.to_owned());
        let voucher = sold.voucher.clone();
        differences.push(Difference { voucher, order, user, server, row, kind });
    };
    for (order, fact) in &sold.orders {
        let word = fact.state.word();
        let Some(row) = by_order.get(order.as_str()) else {
            if fact.state.is_live() {
                tell(Kind::Missing, order, &fact.user, word, "missing");
            }
            continue;
        };
        let its = row.state.word();
        if row.user != fact.user {
            tell(Kind::Contradicts, order, &fact.user, word, &format!("of user {}", row.user));
        } else if row.units != fact.units && fact.state.is_live() {
            let units = [fact.units, row.units].map(|units| format!("{units} units"));
            tell(Kind::Contradicts, order, &fact.user, &units[0], &units[1]);
        } else if row.state == fact.state || !(fact.state.is_live() || row.state.is_live()) {
        } else if row.state == State::Held {
            tell(Kind::Behind, order, &fact.user, word, its);
        } else {
            tell(Kind::Contradicts, order, &fact.user, word, its);
        }
    }
    let live: Vec<&&Row> = rows.iter().filter(|row| is_live(row)).collect();
    if sold.is_managed {
        for row in live.iter().filter(|row| !sold.orders.contains_key(&row.key.order)) {
            tell(Kind::Contradicts, &row.key.order, &row.user, "unknown", row.state.word());
        }
        return;
    }
    // The streams may be trimmed; the set of buyers is complete.
    let with_row: BTreeSet<&str> = live.iter().map(|row| row.user.as_str()).collect();
    let named: BTreeSet<&str> = sold.orders.values().map(|fact| fact.user.as_str()).collect();
    for user in sold.users.iter().filter(|user| !with_row.contains(user.as_str())) {
        if !named.contains(user.as_str()) {
            tell(Kind::Contradicts, "", user, "sold", "missing");
        }
    }
    for row in live.iter().filter(|row| !sold.users.contains(&row.user)) {
        if !sold.orders.contains_key(&row.key.order) {
            tell(Kind::Contradicts, &row.key.order, &row.user, "no buyer", row.state.word());
        }
    }
}

impl Comparison {
    pub fn agrees(&self) -> bool {
        self.differences.is_empty() && self.lines.iter().all(|(_, server, row)| server == row)
    }

    pub fn json(&self) -> String {
        let lines: BTreeMap<&str, [i64; 2]> =
            self.lines.iter().map(|(what, server, rows)| (*what, [*server, *rows])).collect();
        let agrees = self.agrees();
        serde_json::json!({ "agrees": agrees, "totals": lines, "differences": self.differences })
            .to_string()
    }

    /// The comparison as a table and lines.
    pub fn text(&self, database: &str) -> String {
        let mut text = String::new();
        // Writing to a String can't fail.
        let _ = writeln!(text, "{:<26}{:>10} {:>10}", "from server to rows", "in Redis", database);
        for (what, server, row) in &self.lines {
            let mark = if server == row { "ok" } else { "DIFFERS" };
            let _ = writeln!(text, "{what:<26}{server:>10} {row:>10}  {mark}");
        }
        for Difference { voucher, order, user, server, row, .. } in
            self.differences.iter().take(LINES_MAX)
        {
            let [voucher, order, user] = [voucher, order, user].map(|text| sanitize(text));
            let order = if order.is_empty() { "an order".to_owned() } else { order };
            let _ = writeln!(
                text,
                "{order} of {user} for voucher {voucher}: {server} on the server, {row} in the rows"
            );
        }
        let more = self.differences.len().saturating_sub(LINES_MAX);
        if more > 0 {
            let _ = writeln!(text, "and {more} more: --json has them all");
        }
        let of =
            |what: &str| self.lines.iter().find(|line| line.0 == what).map_or(0, |line| line.2);
        if self.agrees() {
            let _ = writeln!(
                text,
                "PROVED: {} units sold in Redis, {} orders in {database}, nobody beyond the limit",
                of("units sold"),
                of("orders")
            );
            return text;
        }
        let mut names: Vec<&str> =
            self.lines.iter().filter(|line| line.1 != line.2).map(|line| line.0).collect();
        let count = format!("{} orders", self.differences.len());
        if !self.differences.is_empty() {
            names.insert(0, &count);
        }
        let _ = writeln!(text, "NOT PROVED: {}", names.join(", "));
        text
    }
}

#[cfg(test)]
mod tests;

//! Finds the differences between the server and the rows. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

use domain::projection::{Book, Known, project};
use seckill_tools::sanitize::sanitize;
use serde::Serialize;

use super::facts::Sold;
use super::references::Reference;
use crate::batch::{Fact, Row, of_book, word_of_user};
use crate::store::Ledger;

/// Further differences are only counted.
const LINES_MAX: usize = 20;

/// An order whose row differs from the server's facts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Difference {
    pub voucher: String,
    #[serde(skip)]
    pub sale: String,
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
    /// The server says more than its row.
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
    /// References of payments that differ from the provider's.
    pub references: Vec<Reference>,
}

/// The sums of a comparison.
#[derive(Default)]
struct Sums {
    units: (i64, i64),
    orders: (usize, usize),
    in_sums: (i64, i64),
    users: (i64, usize),
    beyond: usize,
    disputed: usize,
    settled: usize,
}

/// What is on the server, what is in the rows of all sales of the same vouchers, and the stock at
/// the beginning of an unmanaged one.
pub fn compare(all: &[Sold], ledger: &Ledger, stock: Option<i64>) -> Comparison {
    let (mut differences, mut sums) = (Vec::new(), Sums::default());
    let mut of_sales: BTreeMap<(&str, &str), Vec<&Row>> = BTreeMap::new();
    for row in &ledger.rows {
        of_sales.entry((&row.key.voucher, &row.key.sale)).or_default().push(row);
    }
    for sold in all {
        let rows = of_sales.remove(&(&*sold.voucher, &*sold.sale)).unwrap_or_default();
        of_sale(sold, &rows, ledger, stock, &mut sums, &mut differences);
    }
    // The server has another sale of the voucher, or none.
    for ((voucher, sale), rows) in of_sales {
        let server = all.iter().find(|sold| sold.voucher == voucher).map(|sold| &*sold.sale);
        let number = |sale: &str| sale.parse::<u64>().ok();
        let is_newer = server.and_then(number).zip(number(sale)).is_some_and(|(its, of)| of > its);
        let book = if is_newer { Book::Older } else { Book::Over };
        for row in &rows {
            look(row, None, &book, &mut sums, &mut differences);
        }
        let sum = ledger.sums.get(&(voucher.to_owned(), sale.to_owned())).copied();
        sums.in_sums.0 += rows.iter().map(|row| row.live_units()).sum::<i64>();
        sums.in_sums.1 += sum.unwrap_or(0);
    }
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let mut lines = vec![
        ("units sold", sums.units.0, sums.units.1),
        ("orders", number(sums.orders.0), number(sums.orders.1)),
        ("units in the sums", sums.in_sums.0, sums.in_sums.1),
        ("users who bought", sums.users.0, number(sums.users.1)),
        ("users beyond the limit", 0, number(sums.beyond)),
    ];
    if sums.disputed > 0 {
        lines.push(("disputed rows", 0, number(sums.disputed)));
    }
    if sums.settled > 0 {
        lines.push(("settled by a person", number(sums.settled), number(sums.settled)));
    }
    differences.sort();
    Comparison { differences, lines, references: Vec::new() }
}

fn of_sale(
    sold: &Sold,
    rows: &[&Row],
    ledger: &Ledger,
    stock: Option<i64>,
    sums: &mut Sums,
    differences: &mut Vec<Difference>,
) {
    let total = sold.total.or(stock);
    let mut units = total.map_or_else(|| sold.units(), |total| total - sold.left);
    let mut buyers = sold.buyers;
    let mut orders = match sold.is_managed {
        true => sold.orders.values().filter(|fact| fact.known.state.is_live()).count(),
        false => sold.users.len(),
    };
    let its: HashMap<&str, &&Row> =
        rows.iter().filter(|row| !row.is_note()).map(|row| (&*row.key.order, row)).collect();
    let missing = |(order, fact): &(&String, &Fact)| {
        fact.known.state.is_live() && !its.contains_key(order.as_str())
    };
    for (order, fact) in sold.orders.iter().filter(missing) {
        let word = fact.known.state.word();
        let difference = Difference::of(sold, order, &fact.user, word, "missing", Kind::Missing);
        differences.push(difference);
    }
    let live: Vec<&&Row> = rows.iter().filter(|row| is_live(row)).collect();
    if sold.is_managed {
        // A note without its order is all that is left of one that the server has lost.
        let lost = |row: &&&Row| row.is_note() && !sold.orders.contains_key(&row.key.order);
        for row in rows.iter().filter(|row| !row.is_note() || lost(row)) {
            let fact = sold.orders.get(&row.key.order);
            let book = fact.map_or(Book::Lacks, |fact| Book::Has(fact.known.clone()));
            if look(row, fact, &book, sums, differences) {
                // What a person has settled counts as the rows have it.
                let known = fact.map(|fact| &fact.known).filter(|known| known.state.is_live());
                units += row.live_units() - known.map_or(0, |known| known.units);
                if row.known.state.is_live() && known.is_none() {
                    (orders, buyers) = (orders + 1, buyers + 1);
                }
            }
        }
    } else {
        of_users(sold, &live, differences);
    }
    let mut bought: BTreeMap<&str, i64> = BTreeMap::new();
    for row in &live {
        // An unmanaged voucher limits orders per user, a managed one units per user.
        let counted = if sold.is_managed { row.known.units } else { 1 };
        *bought.entry(&row.user).or_default() += counted;
    }
    let sum = ledger.sums.get(&(sold.voucher.clone(), sold.sale.clone()));
    sums.units.0 += units;
    sums.units.1 += live.iter().map(|row| row.known.units).sum::<i64>();
    sums.in_sums.0 += units;
    sums.in_sums.1 += sum.copied().unwrap_or(0);
    sums.users.0 += buyers;
    sums.users.1 += bought.len();
    sums.beyond += bought.values().filter(|count| **count > sold.limit).count();
    sums.orders.0 += orders;
    sums.orders.1 += live.len();
}

/// Notes of orders that were confirmed or released before they were read don't count.
fn is_live(row: &Row) -> bool {
    row.known.state.is_live() && !row.is_note()
}

/// Compares a row with what the server says, by the projection that also writes it. True if they
/// contradict each other and a person has settled that.
fn look(
    row: &Row,
    fact: Option<&Fact>,
    book: &Book<String>,
    sums: &mut Sums,
    differences: &mut Vec<Difference>,
) -> bool {
    sums.disputed += usize::from(row.is_disputed());
    let of_row = |kind, user: &str, server: String, its: String| Difference {
        voucher: row.key.voucher.clone(),
        sale: row.key.sale.clone(),
        order: row.key.order.clone(),
        user: user.to_owned(),
        server,
        row: its,
        kind,
    };
    let other = fact.filter(|fact| fact.user != row.user);
    let said = other.map_or_else(|| of_book(book), |fact| word_of_user(&fact.user));
    let found = match other {
        Some(_) => None,
        None => project(Some(&row.known), None, book).ok().flatten(),
    };
    let word = |known: &Known<String>| known.state.word().to_owned();
    let server = match book {
        Book::Has(known) => known.clone(),
        // A held order that the server has lost is not disputed, but told.
        Book::Lacks | Book::Older if row.known.state.is_live() => {
            let is_settled = row.is_settled && row.disputed == said;
            if !is_settled {
                let kind = Kind::Contradicts;
                differences.push(of_row(kind, &row.user, "unknown".to_owned(), word(&row.known)));
            }
            sums.settled += usize::from(is_settled);
            return is_settled;
        }
        _ => return false,
    };
    let shown = |known: &Known<String>| (known.state, known.units, known.reference.clone());
    if found.as_ref().map(shown) == Some(shown(&row.known)) {
        return false;
    }
    let is_settled = found.is_none() && row.is_settled && row.disputed == said;
    if is_settled {
        sums.settled += 1;
        return true;
    }
    let kind = if found.is_some() { Kind::Behind } else { Kind::Contradicts };
    let (user, server, its) = match other {
        Some(fact) => (&fact.user, word(&server), format!("of user {}", row.user)),
        None if server.state != row.known.state => (&row.user, word(&server), word(&row.known)),
        None if server.units != row.known.units => {
            let units = |known: &Known<String>| format!("{} units", known.units);
            (&row.user, units(&server), units(&row.known))
        }
        None => {
            let book = |known: &Known<String>| of_book(&Book::Has(known.clone()));
            (&row.user, book(&server), book(&row.known))
        }
    };
    differences.push(of_row(kind, user, server, its));
    false
}

/// The streams may be trimmed; the set of buyers is complete.
fn of_users(sold: &Sold, live: &[&&Row], differences: &mut Vec<Difference>) {
    let mut tell = |order: &str, user: &str, server: &str, row: &str| {
        differences.push(Difference::of(sold, order, user, server, row, Kind::Contradicts));
    };
    for row in live {
        let Some(fact) = sold.orders.get(&row.key.order) else { continue };
        let (server, its) = (fact.known.state.word(), row.known.state.word());
        if fact.user != row.user {
            tell(&row.key.order, &fact.user, server, &format!("of user {}", row.user));
        } else if !fact.known.state.is_live() {
            tell(&row.key.order, &fact.user, server, its);
        }
    }
    let with_row: BTreeSet<&str> = live.iter().map(|row| row.user.as_str()).collect();
    let named: BTreeSet<&str> = sold.orders.values().map(|fact| fact.user.as_str()).collect();
    for user in sold.users.iter().filter(|user| !with_row.contains(user.as_str())) {
        if !named.contains(user.as_str()) {
            tell("", user, "sold", "missing");
        }
    }
    for row in live.iter().filter(|row| !sold.users.contains(&row.user)) {
        if !sold.orders.contains_key(&row.key.order) {
            tell(&row.key.order, &row.user, "no buyer", row.known.state.word());
        }
    }
}

impl Difference {
    fn of(sold: &Sold, order: &str, user: &str, server: &str, row: &str, kind: Kind) -> Self {
        let [voucher, sale] = [&sold.voucher, &sold.sale].map(String::clone);
        let [order, user, server, row] = [order, user, server, row].map(str::to_owned);
        Self { voucher, sale, order, user, server, row, kind }
    }
}

impl Comparison {
    pub fn agrees(&self) -> bool {
        let are_same = self.lines.iter().all(|(_, server, row)| server == row);
        are_same && self.differences.is_empty() && self.references.is_empty()
    }

    pub fn json(&self) -> String {
        let lines: BTreeMap<&str, [i64; 2]> =
            self.lines.iter().map(|(what, server, rows)| (*what, [*server, *rows])).collect();
        let agrees = self.agrees();
        let Self { differences, references, .. } = self;
        let all = serde_json::json!({
            "agrees": agrees, "totals": lines, "differences": differences, "references": references
        });
        all.to_string()
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
        for Reference { reference, provider, rows } in self.references.iter().take(LINES_MAX) {
            let [reference, provider, rows] =
                [reference, provider, rows].map(|text| sanitize(text));
            let _ =
                writeln!(text, "reference {reference}: {provider} in the file, {rows} in the rows");
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
        let references = format!("{} references", self.references.len());
        if !self.references.is_empty() {
            names.insert(0, &references);
        }
        if !self.differences.is_empty() {
            names.insert(0, &count);
        }
        let _ = writeln!(text, "NOT PROVED: {}", names.join(", "));
        text
    }
}

#[cfg(test)]
mod tests;

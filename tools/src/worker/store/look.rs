//! What a person's commands read and write: rows and sums in pieces, and disputed rows.

use std::collections::BTreeMap;

use domain::judge::{NOT_REFUNDED, SHARED};

use super::refunds::MoneyLine;
use super::statement::{Arg, Dialect, OF_KEY, ROWS_MAX, Statement, Tables};
use super::transaction::Open;
use super::{Closed, Fault, Shared, Store, now_ms};
use crate::batch::{Row, Steps, TooMany, settled};
use crate::order_events::OrderKey;

pub const SALES_COLUMNS: &str = "voucher_id, sale_id, units, with_statements, updated_ms";

/// Why a change is refused that would not reach the shop's own tables.
pub const NEEDS_STATEMENTS: &str = "the rows of this voucher were written with --statements: give \
                                    the same, or the shop's own tables would lack the change";

/// The rows that wait for a person.
pub(super) const DISPUTED: &str = "disputed_ms IS NOT NULL";

/// The held rows with a deadline before a moment.
pub(super) fn held_before(dialect: Dialect) -> String {
    let indexed = if dialect == Dialect::MySql { "held_until" } else { "deadline_ms" };
    format!("state = 'held' AND disputed_ms IS NULL AND {indexed} < ?")
}

/// The tables' contents for some vouchers.
#[derive(Debug, Default)]
pub struct Ledger {
    pub rows: Vec<Row>,
    /// By voucher and sale.
    pub sums: BTreeMap<(String, String), Sum>,
    /// What is about money in the table of changes.
    pub lines: Vec<MoneyLine>,
    pub closed: Vec<Closed>,
    /// Payments of two orders.
    pub shared: Vec<Shared>,
    /// Entries that ended without a row: the stream, the entry, and why.
    pub lost: Vec<[String; 3]>,
    /// False if the sums have changed while the rows were read.
    pub is_steady: bool,
}

/// What was sold in a sale, by the table of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    pub units: i64,
    /// The shop's statements were not run with all of its rows.
    pub is_partly_without: bool,
}

impl Store {
    /// The rows and sums of some vouchers, in all of their sales: read in pieces, so that nobody
    /// waits for a reader.
    pub async fn ledger(&self, vouchers: &[&str]) -> Result<Ledger, Fault> {
        let mut open = self.begin_reading().await?;
        let sums = self.sums(&mut open, vouchers).await?;
        let mut ledger = Ledger { sums, ..Ledger::default() };
        let sales = self.tables().of_vouchers("DISTINCT voucher_id, sale_id", "orders", vouchers);
        let sales: Vec<[String; 2]> = open.texts(&sales).await?;
        ledger.lost = open.texts(&self.tables().select_lost(vouchers)).await?;
        ledger.shared = self.shared(&mut open, None).await?;
        ledger.shared.retain(|one| vouchers.contains(&&*one.key.voucher));
        open.commit().await?;
        for [voucher, sale] in &sales {
            // An id may be empty.
            let (mut than, mut after) = (">=", String::new());
            loop {
                let sql = format!(
                    "voucher_id = ? AND sale_id = ? AND order_id {than} ? ORDER BY order_id LIMIT \
                     {ROWS_MAX}"
                );
                let args = [voucher, sale, &after].map(|text| Arg::Text(text));
                let rows = self.read_rows(&self.tables().select_orders(&sql, args)).await?;
                let is_last = rows.len() < ROWS_MAX;
                than = ">";
                after = rows.last().map(|row| row.key.order.clone()).unwrap_or_default();
                ledger.rows.extend(rows);
                if is_last {
                    break;
                }
            }
        }
        let mut open = self.begin_reading().await?;
        ledger.lines = self.lines_about(&mut open, vouchers).await?;
        ledger.is_steady = self.sums(&mut open, vouchers).await? == ledger.sums;
        open.commit().await?;
        ledger.closed = self.closed(vouchers).await?;
        Ok(ledger)
    }

    async fn sums(
        &self,
        open: &mut Open,
        vouchers: &[&str],
    ) -> Result<BTreeMap<(String, String), Sum>, Fault> {
        let columns = "voucher_id, sale_id, [units], [with_statements]";
        let sums = self.tables().of_vouchers(columns, "voucher_sales", vouchers);
        let sum = |[voucher, sale, units, told]: [String; 4]| {
            let units = units.parse().map_err(|_| Fault::Failed("units are no number".into()))?;
            Ok(((voucher, sale), Sum { units, is_partly_without: told != "1" }))
        };
        open.texts(&sums).await?.into_iter().map(sum).collect()
    }

    /// Whether the shop's statements were run with rows of these vouchers.
    pub async fn ran_statements(&self, vouchers: &[&str]) -> Result<bool, Fault> {
        let told = self.read_texts::<1>(&self.tables().select_told(vouchers)).await?;
        Ok(!told.is_empty())
    }

    /// How many rows wait for a person.
    pub async fn disputes(&self) -> Result<u64, Fault> {
        self.count(DISPUTED, []).await
    }

    /// The disputed rows, of a voucher or of all.
    pub async fn disputed(&self, voucher: Option<&str>) -> Result<Vec<Row>, Fault> {
        let mut rows = self.read_rows(&self.tables().select_orders(DISPUTED, [])).await?;
        rows.retain(|row| voucher.is_none_or(|voucher| row.key.voucher == voucher));
        // By the database, SQLite would read all rows in this order.
        rows.sort_by(|one, other| one.key.cmp(&other.key));
        Ok(rows)
    }

    /// The rows with an order id, of all vouchers and sales.
    pub async fn rows_of(&self, order: &str) -> Result<Vec<Row>, Fault> {
        self.read_rows(&self.tables().select_orders("order_id = ?", [Arg::Text(order)])).await
    }

    pub async fn row_count(&self) -> Result<u64, Fault> {
        self.count("1 = 1", []).await
    }

    /// Held rows whose deadline is before a moment: some of all, or all of a voucher's sale.
    pub async fn overdue(
        &self,
        before_ms: i64,
        of: Option<(&str, &str)>,
    ) -> Result<Vec<Row>, Fault> {
        let held = held_before(self.tables().dialect());
        let before = Arg::Int(before_ms);
        self.read_rows(&match of {
            None => self.tables().select_orders(&format!("{held} LIMIT {ROWS_MAX}"), [before]),
            Some((voucher, sale)) => self.tables().select_orders(
                &format!("{held} AND voucher_id = ? AND sale_id = ?"),
                [before, Arg::Text(voucher), Arg::Text(sale)],
            ),
        })
        .await
    }

    /// The number of rows of a sale.
    pub async fn rows_in(&self, voucher: &str, sale: &str) -> Result<u64, Fault> {
        self.count("voucher_id = ? AND sale_id = ?", [voucher, sale].map(Arg::Text)).await
    }

    /// Writes the row that a person has settled, if it is still as it was. `also` is a word for one
    /// more line. A row whose key changes takes its lines along.
    pub async fn settle(
        &self,
        before: &Row,
        after: Row,
        also: Option<&str>,
    ) -> Result<Settled, Fault> {
        let mut open = self.begin().await?;
        let rows = open.rows(&self.tables().select_rows([&before.key])).await?;
        let [row] = &rows[..] else { return Ok(Settled::Changed) };
        if row != before {
            return Ok(Settled::Changed);
        }
        let lacks_statements = self.shop().is_empty()
            && after.live_units() != row.live_units()
            && !open.texts::<1>(&self.tables().select_told(&[&row.key.voucher])).await?.is_empty();
        if lacks_statements {
            return Err(Fault::Failed(NEEDS_STATEMENTS.to_owned()));
        }
        let wants = if self.shop().is_empty() { Steps::Unwanted } else { Steps::Wanted };
        // The shop's tables have the order by its id.
        let its = Row { key: row.key.clone(), ..after.clone() };
        let was_refunded = match after.known.reference.as_deref() {
            Some(reference) if also != Some(NOT_REFUNDED) => {
                self.gives_back(&mut open, &row.key, reference).await?
            }
            _ => false,
        };
        let mut plan = settled(row, its, now_ms(), wants, also)
            .map_err(|TooMany| Fault::Failed("the units sold are too many".to_owned()))?;
        if was_refunded || also == Some(SHARED) {
            plan.refunds_nothing();
        }
        self.write_rows(&mut open, &plan).await?;
        self.write_records(&mut open, &plan).await?;
        self.tell_shop(&mut open, &plan).await?;
        if after.key != row.key {
            let OrderKey { voucher, sale, order } = &row.key;
            for table in ["{orders}", "{order_changes}"] {
                let sql = format!("UPDATE {table} SET order_id = ? WHERE {OF_KEY}");
                let args = [&after.key.order, voucher, sale, order].map(|text| Arg::Text(text));
                open.execute(&self.tables().sql(&sql, args)).await?;
            }
        }
        open.commit().await?;
        Ok(Settled::Written { was_refunded })
    }
}

/// What became of a row that a person settles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    Written {
        /// A line gave its payment back already, so no other one does.
        was_refunded: bool,
    },
    /// It is not any more as it was shown.
    Changed,
}

impl Tables {
    /// Adds to the units sold, by voucher and sale.
    pub fn sales<'a>(
        &self,
        changes: &'a BTreeMap<(String, String), i64>,
        with_statements: bool,
        now_ms: i64,
    ) -> Statement<'a> {
        let rows = changes.iter().map(|((voucher, sale), change)| {
            let told = Arg::Int(if with_statements { 1 } else { 2 });
            vec![Arg::Text(voucher), Arg::Text(sale), Arg::Int(*change), told, Arg::Int(now_ms)]
        });
        let mut statement = self.insert_into("voucher_sales", SALES_COLUMNS, rows);
        let table = self.named("voucher_sales");
        let sum = [("units", "+"), ("with_statements", "|")];
        let sets = sum.map(|(name, and)| (name, format!("{table}.{name} {and} "))).into_iter();
        let sets = sets.chain([("updated_ms", String::new())]);
        statement.or_change("voucher_id, sale_id", sets);
        statement
    }

    /// Lost entries of some vouchers, and those of which nobody knows the voucher.
    fn select_lost<'a>(&self, vouchers: &[&'a str]) -> Statement<'a> {
        let sql = "SELECT stream, entry_id, cause FROM {lost_entries} WHERE cause <> 'kept' AND \
                   voucher_id IN ";
        let mut statement = self.sql(sql, []);
        statement.bind_list(vouchers.iter().copied().chain([""]).map(Arg::Text));
        statement
    }

    /// A row for each sale with which the shop's statements were run.
    pub fn select_told<'a>(&self, vouchers: &[&'a str]) -> Statement<'a> {
        let mut statement = self.of_vouchers("sale_id", "voucher_sales", vouchers);
        statement.push(" AND with_statements IN (1, 3)");
        statement
    }

    pub(super) fn of_vouchers<'a>(
        &self,
        columns: &str,
        table: &str,
        vouchers: &[&'a str],
    ) -> Statement<'a> {
        let sql = format!("SELECT {columns} FROM {{{table}}} WHERE voucher_id IN ");
        let mut statement = self.sql(&sql, []);
        statement.bind_list(vouchers.iter().map(|voucher| Arg::Text(voucher)));
        statement
    }
}

//! What a person's commands read and write: rows and sums in pieces, and disputed rows.

use std::collections::BTreeMap;

use domain::judge::{NOT_REFUNDED, SHARED, is_given_back};

use super::refunds::MoneyLine;
use super::statement::{Arg, Dialect, ROWS_MAX, Statement, Tables};
use super::transaction::Open;
use super::{Closed, Fault, Shared, Store, now_ms};
use crate::batch::{Row, Steps, TooMany, settled};
use crate::order_events::OrderKey;

pub const SALES_COLUMNS: &str = "voucher_id, sale_id, units, with_statements, updated_ms";

/// Why a change is refused that would not reach the shop's own tables.
pub const NEEDS_STATEMENTS: &str = "the rows of this voucher were written with --statements: give \
                                    the same, or the shop's own tables would lack the change";

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
        let sales = open.texts(&self.tables().select_sales(vouchers)).await?;
        ledger.lost = open.texts(&self.tables().select_lost(vouchers)).await?;
        ledger.shared = self.shared(&mut open, None).await?;
        ledger.shared.retain(|one| vouchers.contains(&&*one.key.voucher));
        open.commit().await?;
        for [voucher, sale] in &sales {
            let mut after: Option<String> = None;
            loop {
                let piece = self.tables().select_piece(voucher, sale, after.as_deref());
                let rows = self.read_rows(&piece).await?;
                let is_last = rows.len() < ROWS_MAX;
                after = rows.last().map(|row| row.key.order.clone());
                ledger.rows.extend(rows);
                if is_last {
                    break;
                }
            }
        }
        let mut open = self.begin_reading().await?;
        let lines = open.texts(&self.tables().select_money(vouchers)).await?;
        ledger.lines = lines.into_iter().map(MoneyLine::read).collect::<Result<_, Fault>>()?;
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
        let sums = open.texts(&self.tables().select_sums(vouchers)).await?;
        let sum = |[voucher, sale, units, told]: [String; 4]| {
            let units = units.parse().map_err(|_| Fault::Failed("units are no number".into()))?;
            Ok(((voucher, sale), Sum { units, is_partly_without: told != "1" }))
        };
        sums.into_iter().map(sum).collect()
    }

    /// Whether the shop's statements were run with rows of these vouchers.
    pub async fn ran_statements(&self, vouchers: &[&str]) -> Result<bool, Fault> {
        let told = self.read_texts::<1>(&self.tables().select_told(vouchers)).await?;
        Ok(!told.is_empty())
    }

    /// How many rows wait for a person.
    pub async fn disputes(&self) -> Result<u64, Fault> {
        let mut disputed = self.tables().count_orders();
        self.read_count(disputed.push("disputed_ms IS NOT NULL")).await
    }

    /// The disputed rows, of a voucher or of all.
    pub async fn disputed(&self, voucher: Option<&str>) -> Result<Vec<Row>, Fault> {
        let mut disputed = self.tables().select_orders();
        disputed.push("disputed_ms IS NOT NULL ORDER BY voucher_id, sale_id, order_id");
        let mut rows = self.read_rows(&disputed).await?;
        rows.retain(|row| voucher.is_none_or(|voucher| row.key.voucher == voucher));
        Ok(rows)
    }

    /// The rows with an order id, of all vouchers and sales.
    pub async fn rows_of(&self, order: &str) -> Result<Vec<Row>, Fault> {
        let mut its = self.tables().select_orders();
        self.read_rows(its.push("order_id = ").bind(Arg::Text(order))).await
    }

    pub async fn row_count(&self) -> Result<u64, Fault> {
        self.read_count(self.tables().count_orders().push("1 = 1")).await
    }

    /// Held rows whose deadline is before a moment: some of all, or all of a voucher's sale.
    pub async fn overdue(
        &self,
        before_ms: i64,
        of: Option<(&str, &str)>,
    ) -> Result<Vec<Row>, Fault> {
        self.read_rows(&self.tables().select_overdue(before_ms, of)).await
    }

    /// The number of rows of a sale.
    pub async fn rows_in(&self, voucher: &str, sale: &str) -> Result<u64, Fault> {
        self.read_count(self.tables().count_orders().push_sale(voucher, sale)).await
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
        let lines = self.lines_of(&mut open, &row.key).await?;
        let lines: Vec<_> = lines.iter().map(MoneyLine::told).collect();
        let reference = after.known.reference.as_deref();
        let is_shared = also == Some(SHARED);
        let was_refunded = also != Some(NOT_REFUNDED)
            && reference.is_some_and(|reference| is_given_back(reference, &lines));
        let mut plan = settled(row, its, now_ms(), wants, also)
            .map_err(|TooMany| Fault::Failed("the units sold are too many".to_owned()))?;
        if was_refunded || is_shared {
            plan.refunds_nothing();
        }
        self.write_rows(&mut open, &plan).await?;
        self.write_records(&mut open, &plan).await?;
        self.tell_shop(&mut open, &plan).await?;
        if after.key != row.key {
            for statement in self.tables().move_order(&row.key, &after.key.order) {
                open.execute(&statement).await?;
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

/// The condition for one order.
pub(super) fn of_key<'a>(statement: &mut Statement<'a>, key: &'a OrderKey) {
    statement.push_sale(&key.voucher, &key.sale);
    statement.push(" AND order_id = ").bind(Arg::Text(&key.order));
}

impl Tables {
    /// Rows of a sale in the order of their ids, after one.
    pub fn select_piece<'a>(
        &self,
        voucher: &'a str,
        sale: &'a str,
        after: Option<&'a str>,
    ) -> Statement<'a> {
        let mut statement = self.select_orders();
        statement.push_sale(voucher, sale);
        if let Some(after) = after {
            statement.push(" AND order_id > ").bind(Arg::Text(after));
        }
        statement.push(&format!(" ORDER BY order_id LIMIT {ROWS_MAX}"));
        statement
    }

    /// Gives a row, and the lines about it, another order id.
    fn move_order<'a>(&self, key: &'a OrderKey, order: &'a str) -> [Statement<'a>; 2] {
        [self.orders(), self.order_changes()].map(|table| {
            let mut statement = self.statement(&format!("UPDATE {table} SET order_id = "));
            statement.bind(Arg::Text(order)).push(" WHERE ");
            of_key(&mut statement, key);
            statement
        })
    }

    fn select_overdue<'a>(&self, before_ms: i64, of: Option<(&'a str, &'a str)>) -> Statement<'a> {
        let mut statement = self.select_orders();
        let indexed = if self.dialect() == Dialect::MySql { "held_until" } else { "deadline_ms" };
        statement.push("state = 'held' AND disputed_ms IS NULL AND ").push(indexed).push(" < ");
        statement.bind(Arg::Int(before_ms));
        match of {
            None => statement.push(&format!(" LIMIT {ROWS_MAX}")),
            Some((voucher, sale)) => statement.push(" AND ").push_sale(voucher, sale),
        };
        statement
    }

    /// Counts rows, up to the condition.
    fn count_orders<'a>(&self) -> Statement<'a> {
        let (count, table) = (self.as_text("COUNT(*)"), self.orders());
        self.statement(&format!("SELECT {count} FROM {table} WHERE "))
    }

    /// Adds to the units sold, by voucher and sale.
    pub fn sales<'a>(
        &self,
        changes: &'a BTreeMap<(String, String), i64>,
        with_statements: bool,
        now_ms: i64,
    ) -> Statement<'a> {
        let table = self.voucher_sales();
        let mut statement =
            self.statement(&format!("INSERT INTO {table} ({SALES_COLUMNS}) VALUES "));
        statement.bind_rows(changes.iter().map(|((voucher, sale), change)| {
            let told = Arg::Int(if with_statements { 1 } else { 2 });
            vec![Arg::Text(voucher), Arg::Text(sale), Arg::Int(*change), told, Arg::Int(now_ms)]
        }));
        statement.push(&match self.dialect() {
            Dialect::MySql => " ON DUPLICATE KEY UPDATE units = units + VALUES(units), \
                               with_statements = with_statements | VALUES(with_statements), \
                               updated_ms = VALUES(updated_ms)"
                .to_owned(),
            _ => format!(
                " ON CONFLICT (voucher_id, sale_id) DO UPDATE SET units = {table}.units + \
                 excluded.units, with_statements = {table}.with_statements | \
                 excluded.with_statements, updated_ms = excluded.updated_ms"
            ),
        });
        statement
    }

    /// The vouchers and sales of rows.
    pub fn select_sales<'a>(&self, vouchers: &[&'a str]) -> Statement<'a> {
        self.of_vouchers("DISTINCT voucher_id, sale_id", &self.orders(), vouchers)
    }

    /// Lost entries of some vouchers, and those of which nobody knows the voucher.
    fn select_lost<'a>(&self, vouchers: &[&'a str]) -> Statement<'a> {
        let table = self.lost_entries();
        let sql = format!("SELECT stream, entry_id, cause FROM {table} WHERE cause <> 'kept'");
        let mut statement = self.statement(&format!("{sql} AND voucher_id IN "));
        statement.bind_list(vouchers.iter().copied().chain([""]).map(Arg::Text));
        statement
    }

    /// A row for each sale with which the shop's statements were run.
    pub fn select_told<'a>(&self, vouchers: &[&'a str]) -> Statement<'a> {
        let mut statement = self.of_vouchers("sale_id", &self.voucher_sales(), vouchers);
        statement.push(" AND with_statements IN (1, 3)");
        statement
    }

    pub(super) fn of_vouchers<'a>(
        &self,
        columns: &str,
        table: &str,
        vouchers: &[&'a str],
    ) -> Statement<'a> {
        let mut statement = self.statement(&format!("SELECT {columns} FROM {table}"));
        statement.push(" WHERE voucher_id IN ");
        statement.bind_list(vouchers.iter().map(|voucher| Arg::Text(voucher)));
        statement
    }

    /// Voucher, sale, units sold and whether the shop's statements were run, as texts.
    pub fn select_sums<'a>(&self, vouchers: &[&'a str]) -> Statement<'a> {
        let [units, told] = ["units", "with_statements"].map(|column| self.as_text(column));
        let columns = format!("voucher_id, sale_id, {units}, {told}");
        self.of_vouchers(&columns, &self.voucher_sales(), vouchers)
    }
}

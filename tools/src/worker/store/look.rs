//! What a person's commands read and write: rows and sums in pieces, and disputed rows.

use std::collections::BTreeMap;

use super::statement::{Arg, Dialect, ROWS_MAX, Statement, Tables};
use super::{Fault, Store, now_ms};
use crate::batch::{Row, Steps, TooMany, settled};

/// Why a change is refused that would not reach the shop's own tables.
pub const NEEDS_STATEMENTS: &str = "the rows of this voucher were written with --statements: give \
                                    the same, or the shop's own tables would lack the change";

/// The tables' contents for some vouchers.
#[derive(Debug, Default)]
pub struct Ledger {
    pub rows: Vec<Row>,
    /// The units sold, by voucher and sale.
    pub sums: BTreeMap<(String, String), i64>,
    /// The references of payments that changed no order, with the order.
    pub payments: BTreeMap<String, String>,
}

impl Store {
    /// The rows and sums of some vouchers, in all of their sales: read in pieces, so that nobody
    /// waits for a reader.
    pub async fn ledger(&self, vouchers: &[&str]) -> Result<Ledger, Fault> {
        let pool = self.pool().await?;
        let mut open = pool.begin_reading().await?;
        let mut ledger = Ledger::default();
        let sums = open.texts(&self.tables.select_sums(vouchers)).await?;
        ledger.sums = sums
            .into_iter()
            .map(|[voucher, sale, units]| ((voucher, sale), units.parse().unwrap_or(0)))
            .collect();
        let payments = open.texts(&self.tables.select_payments(vouchers)).await?;
        ledger.payments = payments.into_iter().map(|[of, order]| (of, order)).collect();
        let sales = open.texts(&self.tables.select_sales(vouchers)).await?;
        open.commit().await?;
        for [voucher, sale] in &sales {
            let mut after: Option<String> = None;
            loop {
                let mut open = pool.begin_reading().await?;
                let piece = self.tables.select_piece(voucher, sale, after.as_deref());
                let rows = open.rows(&piece).await?;
                open.commit().await?;
                let is_last = rows.len() < ROWS_MAX;
                after = rows.last().map(|row| row.key.order.clone());
                ledger.rows.extend(rows);
                if is_last {
                    break;
                }
            }
        }
        Ok(ledger)
    }

    /// Whether the shop's statements were run with rows of these vouchers.
    pub async fn ran_statements(&self, vouchers: &[&str]) -> Result<bool, Fault> {
        let mut open = self.pool().await?.begin_reading().await?;
        let told = open.texts::<1>(&self.tables.select_told(vouchers)).await?;
        open.commit().await?;
        Ok(!told.is_empty())
    }

    /// How many rows wait for a person.
    pub async fn disputes(&self) -> Result<u64, Fault> {
        let mut open = self.pool().await?.begin_reading().await?;
        let told = open.texts::<1>(&self.tables.count_disputed()).await?;
        open.commit().await?;
        Ok(told.first().and_then(|[count]| count.parse().ok()).unwrap_or(0))
    }

    /// Settles the disputed row of an order; `change` makes the settled row of it. Returns the row,
    /// or those that have the id if it is not one.
    pub async fn settle(
        &self,
        order: &str,
        voucher: Option<&str>,
        change: impl FnOnce(&Row) -> Row,
    ) -> Result<Result<Row, Vec<Row>>, Fault> {
        let mut open = self.pool().await?.begin().await?;
        let mut rows = open.rows(&self.tables.select_disputed(order)).await?;
        rows.retain(|row| voucher.is_none_or(|voucher| row.key.voucher == voucher));
        let [row] = &rows[..] else { return Ok(Err(rows)) };
        let settled_row = change(row);
        let lacks_statements = self.statements.is_empty()
            && settled_row.live_units() != row.live_units()
            && !open.texts::<1>(&self.tables.select_told(&[&row.key.voucher])).await?.is_empty();
        if lacks_statements {
            return Err(Fault::Failed(NEEDS_STATEMENTS.to_owned()));
        }
        let wants = if self.statements.is_empty() { Steps::Unwanted } else { Steps::Wanted };
        let plan = settled(row, settled_row, now_ms(), wants)
            .map_err(|TooMany| Fault::Failed("the units sold are too many".to_owned()))?;
        self.write_rows(&mut open, &plan).await?;
        self.tell_shop(&mut open, &plan).await?;
        open.commit().await?;
        Ok(Ok(rows.remove(0)))
    }
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
        statement.push("voucher_id = ").bind(Arg::Text(voucher));
        statement.push(" AND sale_id = ").bind(Arg::Text(sale));
        if let Some(after) = after {
            statement.push(" AND order_id > ").bind(Arg::Text(after));
        }
        statement.push(&format!(" ORDER BY order_id LIMIT {ROWS_MAX}"));
        statement
    }

    /// The disputed rows with an order id, locked until the transaction ends.
    pub fn select_disputed<'a>(&self, order: &'a str) -> Statement<'a> {
        let mut statement = self.select_orders();
        statement.push("disputed_ms IS NOT NULL AND order_id = ").bind(Arg::Text(order));
        if self.dialect != Dialect::Sqlite {
            statement.push(" FOR UPDATE");
        }
        statement
    }

    pub fn count_disputed<'a>(&self) -> Statement<'a> {
        let (count, table) = (self.as_text("COUNT(*)"), self.orders());
        self.statement(&format!("SELECT {count} FROM {table} WHERE disputed_ms IS NOT NULL"))
    }

    /// The vouchers and sales of rows.
    pub fn select_sales<'a>(&self, vouchers: &[&'a str]) -> Statement<'a> {
        self.of_vouchers("DISTINCT voucher_id, sale_id", &self.orders(), vouchers)
    }

    /// The references and orders of payments that changed no order.
    pub fn select_payments<'a>(&self, vouchers: &[&'a str]) -> Statement<'a> {
        let mut statement = self.of_vouchers("ref, order_id", &self.order_changes(), vouchers);
        statement.push(" AND ref IS NOT NULL");
        statement
    }

    /// A row for each sale with which the shop's statements were run.
    pub fn select_told<'a>(&self, vouchers: &[&'a str]) -> Statement<'a> {
        let mut statement = self.of_vouchers("sale_id", &self.voucher_sales(), vouchers);
        statement.push(" AND with_statements = 1");
        statement
    }

    fn of_vouchers<'a>(&self, columns: &str, table: &str, vouchers: &[&'a str]) -> Statement<'a> {
        let mut statement = self.statement(&format!("SELECT {columns} FROM {table}"));
        statement.push(" WHERE voucher_id IN ");
        statement.bind_list(vouchers.iter().map(|voucher| Arg::Text(voucher)));
        statement
    }

    pub(super) fn as_text(&self, column: &str) -> String {
        let text = if self.dialect == Dialect::MySql { "CHAR" } else { "TEXT" };
        format!("CAST({column} AS {text})")
    }

    /// Voucher, sale and units sold, as texts.
    pub fn select_sums<'a>(&self, vouchers: &[&'a str]) -> Statement<'a> {
        let columns = format!("voucher_id, sale_id, {}", self.as_text("units"));
        self.of_vouchers(&columns, &self.voucher_sales(), vouchers)
    }
}

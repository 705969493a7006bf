//! The lines of the table of changes that are about money: what was paid, and what is refunded.

use domain::book::State;
use domain::judge::{Line, Money, money};

use super::look::of_key;
use super::statement::{Statement, Tables};
use super::transaction::Open;
use super::{Fault, Store, now_ms};
use crate::batch::Record;
use crate::order_events::OrderKey;

/// A change that a refund may be for, or a payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoneyLine {
    pub voucher: String,
    pub sale: String,
    pub order: String,
    pub to: String,
    pub units: i64,
    /// Empty without a reference.
    pub reference: String,
}

impl MoneyLine {
    pub fn read([voucher, sale, order, to, units, reference]: [String; 6]) -> Result<Self, Fault> {
        let units = units.parse().map_err(|_| Fault::Failed("units are no number".into()))?;
        Ok(Self { voucher, sale, order, to, units, reference })
    }

    pub fn told(&self) -> Line<'_> {
        let Self { order, to, units, reference, .. } = self;
        Line { order, to, units: *units, reference }
    }
}

impl Store {
    /// Leaves out lines about payments that are there already: a payment counts once.
    pub(super) async fn without_known(
        &self,
        open: &mut Open,
        records: Vec<Record>,
    ) -> Result<Vec<Record>, Fault> {
        const PAYMENTS: [&str; 3] = ["late", "second", "unknown"];
        let mut new: Vec<Record> = Vec::with_capacity(records.len());
        for record in records {
            let reference = record.reference.as_deref().unwrap_or_default();
            if PAYMENTS.contains(&&*record.to) && !reference.is_empty() {
                let known = self.lines_of(open, &record.key).await?;
                let is_same =
                    |line: &MoneyLine| line.to == record.to && line.reference == reference;
                let is_here = |other: &Record| {
                    (&other.key, &other.to, &other.reference)
                        == (&record.key, &record.to, &record.reference)
                };
                if known.iter().any(is_same) || new.iter().any(is_here) {
                    continue;
                }
            }
            new.push(record);
        }
        Ok(new)
    }

    /// What an order, and its payments, became.
    pub async fn money_of(&self, key: &OrderKey) -> Result<Vec<MoneyLine>, Fault> {
        let mut open = self.pool().await?.begin_reading().await?;
        let lines = self.lines_of(&mut open, key).await?;
        open.commit().await?;
        Ok(lines)
    }

    pub(super) async fn lines_of(
        &self,
        open: &mut Open,
        key: &OrderKey,
    ) -> Result<Vec<MoneyLine>, Fault> {
        let lines = open.texts(&self.tables.select_money_of(key)).await?;
        lines.into_iter().map(MoneyLine::read).collect()
    }

    /// Writes a line for the units of a released order that was paid and that no line refunds yet.
    /// Returns how many these are.
    pub async fn refund_rest(&self, key: &OrderKey) -> Result<i64, Fault> {
        let mut open = self.pool().await?.begin().await?;
        let rows = open.rows(&self.tables.select_rows([key])).await?;
        let lines = self.lines_of(&mut open, key).await?;
        let lines: Vec<_> = lines.iter().map(MoneyLine::told).collect();
        let Some(row) = rows.first() else { return Ok(0) };
        let Money::Owed(units) = money(&row.known, &lines) else { return Ok(0) };
        let record = Record {
            key: key.clone(),
            // Of two that were written at once, the second is none.
            entry: format!("check {}", row.known.units - units),
            from: State::Sold.word(),
            to: row.known.state.word().to_owned(),
            units,
            reference: row.known.reference.clone(),
            said: String::new(),
        };
        open.execute(&self.tables.changes(&[record], now_ms())).await?;
        open.commit().await?;
        Ok(units)
    }
}

impl Tables {
    fn money_columns(&self) -> String {
        let units = self.as_text("units");
        format!("voucher_id, sale_id, order_id, to_state, {units}, COALESCE(ref, '')")
    }

    fn select_money_of<'a>(&self, key: &'a OrderKey) -> Statement<'a> {
        let (columns, table) = (self.money_columns(), self.order_changes());
        let mut statement = self.statement(&format!("SELECT {columns} FROM {table} WHERE "));
        of_key(&mut statement, key);
        statement
    }

    /// Changes that a refund may be for, and payments: all but those of orders that were not paid.
    pub(super) fn select_money<'a>(&self, vouchers: &[&'a str]) -> Statement<'a> {
        let mut statement =
            self.of_vouchers(&self.money_columns(), &self.order_changes(), vouchers);
        statement.push(" AND to_state NOT IN ('sold', 'held', 'disputed', 'settled') AND ");
        statement.push("(from_state <> 'held' OR ref IS NOT NULL)");
        statement
    }
}

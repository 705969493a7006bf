//! The lines of the table of changes that are about money: what was paid, and what is refunded.

use std::collections::{BTreeSet, HashMap};

use domain::book::State;
use domain::judge::{CLAIMED, Line, Money, beyond, is_given_back, money, refunded};

use super::changes::{Lock, Use};
use super::statement::{Arg, OF_KEY, ROWS_MAX};
use super::transaction::Open;
use super::{Fault, Store, now_ms};
use crate::batch::{Paid, Plan, Record, Row, Sole, told};
use crate::order_events::{Event, OrderKey};

/// The columns of a line about money, as texts.
const MONEY: &str = "voucher_id, sale_id, order_id, to_state, [units], COALESCE(ref, '')";

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
    /// Reads what was selected of `MONEY`.
    fn read(lines: Vec<[String; 6]>) -> Result<Vec<Self>, Fault> {
        let read = |[voucher, sale, order, to, units, reference]: [String; 6]| {
            let units = units.parse().map_err(|_| Fault::Failed("units are no number".into()))?;
            Ok(Self { voucher, sale, order, to, units, reference })
        };
        lines.into_iter().map(read).collect()
    }

    pub fn told(&self) -> Line<'_> {
        let Self { order, to, units, reference, .. } = self;
        Line { order, to, units: *units, reference }
    }
}

/// What became of what a person has told of a payment.
pub enum Told {
    /// So many units are refunded.
    Written(i64),
    /// More units are kept or on lines: so many.
    Less(i64),
    /// There is nothing to tell.
    Known,
}

impl Store {
    /// Leaves out lines about payments that are there already: a payment counts once. What would
    /// refund one that another order has too refunds nothing: a person says whose it is. The rows
    /// are written, so they are among those that are looked at.
    pub(super) async fn withhold(&self, open: &mut Open, plan: &mut Plan) -> Result<(), Fault> {
        if plan.has_payments {
            let records = std::mem::take(&mut plan.records);
            plan.records = self.without_known(open, records).await?;
        }
        let refunds = plan.records.iter().filter(|one| one.refunds_whole() || one.ends_paid());
        let references: BTreeSet<&str> =
            refunds.filter_map(|one| one.reference.as_deref()).collect();
        if references.is_empty() {
            return Ok(());
        }
        let references: Vec<String> = references.into_iter().map(str::to_owned).collect();
        let references: Vec<&str> = references.iter().map(String::as_str).collect();
        let mut uses = Vec::new();
        for some in references.chunks(ROWS_MAX) {
            uses.extend(self.uses_in(open, Some(some), Lock::Yes).await?);
        }
        let mut withheld = BTreeSet::new();
        for record in &mut plan.records {
            let Some(reference) = record.reference.clone() else { continue };
            let its: Vec<&Use> = uses.iter().filter(|one| one.reference == reference).collect();
            let is_shared = its.iter().any(|one| one.key != record.key);
            if record.ends_paid() {
                let mut own = its.iter().filter(|one| one.key == record.key);
                let is_counted = own.clone().any(|one| one.line.is_empty());
                let is_whole = own.any(|one| !one.line.is_empty());
                if is_counted && is_shared
                    || is_whole && self.gives_back(open, &record.key, &reference).await?
                {
                    withheld.insert(record.key.clone());
                }
            } else if record.refunds_whole() {
                if is_shared {
                    record.said = std::mem::replace(&mut record.to, CLAIMED.to_owned());
                } else {
                    let (key, line) = (record.key.clone(), record.to.clone());
                    uses.push(Use { reference, key, line });
                }
            }
        }
        plan.withhold(&withheld);
        Ok(())
    }

    /// Do the lines of an order give this payment back as a whole?
    pub(super) async fn gives_back(
        &self,
        open: &mut Open,
        key: &OrderKey,
        reference: &str,
    ) -> Result<bool, Fault> {
        Ok(is_given_back(reference, &told_of(&self.lines_of(open, key).await?)))
    }

    /// Leaves out lines about payments that are there already.
    async fn without_known(
        &self,
        open: &mut Open,
        records: Vec<Record>,
    ) -> Result<Vec<Record>, Fault> {
        let mut new: Vec<Record> = Vec::with_capacity(records.len());
        for record in records {
            if record.is_of_payment() {
                let known = self.lines_of(open, &record.key).await?;
                let reference = record.reference.as_deref().unwrap_or_default();
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
        let mut open = self.begin_reading().await?;
        let lines = self.lines_of(&mut open, key).await?;
        open.commit().await?;
        Ok(lines)
    }

    pub(super) async fn lines_of(
        &self,
        open: &mut Open,
        key: &OrderKey,
    ) -> Result<Vec<MoneyLine>, Fault> {
        let of_key = [&key.voucher, &key.sale, &key.order].map(|text| Arg::Text(text));
        let sql = format!("SELECT {MONEY} FROM {{order_changes}} WHERE {OF_KEY}");
        MoneyLine::read(open.texts(&self.tables().sql(&sql, of_key)).await?)
    }

    /// Changes of some vouchers that a refund may be for, and payments: all but those of orders
    /// that were not paid.
    pub(super) async fn lines_about(
        &self,
        open: &mut Open,
        vouchers: &[&str],
    ) -> Result<Vec<MoneyLine>, Fault> {
        let mut lines = self.tables().of_vouchers(MONEY, "order_changes", vouchers);
        lines.push(
            " AND to_state NOT IN ('sold', 'held', 'disputed', 'settled') AND (from_state <> \
             'held' OR ref IS NOT NULL)",
        );
        MoneyLine::read(open.texts(&lines).await?)
    }

    /// Units on lines of the refunds, or due, of rows of whose payment something is not told, or is
    /// told now.
    pub(super) async fn refunded(
        &self,
        open: &mut Open,
        events: &[(Event, Sole)],
        rows: &HashMap<OrderKey, Row>,
    ) -> Result<HashMap<OrderKey, i64>, Fault> {
        let mut refunded = HashMap::new();
        for (event, _) in events {
            let is_wanted = |row: &&Row| row.is_untold() || event.paid.is_some();
            if let Some(row) = rows.get(&event.key).filter(is_wanted)
                && !refunded.contains_key(&row.key)
            {
                let units = self.refunded_of(open, row).await?;
                refunded.insert(row.key.clone(), units);
            }
        }
        Ok(refunded)
    }

    /// Writes how many units the payment of an order was for, as a person knows.
    pub async fn tell_paid(&self, row: &Row, units: i64) -> Result<Told, Fault> {
        let mut open = self.begin().await?;
        let rows = open.rows(&self.tables().select_rows([&row.key])).await?;
        let Some(row) = rows.first().filter(|row| row.is_untold() && !row.is_disputed()) else {
            return Ok(Told::Known);
        };
        let refunded = self.refunded_of(&mut open, row).await?;
        let counted = row.live_units().saturating_add(refunded);
        if units < counted {
            return Ok(Told::Less(counted));
        }
        let plan = told(row, Paid::exactly(units), refunded, now_ms());
        self.write_rows(&mut open, &plan).await?;
        self.write_records(&mut open, &plan).await?;
        open.commit().await?;
        Ok(Told::Written(units - counted))
    }

    async fn refunded_of(&self, open: &mut Open, row: &Row) -> Result<i64, Fault> {
        if row.known.reference.is_none() {
            return Ok(0);
        }
        Ok(refunded(&row.known, &told_of(&self.lines_of(open, &row.key).await?)))
    }

    /// Writes a line for the units of a released order that was paid and that no line refunds yet;
    /// or, of a payment that the server says to be for so many units, for those that are neither
    /// kept nor on lines. Returns how many these are.
    pub async fn refund_rest(&self, key: &OrderKey, paid: Option<i64>) -> Result<i64, Fault> {
        let mut open = self.begin().await?;
        let rows = open.rows(&self.tables().select_rows([key])).await?;
        let Some(row) = rows.first() else { return Ok(0) };
        let lines = self.lines_of(&mut open, key).await?;
        let owed = money(&row.known, &told_of(&lines));
        let (units, to) = match owed {
            Money::Owed(units) => (units, row.known.state.word()),
            Money::Fits => (beyond(&row.known, &told_of(&lines), paid), "reduced"),
            Money::GoodsAndMoney | Money::Twice => return Ok(0),
        };
        if units <= 0 {
            return Ok(0);
        }
        let reference = row.known.reference.as_deref().unwrap_or_default();
        let uses = self.uses_in(&mut open, Some(&[reference]), Lock::Yes).await?;
        if uses.iter().any(|one| one.key != *key) {
            return Ok(0);
        }
        let record = Record {
            key: key.clone(),
            // Of two that were written at once, the second is none.
            entry: match owed {
                Money::Owed(_) => format!("check {}", row.known.units - units),
                _ => format!("check paid {}", paid.unwrap_or(0)),
            },
            from: State::Sold.word(),
            to: to.to_owned(),
            units,
            reference: row.known.reference.clone(),
            said: String::new(),
        };
        open.execute(&self.tables().changes(&[record], now_ms())).await?;
        open.commit().await?;
        Ok(units)
    }
}

/// The lines as the judge reads them.
pub fn told_of(lines: &[MoneyLine]) -> Vec<Line<'_>> {
    lines.iter().map(MoneyLine::told).collect()
}

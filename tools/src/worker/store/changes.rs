//! The table of changes, to which lines are only appended, and where a payment counts already.

use std::collections::BTreeMap;

use domain::judge::{CLAIMED, SHARED};

use super::statement::{Arg, Dialect, ROWS_MAX, Statement, Tables};
use super::transaction::Open;
use super::{Fault, Store};
use crate::batch::{Record, Row};
use crate::order_events::{Event, Kind, OrderKey};

pub const CHANGE_COLUMNS: &str = "voucher_id, sale_id, order_id, entry, to_state, at_ms, \
                                  from_state, units, ref, said";

impl Event {
    /// Where it is from, for the changes.
    pub fn place(&self) -> String {
        let word = match self.kind {
            Kind::Lost => "lost",
            _ if self.is_made() => "check",
            _ => self.which().word(),
        };
        format!("{word} {}", self.id)
    }
}

/// Where a payment counts already: it paid an order, or a line gives it back as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    pub reference: String,
    pub key: OrderKey,
    /// `late` or `second`, or empty for the order itself.
    pub line: String,
}

/// Whether nobody else may write the same payment until the transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    Yes,
    No,
}

/// An order whose payment is also that of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    pub reference: String,
    pub key: OrderKey,
    /// The other one, in words.
    pub other: String,
}

impl Store {
    /// Orders of all vouchers whose payment has another use, or those with one of these payments.
    pub(super) async fn shared(
        &self,
        open: &mut Open,
        references: Option<&[&str]>,
    ) -> Result<Vec<Shared>, Fault> {
        let mut by_reference: BTreeMap<String, Vec<Use>> = BTreeMap::new();
        for one in self.uses_in(open, references, Lock::No).await? {
            by_reference.entry(one.reference.clone()).or_default().push(one);
        }
        let mut shared = Vec::new();
        for (reference, uses) in &by_reference {
            for Use { key, .. } in uses.iter().filter(|one| one.line.is_empty()) {
                let Some(other) = uses.iter().find(|other| other.key != *key) else { continue };
                let OrderKey { voucher, order, .. } = &other.key;
                let (reference, other) =
                    (reference.clone(), format!("order {order} of voucher {voucher}"));
                shared.push(Shared { reference, key: key.clone(), other });
            }
        }
        Ok(shared)
    }

    /// The other order that the payment of an order has paid too.
    pub async fn shared_with(&self, row: &Row) -> Result<Option<String>, Fault> {
        let Some(reference) = row.known.reference.as_deref() else { return Ok(None) };
        let mut open = self.begin_reading().await?;
        let shared = self.shared(&mut open, Some(&[reference])).await?;
        open.commit().await?;
        Ok(shared.into_iter().find(|one| one.key == row.key).map(|one| one.other))
    }

    /// What all sales of all vouchers have of some payments.
    pub async fn uses(&self, references: &[&str]) -> Result<Vec<Use>, Fault> {
        let mut uses = Vec::new();
        for some in references.chunks(ROWS_MAX) {
            let mut open = self.begin_reading().await?;
            uses.extend(self.uses_in(&mut open, Some(some), Lock::No).await?);
            open.commit().await?;
        }
        Ok(uses)
    }

    /// The same within a transaction; or the uses of all payments that have several.
    pub(super) async fn uses_in(
        &self,
        open: &mut Open,
        references: Option<&[&str]>,
        lock: Lock,
    ) -> Result<Vec<Use>, Fault> {
        if lock == Lock::Yes && self.tables().dialect() == Dialect::Postgres {
            let references = references.unwrap_or_default();
            open.execute(&self.tables().lock_payments(references)).await?;
        }
        let found = open.texts(&self.tables().select_uses(references, lock)).await?;
        Ok(found
            .into_iter()
            .map(|[reference, voucher, sale, order, line]| Use {
                reference,
                key: OrderKey { voucher, sale, order },
                line,
            })
            .collect())
    }

    /// The order of a voucher that a payment named which is another one's, and what it was.
    pub async fn claimed(
        &self,
        voucher: &str,
        reference: &str,
    ) -> Result<Option<(OrderKey, String)>, Fault> {
        let sql = "SELECT sale_id, order_id, said FROM {order_changes} WHERE to_state = ? AND \
                   voucher_id = ? AND ref = ?";
        let claimed = self.tables().sql(sql, [CLAIMED, voucher, reference].map(Arg::Text));
        let found = self.read_texts(&claimed).await?;
        Ok(found
            .into_iter()
            .next()
            .map(|[sale, order, was]| (OrderKey { voucher: voucher.to_owned(), sale, order }, was)))
    }
}

impl Tables {
    /// Orders with one of these payments, and lines that refund one as a whole; or those of all
    /// payments that have several. Not what a person has said to be another order's too.
    fn select_uses<'a>(&self, references: Option<&[&'a str]>, lock: Lock) -> Statement<'a> {
        // MySQL's snapshot would hide what another worker has just written.
        let is_locked = lock == Lock::Yes && self.dialect() == Dialect::MySql;
        let (begin, end) = if is_locked { ("(", " LOCK IN SHARE MODE)") } else { ("", "") };
        let whole = "to_state IN ('late', 'second')";
        let mut statement = self.sql("", []);
        // MySQL has no index of some rows, so a column has only those.
        let indexed = if self.dialect() == Dialect::MySql { "whole_ref" } else { "ref" };
        let [orders, changes] = ["orders", "order_changes"].map(|name| self.named(name));
        let both = [(&orders, "''", "1 = 1", "ref"), (&changes, "a.to_state", whole, indexed)];
        for (number, (table, line, is_its, reference)) in both.into_iter().enumerate() {
            statement.push(if number == 0 { "" } else { " UNION ALL " }).push(&format!(
                "{begin}SELECT a.ref, a.voucher_id, a.sale_id, a.order_id, {line} FROM {table} a \
                 WHERE {is_its} AND NOT EXISTS (SELECT 1 FROM {changes} c WHERE c.voucher_id = \
                 a.voucher_id AND c.sale_id = a.sale_id AND c.order_id = a.order_id AND c.to_state \
                 = '{SHARED}' AND c.ref = a.ref) AND a.{reference} IN "
            ));
            match references {
                Some(references) => {
                    statement.bind_list(references.iter().map(|reference| Arg::Text(reference)))
                }
                // One pass over both.
                None => statement.push(&format!(
                    "(SELECT ref FROM (SELECT ref FROM {orders} WHERE ref IS NOT NULL UNION ALL \
                     SELECT ref FROM {changes} WHERE ref IS NOT NULL AND {whole}) u GROUP BY ref \
                     HAVING COUNT(*) > 1)"
                )),
            };
            statement.push(end);
        }
        statement
    }

    /// Until the transaction ends, in the order of `references`: PostgreSQL doesn't lock rows that
    /// are not there yet.
    fn lock_payments<'a>(&self, references: &[&'a str]) -> Statement<'a> {
        let lock = "SELECT pg_advisory_xact_lock(hashtext('seckill-payment'), hashtext(r)) FROM \
                    (VALUES ";
        let mut statement = self.sql(lock, []);
        statement.bind_rows(references.iter().map(|reference| vec![Arg::Text(reference)]));
        statement.push(") v (r)");
        statement
    }

    /// Appends to the changes what is not there yet.
    pub fn changes<'a>(&self, records: &'a [Record], now_ms: i64) -> Statement<'a> {
        let rows = records.iter().map(|record| {
            vec![
                Arg::Text(&record.key.voucher),
                Arg::Text(&record.key.sale),
                Arg::Text(&record.key.order),
                Arg::Text(&record.entry),
                Arg::Text(&record.to),
                Arg::Int(now_ms),
                Arg::Text(record.from),
                Arg::Int(record.units),
                Arg::MaybeText(record.reference.as_deref()),
                Arg::Text(&record.said),
            ]
        });
        let mut statement = self.insert_into("order_changes", CHANGE_COLUMNS, rows);
        statement.or_nothing("units");
        statement
    }
}

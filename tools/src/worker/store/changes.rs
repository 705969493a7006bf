//! The table of changes, to which lines are only appended, and where a payment counts already.

use std::collections::BTreeMap;

use domain::judge::SHARED;

use super::statement::{Arg, ROWS_MAX, Statement, Tables};
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

/// An order whose payment is also that of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    pub reference: String,
    pub key: OrderKey,
    /// The other one, in words.
    pub other: String,
}

impl Store {
    /// Orders of all vouchers that have one payment, or those with this one. An order of which a
    /// person has said so is none of them.
    pub(super) async fn shared(
        &self,
        open: &mut Open,
        reference: Option<&str>,
    ) -> Result<Vec<Shared>, Fault> {
        let found = open.texts(&self.tables().select_shared(reference)).await?;
        let mut by_reference: BTreeMap<String, Vec<OrderKey>> = BTreeMap::new();
        for [reference, voucher, sale, order] in found {
            by_reference.entry(reference).or_default().push(OrderKey { voucher, sale, order });
        }
        let mut shared = Vec::new();
        for (reference, keys) in &by_reference {
            for key in keys {
                let Some(other) = keys.iter().find(|other| *other != key) else { continue };
                let OrderKey { voucher, order, .. } = other;
                let (reference, other) =
                    (reference.clone(), format!("order {order} of voucher {voucher}"));
                shared.push(Shared { reference, key: key.clone(), other });
            }
        }
        Ok(shared)
    }

    /// The other order that the payment of an order has paid too.
    pub async fn shared_with(&self, row: &Row) -> Result<Option<String>, Fault> {
        let Some(reference) = &row.known.reference else { return Ok(None) };
        let mut open = self.begin_reading().await?;
        let shared = self.shared(&mut open, Some(reference)).await?;
        open.commit().await?;
        Ok(shared.into_iter().find(|one| one.key == row.key).map(|one| one.other))
    }

    /// What all sales of all vouchers have of some payments.
    pub async fn uses(&self, references: &[&str]) -> Result<Vec<Use>, Fault> {
        let mut uses = Vec::new();
        for some in references.chunks(ROWS_MAX) {
            for statement in self.tables().select_uses(some) {
                let found = self.read_texts(&statement).await?;
                uses.extend(found.into_iter().map(|[reference, voucher, sale, order, line]| Use {
                    reference,
                    key: OrderKey { voucher, sale, order },
                    line,
                }));
            }
        }
        Ok(uses)
    }
}

impl Tables {
    /// One pass over the table: no index has its references, and a join by these would compare each
    /// with all others.
    fn select_shared<'a>(&self, reference: Option<&'a str>) -> Statement<'a> {
        let (table, changes) = (self.orders(), self.order_changes());
        let mut statement = self.statement(&format!(
            "SELECT a.ref, a.voucher_id, a.sale_id, a.order_id FROM {table} a JOIN (SELECT ref \
             FROM {table} WHERE "
        ));
        match reference {
            Some(reference) => statement.push("ref = ").bind(Arg::Text(reference)),
            None => statement.push("ref IS NOT NULL"),
        };
        statement.push(&format!(
            " GROUP BY ref HAVING COUNT(*) > 1) d ON d.ref = a.ref WHERE NOT EXISTS (SELECT 1 FROM \
             {changes} c WHERE c.voucher_id = a.voucher_id AND c.sale_id = a.sale_id AND \
             c.order_id = a.order_id AND c.to_state = '{SHARED}' AND c.ref = a.ref)"
        ));
        statement
    }

    fn select_uses<'a>(&self, references: &[&'a str]) -> [Statement<'a>; 2] {
        let of = |line: &str, table: String, end: &str| {
            let columns = format!("ref, voucher_id, sale_id, order_id, {line}");
            let mut statement =
                self.statement(&format!("SELECT {columns} FROM {table} WHERE ref IN "));
            statement.bind_list(references.iter().map(|reference| Arg::Text(reference))).push(end);
            statement
        };
        let lines = " AND to_state IN ('late', 'second')";
        [of("''", self.orders(), ""), of("to_state", self.order_changes(), lines)]
    }

    pub fn order_changes(&self) -> String {
        self.named("order_changes")
    }

    /// Appends to the changes what is not there yet.
    pub fn changes<'a>(&self, records: &'a [Record], now_ms: i64) -> Statement<'a> {
        let mut statement = self.statement(&format!("INSERT INTO {} (", self.order_changes()));
        statement.push(CHANGE_COLUMNS).push(") VALUES ");
        statement.bind_rows(records.iter().map(|record| {
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
        }));
        statement.or_nothing("units");
        statement
    }
}

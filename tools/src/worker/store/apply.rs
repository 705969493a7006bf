//! One batch of entries is one transaction: the accounts are read and locked, join what the entries
//! say, and are written with the refunds that are due and with the shop's own statements. The
//! server of the streams is asked nothing meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use domain::conflicts::Conflicts;
use domain::rows::Report;
use tokio::time::timeout;

use super::columns::{CHANGE_COLUMNS, REFUND_COLUMNS, SALES_COLUMNS};
use super::database::{ANSWER_WAIT, Store, silent};
use super::lines::{ChangeLine, entry, is_in_row, refund_args};
use super::lock::{After, Before, ORDER_KEY, PAYMENT_KEY, Writes};
use super::orders::{ORDER_COLUMNS, OrderRow, PAYMENT_COLUMNS, PaymentRow};
use super::transaction::Open;
use super::{Fault, now_ms};
use crate::accounts::{Accounts, RowOutcome};
use crate::order_events::{Event, OrderKey, Place};
use crate::sql::{Arg, Dialect, ROWS_MAX};
use crate::steps::Step;

/// A batch that is committed: what each event has changed, and the orders that have a conflict
/// since.
#[derive(Debug, Default)]
pub struct Applied {
    pub outcomes: Vec<RowOutcome>,
    pub conflicts: Vec<(OrderKey, Conflicts)>,
}

impl Store {
    /// Applies a batch, all or nothing.
    pub async fn apply(&self, events: &[Event]) -> Result<Applied, Fault> {
        if events.is_empty() {
            return Ok(Applied::default());
        }
        self.open().await?;
        let tried = self.apply_to(events);
        timeout(ANSWER_WAIT, tried).await.unwrap_or_else(|_| Err(silent()))
    }

    async fn apply_to(&self, events: &[Event]) -> Result<Applied, Fault> {
        let mut open = self.begin().await?;
        let keys: BTreeSet<&OrderKey> = events.iter().map(|event| &event.key).collect();
        let references = events.iter().filter_map(Event::reference).map(str::to_owned).collect();
        let mut locked = self.lock(&mut open, &keys, references).await?;
        let known = self.known_releases(&mut open, events, &locked.accounts).await?;
        let (mut writes, mut outcomes) = (Writes::default(), Vec::with_capacity(events.len()));
        for event in events {
            let is_known = known.contains(&(event.place, &event.key));
            outcomes.push(locked.accounts.read(event, is_known));
        }
        locked.accounts.see_users();
        for event in events {
            let order = locked.accounts.get(&event.key);
            if !order.is_some_and(|order| is_in_row(event, order)) {
                writes.changes.push(ChangeLine::of(event));
            }
        }
        for key in &keys {
            let (steps, lines) = locked.follow(key);
            writes.steps.extend(steps);
            writes.refunds.extend(lines);
        }
        for key in &keys {
            let (before, now) = (locked.before.get(key), locked.accounts.get(key));
            if let (Some(before), Some(now)) = (before, now) {
                writes.changes.extend(ChangeLine::of_before(key, &before.order, now));
            }
        }
        let rows = locked.after(keys);
        let had = |before: &Before| before.view.conflicts;
        let is_new = |row: &&After<'_>| {
            !row.view.conflicts.without(row.before.map_or(Conflicts::NONE, had)).is_none()
        };
        let conflicts = rows.iter().filter(is_new);
        let conflicts = conflicts.map(|row| (row.key.clone(), row.view.conflicts)).collect();
        self.write(&mut open, &rows, &writes).await?;
        open.commit().await?;
        self.note_steps(&writes.steps);
        Ok(Applied { outcomes, conflicts })
    }

    /// Those of these releases that are known, of orders with a ruling: only what is read for the
    /// first time ends one.
    async fn known_releases<'e>(
        &self,
        open: &mut Open,
        events: &'e [Event],
        accounts: &Accounts,
    ) -> Result<BTreeSet<(Place, &'e OrderKey)>, Fault> {
        let has_ruling = |event: &&Event| {
            let order = accounts.get(&event.key);
            let is_ruled = order.is_some_and(|order| order.account.ruling.is_some());
            is_ruled && matches!(event.report, Report::Released(_))
        };
        let mut known = BTreeSet::new();
        for event in events.iter().filter(has_ruling) {
            let entry = entry(event);
            let args = event.key.args().into_iter().chain([Arg::Text(&entry)]);
            let sql = "SELECT says FROM {order_changes} WHERE voucher_id = ? AND sale_id = ? AND \
                       order_id = ? AND user_id = ? AND entry = ?";
            let found: Vec<[String; 1]> = open.texts(&self.tables().sql(sql, args)).await?;
            known.extend((!found.is_empty()).then_some((event.place, &event.key)));
        }
        Ok(known)
    }

    /// Writes what has changed of some orders, and all that follows.
    pub(super) async fn write(
        &self,
        open: &mut Open,
        rows: &[After<'_>],
        writes: &Writes<'_>,
    ) -> Result<(), Fault> {
        let now = now_ms();
        let (mut new, mut changed) = (Vec::new(), Vec::new());
        for row in rows.iter().filter(|row| row.is_changed()) {
            let list = if row.before.is_some() { &mut changed } else { &mut new };
            list.push(OrderRow::new(row.key, row.order, &row.view));
        }
        let args = [&new, &changed].map(|rows| rows.iter().map(|row| row.args(now)).collect());
        let table = ("orders", ORDER_COLUMNS, ORDER_KEY);
        self.write_rows(open, table, args).await?;
        let (mut new, mut changed) = (Vec::new(), Vec::new());
        for row in rows {
            let before = row.before.map(|before| &before.order.account.payments);
            for (reference, payment) in row.order.account.payments.iter() {
                let before = before.and_then(|before| before.get(reference));
                if before != Some(payment) {
                    let list = if before.is_some() { &mut changed } else { &mut new };
                    list.push(PaymentRow::new(row.key, reference, payment));
                }
            }
        }
        let args = [&new, &changed].map(|rows| rows.iter().map(|row| row.args(now)).collect());
        let table = ("payments", PAYMENT_COLUMNS, PAYMENT_KEY);
        self.write_rows(open, table, args).await?;
        for changes in writes.changes.chunks(ROWS_MAX) {
            let rows = changes.iter().map(|change| change.args(now));
            let mut insert = self.tables().insert_into("order_changes", CHANGE_COLUMNS, rows);
            insert.or_nothing("entry");
            open.execute(&insert).await?;
        }
        for lines in writes.refunds.chunks(ROWS_MAX) {
            let rows = lines.iter().map(|line| refund_args(line, now));
            open.execute(&self.tables().insert_into("refunds", REFUND_COLUMNS, rows)).await?;
        }
        self.remember(open, &writes.steps).await?;
        self.write_shop(open, rows, &writes.steps, now).await
    }

    /// Writes the rows that are new, and those that change but for their key and when they were
    /// made.
    async fn write_rows(
        &self,
        open: &mut Open,
        (table, columns, key): (&str, &str, &str),
        [new, changed]: [Vec<Vec<Arg<'_>>>; 2],
    ) -> Result<(), Fault> {
        for (mut rows, are_there) in [(new, false), (changed, true)] {
            while !rows.is_empty() {
                let rest = rows.split_off(rows.len().min(ROWS_MAX));
                let count = rows.len() as u64;
                let mut insert = self.tables().insert_into(table, columns, rows);
                if are_there {
                    let others = columns.split(", ").skip(key.split(',').count());
                    let others = others.filter(|name| *name != "created_ms");
                    insert.or_change(key, others.map(|name| (name, String::new())));
                }
                let written = open.execute(&insert).await?;
                // A trigger or a rule can leave out a row, which no database calls an error.
                // MySQL's can't, and it counts rows that are there otherwise.
                let is_counted = !are_there || self.tables().dialect() != Dialect::MySql;
                if is_counted && written < count {
                    let text = format!("it has left out rows of the worker's table {table}");
                    return Err(Fault::Refused(text));
                }
                rows = rest;
            }
        }
        Ok(())
    }

    /// Runs the shop's statements, and adds to the sums. Workers wait for each other at the row of
    /// a sale, so it is written last and locked briefly.
    async fn write_shop(
        &self,
        open: &mut Open,
        rows: &[After<'_>],
        steps: &[Step],
        now: i64,
    ) -> Result<(), Fault> {
        let mut sums: BTreeMap<(&str, &str), (i64, i64)> = BTreeMap::new();
        for row in rows {
            let (sum, conflicts) = sums.entry((&row.key.voucher, &row.key.sale)).or_default();
            let more = row
                .view
                .units
                .checked_sub(row.order.row_units)
                .and_then(|more| sum.checked_add(more));
            *sum = more.ok_or_else(|| Fault::Failed("the units sold are too many".to_owned()))?;
            if row.is_changed() {
                let has = i64::from(!row.view.conflicts.is_none());
                *conflicts += has - i64::from(row.order.has_conflict);
            }
        }
        sums.retain(|_, changes| *changes != (0, 0));
        let rows = sums.iter().map(|((voucher, sale), (units, conflicts))| {
            let (voucher, sale) = (Arg::Text(voucher), Arg::Text(sale));
            vec![voucher, sale, Arg::Int(*units), Arg::Int(*conflicts), Arg::Int(0), Arg::Int(now)]
        });
        let mut insert = self.tables().insert_into("voucher_sales", SALES_COLUMNS, rows);
        let sum = |column| format!("{}.{column} + ", self.tables().named("voucher_sales"));
        let sums_of = ["units", "conflicts"].map(|column| (column, sum(column)));
        let others = ["is_closed", "updated_ms"].map(|column| (column, String::new()));
        insert.or_change("voucher_id, sale_id", sums_of.into_iter().chain(others));
        let last = Some(&insert).filter(|_| !sums.is_empty());
        self.shop().tell(open, steps, last).await
    }
}

//! The accounts of a transaction: read, and locked until it ends.

use std::collections::{BTreeMap, BTreeSet};

use super::Fault;
use super::database::Store;
use super::lines::ChangeLine;
use super::orders::{ORDER_VALUES, PAYMENT_VALUES, read_order, read_payment};
use super::transaction::Open;
use crate::accounts::{Accounts, Order, Payment, RefundLine, View};
use crate::order_events::OrderKey;
use crate::sql::{Arg, Dialect, ROWS_MAX, Statement, Values};
use crate::steps::Step;

pub const ORDER_KEY: &str = "voucher_id, sale_id, order_id, user_id";
pub const PAYMENT_KEY: &str = "ref, voucher_id, sale_id, order_id, user_id";

/// The accounts of a transaction, and what they were when it began.
pub(super) struct Locked {
    pub accounts: Accounts,
    pub before: BTreeMap<OrderKey, Before>,
}

/// An order as it was when the transaction began, and what a reader saw.
pub(super) struct Before {
    pub order: Order,
    pub view: View,
}

/// An order as it is now, and what a reader will see.
pub(super) struct After<'l> {
    pub key: &'l OrderKey,
    pub order: &'l Order,
    pub view: View,
    pub before: Option<&'l Before>,
}

/// What a transaction has still to write.
#[derive(Default)]
pub(super) struct Writes<'e> {
    pub changes: Vec<ChangeLine<'e>>,
    pub refunds: Vec<RefundLine>,
    pub steps: Vec<Step>,
}

impl Store {
    /// Locks some orders, and all payments of theirs and of these references.
    pub(super) async fn lock(
        &self,
        open: &mut Open,
        keys: &BTreeSet<&OrderKey>,
        mut references: BTreeSet<String>,
    ) -> Result<Locked, Fault> {
        let mut accounts = Accounts::default();
        let mut before = BTreeMap::new();
        let keys: Vec<&OrderKey> = keys.iter().copied().collect();
        let locking = self.tables().dialect().locking(ORDER_KEY);
        self.read_orders(open, &keys, &mut accounts, locking).await?;
        // Of an order without a row no payment is known.
        let with_rows: Vec<OrderKey> = accounts.orders().map(|(key, _)| key.clone()).collect();
        if with_rows.iter().any(OrderKey::is_managed) {
            references.extend(self.references_of(open, &with_rows).await?);
        }
        self.lock_references(open, &references).await?;
        for (key, reference, payment) in self.payments_of(open, &references).await? {
            accounts.insert_payment(key, reference, payment);
        }
        accounts.see_users();
        for (key, order) in accounts.orders() {
            let view = order.view(accounts.conflicts(key));
            before.insert(key.clone(), Before { order: order.clone(), view });
        }
        Ok(Locked { accounts, before })
    }

    /// Reads the orders of some ids, which are in order; with a [lock](Dialect::locking), or none.
    pub(super) async fn read_orders(
        &self,
        open: &mut Open,
        keys: &[&OrderKey],
        accounts: &mut Accounts,
        (hint, end): (&str, String),
    ) -> Result<(), Fault> {
        for keys in keys.chunks(ROWS_MAX) {
            let mut select = self.select(ORDER_VALUES, "orders", hint, "");
            let triples = keys.iter().map(|key| (&*key.voucher, &*key.sale, &*key.order));
            select.bind_triples("order_id", triples);
            select.push(&end);
            let read = |values: &mut Values<'_>| {
                let (key, order) = read_order(values)?;
                accounts.insert(key, order);
                Ok(())
            };
            open.rows(&select, read).await?;
        }
        Ok(())
    }

    pub(super) fn select<'a>(
        &self,
        columns: &str,
        table: &str,
        hint: &str,
        rest: &str,
    ) -> Statement<'a> {
        let sql = format!(
            "SELECT {} FROM {{{table}}}{hint} WHERE {rest}",
            self.tables().dialect().selected(columns)
        );
        self.tables().sql(&sql, [])
    }

    /// The references of the payments of some orders.
    async fn references_of(
        &self,
        open: &mut Open,
        keys: &[OrderKey],
    ) -> Result<BTreeSet<String>, Fault> {
        let mut references = BTreeSet::new();
        for keys in keys.chunks(ROWS_MAX) {
            let mut select = self.tables().sql("SELECT ref FROM {payments} WHERE ", []);
            let triples = keys.iter().map(|key| (&*key.voucher, &*key.sale, &*key.order));
            select.bind_triples("order_id", triples);
            let found: Vec<[String; 1]> = open.texts(&select).await?;
            references.extend(found.into_iter().flatten());
        }
        Ok(references)
    }

    /// Two orders may get the same payment at once, before either has a row of it: whoever is
    /// second waits here, and then sees the first.
    async fn lock_references(
        &self,
        open: &mut Open,
        references: &BTreeSet<String>,
    ) -> Result<(), Fault> {
        if self.tables().dialect() == Dialect::Sqlite {
            return Ok(());
        }
        let references: Vec<&str> = references.iter().map(String::as_str).collect();
        for references in references.chunks(ROWS_MAX) {
            let rows = references.iter().map(|reference| vec![Arg::Text(reference), Arg::Int(0)]);
            let mut insert = self.tables().insert_into("payment_refs", "ref, beyond", rows);
            insert.or_change("ref", [("ref", String::new())].into_iter());
            open.execute(&insert).await?;
        }
        Ok(())
    }

    pub(super) async fn payments_of(
        &self,
        open: &mut Open,
        references: &BTreeSet<String>,
    ) -> Result<Vec<(OrderKey, String, Payment)>, Fault> {
        let (hint, end) = self.tables().dialect().locking(PAYMENT_KEY);
        let (mut payments, references) = (Vec::new(), references.iter().collect::<Vec<_>>());
        for references in references.chunks(ROWS_MAX) {
            let mut select = self.select(PAYMENT_VALUES, "payments", hint, "ref IN ");
            select.bind_list(references.iter().map(|reference| Arg::Text(reference)));
            select.push(&end);
            payments.extend(open.rows(&select, read_payment).await?);
        }
        Ok(payments)
    }
}

impl After<'_> {
    /// Is there anything to write of its row?
    pub fn is_changed(&self) -> bool {
        let (order, has_conflict) = (self.order, !self.view.conflicts.is_none());
        let is_same = |before: &Before| {
            let says = (order.row_units, order.has_conflict);
            before.order == *order && says == (self.view.units, has_conflict)
        };
        !self.before.is_some_and(is_same)
    }
}

impl Locked {
    pub fn before(&self, key: &OrderKey) -> Option<&Order> {
        self.before.get(key).map(|before| &before.order)
    }

    /// Takes the steps and writes the lines that follow for an order.
    pub fn follow(&mut self, key: &OrderKey) -> (Vec<Step>, Vec<RefundLine>) {
        let steps = self.accounts.follow(key);
        (steps, self.accounts.lines_since(key, self.before(key)))
    }

    /// Some orders as they are now.
    pub fn after<'l>(&'l self, keys: impl IntoIterator<Item = &'l OrderKey>) -> Vec<After<'l>> {
        let after = |key| {
            let order = self.accounts.get(key)?;
            let view = order.view(self.accounts.conflicts_of(key, order));
            Some(After { key, order, view, before: self.before.get(key) })
        };
        keys.into_iter().filter_map(after).collect()
    }
}

//! The accounts of some orders, with all payments that have to do with them: what entries change,
//! and what then follows for the refunds and for the shop's own tables. Pure; the rules are those
//! of `domain::account`.

mod order;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ptr;
use std::sync::Arc;

use domain::conflicts::Conflicts;
use domain::entry_id::EntryId;
use domain::homes::PaymentRow;
use domain::references::{self, Balance, Others, Use};

pub use order::{Order, View};

use crate::order_events::{Event, OrderKey};
use crate::steps::Step;

pub type Payment = PaymentRow<EntryId>;

/// A line of refunds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefundLine {
    pub key: OrderKey,
    pub reference: String,
    pub first: i64,
    /// 2^63 - 1 of a whole payment whose number of units is not known.
    pub last: i64,
    pub why: &'static str,
}

/// What an entry has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOutcome {
    /// The order was accepted, which was not known.
    Inserted,
    /// It was known to be accepted.
    Repeated,
    Confirmed,
    Released,
}

#[derive(Clone, Debug, Default)]
pub struct Accounts {
    orders: BTreeMap<Arc<OrderKey>, Order>,
    /// Payments of orders that are not among these, with a reference of theirs.
    foreign: BTreeMap<Arc<OrderKey>, BTreeMap<String, Payment>>,
    uses: Uses,
}

/// Who uses a reference, in their order. Nearly always one order does, for which a set is large.
#[derive(Clone, Debug, Default)]
struct Uses(HashMap<String, Vec<Arc<OrderKey>>>);

impl Uses {
    fn insert(&mut self, reference: &str, key: &Arc<OrderKey>) {
        let users = match self.0.get_mut(reference) {
            Some(users) => users,
            None => self.0.entry(reference.to_owned()).or_insert_with(|| Vec::with_capacity(1)),
        };
        if let Err(at) = users.binary_search(key) {
            users.insert(at, key.clone());
        }
    }

    fn of(&self, reference: &str) -> &[Arc<OrderKey>] {
        self.0.get(reference).map_or(&[], Vec::as_slice)
    }
}

impl Accounts {
    pub fn insert(&mut self, key: OrderKey, order: Order) {
        let key = self.shared(key);
        for reference in order.account.payments.keys() {
            self.uses.insert(reference, &key);
        }
        self.orders.insert(key, order);
    }

    /// The key that is there already, or this one.
    fn shared(&self, key: OrderKey) -> Arc<OrderKey> {
        let known = self.orders.get_key_value(&key).map(|(key, _)| key.clone());
        known.unwrap_or_else(|| Arc::new(key))
    }

    /// A payment of an order that is read with its row, or is not looked at as a whole.
    pub fn insert_payment(&mut self, key: OrderKey, reference: String, payment: Payment) {
        let key = self.shared(key);
        self.uses.insert(&reference, &key);
        match self.orders.get_mut(&key) {
            Some(order) => order.account.payments.insert(reference, payment),
            None => _ = self.foreign.entry(key).or_default().insert(reference, payment),
        }
    }

    pub fn get(&self, key: &OrderKey) -> Option<&Order> {
        self.orders.get(key)
    }

    pub fn get_mut(&mut self, key: &OrderKey) -> Option<&mut Order> {
        self.orders.get_mut(key)
    }

    pub fn orders(&self) -> impl Iterator<Item = (&OrderKey, &Order)> {
        self.orders.iter().map(|(key, order)| (&**key, order))
    }

    /// Those of a voucher.
    pub fn of_voucher(&self, voucher: &str) -> impl Iterator<Item = (&OrderKey, &Order)> {
        let first = OrderKey::of_sale(voucher, "");
        self.from(&first).take_while(move |(key, _)| key.voucher == first.voucher)
    }

    /// Those from this one on.
    fn from(&self, first: &OrderKey) -> impl Iterator<Item = (&OrderKey, &Order)> + use<'_> {
        self.orders.range::<OrderKey, _>(first..).map(|(key, order)| (&**key, order))
    }

    /// The first of an order's id, of whatever user, from this one on.
    pub fn of_order(&self, first: &OrderKey) -> Option<&OrderKey> {
        let (key, _) = self.from(first).next()?;
        Some(key).filter(|key| key.is_of_order(first))
    }

    /// The units that the orders of a sale have.
    pub fn units_of(&self, voucher: &str, sale: &str) -> i64 {
        let units = self.of_sale(voucher, sale);
        let units = units.map(|(key, order)| order.account.target(self.conflicts_of(key, order)).1);
        units.fold(0, i64::saturating_add)
    }

    /// What its rows say that they have.
    pub fn row_units_of(&self, voucher: &str, sale: &str) -> i64 {
        let units = self.of_sale(voucher, sale).map(|(_, order)| order.row_units);
        units.fold(0, i64::saturating_add)
    }

    /// What has left the sale when it was released.
    pub fn withdrawn_of(&self, voucher: &str, sale: &str) -> i64 {
        let units = self.of_sale(voucher, sale).map(|(_, order)| order.account.row.withdrawn());
        units.fold(0, i64::saturating_add)
    }

    /// Whether any of its orders is known.
    pub fn has_sale(&self, voucher: &str, sale: &str) -> bool {
        self.of_sale(voucher, sale).next().is_some()
    }

    fn of_sale(&self, voucher: &str, sale: &str) -> impl Iterator<Item = (&OrderKey, &Order)> {
        let its = self.from(&OrderKey::of_sale(voucher, sale));
        its.take_while(move |(key, _)| key.voucher == voucher && key.sale == sale)
    }

    pub fn references(&self) -> impl Iterator<Item = &str> {
        self.uses.0.keys().map(String::as_str)
    }

    /// The orders that a reference is used by.
    pub fn users_of(&self, reference: &str) -> impl Iterator<Item = &OrderKey> {
        self.uses.of(reference).iter().map(|key| &**key)
    }

    pub fn payment(&self, key: &OrderKey, reference: &str) -> Option<&Payment> {
        match self.orders.get(key) {
            Some(order) => order.account.payments.get(reference),
            None => self.foreign.get(key)?.get(reference),
        }
    }

    /// Says of each order whether another user has one of the same id. Who sells without rules has
    /// no book, and may give several users one id.
    pub fn see_users(&mut self) {
        let keys: Vec<&OrderKey> = self.orders().map(|(key, _)| key).collect();
        let is_pair = |pair: &&[&OrderKey]| pair[0].is_managed() && pair[0].is_of_order(pair[1]);
        let pairs = keys.windows(2).filter(is_pair);
        let twice: BTreeSet<OrderKey> = pairs.flatten().map(|key| (*key).clone()).collect();
        for (key, order) in &mut self.orders {
            order.account.has_two_users |= twice.contains(&**key);
        }
    }

    /// Joins what an entry says; one that is known already ends no ruling.
    pub fn read(&mut self, event: &Event, is_known: bool) -> RowOutcome {
        let key = self.shared(event.key.clone());
        if let Some(reference) = event.reference() {
            self.uses.insert(reference, &key);
        }
        let order = self.orders.entry(key).or_insert_with(|| Order::new(&event.key));
        order.read(event, is_known)
    }

    /// The units that an order keeps with a payment; 0 of one that is not looked at as a whole.
    pub fn kept_with(&self, key: &OrderKey, reference: &str) -> i64 {
        let order = self.orders.get(key);
        let reference = reference.to_owned();
        order.map_or(0, |order| order.account.kept_with(&reference, self.conflicts(key)))
    }

    /// After an order was changed from outside: who uses which reference.
    pub fn index(&mut self, key: &OrderKey) {
        let Some((key, order)) = self.orders.get_key_value(key) else { return };
        for reference in order.account.payments.keys() {
            self.uses.insert(reference, key);
        }
    }

    /// What the other orders of a reference mean to one.
    pub fn others(&self, me: &OrderKey, reference: &str) -> Others {
        let users = self.uses.of(reference);
        // Most are one order's, whose key is the same text in memory.
        if users.iter().all(|user| ptr::eq(&**user, me) || **user == *me) {
            return Others::default();
        }
        // Of a payment that is yet to be read, too.
        let new = Payment { pays: true, ..Payment::default() };
        let mut uses = Vec::with_capacity(users.len());
        let mut at = None;
        for key in users {
            let payment = self.payment(key, reference);
            if **key == *me {
                at = Some(uses.len());
            } else if payment.is_none() {
                continue;
            }
            uses.push(Use { owner: &**key, payment: payment.unwrap_or(&new), kept: 0 });
        }
        let at = at.unwrap_or_else(|| {
            uses.push(Use { owner: me, payment: &new, kept: 0 });
            uses.len() - 1
        });
        references::others(&uses, at)
    }

    /// The others of each of an order's payments.
    fn all_others(&self, key: &OrderKey) -> BTreeMap<String, Others> {
        let payments = self.orders.get(key).map(|order| order.account.payments.keys());
        let others = |reference: &String| (reference.clone(), self.others(key, reference));
        payments.into_iter().flatten().map(others).collect()
    }

    pub fn conflicts(&self, key: &OrderKey) -> Conflicts {
        self.orders.get(key).map_or(Conflicts::NONE, |order| self.conflicts_of(key, order))
    }

    /// The same of an order that is at hand.
    pub fn conflicts_of(&self, key: &OrderKey, order: &Order) -> Conflicts {
        order.account.conflicts(|reference| self.others(key, reference))
    }

    pub fn view(&self, key: &OrderKey) -> Option<View> {
        Some(self.orders.get(key)?.view(self.conflicts(key)))
    }

    /// What is known of a reference. Of orders that are not among these nothing is kept.
    pub fn balance(&self, reference: &str) -> Balance {
        let of =
            |key: &OrderKey| Some((self.payment(key, reference)?, self.kept_with(key, reference)));
        let uses = self.users_of(reference).filter_map(|owner| Some((owner, of(owner)?)));
        let uses: Vec<_> =
            uses.map(|(owner, (payment, kept))| Use { owner, payment, kept }).collect();
        references::balance(&uses)
    }

    /// Writes the lines that are due of an order, and takes the steps of the shop's tables.
    pub fn follow(&mut self, key: &OrderKey) -> Vec<Step> {
        let others = self.all_others(key);
        let Some(order) = self.orders.get_mut(key) else { return Vec::new() };
        let of = |reference: &String| others.get(reference).cloned().unwrap_or_default();
        let conflicts = order.account.conflicts(of);
        order.account.write_lines(of);
        order.steps(key, conflicts)
    }

    /// What the payments of an order have on lines, and had not before.
    pub fn lines_since(&self, key: &OrderKey, before: Option<&Order>) -> Vec<RefundLine> {
        let Some(order) = self.orders.get(key) else { return Vec::new() };
        let mut lines = Vec::new();
        for (reference, payment) in order.account.payments.iter() {
            let had = before.and_then(|before| before.account.payments.get(reference));
            let had = had.map(|it| it.lines.clone()).unwrap_or_default();
            for (first, last) in payment.lines.without(&had).ranges() {
                let (key, reference) = (key.clone(), reference.clone());
                lines.push(RefundLine { key, reference, first, last, why: why(payment) });
            }
        }
        lines
    }
}

/// Why a payment is refunded, in the words of its entries.
fn why(payment: &Payment) -> &'static str {
    match payment {
        Payment { is_duplicate: true, .. } => "duplicate",
        Payment { is_late: true, .. } => "late",
        Payment { is_unmatched: true, pays: false, .. } => "unmatched",
        _ => "released",
    }
}

#[cfg(test)]
mod tests;

//! What a check reads of the tables, and the transaction of a ruling.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use domain::flat_map::FlatMap;
use tokio::time::timeout;

use super::columns::RULING_COLUMNS;
use super::database::{ANSWER_WAIT, Store, silent};
use super::lock::Writes;
use super::orders::{ORDER_VALUES, PAYMENT_VALUES, json, read_order, read_payment};
use super::transaction::Open;
use super::{Fault, now_ms};
use crate::accounts::{Accounts, Payment, RefundLine};
use crate::order_events::OrderKey;
use crate::sql::{Arg, ROWS_MAX, Statement, Values};
use crate::steps::Change;

/// How often a ruling is tried while other transactions are in the way.
const TRIES: u32 = 5;

const LACKS_RESTORED: &str = "nothing was done in the database: the order lives again in the \
     shop's tables, and the file of statements has no on_restored, which gets :units and :state: \
     add it, and repeat this";

/// What the tables have of some vouchers.
#[derive(Default)]
pub struct Ledger {
    /// Their orders with all payments, and those of other vouchers with the same references.
    pub accounts: Accounts,
    /// By voucher and sale: the sum of units, and whether a check has closed the sale.
    pub sales: BTreeMap<(String, String), (i64, bool)>,
    /// Units refunded beyond what was due, which an operator has acknowledged, by reference.
    pub acknowledged: BTreeMap<String, i64>,
}

impl Store {
    /// What the tables have of some vouchers.
    pub async fn ledger(&self, vouchers: &[&str]) -> Result<Ledger, Fault> {
        let mut open = self.begin_reading().await?;
        let mut ledger = Ledger::default();
        let by_sale = self.tables().dialect().by_sale();
        let list = || vouchers.iter().map(|voucher| Arg::Text(voucher));
        // Payments come first, and in another order than their orders, which then are looked up in
        // no map of all.
        let its = "ref IN (SELECT ref FROM {payments} WHERE voucher_id IN ";
        let mut select = self.select(PAYMENT_VALUES, "payments", "", its);
        select.bind_list(list()).push(")").push(by_sale);
        let mut payments: HashMap<OrderKey, FlatMap<String, Payment>> = HashMap::new();
        let read = |values: &mut Values<'_>| {
            let (key, reference, payment) = read_payment(values)?;
            payments.entry(key).or_default().insert(reference, payment);
            Ok(())
        };
        open.rows(&select, read).await?;
        let accounts = &mut ledger.accounts;
        let mut select = self.select(ORDER_VALUES, "orders", "", "voucher_id IN ");
        select.bind_list(list()).push(by_sale);
        let read = |values: &mut Values<'_>| {
            let (key, mut order) = read_order(values)?;
            order.account.payments = payments.remove(&key).unwrap_or_default();
            accounts.insert(key, order);
            Ok(())
        };
        open.rows(&select, read).await?;
        // Of orders of other vouchers: parts of a cart, or conflicts.
        let keys: BTreeSet<&OrderKey> = payments.keys().collect();
        let keys: Vec<&OrderKey> = keys.into_iter().collect();
        self.read_orders(&mut open, &keys, accounts, Default::default()).await?;
        for (key, payments) in &payments {
            for (reference, payment) in payments.iter() {
                accounts.insert_payment(key.clone(), reference.clone(), payment.clone());
            }
        }
        accounts.see_users();
        let number = |text: String| {
            text.parse::<i64>().map_err(|_| Fault::Failed("a sum is no number".to_owned()))
        };
        let sql = "SELECT voucher_id, sale_id, [units], [is_closed] FROM {voucher_sales} WHERE \
                   voucher_id IN ";
        let mut select = self.tables().sql(sql, []);
        select.bind_list(list());
        for [voucher, sale, units, closed] in open.texts(&select).await? {
            ledger.sales.insert((voucher, sale), (number(units)?, closed == "1"));
        }
        let sql = "SELECT ref, [beyond] FROM {payment_refs} WHERE beyond > 0";
        for [reference, units] in open.texts(&self.tables().sql(sql, [])).await? {
            ledger.acknowledged.insert(reference, number(units)?);
        }
        open.commit().await?;
        Ok(ledger)
    }

    /// The accounts of some orders, with all their payments, these and those of the rows, and what
    /// they are to others.
    pub async fn accounts(
        &self,
        keys: &BTreeSet<OrderKey>,
        references: &BTreeSet<String>,
    ) -> Result<Accounts, Fault> {
        let mut open = self.begin().await?;
        // The locks end with the transaction, which writes nothing.
        let locked = self.lock(&mut open, &keys.iter().collect(), references.clone()).await?;
        Ok(locked.accounts)
    }

    /// Those of some references that any payment here has.
    pub async fn known_references(&self, references: &[&str]) -> Result<BTreeSet<String>, Fault> {
        let mut open = self.begin_reading().await?;
        let mut known = BTreeSet::new();
        for references in references.chunks(ROWS_MAX) {
            let mut select =
                self.tables().sql("SELECT DISTINCT ref FROM {payments} WHERE ref IN ", []);
            select.bind_list(references.iter().map(|reference| Arg::Text(reference)));
            let found: Vec<[String; 1]> = open.texts(&select).await?;
            known.extend(found.into_iter().flatten());
        }
        open.commit().await?;
        Ok(known)
    }

    /// The orders of one id, with all their payments and all orders of these payments.
    pub async fn orders_of(&self, order: &str) -> Result<BTreeSet<OrderKey>, Fault> {
        let sql = "SELECT voucher_id, sale_id, order_id, user_id FROM {orders} WHERE order_id = ?";
        self.keys(sql, order).await
    }

    /// The orders that a reference is used by.
    pub async fn users_of(&self, reference: &str) -> Result<BTreeSet<OrderKey>, Fault> {
        let sql = "SELECT voucher_id, sale_id, order_id, user_id FROM {payments} WHERE ref = ?";
        self.keys(sql, reference).await
    }

    async fn keys(&self, sql: &str, id: &str) -> Result<BTreeSet<OrderKey>, Fault> {
        let found = self.read_texts(&self.tables().sql(sql, [Arg::Text(id)])).await?;
        let key =
            |[voucher, sale, order, user]: [String; 4]| OrderKey { voucher, sale, order, user };
        Ok(found.into_iter().map(key).collect())
    }

    /// Changes the accounts of some orders in one transaction, writes the lines and the steps that
    /// follow, and notes each new ruling with who made it. `change` gets the accounts of all
    /// orders with one of these ids, and what their payments, and these that they may get, are to
    /// others; it returns None if something has changed that the ruling was made on. Returns the
    /// lines.
    pub async fn rule(
        &self,
        keys: &BTreeSet<OrderKey>,
        references: &BTreeSet<String>,
        ruled_by: &str,
        change: impl Fn(&mut Accounts) -> Option<()>,
    ) -> Result<Vec<RefundLine>, Fault> {
        let mut tries = 0;
        loop {
            let tried = self.rule_once(keys, references, ruled_by, &change);
            let tried = timeout(ANSWER_WAIT, tried).await;
            tries += 1;
            match tried.unwrap_or_else(|_| Err(silent())) {
                // Another transaction was in the way: a deadlock, or a row that both insert.
                Err(Fault::Elsewhere(_) | Fault::Refused(_)) if tries < TRIES => {}
                ruled => return ruled,
            }
        }
    }

    async fn rule_once(
        &self,
        keys: &BTreeSet<OrderKey>,
        references: &BTreeSet<String>,
        ruled_by: &str,
        change: &impl Fn(&mut Accounts) -> Option<()>,
    ) -> Result<Vec<RefundLine>, Fault> {
        let mut open = self.begin().await?;
        let mut locked = self.lock(&mut open, &keys.iter().collect(), references.clone()).await?;
        change(&mut locked.accounts).ok_or(Fault::Changed)?;
        let keys: Vec<OrderKey> = locked.accounts.orders().map(|(key, _)| key.clone()).collect();
        let mut writes = Writes::default();
        let mut notes = Vec::new();
        for key in &keys {
            locked.accounts.index(key);
            let (steps, lines) = locked.follow(key);
            writes.steps.extend(steps);
            writes.refunds.extend(lines);
            let Some(order) = locked.accounts.get(key) else { continue };
            let (number, ruling) = (order.account.rulings, &order.account.ruling);
            if number != locked.before(key).map_or(0, |before| before.account.rulings) {
                let text = ruling.as_ref().map_or_else(|| "units".to_owned(), json);
                notes.push((key.clone(), number, text));
            }
        }
        let is_restored = writes.steps.iter().any(|step| step.change == Change::Restored);
        if is_restored && !self.shop().is_empty() && !self.shop().has(Change::Restored) {
            return Err(Fault::Lacks(LACKS_RESTORED.to_owned()));
        }
        self.write(&mut open, &locked.after(&keys), &writes).await?;
        for (key, number, ruling) in &notes {
            let number = i64::try_from(*number).unwrap_or(i64::MAX);
            self.note_ruling(&mut open, key, number, ruled_by, ruling).await?;
        }
        open.commit().await?;
        self.note_steps(&writes.steps);
        Ok(writes.refunds)
    }

    async fn note_ruling(
        &self,
        open: &mut Open,
        key: &OrderKey,
        number: i64,
        ruled_by: &str,
        ruling: &str,
    ) -> Result<(), Fault> {
        let rest = [Arg::Int(number), Arg::Text(ruled_by), Arg::Text(ruling), Arg::Int(now_ms())];
        let args = key.args().into_iter().chain(rest).collect();
        open.execute(&self.tables().insert_into("rulings", RULING_COLUMNS, [args])).await?;
        Ok(())
    }

    /// Acknowledges that so many units of a payment were refunded beyond what was due.
    pub async fn acknowledge_beyond(&self, reference: &str, units: i64) -> Result<(), Fault> {
        let args = vec![Arg::Text(reference), Arg::Int(units)];
        self.execute(&self.tables().replace("payment_refs", "ref, beyond", 1, args)).await
    }

    /// A check has found a sale that is over consistent: it stays so after SECKILL.DROP.
    pub async fn close_sale(&self, voucher: &str, sale: &str, units: i64) -> Result<(), Fault> {
        self.execute(&self.closing(voucher, sale, units)).await
    }

    fn closing<'a>(&self, voucher: &'a str, sale: &'a str, units: i64) -> Statement<'a> {
        let sql = "UPDATE {voucher_sales} SET is_closed = 1 WHERE voucher_id = ? AND sale_id = ? \
                   AND units = ?";
        self.tables().sql(sql, [Arg::Text(voucher), Arg::Text(sale), Arg::Int(units)])
    }

    /// An operator has ruled that the orders of a shard that lost everything stay. False if their
    /// units are others.
    pub async fn keep_shard(
        &self,
        voucher: &str,
        sale: &str,
        units: i64,
        ruled_by: &str,
    ) -> Result<bool, Fault> {
        let mut open = self.begin().await?;
        open.execute(&self.closing(voucher, sale, units)).await?;
        let sql = "SELECT [units] FROM {voucher_sales} WHERE voucher_id = ? AND sale_id = ? AND \
                   is_closed = 1";
        let kept: Vec<[String; 1]> =
            open.texts(&self.tables().sql(sql, [Arg::Text(voucher), Arg::Text(sale)])).await?;
        if kept.is_empty() {
            return Ok(false);
        }
        let ruling = format!("the shard is kept with {units} units");
        let key = OrderKey::of_sale(voucher, sale);
        self.note_ruling(&mut open, &key, now_ms(), ruled_by, &ruling).await?;
        open.commit().await?;
        Ok(true)
    }
}

//! What an operator decides about a payment.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};
use domain::references::Owner;
use domain::rows::{Paid as PaidUnits, Report};
use domain::rulings::rule_units;
use redis::{RedisResult, cmd};
use seckill_tools::sanitize::sanitize;

use super::server::refused;
use super::{Desk, is_meant, tell, the_one};
use crate::accounts::{Accounts, Order};
use crate::options::Resolve;
use crate::order_events::OrderKey;

impl Desk<'_> {
    /// Decides about a payment.
    pub(super) async fn payment(&self, wanted: &Resolve, reference: &str) -> Result<()> {
        let mut users = self.store.users_of(reference).await?;
        users.retain(|key| is_meant(wanted, key));
        let shown = sanitize(reference);
        if let Some(units) = wanted.beyond {
            ensure!(!users.is_empty(), "no payment {shown} is known");
            self.confirm()?;
            self.store.acknowledge_beyond(reference, units).await?;
            println!("payment {shown}: {units} units beyond what was due are acknowledged");
            return Ok(());
        }
        let none = format!("no payment {shown} is known: run the worker, and check --repair");
        let several =
            format!("payment {shown} is of several orders: check says what to do, or name one");
        let key = the_one(users, none, several)?;
        if let Some(units) = wanted.units {
            self.units(&key, reference, units).await
        } else if wanted.refund {
            self.refund(&key, reference).await
        } else {
            self.refunded(&key, reference).await
        }
    }

    /// A payment of several orders is one's, with the other parts of its cart.
    pub(super) async fn own(&self, key: &OrderKey, reference: &str) -> Result<()> {
        let users = self.store.users_of(reference).await?;
        let is_used = users.contains(key);
        ensure!(is_used, "order {} has no payment {}", sanitize(&key.order), sanitize(reference));
        println!("payment {} is of order {}", sanitize(reference), sanitize(&key.order));
        let is_its = |other: &OrderKey| other == key || key.is_of_cart(other);
        for other in users.iter().filter(|other| !is_its(other)) {
            let OrderKey { order, voucher, user, .. } = other;
            let other = format!("order {order} of {user} for voucher {voucher}");
            println!("nothing of it is of {}", sanitize(&other));
        }
        self.confirm()?;
        let change = |accounts: &mut Accounts| {
            let now: BTreeSet<OrderKey> = accounts.users_of(reference).cloned().collect();
            for other in users.iter().filter(|other| !is_its(other)) {
                let order = accounts.get_mut(other)?;
                order.account.payments.get_mut(reference)?.is_nothing = true;
                order.account.rulings = order.account.rulings.saturating_add(1);
            }
            (now == users).then_some(())
        };
        tell(&self.rule(&users, &BTreeSet::from([reference.to_owned()]), change).await?);
        Ok(())
    }

    /// A payment of no order is to be refunded: on the server first, so that it never pays one.
    pub(super) async fn refund(&self, key: &OrderKey, reference: &str) -> Result<()> {
        self.refund_on_server(key, reference).await?;
        let change = |accounts: &mut Accounts| late(accounts, key, reference).map(|_| ());
        self.rule_of(key, reference, "is to be refunded", change).await
    }

    /// A payment of no order was refunded.
    pub(super) async fn refunded(&self, key: &OrderKey, reference: &str) -> Result<()> {
        self.refund_on_server(key, reference).await?;
        let change = |accounts: &mut Accounts| {
            let order = late(accounts, key, reference)?;
            let payment = order.account.payments.get_mut(reference)?;
            let rest = payment.all().without(&payment.gone());
            payment.ruled_elsewhere = payment.ruled_elsewhere.union(&rest);
            Some(())
        };
        self.rule_of(key, reference, "was refunded", change).await
    }

    /// Writes what was decided of a payment of an order; it may end a conflict of others with it.
    async fn rule_of(
        &self,
        key: &OrderKey,
        reference: &str,
        done: &str,
        change: impl Fn(&mut Accounts) -> Option<()>,
    ) -> Result<()> {
        let mut keys = self.store.users_of(reference).await?;
        keys.insert(key.clone());
        let lines = self.rule(&keys, &BTreeSet::from([reference.to_owned()]), change).await?;
        println!("payment {} {done}", sanitize(reference));
        tell(&lines);
        Ok(())
    }

    async fn refund_on_server(&self, key: &OrderKey, reference: &str) -> Result<()> {
        let (mut source, shown, ..) = self.look(key).await?;
        let order = shown.get(key).context("the payment is gone: look again")?;
        let payment = order.account.payments.get(reference);
        let payment = payment.context("the payment is gone: look again")?;
        ensure!(
            !payment.pays || payment.is_nothing,
            "nothing was done: payment {} pays order {}: resolve the order",
            sanitize(reference),
            sanitize(&key.order)
        );
        ensure!(
            !payment.is_stated_otherwise(),
            "nothing was done: say first of how many units payment {} is, by --units",
            sanitize(reference)
        );
        self.confirm()?;
        let mut confirm = cmd("SECKILL.CONFIRM");
        confirm.arg(&key.voucher).arg(&key.user).arg(&key.order).arg("REF").arg(reference);
        if let Some(units) = payment.stated.units().filter(|units| *units > 0) {
            confirm.arg("UNITS").arg(units);
        }
        confirm.arg("REFUND");
        if key.is_managed() {
            confirm.arg("SALE").arg(&key.sale);
        }
        let answered: RedisResult<i64> = confirm.query_async(source.connection()).await;
        match answered {
            Ok(3 | 5) => Ok(()),
            // No sale was ever on there, so nothing can be paid.
            Err(error) if error.code() == Some("NOVOUCHER") => Ok(()),
            Ok(answer) => bail!(
                "nothing was done: the payment pays an order now (SECKILL.CONFIRM was answered \
                 {answer}): run the worker, and look again"
            ),
            Err(error) => Err(refused("SECKILL.CONFIRM", &error)),
        }
    }

    /// A payment, or a cart's for this part of it, is for so many units, as the provider says.
    pub(super) async fn units(&self, key: &OrderKey, reference: &str, units: i64) -> Result<()> {
        self.confirm()?;
        let change = |accounts: &mut Accounts| {
            let mut next = accounts.get(key)?.clone();
            let others = |reference: &String| accounts.others(key, reference);
            rule_units(&mut next.account, &reference.to_owned(), units, others);
            accounts.insert(key.clone(), next);
            Some(())
        };
        self.rule_of(key, reference, &format!("is of {units} units"), change).await
    }
}

/// Joins that a payment is late: the server has it on record so.
fn late<'a>(accounts: &'a mut Accounts, key: &OrderKey, reference: &str) -> Option<&'a mut Order> {
    let others = accounts.others(key, reference);
    let order = accounts.get_mut(key)?;
    let payment = order.account.payments.get(reference)?;
    if payment.pays && !payment.is_nothing || others.have_it {
        return None;
    }
    let units = payment.stated.units();
    let payment = PaidUnits { reference: reference.to_owned(), units };
    let outcome = domain::payments::Outcome::Late;
    order.account.join(None, &Report::Payment { outcome, payment, units: 0 });
    order.account.rulings = order.account.rulings.saturating_add(1);
    Some(order)
}

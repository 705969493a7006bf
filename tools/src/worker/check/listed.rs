//! The provider's list of payments beside the accounts.

use std::collections::BTreeSet;

use anyhow::Result;
use domain::key_names::PAYMENTS_PREFIX;

use super::Checker;
use super::look::Look;
use super::questions::{Findings, QuestionKind, ResultKind};
use crate::accounts::Accounts;
use crate::order_events::OrderKey;

/// So many references are looked for in one request.
const PIECE: usize = 1_000;

impl Checker<'_> {
    /// References of the list that no order of a look has, but the database or the server: of
    /// other vouchers, or not read yet. Only those with the shop's prefix are looked for.
    pub(super) async fn known_elsewhere(&mut self, look: &Look) -> Result<BTreeSet<String>> {
        let (Some(list), Some(prefix)) = (&self.given.list, &self.given.list_prefix) else {
            return Ok(BTreeSet::new());
        };
        let is_unknown =
            |reference: &&str| look.ledger.accounts.users_of(reference).next().is_none();
        let its = list.payments.keys().map(String::as_str);
        let its = its.filter(|reference| reference.starts_with(&**prefix));
        let unknown: Vec<&str> = its.filter(is_unknown).collect();
        let mut known = self.store.known_references(&unknown).await?;
        if unknown.len() == known.len() {
            return Ok(known);
        }
        for key in self.keys_like(PAYMENTS_PREFIX, "hash").await? {
            for references in unknown.chunks(PIECE) {
                let mut all = redis::pipe();
                for reference in references {
                    all.cmd("HGET").arg(&key).arg(reference);
                }
                let records: Vec<Option<Vec<u8>>> = all.query_async(&mut self.link).await?;
                let found = references.iter().zip(records).filter(|(_, record)| record.is_some());
                known.extend(found.map(|(reference, _)| (*reference).to_owned()));
            }
        }
        Ok(known)
    }
}

impl Look {
    /// The provider's list.
    pub(super) fn listed(&self, accounts: &Accounts, found: &mut Findings) {
        let Some(list) = &self.given.list else { return };
        (found.totals.units, found.totals.refunds) = (list.has_units, list.has_refunded);
        found.totals.without_ref = list.without_ref;
        let mut known = 0;
        for (reference, listed) in &list.payments {
            let users: Vec<&OrderKey> = accounts.users_of(reference).collect();
            let Some(first) = users.first() else {
                let prefix = self.given.list_prefix.as_deref();
                if self.others.contains(reference)
                    || !prefix.is_some_and(|prefix| reference.starts_with(prefix))
                {
                    found.totals.foreign += 1;
                } else {
                    let about = (QuestionKind::Unlisted, &OrderKey::of_sale("", ""), &**reference);
                    found.ask(about, ["missing", "paid in the list"], &[]);
                }
                continue;
            };
            known += 1;
            let balance = accounts.balance(reference);
            if let (Some(paid), Some(units)) = (balance.paid, listed.units)
                && paid != units
            {
                // Of a cart one part has other units: the first of the greatest, maybe more.
                let its = |key: &&OrderKey| accounts.payment(key, reference)?.units();
                let part = users.iter().min_by_key(|key| std::cmp::Reverse(its(key)));
                let part = part.and_then(|key| {
                    let its = its(key)?.saturating_add(units).saturating_sub(paid);
                    Some((*key, its.max(0)))
                });
                let answer = part.map(|(_, units)| format!("units {units}"));
                let key = part.map_or(*first, |(key, _)| key);
                let says = [&*format!("{paid} units"), &format!("{units} in the list")];
                let answers: Vec<&str> = answer.as_deref().into_iter().collect();
                found.ask((QuestionKind::Units, key, reference), says, &answers);
                continue;
            }
            let Some(refunded) = listed.refunded else { continue };
            let acknowledged = self.ledger.acknowledged.get(reference).copied().unwrap_or(0);
            let due = match balance.paid {
                Some(_) => balance.refunded,
                None => listed.units.unwrap_or(i64::MAX),
            };
            let beyond = refunded.saturating_sub(acknowledged).saturating_sub(due);
            let keeps = users.iter().find_map(|key| {
                let kept = accounts.kept_with(key, reference);
                (kept > 0).then_some((*key, kept))
            });
            match keeps {
                _ if beyond <= 0 => {
                    // One result of a reference: of a cart the list tells no parts.
                    let is_its = |kind: &ResultKind, of: &String| {
                        *kind == ResultKind::Refund && of == reference
                    };
                    found.results.retain(|(kind, _, of), _| !is_its(kind, of));
                    let rest = due.saturating_sub(refunded);
                    if rest > 0 {
                        let about = (ResultKind::Refund, (*first).clone(), reference.clone());
                        let is_known = balance.paid.is_some() || listed.units.is_some();
                        found.results.insert(about, is_known.then_some(rest));
                    }
                }
                Some((key, kept)) => {
                    let rows = format!("{} refunded, {kept} kept", balance.refunded);
                    let server = format!("{refunded} refunded in the list");
                    let kept = kept.saturating_sub(beyond).max(0);
                    let about = (QuestionKind::Refunded, key, &**reference);
                    found.ask(about, [&rows, &server], &[&format!("refunded {kept}")]);
                }
                None => {
                    let about = (ResultKind::RefundedBeyond, (*first).clone(), reference.clone());
                    // What is acknowledged already, too: the command says all that it then is.
                    found.results.insert(about, Some(beyond.saturating_add(acknowledged)));
                }
            }
        }
        found.totals.references = Some(known);
    }
}

//! The provider's list of payments beside the accounts.

use super::look::Look;
use super::questions::{About, Found, Kind, Question, ResultKind};
use crate::accounts::Accounts;
use crate::order_events::OrderKey;

impl Look {
    /// The provider's list.
    pub(super) fn listed(&self, accounts: &Accounts, found: &mut Found) {
        let Some(list) = &self.list else { return };
        (found.totals.units, found.totals.refunds) = (list.has_units, list.has_refunded);
        for (reference, listed) in &list.payments {
            let users: Vec<&OrderKey> = accounts.users_of(reference).collect();
            let mut add = |kind, key: &OrderKey, rows: String, server: String, answers| {
                let about = About { kind, key: key.clone(), reference: reference.clone() };
                found.questions.insert(about, Question { rows, server, answers });
            };
            let Some(first) = users.first() else {
                let prefix = self.list_prefix.as_deref();
                if self.others.contains(reference)
                    || !prefix.is_some_and(|prefix| reference.starts_with(prefix))
                {
                    found.totals.foreign += 1;
                } else {
                    let (rows, server) = ("missing".to_owned(), "paid in the list".to_owned());
                    add(Kind::Unlisted, &nobody(), rows, server, Vec::new());
                }
                continue;
            };
            found.totals.references += 1;
            let balance = accounts.balance(reference);
            if let (Some(paid), Some(units)) = (balance.paid, listed.units)
                && paid != units
            {
                let answers = vec![format!("units {units}")];
                let answers = if users.len() == 1 { answers } else { Vec::new() };
                let (rows, server) = (format!("{paid} units"), format!("{units} in the list"));
                add(Kind::Units, first, rows, server, answers);
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
                    let answers = vec![format!("refunded {kept}")];
                    add(Kind::Refunded, key, rows, server, answers);
                }
                None => {
                    let about = (ResultKind::RefundedBeyond, (*first).clone(), reference.clone());
                    found.results.insert(about, Some(beyond));
                }
            }
        }
    }
}

fn nobody() -> OrderKey {
    let [voucher, sale, order, user] = [const { String::new() }; 4];
    OrderKey { voucher, sale, order, user }
}

//! The orders of a voucher without rules, which has no book: its entries as far as they are kept,
//! and its set of buyers.

use std::borrow::Cow;
use std::collections::BTreeSet;

use domain::entry_id::EntryId;

use super::books::Books;
use super::look::Look;
use super::questions::{Findings, QuestionKind, said_by_row};
use crate::accounts::Accounts;
use crate::order_events::OrderKey;

impl Look {
    /// An unmanaged voucher: its entries as far as they are kept, and its set of buyers.
    pub(super) fn unmanaged(
        &self,
        books: &Books,
        accounts: &mut Cow<'_, Accounts>,
        found: &mut Findings,
    ) {
        if !books.is_unmanaged() {
            return;
        }
        let began = self.progress.get(&books.voucher).map_or(EntryId::default(), |it| it.began);
        for event in &books.events {
            let is_known = accounts.get(&event.key).is_some_and(|order| order.has_entry(event));
            if is_known || self.is_undone(&event.key) || event.place.1 <= began {
                continue;
            }
            accounts.to_mut().read(event, false);
            accounts.to_mut().follow(&event.key);
            found.by_itself.events.push(event.clone());
        }
        let has_undone = self.undone.get(&books.voucher).is_some_and(|it| it.entries > 0);
        if has_undone {
            return;
        }
        let mut users = BTreeSet::new();
        for (key, order) in accounts.of_voucher(&books.voucher) {
            if key.is_managed() {
                continue;
            }
            let conflicts = accounts.conflicts(key);
            let view = order.view(conflicts);
            found.totals.unmanaged += view.units;
            if view.units > 0 {
                users.insert(&*key.user);
            }
            let is_ruled = order.account.standing(conflicts).is_some();
            let differs = view.units > 0 && !books.users.contains(&key.user);
            if !is_ruled && (differs || order.account.is_to_be_restored(conflicts)) {
                let server = if differs { "its user is no buyer" } else { "it lives again" };
                let says = [&*said_by_row(order, conflicts), server];
                found.ask((QuestionKind::Order, key, ""), says, &["accept"]);
            }
        }
        for user in books.users.iter().filter(|user| !users.contains(user.as_str())) {
            let key = OrderKey { user: user.clone(), ..OrderKey::of_sale(&books.voucher, "") };
            if began != EntryId::default() {
                found.before += 1;
                continue;
            }
            found.ask((QuestionKind::Buyer, &key, ""), ["no order", "a buyer"], &[]);
        }
        let count = |users: usize| i64::try_from(users).unwrap_or(i64::MAX);
        found.totals.buyers[0] += count(books.users.len());
        found.totals.buyers[1] += count(users.len());
    }
}

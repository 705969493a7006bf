//! What an operator decides about a lost shard.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use domain::ruling::Word;
use domain::rulings::Wanted;
use seckill_tools::connection::Target;
use seckill_tools::sanitize::sanitize;

use super::Desk;
use crate::accounts::Accounts;
use crate::check::{lose, ruled, shards_of_sale};
use crate::order_events::OrderKey;

/// So many orders are ruled in one transaction.
const PIECE: usize = 500;

impl Desk<'_> {
    /// What the database has of a lost shard stays, without taking units. Its held orders end:
    /// nobody can pay them any more.
    pub(super) async fn shard(&self, sale: &str, shard: u32) -> Result<()> {
        let mut link = Target::find(self.site.server.place()?).await?.connect().await?;
        let none = || format!("no sale of {} over shards was opened here", sanitize(sale));
        let (_, all) = shards_of_sale(&link, sale).await?.with_context(none)?;
        let lost = all.iter().find(|lost| lost.shard == shard);
        let lost = lost.with_context(|| format!("shard {shard} is not lost"))?;
        ensure!(
            !lost.has_remains,
            "first run seckill-shards drop --shard {shard}, then check again"
        );
        let voucher = lost.voucher();
        self.paired_source(&mut link, &voucher).await?;
        let vouchers: Vec<String> = all.iter().map(|lost| lost.voucher()).collect();
        let vouchers: Vec<&str> = vouchers.iter().map(String::as_str).collect();
        let ledger = self.store.ledger(&vouchers).await?;
        let rows = lost.rows(&ledger);
        ensure!(!rows.live.is_empty(), "nothing was done: the database has no units of the shard");
        println!("- keeps {} units of {} orders", rows.units, rows.live.len());
        if !rows.held.is_empty() {
            println!("- {} of these orders are held: they end", rows.held.len());
        }
        self.confirm()?;
        self.rule_all(&rows.held, lose).await?;
        let kept: BTreeSet<OrderKey> = rows.live.difference(&rows.held).cloned().collect();
        // Orders of a managed voucher are of a sale that is over: nothing asks about these again.
        let unmanaged = kept.iter().filter(|key| !key.is_managed()).cloned().collect();
        self.rule_all(&unmanaged, accept).await?;
        let mut sales = BTreeMap::from([(&*rows.sale_id, 0_i64)]);
        for key in &kept {
            let units = ledger.accounts.view(key).map_or(0, |view| view.units);
            let sum = sales.entry(&*key.sale).or_default();
            *sum = sum.saturating_add(units);
        }
        for (sale, units) in &sales {
            let is_kept = self.store.keep_shard(&voucher, sale, *units, &self.name()).await?;
            ensure!(is_kept, "the shard's orders have changed meanwhile: look again");
        }
        let units = sales.into_values().fold(0, i64::saturating_add);
        println!("shard {shard} is kept with {units} units; check says how it is on sale again");
        Ok(())
    }

    async fn rule_all(
        &self,
        keys: &BTreeSet<OrderKey>,
        ruled: impl Fn(&mut Accounts, &OrderKey) -> bool,
    ) -> Result<()> {
        let all: Vec<&OrderKey> = keys.iter().collect();
        for piece in all.chunks(PIECE) {
            let piece: BTreeSet<OrderKey> = piece.iter().map(|key| (*key).clone()).collect();
            let change = |accounts: &mut Accounts| {
                piece.iter().all(|key| ruled(accounts, key)).then_some(())
            };
            self.rule(&piece, &BTreeSet::new(), change).await?;
        }
        Ok(())
    }
}

/// The order of an unmanaged voucher is as the database has it.
pub(super) fn accept(accounts: &mut Accounts, key: &OrderKey) -> bool {
    let Some(order) = accounts.get(key) else { return false };
    let kept = order.account.row.live();
    let wanted = Wanted { word: Word::Agreed, kept, reference: None, is_without_units: false };
    ruled(accounts, key, &wanted)
}

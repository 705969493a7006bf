//! A shard of a sale that is lost while others are open: what the server says of it, and what the
//! database has.

use std::collections::BTreeSet;

use anyhow::Result;
use domain::book::State;
use seckill_tools::connection::Connection;
use seckill_tools::sharded_sale::Sale;
use seckill_tools::sharding::{sale_of_shard, shard_voucher};

use crate::order_events::OrderKey;
use crate::store::Ledger;

/// A shard that has lost a key, beside others of its sale that are open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostShard {
    /// The sale's voucher, without the number of a shard.
    pub sale: String,
    pub shard: u32,
    pub shards: u32,
    /// What it has lost.
    pub loss: String,
    /// What is left of it is not off sale yet.
    pub has_remains: bool,
    /// What all lost shards of the sale had, sold and unsold.
    pub units: i64,
    /// If a lost shard was opened again before: the same with what sound shards have sold. What
    /// the database has of the sale, by any of its shards, is among them.
    pub gone: Option<i64>,
}

/// What the database has of a lost shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShardRows {
    /// Its last sale; empty of an unmanaged voucher, or if there are no orders.
    pub sale_id: String,
    /// Its orders that have units, and those of them that are held: also those without a sale, for
    /// without its rules it has sold as an unmanaged voucher.
    pub live: BTreeSet<OrderKey>,
    pub held: BTreeSet<OrderKey>,
    pub units: i64,
    /// An operator has ruled that they stay.
    pub is_ruled: bool,
}

/// The vouchers of a sale's shards, and the shards that are lost. None if no sale over
/// shards was opened.
pub async fn shards_of_sale(
    link: &Connection,
    voucher: &str,
) -> Result<Option<(Vec<String>, Vec<LostShard>)>> {
    let Some(sale) = Sale::find(link.clone(), voucher).await? else { return Ok(None) };
    let mut lost = Vec::new();
    if sale.is_open && !sale.is_dropping {
        let standing = sale.stand().await?;
        let of_number = (0..).zip(&standing.shards).filter(|(_, shard)| shard.is_lost());
        lost.extend(of_number.map(|(number, shard)| LostShard {
            sale: voucher.to_owned(),
            shard: number,
            shards: sale.count(),
            loss: shard.loss(),
            has_remains: shard.has_remains,
            units: standing.lost_units(),
            gone: standing.gone_after_loss(),
        }));
    }
    Ok(Some((sale.shards.into_iter().map(|shard| shard.voucher).collect(), lost)))
}

impl LostShard {
    pub fn voucher(&self) -> String {
        shard_voucher(&self.sale, self.shard)
    }

    pub fn rows(&self, ledger: &Ledger) -> ShardRows {
        let (mut rows, voucher) = (ShardRows::default(), self.voucher());
        let sales = ledger.sales.iter().filter(|((of, _), _)| *of == voucher);
        // Ids of sales grow.
        let last = sales.max_by_key(|((_, sale), _)| sale.parse::<u64>().unwrap_or(0));
        let Some(((_, sale), (_, is_closed))) = last else { return rows };
        (rows.sale_id, rows.is_ruled) = (sale.clone(), *is_closed);
        let accounts = &ledger.accounts;
        for (key, order) in accounts.of_voucher(&voucher) {
            let view = order.view(accounts.conflicts(key));
            let is_earlier = key.is_managed() && key.sale != rows.sale_id;
            if is_earlier || view.units == 0 {
                continue;
            }
            rows.units = rows.units.saturating_add(view.units);
            rows.live.insert(key.clone());
            if view.state == Some(State::Held) {
                rows.held.insert(key.clone());
            }
        }
        rows
    }

    /// Its part of what can be unsold: all that is printed together is no more.
    pub fn part(&self, lost: &[Self], unsold: i64) -> i64 {
        let numbers = lost.iter().filter(|other| other.sale == self.sale).map(|other| other.shard);
        let (mut all, mut behind) = (0, 0);
        for number in numbers {
            all += 1;
            behind += i64::from(number > self.shard);
        }
        unsold.saturating_add(behind) / all.max(1)
    }

    /// How many units of it and of the other lost shards can be unsold at most.
    pub fn unsold(&self, lost: &[Self], ledger: &Ledger) -> i64 {
        let withdrawn = |voucher: &str, sale: &str| ledger.accounts.withdrawn_of(voucher, sale);
        let all = || lost.iter().filter(|other| other.sale == self.sale);
        if let Some(gone) = self.gone {
            let known = ledger
                .sales
                .iter()
                .filter(|((voucher, _), _)| sale_of_shard(voucher) == Some(&self.sale));
            let known = known.map(|((voucher, sale), (units, is_closed))| {
                // A sound shard's total is without them.
                let is_gone = *is_closed || all().any(|other| other.voucher() == *voucher);
                units.saturating_add(if is_gone { withdrawn(voucher, sale) } else { 0 })
            });
            return gone.saturating_sub(known.fold(0, i64::saturating_add)).clamp(0, self.units);
        }
        let known = all().map(|other| {
            let rows = other.rows(ledger);
            rows.units.saturating_add(withdrawn(&other.voucher(), &rows.sale_id))
        });
        self.units.saturating_sub(known.fold(0, i64::saturating_add)).max(0)
    }
}

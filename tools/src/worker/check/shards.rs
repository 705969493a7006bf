//! Shards of a sale that are lost while others are open. Only the database knows what they had
//! sold: that stays, by one ruling for the shard, and takes no units. First what is left of the
//! shard goes off sale, and then every entry has to be read: a unit that is not in the database yet
//! would be sold again.

use seckill_tools::sharding::sale_of_shard;

use super::look::Look;
use super::questions::{Findings, QuestionKind, ResultKind};
use crate::order_events::OrderKey;

impl Look {
    /// The rows of a sale that a lost shard had: they are asked about as a whole.
    pub(super) fn is_of_lost_shard(&self, voucher: &str, sale: &str) -> bool {
        let lost = self.lost_shards.iter().find(|lost| lost.voucher() == voucher);
        lost.is_some_and(|lost| lost.rows(&self.ledger).sale_id == sale)
    }

    pub(super) fn lost_shards(&self, found: &mut Findings) {
        for lost in &self.lost_shards {
            let rows = lost.rows(&self.ledger);
            let key = OrderKey::of_sale(&lost.voucher(), &rows.sale_id);
            let unsold = lost.unsold(&self.lost_shards, &self.ledger);
            let shard = format!("shard {} of {}", lost.shard, lost.shards);
            // A shard whose stream is not looked at here is asked about where it is. And what is
            // unsold is known once all lost shards are off sale, and their entries read.
            let is_looked_at = self.undone.contains_key(&key.voucher);
            let others = || self.lost_shards.iter().filter(|it| it.sale == lost.sale);
            let counts = |voucher: &str| match lost.gone {
                Some(_) => sale_of_shard(voucher) == Some(&lost.sale),
                None => others().any(|it| it.voucher() == voucher),
            };
            let mut unread = self.undone.iter().filter(|(_, its)| its.entries > 0);
            let may_sell = others().any(|it| it.has_remains) || unread.any(|(it, _)| counts(it));
            if !is_looked_at || (may_sell && !lost.has_remains) {
                continue;
            }
            if !lost.has_remains && (rows.is_ruled || rows.live.is_empty()) {
                let part = lost.part(&self.lost_shards, unsold);
                found.results.insert((ResultKind::NotOnSale, key, shard), Some(part));
                continue;
            }
            let rows = format!("{shard} lost {}: {} units in the database", lost.loss, rows.units);
            let (server, answer) = match lost.has_remains {
                true => ("what is left of it may be on sale".to_owned(), "drop"),
                false => (format!("at most {unsold} unsold, not on sale"), "shard"),
            };
            let answer = format!("{answer} {}", lost.shard);
            found.ask((QuestionKind::Shard, &key, ""), [&rows, &server], &[&answer]);
        }
    }
}

//! Moves units from shard to shard in steps, each of which can be repeated.
//!
//! 1. *take*, at the source shard: the units leave its stock, and its journal says where they go,
//!    in one step. At most one move at a time is on its way from a shard.
//! 2. *put*, at the target shard: the units join its stock, and its journal says which move of
//!    which shard that was, in one step. The moves of a shard have growing numbers, and the journal
//!    keeps the last one for good, so a repeated put changes nothing, however late.
//! 3. *done*, at the source shard: its journal forgets the move. If the target had no stock to put
//!    the units into, they return to the source in this same step.
//!
//! A program that dies between two steps leaves the move in a journal, and the next program that
//! looks finishes it. Two programs that finish it at once do no harm, nor does one that continues
//! after the sale was dropped and opened again: each opening has a number of its own.

use anyhow::{Context, Result, bail, ensure};
use redis::Value;
use seckill_tools::connection::Connection;

use seckill_tools::sharded_sale::{Out, Sale, Shard};

use crate::functions::Function;

/// How long replicas are waited for.
const REPLICAS_WAIT_MS: u32 = 5_000;

pub struct Mover<'s> {
    sale: &'s Sale,
    link: Connection,
    replicas: u32,
}

impl<'s> Mover<'s> {
    /// `replicas` must acknowledge each step before the next one is taken.
    pub fn new(sale: &'s Sale, replicas: u32) -> Mover<'s> {
        Mover { sale, link: sale.link(), replicas }
    }

    /// Moves up to `units`; how many it was. What was on its way from that shard is finished first.
    pub async fn go(&mut self, from: u32, to: u32, units: i64) -> Result<i64> {
        let sale = self.sale;
        let id = format!("{:016x}", fastrand::u64(..));
        let arguments = [sale.name.clone(), to.to_string(), units.to_string(), id.clone()];
        loop {
            let shard = sale.shard(from)?;
            let reply: Option<String> = Function::Take
                .run(&mut self.link, shard, &arguments)
                .await
                .context("taking units")?;
            let Some(text) = reply else { return Ok(0) };
            let out = Out::parse(text)?;
            let (is_mine, units) = (out.id == id, self.finish(from, &out).await?);
            if is_mine {
                return Ok(units);
            }
        }
    }

    /// Finishes every move that is on its way; how many there were.
    pub async fn finish_all(&mut self) -> Result<u32> {
        let mut finished = 0;
        for (from, out) in self.sale.on_the_way().await? {
            self.finish(from, &out).await?;
            finished += 1;
        }
        Ok(finished)
    }

    /// Takes the steps behind the first one. How many units came to the other shard.
    async fn finish(&mut self, from: u32, out: &Out) -> Result<i64> {
        let (giver, receiver) = (self.sale.shard(from)?, self.sale.shard(out.to)?);
        let reported = self.wait_for_replicas(giver, "out").await?;
        if reported.is_some_and(|reported| reported.as_ref() != Some(&out.text)) {
            // Somebody else has ended it, or the units never left the shard that is there now.
            return Ok(0);
        }
        let (seq, units) = (out.seq.to_string(), out.units.to_string());
        let arguments = [self.sale.name.clone(), from.to_string(), seq, units, out.id.clone()];
        let put: i64 = Function::Put
            .run(&mut self.link, receiver, &arguments)
            .await
            .context("adding units")?;
        if put < 0 {
            return self.check_ended(giver, out).await;
        }
        let reported = self.wait_for_replicas(receiver, &format!("in:{from}")).await?;
        let is_there = |reported: Option<String>| {
            let seq = reported.and_then(|reported| reported.split(':').next()?.parse::<u64>().ok());
            seq.is_some_and(|seq| seq >= out.seq)
        };
        ensure!(
            reported.is_none_or(is_there),
            "{} has lost the units that it had just received, as can happen in a failover: the \
             move stays on its way, run seckill-shards finish",
            receiver.voucher
        );
        let arguments = [out.text.clone(), put.to_string()];
        Function::Done
            .run::<i64>(&mut self.link, giver, &arguments)
            .await
            .context("ending the move")?;
        Ok(put)
    }

    /// A later move than this one has come already. Then somebody else has ended this one; if it
    /// is still on its way, the shard has forgotten moves and gives their numbers again.
    async fn check_ended(&mut self, giver: &Shard, out: &Out) -> Result<i64> {
        let mut ask = redis::cmd("HGET");
        ask.arg(&giver.journal).arg("out");
        let now: Option<String> = ask.query_async(&mut self.link).await?;
        if now.as_ref() == Some(&out.text) {
            bail!(
                "shard {} has lost moves, as can happen in a failover: its move {} has a number \
                 that was \
                 used before. See \"A shard that has lost a move\" in docs/hot-vouchers.md",
                giver.voucher,
                out.seq
            );
        }
        Ok(0)
    }

    /// What the shard's journal held in this field just before, on the node that waited: after a
    /// failover that may be a node that lacks the step. None if no replica is waited for.
    async fn wait_for_replicas(
        &mut self,
        shard: &Shard,
        field: &str,
    ) -> Result<Option<Option<String>>> {
        if self.replicas == 0 {
            return Ok(None);
        }
        // WAIT looks at what its own connection has written, so it is a part of a write there: one
        // that changes nothing would wait for nothing.
        let mut wait = redis::pipe();
        wait.cmd("HGET").arg(&shard.journal).arg(field);
        wait.cmd("HINCRBY").arg(&shard.journal).arg("waits").arg(1).ignore();
        wait.cmd("WAIT").arg(self.replicas).arg(REPLICAS_WAIT_MS);
        let (reported, heard): (Option<String>, u32) = match &mut self.link {
            Connection::Server(server) => wait.query_async(server).await?,
            Connection::Cluster(cluster) => {
                let slot = redis::cluster_routing::Slot::for_key(shard.journal.as_bytes());
                let to = redis::cluster_routing::SlotAddr::Master;
                let route = redis::cluster_routing::Route::with_slot(slot, to);
                let route = redis::cluster_routing::SingleNodeRoutingInfo::SpecificNode(route);
                let replies = cluster.route_pipeline(wait, 0, 3, route).await?;
                let [reported, _, heard]: [Value; 3] =
                    replies.try_into().ok().context("no answer to WAIT")?;
                (redis::from_redis_value(reported)?, redis::from_redis_value(heard)?)
            }
        };
        ensure!(
            heard >= self.replicas,
            "only {heard} of {} replicas have acknowledged a step of {}: the move stays on its \
             way, run seckill-shards finish",
            self.replicas,
            shard.voucher
        );
        Ok(Some(reported))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_in_a_journal_is_read_whole_or_not_at_all() {
        let out = Out::parse("3:15:20:00ff".to_owned()).unwrap();
        assert_eq!((out.seq, out.to, out.units, out.id.as_str()), (3, 15, 20, "00ff"));
        for wrong in ["", "3", "3:15:20", "x:15:20:1", "3:-1:2:1"] {
            assert!(Out::parse(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}

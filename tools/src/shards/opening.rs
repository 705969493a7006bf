//! Opening a sale over shards, finding it by its journals, and opening a lost shard again.
//!
//! A journal says `opening` until all shards are made, and then that it is open. So a shard that is
//! missing beside one that is open has lost everything, and with it what it had sold: only the
//! rows know that, and nothing here makes such a shard anew on its own.

use std::ops::Range;

use anyhow::{Context, Result, bail, ensure};
use redis::RedisResult;
use seckill_tools::connection::Connection;
use seckill_tools::sale_info::SaleInfo;
use seckill_tools::sharding::{
    OPENING, SHARDS_MAX, journal_key, opened, opening, parse_opening, split,
};

use crate::functions::Function;
use crate::options::Open;
use crate::sale::{Sale, lost_everything};
use crate::shard::{Shard, shards_of};

/// Journals that are asked for at once where the first shard's is not there.
const JOURNALS_A_STEP: u32 = 256;

/// What the journals say of a sale.
struct Known {
    name: String,
    shards: u32,
    units: i64,
    is_dropping: bool,
    is_open: bool,
    missing: Vec<u32>,
}

/// The fields `sale`, `state` and `dropping`.
type Journal = (Option<String>, Option<String>, Option<String>);

async fn journals(link: &Connection, sale: &str, shards: Range<u32>) -> Result<Vec<Journal>> {
    let ask = |shard| {
        let mut ask = redis::cmd("HMGET");
        ask.arg(journal_key(sale, shard)).arg(&["sale", "state", "dropping"]);
        ask
    };
    let told: Vec<RedisResult<Journal>> = link.clone().ask_all(shards.map(ask).collect()).await?;
    Ok(told.into_iter().collect::<RedisResult<_>>()?)
}

impl Known {
    /// The sale as the first journal that is there describes it.
    async fn find(link: &Connection, sale: &str) -> Result<Option<Self>> {
        let (mut found, mut from, mut step) = (None, 0, 1);
        while found.is_none() && from < SHARDS_MAX {
            let read = journals(link, sale, from..(from + step).min(SHARDS_MAX)).await?;
            found = read.into_iter().find_map(|(name, ..)| name);
            (from, step) = (from + step, JOURNALS_A_STEP);
        }
        let Some(name) = found else { return Ok(None) };
        let (shards, units) = parse_opening(&name)
            .with_context(|| format!("a journal is of the sale \"{name}\", which none is"))?;
        let all = journals(link, sale, 0..shards).await?;
        let ours = |journal: &&Journal| journal.0.as_ref() == Some(&name);
        let missing = (0..).zip(&all).filter(|(_, journal)| !ours(journal)).map(|(at, _)| at);
        Ok(Some(Self {
            missing: missing.collect(),
            is_dropping: all.iter().filter(ours).any(|(_, _, dropping)| dropping.is_some()),
            is_open: all.iter().filter(ours).any(|(_, state, _)| state.as_deref() != Some(OPENING)),
            name,
            shards,
            units,
        }))
    }

    /// Whether an opening like this may be continued, or is done already.
    fn check_may_open(&self, open: &Open) -> Result<()> {
        let Self { shards, units, .. } = self;
        ensure!(!self.is_dropping, "the sale is being dropped: run drop again");
        ensure!(
            (*shards, *units) == (open.shards, open.stock),
            "the sale was opened with {shards} shards and {units} units, you asked for {} and {}",
            open.shards,
            open.stock
        );
        if let (true, Some(lost)) = (self.is_open, self.missing.first()) {
            bail!("{}; run show", lost_everything(*lost, *shards));
        }
        Ok(())
    }
}

impl Sale {
    /// Makes every shard that is not there yet, and then opens them all; how many were made.
    pub async fn open(link: Connection, sale: &str, open: &Open) -> Result<u32> {
        let name = match Known::find(&link, sale).await? {
            None => opening(open.shards, open.stock),
            Some(known) => known.check_may_open(open).map(|()| known.name)?,
        };
        let (mut made, rules, link) = (0, open.rules(), &mut link.clone());
        let shards = shards_of(link, sale, open.shards).await?;
        let journal = ["state", OPENING].map(str::to_owned);
        for (keys, units) in shards.iter().zip(split(open.stock, open.shards)) {
            made += u32::from(make(link, keys, &name, units, &journal, &rules).await?);
        }
        for (shard, keys) in (0..).zip(&shards) {
            let arguments = [name.clone(), opened(shard, open.shards)];
            let told: i64 = Function::Opened.run(link, keys, &arguments).await?;
            ensure!(told == 1, "{} was dropped while it was opened", keys.voucher);
        }
        Ok(made)
    }

    /// The sale that the journals of its shards describe.
    pub async fn find(link: Connection, sale: &str) -> Result<Sale> {
        let Some(known) = Known::find(&link, sale).await? else {
            bail!("no sale of {sale} over shards was opened here: see seckill-shards open");
        };
        let shards = shards_of(&link, sale, known.shards).await?;
        let lost = if known.is_open { known.missing } else { Vec::new() };
        let (voucher, is_dropping, stock) = (sale.to_owned(), known.is_dropping, known.units);
        Ok(Sale { link, voucher, shards, name: known.name, stock, lost, is_dropping })
    }

    /// Puts unsold units of a lost shard on sale again, by the rules of the others.
    pub async fn reopen(&self, shard: u32, units: i64) -> Result<()> {
        let (keys, standing) = (self.shard(shard)?, self.look().await?);
        let lost = standing.shards.get(shard as usize).is_some_and(|shard| shard.is_lost);
        ensure!(lost, "shard {shard} has lost nothing: only a lost shard is opened again");
        let most = standing.lost_units();
        ensure!(units <= most, "at most {most} units can be unsold on shard {shard}, not {units}");
        let alive = || (0_u32..).zip(&standing.shards).filter(|(_, shard)| !shard.is_lost);
        // Whatever was on its way from the lost shard counts as its own from here on: a move of
        // nothing, with the next number, makes the others refuse it.
        let last = alive().filter_map(|(_, other)| other.came.get(&shard)).map(|(seq, _)| *seq);
        let seq = last.max().unwrap_or(0) + 1;
        let link = &mut self.link();
        let id = format!("{:016x}", fastrand::u64(..));
        for (to, _) in alive() {
            let words = [shard.to_string(), seq.to_string(), "0".to_owned(), id.clone()];
            let arguments: Vec<String> = [self.name.clone()].into_iter().chain(words).collect();
            let put: i64 = Function::Put.run(link, self.shard(to)?, &arguments).await?;
            ensure!(put == 0, "a move has just come to shard {to}: run the same command again");
        }
        // What was on its way to it counts as received.
        let mut journal = vec!["state".to_owned(), opened(shard, self.count())];
        journal.extend(["seq".to_owned(), seq.to_string()]);
        for (from, other) in alive() {
            if let Some(out) = other.out.as_ref().filter(|out| out.to == shard) {
                journal.extend([
                    format!("in:{from}"),
                    format!("{}:{}:{}", out.seq, out.units, out.id),
                ]);
            }
        }
        let other =
            alive().next().map(|(other, _)| self.shard(other)).context("no other shard")??;
        let ask = redis::cmd("SECKILL.INFO").arg(&other.voucher).to_owned();
        let rules = rules_of(&ask.query_async(link).await?);
        let made = make(link, keys, &self.name, units, &journal, &rules).await?;
        ensure!(made, "shard {shard} was opened by somebody else just now");
        Ok(())
    }
}

/// Makes a shard, unless it is there already as part of this sale.
async fn make(
    link: &mut Connection,
    keys: &Shard,
    name: &str,
    units: i64,
    journal: &[String],
    rules: &[String],
) -> Result<bool> {
    let mut arguments = vec![name.to_owned(), units.to_string(), journal.len().to_string()];
    arguments.extend(journal.iter().chain(rules).cloned());
    let reply = Function::Open.run(link, keys, &arguments).await;
    let reply: i64 = reply.with_context(|| format!("opening {}", keys.voucher))?;
    Ok(reply == 1)
}

/// The rules of a shard as arguments of SECKILL.CREATE; none of an unmanaged one.
fn rules_of(info: &SaleInfo) -> Vec<String> {
    if !info.managed {
        return Vec::new();
    }
    let words =
        [("LIMIT", info.limit), ("HOLD", info.hold), ("BEGIN", info.begin), ("END", info.end)];
    let given = words.into_iter().filter_map(|(word, value)| Some((word, value?)));
    given.flat_map(|(word, value)| [word.to_owned(), value.to_string()]).collect()
}

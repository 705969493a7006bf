//! Opening a sale over shards, and opening a lost shard again: never as it was.

use anyhow::{Context, Result, bail, ensure};
use seckill_tools::connection::Connection;
use seckill_tools::sale_info::SaleInfo;
use seckill_tools::sharded_sale::{Sale, Shard, shards_of};
use seckill_tools::sharding::{OPENING, opened, opened_again, opening, split};

use crate::functions::Function;
use crate::options::Open;

/// Whether an opening like this may be continued, or is done already.
async fn check_may_open(sale: &Sale, open: &Open) -> Result<()> {
    let (shards, units) = (sale.count(), sale.stock);
    sale.check_not_dropping()?;
    ensure!(
        (shards, units) == (open.shards, open.stock()),
        "the sale was opened with {shards} shards and {units} units, you asked for {} and {}",
        open.shards,
        open.stock()
    );
    if sale.is_open
        && let Some(lost) = sale.stand().await?.lost_shards().first()
    {
        bail!("{lost}");
    }
    Ok(())
}

/// Makes every shard that is not there yet, and then opens them all; how many were made.
pub async fn open(link: Connection, sale: &str, open: &Open) -> Result<u32> {
    let name = match Sale::find(link.clone(), sale).await? {
        None => opening(open.shards, open.stock()),
        Some(sale) => check_may_open(&sale, open).await.map(|()| sale.name)?,
    };
    let (mut made, rules, link) = (0, open.rules(), &mut link.clone());
    let shards = shards_of(link, sale, open.shards).await?;
    let journal = ["state", OPENING].map(str::to_owned);
    for (keys, units) in shards.iter().zip(split(open.stock(), open.shards)) {
        made += u32::from(make(link, keys, &name, units, &journal, &rules).await?);
    }
    for (shard, keys) in (0..).zip(&shards) {
        let arguments = [name.clone(), opened(shard, open.shards)];
        let answers: i64 = Function::Opened.run(link, keys, &arguments).await?;
        ensure!(answers == 1, "{} was dropped while it was opened", keys.voucher);
    }
    Ok(made)
}

/// Puts unsold units of a lost shard on sale again, by the rules of the others.
pub async fn reopen(sale: &Sale, shard: u32, units: i64) -> Result<()> {
    let (keys, standing) = (sale.shard(shard)?, sale.look().await?);
    let lost = standing.shards.get(shard as usize).filter(|shard| shard.is_lost());
    let lost = lost.with_context(|| {
        format!("shard {shard} has lost nothing: only a lost one is opened again")
    })?;
    ensure!(!lost.has_remains, "first run seckill-shards drop --shard {shard}, then the check");
    let most = standing.lost_units();
    ensure!(units <= most, "at most {most} units can be unsold on shard {shard}, not {units}");
    let alive = || (0_u32..).zip(&standing.shards).filter(|(_, shard)| !shard.is_lost());
    // Whatever was on its way from the lost shard counts as its own from here on: a move of
    // nothing, with the next number, makes the others refuse it.
    let last = alive().filter_map(|(_, other)| other.came.get(&shard)).map(|(seq, _)| *seq);
    let seq = last.max().unwrap_or(0) + 1;
    let link = &mut sale.link();
    let id = format!("{:016x}", fastrand::u64(..));
    for (to, _) in alive() {
        let arguments = [sale.name.clone(), opened_again(to, sale.count())];
        Function::Opened.run::<i64>(link, sale.shard(to)?, &arguments).await?;
        let words = [shard.to_string(), seq.to_string(), "0".to_owned(), id.clone()];
        let arguments: Vec<String> = [sale.name.clone()].into_iter().chain(words).collect();
        let put: i64 = Function::Put.run(link, sale.shard(to)?, &arguments).await?;
        ensure!(put == 0, "a move has just come to shard {to}: run the same command again");
    }
    // What was on its way to it counts as received.
    let mut journal = vec!["state".to_owned(), opened_again(shard, sale.count())];
    journal.extend(["seq".to_owned(), seq.to_string()]);
    for (from, other) in alive() {
        if let Some(out) = other.out.as_ref().filter(|out| out.to == shard) {
            journal.extend([format!("in:{from}"), format!("{}:{}:{}", out.seq, out.units, out.id)]);
        }
    }
    let other = alive().next().map(|(other, _)| sale.shard(other)).context("no other shard")??;
    let ask = redis::cmd("SECKILL.INFO").arg(&other.voucher).to_owned();
    let rules = rules_of(&ask.query_async(link).await?);
    let made = make(link, keys, &sale.name, units, &journal, &rules).await?;
    ensure!(made, "shard {shard} was opened by somebody else just now");
    Ok(())
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

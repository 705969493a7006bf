//! Dropping a sale over shards, or what is left of a shard that is lost.

use anyhow::{Context, Result, ensure};
use redis::RedisResult;
use seckill_tools::sale_info::SaleInfo;
use seckill_tools::sharded_sale::{NONE_SOUND, Sale, Shard, ShardStanding};

use crate::functions::Function;

/// The reply of the script that drops a shard while more orders are held than it releases at once.
const MORE_HELD: u32 = 2;

/// Units that are held, over all shards that are there.
async fn held(sale: &Sale) -> Result<i64> {
    let ask = |shard: &Shard| redis::cmd("SECKILL.INFO").arg(&shard.voucher).to_owned();
    let asked = sale.shards.iter().map(ask).collect();
    let answers: Vec<RedisResult<SaleInfo>> = sale.link().ask_all(asked).await?;
    let mut held = 0;
    for info in answers {
        match info {
            Ok(info) => held += info.held.unwrap_or(0),
            Err(error) if error.code() == Some("NOVOUCHER") => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(held)
}

/// Drops the shards and returns how many there were. Continues where an earlier run was
/// interrupted. Held orders are released with `force`; without it they are an error before
/// anything was dropped.
pub async fn drop_all(sale: &Sale, force: bool) -> Result<u32> {
    if !force {
        let held = held(sale).await?;
        ensure!(
            held == 0,
            "{held} units are held for buyers who have yet to pay: --force \
                            releases them"
        );
    }
    let (mut dropped, mut link) = (0, sale.link());
    let arguments = |only_tell: &str| {
        let mut arguments = vec![sale.name.clone(), only_tell.to_owned()];
        arguments.extend(force.then(|| "FORCE".to_owned()));
        arguments
    };
    // Nobody opens again, as new, a shard that is gone already: the first journal that is there
    // says so, and goes last.
    for shard in &sale.shards {
        if Function::Drop.run::<u32>(&mut link, shard, &arguments("1")).await? == 1 {
            break;
        }
    }
    for shard in sale.shards.iter().rev() {
        dropped += loop {
            match Function::Drop.run(&mut link, shard, &arguments("0")).await? {
                MORE_HELD => {}
                shards => break shards,
            }
        };
    }
    Ok(dropped)
}

/// Takes what is left of a lost shard off sale, with its journal: it has lost everything then.
pub async fn drop_remains(sale: &Sale, shard: u32) -> Result<()> {
    let (keys, standing) = (sale.shard(shard)?, sale.look().await?);
    let its = standing.shards.get(shard as usize).context("the shard")?;
    ensure!(its.is_lost(), "shard {shard} has lost nothing: without --shard the sale is dropped");
    ensure!(!standing.shards.iter().all(ShardStanding::is_lost), "{NONE_SOUND}");
    let arguments = std::slice::from_ref(&sale.name);
    while Function::Clear.run::<u32>(&mut sale.link(), keys, arguments).await? == MORE_HELD {}
    Ok(())
}

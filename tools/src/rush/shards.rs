//! What is sold: a voucher, or the shards that seckill-shards has spread it over.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use seckill_tools::connection::Connection;
use seckill_tools::sharded_sale::Sale;
use seckill_tools::sharding::shard_of;

use crate::options::Options;

/// How long a move may take before it counts as left behind.
const MOVES_WAIT: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The vouchers, in the order of the shards.
#[derive(Clone, Debug)]
pub struct Shards(pub Vec<String>);

impl Shards {
    pub async fn find(link: &Connection, options: &Options) -> Result<Shards> {
        if !options.shards {
            return Ok(Shards(vec![options.voucher.clone()]));
        }
        let sale = Sale::find(link.clone(), &options.voucher).await?;
        let sale = sale.context("no such sale over shards: seckill-shards opens one")?;
        sale.look().await?; // refuses one whose opening was interrupted
        Ok(Shards(sale.shards.into_iter().map(|shard| shard.voucher).collect()))
    }

    /// The number of the shard where a user tries.
    pub fn of_user(&self, user: &str) -> usize {
        match u32::try_from(self.0.len()) {
            Ok(0 | 1) | Err(_) => 0,
            Ok(shards) => shard_of(user.as_bytes(), shards) as usize,
        }
    }

    /// The voucher that a user tries for.
    pub fn voucher_of(&self, user: &str) -> &str {
        &self.0[self.of_user(user)]
    }
}

/// What was moved between shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moves {
    /// Units have been moved, at any time.
    pub any: bool,
    /// Units that have left one shard and have not arrived at another.
    pub on_the_way: i64,
}

impl Moves {
    /// Waits a while for moves between shards to end.
    pub async fn wait_for(link: &Connection, voucher: &str) -> Result<Moves> {
        let end = Instant::now() + MOVES_WAIT;
        loop {
            let sale = Sale::find(link.clone(), voucher).await?.context("the sale is gone")?;
            let standing = sale.look().await?;
            let any = standing.shards.iter().any(|shard| shard.seq > 0);
            let moves = Moves { any, on_the_way: standing.on_the_way() };
            if moves.on_the_way == 0 || Instant::now() > end {
                return Ok(moves);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

//! The shards that a sale is spread over; one where it isn't.

use std::time::{Duration, Instant};

use anyhow::Result;
use redis::RedisResult;
use seckill_tools::connection::Connection;
use seckill_tools::sharding::{journal_key, opened, opening, shard_of, shard_voucher, split};

use crate::options::Options;
use crate::plan::user_id;

/// How long a move may take before it counts as left behind.
const MOVES_WAIT: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(50);

#[derive(Debug, Clone)]
pub struct Spread {
    sale: String,
    /// None where the voucher is sold as it is.
    shards: Option<u32>,
    /// The units of each shard at the start.
    pub stocks: Vec<i64>,
    /// Units have been moved between shards.
    pub moved: bool,
}

impl Spread {
    pub fn of(options: &Options) -> Spread {
        let stocks = split(options.stock, options.shards.unwrap_or(1));
        Spread { sale: options.voucher.clone(), shards: options.shards, stocks, moved: false }
    }

    pub fn is_spread(&self) -> bool {
        self.shards.is_some()
    }

    /// What is on sale: the vouchers of the shards, or the one voucher.
    pub fn vouchers(&self) -> Vec<String> {
        match self.shards {
            None => vec![self.sale.clone()],
            Some(shards) => (0..shards).map(|shard| shard_voucher(&self.sale, shard)).collect(),
        }
    }

    /// The number of the shard where a user tries.
    pub fn shard_of(&self, user: &str) -> usize {
        self.shards.map_or(0, |shards| shard_of(user.as_bytes(), shards) as usize)
    }

    /// The units that a fresh sale sells to users who want so many each, in whatever order they
    /// come. None when units were moved: then it is between this and what one stock would sell.
    pub fn units_to_sell(&self, wanted: impl Iterator<Item = (u32, i64)>) -> Option<i64> {
        let mut demand = vec![0_i64; self.stocks.len()];
        for (user, units) in wanted {
            let shard = &mut demand[self.shard_of(&user_id(user))];
            *shard = shard.saturating_add(units);
        }
        let sold = demand.iter().zip(&self.stocks).map(|(wanted, stock)| *wanted.min(stock));
        (!self.moved).then(|| sold.fold(0, i64::saturating_add))
    }

    /// Begins the journals of the shards, for seckill-shards.
    pub async fn write_journals(&self, link: &mut Connection, stock: i64) -> Result<()> {
        let shards = self.shards.unwrap_or(0);
        let sale = opening(shards, stock);
        for shard in 0..shards {
            let mut journal = redis::cmd("HSET");
            journal.arg(journal_key(&self.sale, shard)).arg("sale").arg(&sale);
            journal.arg("state").arg(opened(shard, shards));
            journal.query_async::<i64>(link).await?;
        }
        Ok(())
    }

    pub async fn delete_journals(&self, link: &mut Connection) -> Result<()> {
        for shard in 0..self.shards.unwrap_or(0) {
            redis::cmd("DEL").arg(journal_key(&self.sale, shard)).query_async::<i64>(link).await?;
        }
        Ok(())
    }

    /// Waits a while for moves between shards to end; how many have not.
    pub async fn wait_for_moves(&mut self, link: &mut Connection) -> Result<i64> {
        let end = Instant::now() + MOVES_WAIT;
        loop {
            let on_the_way = self.read_journals(link).await?;
            if on_the_way == 0 || Instant::now() > end {
                return Ok(on_the_way);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Looks whether units were moved; how many moves are on their way.
    async fn read_journals(&mut self, link: &mut Connection) -> Result<i64> {
        let fields = |shard| {
            let mut ask = redis::cmd("HMGET");
            ask.arg(journal_key(&self.sale, shard)).arg("seq").arg("out");
            ask
        };
        let asked = (0..self.shards.unwrap_or(0)).map(fields).collect();
        let answers: Vec<RedisResult<(Option<u64>, Option<String>)>> = link.ask_all(asked).await?;
        let mut on_the_way = 0;
        for journal in answers {
            let (seq, out) = journal?;
            self.moved |= seq.is_some_and(|seq| seq > 0);
            on_the_way += i64::from(out.is_some());
        }
        Ok(on_the_way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn spread(line: &str) -> Spread {
        Spread::of(&Options::parse_from(line.split_whitespace()))
    }

    #[test]
    fn a_sale_is_one_voucher_unless_it_is_spread() {
        let one = spread("rush --voucher 7 --stock 10");
        assert_eq!((one.vouchers(), one.stocks.as_slice()), (vec!["7".to_owned()], &[10_i64][..]));
        assert_eq!(one.shard_of("alice"), 0);
        let four = spread("rush --voucher 7 --stock 10 --shards 4");
        assert_eq!(four.vouchers(), ["7#0", "7#1", "7#2", "7#3"]);
        assert_eq!(four.stocks, [3, 3, 2, 2]);
        assert!(four.is_spread() && !one.is_spread());
    }

    #[test]
    fn what_is_sold_is_what_the_shards_have_and_their_users_want() {
        let users = || (0..1_000).map(|user| (user, 1));
        assert_eq!(spread("rush --stock 10").units_to_sell(users()), Some(10));
        let mut four = spread("rush --stock 10 --shards 4");
        assert_eq!(four.units_to_sell(users()), Some(10));
        assert_eq!(four.units_to_sell((0..1).map(|user| (user, 1))), Some(1));
        // All by one user: one shard's units.
        assert!(four.units_to_sell([(5, 100)].into_iter()).is_some_and(|units| units <= 3));
        four.moved = true;
        assert_eq!(four.units_to_sell(users()), None);
    }
}

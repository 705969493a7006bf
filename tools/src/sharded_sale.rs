//! The shards of a sale, and how they are asked how they stand.

mod known;
mod loss;
mod shard;
mod standing;

use std::collections::{BTreeSet, HashMap};

use anyhow::{Context, Result, bail, ensure};
use futures_util::future::try_join_all;
use redis::{Cmd, RedisResult, from_redis_value};
use serde::Serialize;

use crate::connection::Connection;
use crate::sale_info::SaleInfo;
use crate::sharding::{OPENING, journal_key, says_again};
use known::Known;
use loss::Seen;
pub use shard::{Shard, shards_of};
pub use standing::{NONE_SOUND, ShardStanding, Standing};

pub struct Sale {
    link: Connection,
    voucher: String,
    pub shards: Vec<Shard>,
    /// What all journals of this opening call it, and those of no other.
    pub name: String,
    /// Units of the whole sale, as it was opened.
    pub stock: i64,
    /// False while the journals say that not all shards are made.
    pub is_open: bool,
    /// A drop has begun, so nothing but a drop makes sense.
    pub is_dropping: bool,
}

/// A move that has left one shard and is not known to have arrived at the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Out {
    pub seq: u64,
    pub to: u32,
    pub units: i64,
    pub id: String,
    /// As the journal has it.
    #[serde(skip)]
    pub text: String,
}

impl Out {
    pub fn parse(text: String) -> Result<Out> {
        let parts: Vec<&str> = text.splitn(4, ':').collect();
        let [seq, to, units, id] = parts[..] else { bail!("a journal holds the move \"{text}\"") };
        let of = || format!("a journal holds the move \"{text}\"");
        let seq = seq.parse().with_context(of)?;
        let (to, units) = (to.parse().with_context(of)?, units.parse().with_context(of)?);
        let id = id.to_owned();
        Ok(Out { seq, to, units, id, text })
    }
}

impl Sale {
    /// The sale that the journals of its shards describe; None if no journal is there.
    pub async fn find(link: Connection, sale: &str) -> Result<Option<Self>> {
        let Some(known) = Known::find(&link, sale).await? else { return Ok(None) };
        let shards = shards_of(&link, sale, known.shards).await?;
        let Known { name, units: stock, is_dropping, is_open, .. } = known;
        let voucher = sale.to_owned();
        Ok(Some(Self { link, voucher, shards, name, stock, is_open, is_dropping }))
    }

    pub fn count(&self) -> u32 {
        u32::try_from(self.shards.len()).unwrap_or(u32::MAX)
    }

    pub fn check_not_dropping(&self) -> Result<()> {
        ensure!(!self.is_dropping, "the sale is being dropped: run drop again");
        Ok(())
    }

    pub fn shard(&self, shard: u32) -> Result<&Shard> {
        let count = self.shards.len();
        let shard = self.shards.get(shard as usize);
        shard.with_context(|| format!("there are {count} shards, from 0"))
    }

    pub fn link(&self) -> Connection {
        self.link.clone()
    }

    /// The same of a sale that is open: an interrupted opening is refused.
    pub async fn look(&self) -> Result<Standing> {
        let standing = self.stand().await?;
        let has_lost = standing.shards.iter().any(ShardStanding::is_lost);
        ensure!(
            self.is_open && (has_lost || standing.shards.iter().all(|it| !it.is_opening)),
            "the sale is not open: its opening was interrupted, run the same open again"
        );
        Ok(standing)
    }

    /// Asks all shards how they stand, at about the same moment.
    pub async fn stand(&self) -> Result<Standing> {
        let asked = self.shards.iter().map(|shard| self.look_at(shard));
        let mut standing = Standing { stock: self.stock, shards: try_join_all(asked).await? };
        // A shard that was read later may know more than one that was read before. So those that
        // seem to have lost a move are asked again: their number only grows.
        let accused: BTreeSet<u32> = standing.lost().into_iter().map(|lost| lost.from).collect();
        let asked = accused.iter().map(|from| {
            let mut ask = redis::cmd("HGET");
            ask.arg(journal_key(&self.voucher, *from)).arg("seq");
            ask
        });
        let answers: Vec<RedisResult<Option<u64>>> = self.link().ask_all(asked.collect()).await?;
        for (from, seq) in accused.into_iter().zip(answers) {
            if let (Some(shard), Some(seq)) = (standing.shards.get_mut(from as usize), seq?) {
                shard.seq = seq;
            }
        }
        Ok(standing)
    }

    /// All replies are of one moment, so that no move is seen by halves. A full server may answer
    /// one after the other: a move in between changes the journal, and the keys are looked for
    /// after the figures that need them.
    async fn look_at(&self, shard: &Shard) -> Result<ShardStanding> {
        let of = || format!("shard {}", shard.voucher);
        let ask = |name: &str, key: &str| redis::cmd(name).arg(key).clone();
        let mut known = ask("EXISTS", &shard.stock);
        let known: i64 = known.arg(&shard.rules).query_async(&mut self.link()).await?;
        let mut all = vec![ask("HGETALL", &shard.journal)];
        all.extend((known > 0).then(|| ask("SECKILL.INFO", &shard.voucher)));
        all.extend([&shard.stock, &shard.rules, &shard.book].map(|key| ask("EXISTS", key)));
        all.push(ask("HGETALL", &shard.journal));
        let all: Vec<&Cmd> = all.iter().collect();
        let replies = loop {
            let replies = self.link().at_once(&all).await.with_context(of)?;
            if replies.first() == replies.last() {
                break replies;
            }
        };
        let mut replies = replies.into_iter();
        let mut next = || replies.next().context("a reply is missing");
        let journal = from_redis_value(next()?)?;
        let info = (known > 0).then(&mut next).transpose()?.map(from_redis_value).transpose()?;
        let [has_stock, has_rules, has_book] = [next()?, next()?, next()?].map(from_redis_value);
        let seen = Seen {
            journal: &journal,
            has_stock: has_stock?,
            has_rules: has_rules?,
            has_book: has_book?,
            info: info.as_ref(),
        };
        self.standing_of(shard, &seen).with_context(of)
    }

    /// The moves that the journals of the shards say are on their way, with the shard they left.
    pub async fn on_the_way(&self) -> Result<Vec<(u32, Out)>> {
        let asked = self.shards.iter().map(|shard| {
            let mut ask = redis::cmd("HGET");
            ask.arg(&shard.journal).arg("out");
            ask
        });
        let answers: Vec<RedisResult<Option<String>>> =
            self.link().ask_all(asked.collect()).await?;
        let mut outs = Vec::new();
        for (from, out) in (0..).zip(answers) {
            if let Some(text) = out? {
                outs.push((from, Out::parse(text)?));
            }
        }
        Ok(outs)
    }

    fn standing_of(&self, shard: &Shard, seen: &Seen) -> Result<ShardStanding> {
        let number = |of: fn(&SaleInfo) -> Option<i64>| seen.info.and_then(of).unwrap_or(0);
        let mut standing = ShardStanding {
            managed: seen.info.is_some_and(|info| info.managed),
            missing: seen.missing(&self.name, shard)?,
            left: number(|info| info.left),
            held: number(|info| info.held),
            sold: number(|info| info.sold),
            buyers: number(|info| info.buyers),
            ..ShardStanding::default()
        };
        if standing.is_lost() {
            // Its moves count as ended: what it had, or was to get, is lost with it.
            standing.has_remains = seen.has_anything(&self.name);
            return Ok(standing);
        }
        let journal = seen.journal;
        let mut came = HashMap::new();
        for (field, text) in journal {
            let Some(from) = field.strip_prefix("in:") else { continue };
            let parts: Vec<&str> = text.splitn(3, ':').collect();
            ensure!(parts.len() == 3, "the journal holds {field} {text}");
            came.insert(from.parse()?, (parts[0].parse()?, parts[1].parse()?));
        }
        Ok(ShardStanding {
            is_opening: journal.get("state").is_some_and(|state| state == OPENING),
            is_after_loss: journal.get("state").is_some_and(|state| says_again(state)),
            units: seen.units()?,
            seq: journal.get("seq").map_or(Ok(0), |seq| seq.parse())?,
            out: journal.get("out").cloned().map(Out::parse).transpose()?,
            came,
            ..standing
        })
    }
}

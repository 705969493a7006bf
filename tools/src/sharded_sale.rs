//! The shards of a sale, and how they stand.

mod known;
mod loss;
mod shard;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use anyhow::{Context, Result, bail, ensure};
use futures_util::future::try_join_all;
use redis::{RedisResult, Value, from_redis_value};
use serde::Serialize;

use crate::connection::Connection;
use crate::sale_info::SaleInfo;
use crate::sharding::{OPENING, journal_key};
use known::Known;
use loss::Seen;
pub use shard::{Shard, shards_of};

/// Then a setting may be the reason, and nothing may be dropped.
pub const NONE_SOUND: &str = "no shard is sound: its keys were dropped or have expired, or have \
                              other names since seckill.hash-tags was changed";

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

/// The state of a shard.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ShardStanding {
    pub managed: bool,
    /// The keys that it has lost, see [`loss`]; empty of a sound one.
    pub missing: Vec<String>,
    /// It has lost a key, beside shards that are open, and has others.
    pub has_remains: bool,
    /// Its journal says that not all shards are made yet.
    #[serde(skip)]
    pub is_opening: bool,
    pub left: i64,
    pub held: i64,
    pub sold: i64,
    pub buyers: i64,
    /// The units that were given to it, by the opening and by moves, less what it gave away.
    pub units: i64,
    /// The number of the last move that left.
    pub seq: u64,
    pub out: Option<Out>,
    /// The last move that came from each other shard: its number and its units.
    pub came: HashMap<u32, (u64, i64)>,
}

#[derive(Debug, Serialize)]
pub struct Standing {
    /// Units of the whole sale, as it was opened.
    pub stock: i64,
    pub shards: Vec<ShardStanding>,
}

/// A move that arrived at a shard, and that its source shard does not know.
struct Lost {
    from: u32,
    to: usize,
    seq: u64,
    units: i64,
    /// The last move that the shard knows of.
    known: u64,
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

    /// All replies are of one moment, so that no move is seen by halves.
    async fn look_at(&self, shard: &Shard) -> Result<ShardStanding> {
        let of = || format!("shard {}", shard.voucher);
        let mut known = redis::cmd("EXISTS");
        let known: i64 =
            known.arg(&shard.stock).arg(&shard.rules).query_async(&mut self.link()).await?;
        let mut all = redis::pipe();
        all.atomic();
        for key in [&shard.stock, &shard.rules, &shard.book] {
            all.cmd("EXISTS").arg(key);
        }
        all.cmd("HGETALL").arg(&shard.journal);
        if known > 0 {
            all.cmd("SECKILL.INFO").arg(&shard.voucher);
        }
        let replies: Vec<Value> = all.query_async(&mut self.link()).await.with_context(of)?;
        let mut replies = replies.into_iter();
        let mut next = || replies.next().context("a reply is missing");
        let [has_stock, has_rules, has_book] = [next()?, next()?, next()?].map(from_redis_value);
        let journal = from_redis_value(next()?)?;
        let info = next().ok().map(from_redis_value).transpose()?;
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
            units: seen.units()?,
            seq: journal.get("seq").map_or(Ok(0), |seq| seq.parse())?,
            out: journal.get("out").cloned().map(Out::parse).transpose()?,
            came,
            ..standing
        })
    }
}

impl ShardStanding {
    pub fn is_lost(&self) -> bool {
        !self.missing.is_empty()
    }

    /// What it has lost: everything, or some keys.
    pub fn loss(&self) -> String {
        if self.has_remains { self.missing.join(" and ") } else { "everything".to_owned() }
    }
}

impl Standing {
    pub fn left(&self) -> Vec<i64> {
        self.shards.iter().map(|shard| shard.left).collect()
    }

    /// Units that have left a shard and have not arrived at another.
    ///
    /// While moves are running, some of these may already have arrived.
    pub fn on_the_way(&self) -> i64 {
        let outs = self.shards.iter().enumerate().filter_map(|(from, shard)| {
            let out = shard.out.as_ref()?;
            let from = u32::try_from(from).ok()?;
            let came = self.shards.get(out.to as usize).and_then(|to| to.came.get(&from));
            let is_there = came.is_some_and(|(seq, units)| *seq == out.seq && *units > 0);
            (!is_there).then_some(out.units)
        });
        outs.sum()
    }

    pub fn is_sold_out(&self) -> bool {
        let idle = self.shards.iter().all(|shard| shard.left <= 0 && shard.held == 0);
        idle && self.on_the_way() == 0
    }

    /// The units that lost shards had: those of the sale that no other shard has or has sold. What
    /// was on its way to a lost shard is one of them.
    pub fn lost_units(&self) -> i64 {
        let alive = || self.shards.iter().filter(|shard| !shard.is_lost());
        let is_lost = |to: u32| self.shards.get(to as usize).is_none_or(ShardStanding::is_lost);
        let to_lost = alive().filter_map(|shard| shard.out.as_ref()).filter(|out| is_lost(out.to));
        let on_the_way = self.on_the_way() - to_lost.map(|out| out.units).sum::<i64>();
        (self.stock - alive().map(|shard| shard.units).sum::<i64>() - on_the_way).max(0)
    }

    /// One line for each lost shard.
    pub fn lost_shards(&self) -> Vec<String> {
        let count = self.shards.len();
        let lost = (0..).zip(&self.shards).filter(|(_, shard)| shard.is_lost());
        let line = |(number, shard): (u32, &ShardStanding)| {
            let (loss, units) = (shard.loss(), self.lost_units());
            let first = match shard.has_remains {
                true => format!("seckill-shards drop --shard {number}, "),
                false => String::new(),
            };
            format!(
                "shard {number} of {count} lost {loss}, and is never put on sale again as it was. \
                 At most {units} units are unsold, only the rows tell how many: {first}\
                 seckill-worker check, then seckill-shards reopen --shard {number} --units UNITS"
            )
        };
        let mut lines: Vec<String> = lost.map(line).collect();
        if lines.len() == count {
            lines.push(NONE_SOUND.to_owned());
        }
        lines
    }

    /// Moves that came to a shard and that their own shard knows nothing of: it was promoted
    /// without them, or its journal was deleted. Units of those are there twice.
    fn lost(&self) -> Vec<Lost> {
        let mut all = Vec::new();
        for (to, shard) in self.shards.iter().enumerate() {
            for (&from, &(seq, units)) in &shard.came {
                let Some(giver) = self.shards.get(from as usize) else { continue };
                let known = giver.seq;
                if known < seq && units > 0 && !giver.is_lost() {
                    all.push(Lost { from, to, seq, units, known });
                }
            }
        }
        all
    }

    pub fn differences(&self) -> Vec<String> {
        let answers = self.lost().into_iter().map(|Lost { from, to, seq, units, known }| {
            format!(
                "shard {to} received {units} units by move {seq} of shard {from}, whose latest \
                 move is {known}: shard {from} has lost that move, and may sell the units again"
            )
        });
        let mut differences: Vec<String> = answers.collect();
        differences.sort();
        differences.splice(0..0, self.lost_shards());
        differences
    }

    pub fn json(&self) -> serde_json::Value {
        let mut json = serde_json::json!(self);
        json["lost_units"] = self.lost_units().into();
        json["left"] = self.left().iter().sum::<i64>().into();
        json["on_the_way"] = self.on_the_way().into();
        json["differences"] = self.differences().into();
        json
    }

    pub fn text(&self) -> String {
        let mut text =
            String::from(" shard       left       held       sold     buyers  moves out\n");
        let mut row = |name: &str, of: &ShardStanding| {
            // Writing to a String can't fail.
            let _ = writeln!(
                text,
                "{name:>6} {:>10} {:>10} {:>10} {:>10} {:>10}",
                of.left, of.held, of.sold, of.buyers, of.seq
            );
        };
        let mut sum = ShardStanding::default();
        for (number, shard) in self.shards.iter().enumerate() {
            row(&number.to_string(), shard);
            sum.left += shard.left;
            sum.held += shard.held;
            sum.sold += shard.sold;
            sum.buyers += shard.buyers;
            sum.seq += shard.seq;
        }
        row("all", &sum);
        let on_the_way = self.on_the_way();
        let _ =
            writeln!(text, "{} units were put on sale, {on_the_way} are on their way", self.stock);
        for difference in self.differences() {
            let _ = writeln!(text, "WRONG: {difference}");
        }
        text
    }
}

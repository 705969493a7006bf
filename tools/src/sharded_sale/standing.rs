//! How the shards of a sale stand, and what is wrong with that. Pure.

use std::collections::HashMap;
use std::fmt::Write;

use serde::Serialize;

use super::Out;

/// Then a setting may be the reason, and nothing may be dropped.
pub const NONE_SOUND: &str = "no shard is sound: its keys were dropped or have expired, or have \
                              other names since seckill.hash-tags was changed";

/// The state of a shard.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ShardStanding {
    pub managed: bool,
    /// The keys that it has lost, as `loss` finds them; empty of a sound one.
    pub missing: Vec<String>,
    /// It has lost a key, beside shards that are open, and has others.
    pub has_remains: bool,
    /// Its journal says that a lost shard was opened again.
    #[serde(skip)]
    pub is_after_loss: bool,
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
pub(super) struct Lost {
    pub from: u32,
    to: usize,
    seq: u64,
    units: i64,
    /// The last move that the shard knows of.
    known: u64,
}

impl ShardStanding {
    pub fn is_lost(&self) -> bool {
        !self.missing.is_empty()
    }

    /// What it has sold or holds. Units that RESTOCK or NORESTOCK took off the sale are none.
    fn taken(&self) -> i64 {
        if self.managed { self.held + self.sold } else { self.units - self.left }
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

    fn alive(&self) -> impl Iterator<Item = &ShardStanding> {
        self.shards.iter().filter(|shard| !shard.is_lost())
    }

    /// The units that no sound shard was given: at most these are unsold on lost shards. Among
    /// them are those on their way to a lost shard, and what lost shards had sold that are open
    /// again.
    pub fn lost_units(&self) -> i64 {
        (self.stock - self.alive().map(|shard| shard.units).sum::<i64>() - self.on_sound_ways())
            .max(0)
    }

    /// The same with what sound shards have sold, if a lost shard was opened again: then what the
    /// database has of all shards is to be subtracted.
    pub fn gone_after_loss(&self) -> Option<i64> {
        let taken = self.alive().map(ShardStanding::taken).sum::<i64>();
        let is_after_loss = self.alive().any(|shard| shard.is_after_loss);
        is_after_loss.then(|| self.lost_units() + taken)
    }

    /// The units on their way between sound shards.
    fn on_sound_ways(&self) -> i64 {
        let is_lost = |to: u32| self.shards.get(to as usize).is_none_or(ShardStanding::is_lost);
        let outs = self.alive().filter_map(|shard| shard.out.as_ref());
        let to_lost = outs.filter(|out| is_lost(out.to));
        self.on_the_way() - to_lost.map(|out| out.units).sum::<i64>()
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
    pub(super) fn lost(&self) -> Vec<Lost> {
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

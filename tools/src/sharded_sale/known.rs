//! What the journals of a sale's shards say of it.
//!
//! A journal says `opening` until all shards are made, and then that it is open. So a shard that is
//! missing beside one that is open is lost.

use std::ops::Range;

use anyhow::{Context, Result};
use redis::RedisResult;

use crate::connection::Connection;
use crate::sharding::{OPENING, SHARDS_MAX, journal_key, parse_opening};

/// Journals that are asked for at once where the first shard's is not there.
const JOURNALS_A_STEP: u32 = 256;

/// What the journals say of a sale.
pub struct Known {
    /// What all journals of this opening call it.
    pub name: String,
    pub shards: u32,
    /// Units of the whole sale, as it was opened.
    pub units: i64,
    pub is_dropping: bool,
    /// False while the journals say that not all shards are made.
    pub is_open: bool,
}

/// The fields `sale`, `state` and `dropping`.
type Journal = (Option<String>, Option<String>, Option<String>);

async fn journals(link: &Connection, sale: &str, shards: Range<u32>) -> Result<Vec<Journal>> {
    let ask = |shard| {
        let mut ask = redis::cmd("HMGET");
        ask.arg(journal_key(sale, shard)).arg(&["sale", "state", "dropping"]);
        ask
    };
    let answers: Vec<RedisResult<Journal>> =
        link.clone().ask_all(shards.map(ask).collect()).await?;
    Ok(answers.into_iter().collect::<RedisResult<_>>()?)
}

impl Known {
    /// The sale as the first journal that is there describes it.
    pub async fn find(link: &Connection, sale: &str) -> Result<Option<Self>> {
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
        Ok(Some(Self {
            is_dropping: all.iter().filter(ours).any(|(_, _, dropping)| dropping.is_some()),
            is_open: all.iter().filter(ours).any(|(_, state, _)| state.as_deref() != Some(OPENING)),
            name,
            shards,
            units,
        }))
    }
}

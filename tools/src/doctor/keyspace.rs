//! All data of a server, cell by cell, and whether two servers have the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::Result;
use domain::integer;
use itertools::Itertools;
use seckill_tools::sanitize::sanitize_bytes;

use crate::reply::{Reply, Words};
use crate::server::Client;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    Text,
    Hash,
    Set,
    /// A list, a sorted set or a stream.
    Other,
}

/// A string, a field, a member, an item, or an entry.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cell {
    pub key: Vec<u8>,
    pub kind: Kind,
    /// The field or member; of a list or a stream, the number of the item.
    pub item: Vec<u8>,
}

#[derive(Clone, Default, Debug)]
pub struct Keyspace {
    pub cells: BTreeMap<Cell, Vec<u8>>,
    /// Milliseconds to live, of keys that expire.
    pub ttl: BTreeMap<Vec<u8>, i64>,
}

/// Each key with its type, its time to live, and its cells: item and value in turn.
const DUMP: &str = "local out = {} for _, k in ipairs(redis.call('KEYS', '*')) do
  local t, v = redis.call('TYPE', k).ok, {}
  local function add(item, value) v[#v + 1] = item v[#v + 1] = value end
  if t == 'string' then add('', redis.call('GET', k))
  elseif t == 'hash' then v = redis.call('HGETALL', k)
  elseif t == 'zset' then v = redis.call('ZRANGE', k, 0, -1, 'WITHSCORES')
  elseif t == 'set' then for _, m in ipairs(redis.call('SMEMBERS', k)) do add(m, '') end
  elseif t == 'list' then
    for i, m in ipairs(redis.call('LRANGE', k, 0, -1)) do add(string.format('%06d', i), m) end
  elseif t == 'stream' then
    for i, entry in ipairs(redis.call('XRANGE', k, '-', '+')) do
      local words, pairs = entry[2], {}
      for at = 1, #words, 2 do pairs[#pairs + 1] = words[at] .. '=' .. words[at + 1] end
      table.sort(pairs)
      add(string.format('%06d', i), table.concat(pairs, ' ')) end
  end
  out[#out + 1] = {k, t, redis.call('PTTL', k), v} end return out";

/// How far two times to live may differ that are the same one, read twice.
const TTL_TOLERANCE_MS: u64 = 3_000;

impl Keyspace {
    pub fn read(client: &mut Client) -> Result<Self> {
        let mut all = Self::default();
        for row in client.must(&["EVAL", DUMP, "0"])?.items() {
            let [key, kind, ttl, values] = <[_; 4]>::try_from(row.items()).unwrap_or_default();
            let (key, ttl) = (key.bytes(), integer::parse(&ttl.bytes()));
            if let Some(ttl @ 0..) = ttl {
                all.ttl.insert(key.clone(), ttl);
            }
            let kind = match kind.text().as_str() {
                "string" => Kind::Text,
                "hash" => Kind::Hash,
                "set" => Kind::Set,
                _ => Kind::Other,
            };
            let cell = |(item, value)| (Cell { key: key.clone(), kind, item }, value);
            all.cells.extend(values.items().into_iter().map(Reply::bytes).tuples().map(cell));
        }
        Ok(all)
    }

    pub fn number(&self, cell: &Cell) -> Option<i64> {
        integer::parse(self.cells.get(cell)?)
    }

    pub fn has_key(&self, key: &[u8]) -> bool {
        self.cells.keys().any(|cell| cell.key == key)
    }

    /// The value of a string.
    pub fn text(&self, key: &[u8]) -> Option<&Vec<u8>> {
        self.cells.get(&Cell { key: key.to_vec(), kind: Kind::Text, item: Vec::new() })
    }

    /// The cells that differ.
    pub fn changes(&self, after: &Self) -> Vec<Cell> {
        let cells: BTreeSet<_> = self.cells.keys().chain(after.cells.keys()).collect();
        let differs = |cell: &&Cell| self.cells.get(*cell) != after.cells.get(*cell);
        cells.into_iter().filter(differs).cloned().collect()
    }

    /// Where two servers differ, or one before and after: what the first one has, and the second.
    pub fn difference(&self, other: &Self) -> Option<String> {
        if let Some(cell) = self.changes(other).first() {
            let shown = |all: &Self| match all.cells.get(cell) {
                None => "nothing".to_owned(),
                Some(_) if cell.kind == Kind::Set => "it".to_owned(),
                Some(text) => shortened(text),
            };
            return Some(format!("{cell}: {} and {}", shown(self), shown(other)));
        }
        let mut keys = self.ttl.keys().chain(other.ttl.keys());
        let both = |key: &Vec<u8>| [self, other].map(|all| all.ttl.get(key).copied());
        let is_apart = |key: &&Vec<u8>| match both(key) {
            [Some(one), Some(two)] => one.abs_diff(two) > TTL_TOLERANCE_MS,
            _ => true,
        };
        let shown = |ms: Option<i64>| ms.map_or("no end".into(), |ms| format!("{ms} ms to live"));
        let key = keys.find(is_apart)?;
        let [one, two] = both(key).map(shown);
        Some(format!("{}: {one} and {two}", sanitize_bytes(key)))
    }
}

fn shortened(bytes: &[u8]) -> String {
    let text = sanitize_bytes(bytes);
    match text.char_indices().nth(60) {
        Some(_) => text.chars().take(57).chain("...".chars()).collect(),
        None => text,
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", sanitize_bytes(&self.key))?;
        match self.kind {
            Kind::Text => Ok(()),
            Kind::Hash => write!(f, ", field {}", shortened(&self.item)),
            Kind::Set => write!(f, ", member {}", shortened(&self.item)),
            Kind::Other => write!(f, ", an item"),
        }
    }
}

/// The command that creates a string or a member of a set.
pub fn planted(cell: &Cell, value: &[u8]) -> Words {
    let (key, item) = (cell.key.as_slice(), cell.item.as_slice());
    let words: &[&[u8]] = match cell.kind {
        Kind::Text => &[b"SET", key, value],
        _ => &[b"SADD", key, item],
    };
    words.iter().map(|word| word.to_vec()).collect()
}

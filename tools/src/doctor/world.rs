//! All data of a server, cell by cell: what is planted, what a run changed, and whether two servers
//! have the same data.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use domain::integer;
use seckill_tools::sanitize::sanitize_bytes;

use crate::reply::Reply;
use crate::server::Client;
use crate::wire::Words;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    Text,
    Hash,
    Set,
    Sorted,
    List,
    Stream,
}

/// A string, a field, a member, an item, or an entry.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cell {
    pub key: Vec<u8>,
    pub kind: Kind,
    /// The field or member. For a list, the item itself; for a stream, the entry's number.
    pub item: Vec<u8>,
}

pub type Cells = BTreeMap<Cell, Vec<u8>>;

#[derive(Clone, Default, Debug)]
pub struct World {
    pub cells: Cells,
    /// Milliseconds to live, of keys that expire.
    pub ttl: BTreeMap<Vec<u8>, i64>,
}

/// A cell that was changed.
#[derive(Clone, Debug)]
pub struct Change {
    pub cell: Cell,
    pub before: Option<Vec<u8>>,
    pub after: Option<Vec<u8>>,
}

const DUMP: &str = "local out = {} for _, k in ipairs(redis.call('KEYS', '*')) do
  local t, v = redis.call('TYPE', k).ok, {}
  if t == 'string' then v = {redis.call('GET', k)}
  elseif t == 'hash' then v = redis.call('HGETALL', k)
  elseif t == 'set' then v = redis.call('SMEMBERS', k)
  elseif t == 'list' then v = redis.call('LRANGE', k, 0, -1)
  elseif t == 'zset' then v = redis.call('ZRANGE', k, 0, -1, 'WITHSCORES')
  elseif t == 'stream' then
    for i, e in ipairs(redis.call('XRANGE', k, '-', '+')) do v[i] = e[2] end
  end
  out[#out + 1] = {k, t, redis.call('PTTL', k), v} end return out";

/// Compares the values of cells, but only the keys of times to live, which decrease meanwhile.
impl PartialEq for World {
    fn eq(&self, other: &Self) -> bool {
        self.cells == other.cells && self.ttl.keys().eq(other.ttl.keys())
    }
}

/// Whether two times to live may be the same one, read twice.
pub fn is_near(one: Option<&i64>, two: Option<&i64>) -> bool {
    match (one, two) {
        (Some(one), Some(two)) => one.abs_diff(*two) < 5_000,
        (one, two) => one == two,
    }
}

impl World {
    pub fn read(client: &mut Client) -> Result<Self> {
        let mut world = Self::default();
        for row in client.must(&["EVAL", DUMP, "0"])?.items() {
            let [key, kind, ttl, values] = <[_; 4]>::try_from(row.items()).unwrap_or_default();
            let (key, ttl) = (key.bytes(), integer::parse(&ttl.bytes()));
            if let Some(ttl @ 0..) = ttl {
                world.ttl.insert(key.clone(), ttl);
            }
            let cell = |kind, item: Vec<u8>| Cell { key: key.clone(), kind, item };
            let words =
                |reply: Reply| -> Words { reply.items().into_iter().map(Reply::bytes).collect() };
            let cells = &mut world.cells;
            match kind.text().as_str() {
                "string" => {
                    let text = words(values).concat();
                    cells.insert(cell(Kind::Text, Vec::new()), text);
                }
                kind @ ("hash" | "zset") => {
                    let kind = if kind == "hash" { Kind::Hash } else { Kind::Sorted };
                    for pair in words(values).chunks(2) {
                        cells.insert(cell(kind, pair[0].clone()), pair[1].clone());
                    }
                }
                "set" => {
                    let members = words(values).into_iter();
                    cells.extend(members.map(|item| (cell(Kind::Set, item), Vec::new())));
                }
                "stream" => {
                    for (number, entry) in values.items().into_iter().enumerate() {
                        let words = words(entry);
                        let mut pairs: Words = words.chunks(2).map(|p| p.join(&b"="[..])).collect();
                        pairs.sort();
                        let entry = cell(Kind::Stream, format!("{number:06}").into());
                        cells.insert(entry, pairs.join(&b" "[..]));
                    }
                }
                _ => {
                    for item in words(values) {
                        cells.entry(cell(Kind::List, item)).or_default().push(b'+');
                    }
                }
            }
        }
        Ok(world)
    }

    pub fn number(&self, cell: &Cell) -> Option<i64> {
        integer::parse(self.cells.get(cell)?)
    }

    pub fn has_key(&self, key: &[u8]) -> bool {
        self.cells.keys().any(|cell| cell.key == key)
    }

    pub fn changes(&self, after: &Self) -> Vec<Change> {
        let cells: BTreeSet<_> = self.cells.keys().chain(after.cells.keys()).collect();
        let change = |cell: &Cell| {
            let (before, after) = (self.cells.get(cell).cloned(), after.cells.get(cell).cloned());
            (before != after).then(|| Change { cell: cell.clone(), before, after })
        };
        cells.into_iter().filter_map(change).collect()
    }

    /// Describes where two servers differ: what the first one has, and what the second one.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut all = Vec::new();
        for Change { cell, before, after } in self.changes(other) {
            let shown = |text: &Option<Vec<u8>>| match text {
                None => "nothing".to_owned(),
                Some(_) if matches!(cell.kind, Kind::Set | Kind::List) => "it".to_owned(),
                Some(text) => shortened(text),
            };
            let (before, after) = (shown(&before), shown(&after));
            all.push(format!("{cell}: your script leaves {before}, the module {after}"));
        }
        let keys: BTreeSet<_> = self.ttl.keys().chain(other.ttl.keys()).collect();
        for key in keys {
            let (one, two) = (self.ttl.get(key), other.ttl.get(key));
            if !is_near(one, two) && self.has_key(key) && other.has_key(key) {
                let shown = |ttl: Option<&i64>| match ttl {
                    Some(ms) => format!("{} s", (ms + 500) / 1000),
                    None => "forever".to_owned(),
                };
                let (key, one, two) = (sanitize_bytes(key), shown(one), shown(two));
                all.push(format!("{key}: your script lets it live {one}, the module {two}"));
            }
        }
        all
    }
}

pub fn shortened(bytes: &[u8]) -> String {
    let text = sanitize_bytes(bytes);
    match text.char_indices().nth(60) {
        Some(_) => text.chars().take(57).chain("...".chars()).collect(),
        None => text,
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", sanitize_bytes(&self.key))?;
        match self.kind {
            Kind::Text => Ok(()),
            Kind::Hash => write!(f, ", field {}", shortened(&self.item)),
            Kind::Stream => write!(f, ", an entry"),
            _ => write!(f, ", member {}", shortened(&self.item)),
        }
    }
}

/// The commands that create a world with exactly these cells.
pub fn plant(cells: &Cells) -> Vec<Words> {
    let mut commands: Vec<Words> = vec![vec![b"FLUSHALL".to_vec()]];
    commands.extend(cells.iter().map(|(cell, value)| planted(cell, value)));
    commands
}

/// The command that creates one cell.
pub fn planted(cell: &Cell, value: &[u8]) -> Words {
    let (key, item) = (cell.key.as_slice(), cell.item.as_slice());
    let words: Vec<&[u8]> = match cell.kind {
        Kind::Text => vec![b"SET", key, value],
        Kind::Hash => vec![b"HSET", key, item, value],
        Kind::Set => vec![b"SADD", key, item],
        Kind::Sorted => vec![b"ZADD", key, value, item],
        Kind::List => vec![b"RPUSH", key, item],
        Kind::Stream => vec![b"XADD", key, b"*", b"planted", value],
    };
    words.into_iter().map(<[u8]>::to_vec).collect()
}

//! All data of a server, key by key, and whether two servers have the same.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use domain::integer;
use itertools::Itertools;
use seckill_tools::sanitize::sanitize_bytes;

use crate::reply::Reply;
use crate::server::Client;

#[derive(Clone, Default, Debug)]
pub struct Keyspace(BTreeMap<Vec<u8>, Held>);

/// What a key holds: fields, members, items or entries with their values. A string has one, without
/// a name.
#[derive(Clone, Debug)]
struct Held {
    kind: String,
    /// Milliseconds to live, of keys that expire.
    ttl: Option<i64>,
    items: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// A key, and one of its items.
pub type Place<'k> = (&'k Vec<u8>, &'k Vec<u8>);

/// Each key with its type, its time to live, and its items: name and value in turn.
const DUMP: &str = "local out = {} for _, k in ipairs(redis.call('KEYS', '*')) do
  local t, v = redis.call('TYPE', k).ok, {}
  local function add(item, value) v[#v + 1] = item v[#v + 1] = value end
  if t == 'string' then add('', redis.call('GET', k))
  elseif t == 'hash' then v = redis.call('HGETALL', k)
  elseif t == 'zset' then v = redis.call('ZRANGE', k, 0, -1, 'WITHSCORES')
  elseif t == 'set' then for _, m in ipairs(redis.call('SMEMBERS', k)) do add(m, 'it') end
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
const TTL_TOLERANCE_MS: i64 = 2_500;

impl Keyspace {
    pub fn read(client: &mut Client) -> Result<Self> {
        let row = |row: Reply| {
            let [key, kind, ttl, items] = <[_; 4]>::try_from(row.items()).unwrap_or_default();
            let ttl = integer::parse(&ttl.bytes()).filter(|ttl| *ttl >= 0);
            let items = items.items().into_iter().map(Reply::bytes).tuples().collect();
            (key.bytes(), Held { kind: kind.text(), ttl, items })
        };
        let rows = client.must(&["EVAL", DUMP, "0"])?.items().into_iter().map(row);
        // A key that is about to end may be gone on one of two servers.
        let stays = |ttl: i64| ttl > TTL_TOLERANCE_MS;
        Ok(Self(rows.filter(|(_, held)| held.ttl.is_none_or(stays)).collect()))
    }

    pub fn keys(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.0.keys()
    }

    pub fn has_key(&self, key: &[u8]) -> bool {
        self.0.contains_key(key)
    }

    pub fn ttl(&self, key: &[u8]) -> Option<i64> {
        self.0.get(key)?.ttl
    }

    /// The value of a string.
    pub fn text(&self, key: &[u8]) -> Option<&Vec<u8>> {
        self.0.get(key).filter(|held| held.kind == "string")?.items.values().next()
    }

    pub fn number(&self, key: &[u8]) -> Option<i64> {
        integer::parse(self.text(key)?)
    }

    fn value(&self, (key, item): Place<'_>) -> Option<(&str, &Vec<u8>)> {
        let held = self.0.get(key)?;
        Some((&held.kind, held.items.get(item)?))
    }

    /// Where two servers differ, or one before and after, times to live aside.
    pub fn changes<'k>(&'k self, after: &'k Self) -> Vec<Place<'k>> {
        let places = [self, after].into_iter().flat_map(|all| {
            all.0.iter().flat_map(|(key, held)| held.items.keys().map(move |item| (key, item)))
        });
        let places: BTreeSet<Place<'_>> = places.collect();
        places.into_iter().filter(|place| self.value(*place) != after.value(*place)).collect()
    }

    /// The same in words: what the first one has, and the second.
    pub fn difference(&self, other: &Self) -> Option<String> {
        if let Some(place) = self.changes(other).first() {
            let text = |all: &Self| all.value(*place).map(|(_, text)| shortened(text));
            let [one, two] = [self, other].map(|all| text(all).unwrap_or("nothing".into()));
            return Some(format!("{}: {one} and {two}", shown(*place)));
        }
        let both = |key: &Vec<u8>| [self, other].map(|all| all.ttl(key));
        let is_apart = |key: &&Vec<u8>| match both(key) {
            [Some(one), Some(two)] => (one - two).abs() > TTL_TOLERANCE_MS,
            [one, two] => one != two,
        };
        let key = self.0.keys().find(is_apart)?;
        let shown = |ms: Option<i64>| ms.map_or("no end".into(), |ms| format!("{ms} ms to live"));
        let [one, two] = both(key).map(shown);
        Some(format!("{}: {one} and {two}", sanitize_bytes(key)))
    }
}

/// A place, in words.
pub fn shown((key, item): Place<'_>) -> String {
    let named = if item.is_empty() { String::new() } else { format!(", {}", shortened(item)) };
    sanitize_bytes(key) + &named
}

fn shortened(bytes: &[u8]) -> String {
    let text = sanitize_bytes(bytes);
    match text.char_indices().nth(60) {
        Some(_) => text.chars().take(57).chain("...".chars()).collect(),
        None => text,
    }
}

//! Everything a server holds, so that two servers can be compared.

use std::collections::BTreeMap;

use anyhow::Result;
use domain::integer;
use redis::Value;

use crate::server::Client;

/// Every key with what it holds.
pub type State = BTreeMap<Vec<u8>, Holding>;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holding {
    pub kind: String,
    /// The value, or the members, sorted where they have no order. An entry of a stream is one
    /// text of sorted fields, without its id.
    pub items: Vec<Vec<u8>>,
    pub expires: bool,
}

pub fn read(client: &mut Client) -> Result<State> {
    let keys = list(client.must(&["KEYS", "*"])?);
    keys.into_iter().map(|key| Ok((key.clone(), holding(client, &key)?))).collect()
}

fn holding(client: &mut Client, key: &[u8]) -> Result<Holding> {
    let kind = client.call(&[b"TYPE", key])?.text();
    let mut items = match kind.as_str() {
        "string" => list(Value::Array(vec![client.must(&[b"GET", key])?])),
        "set" => list(client.must(&[b"SMEMBERS", key])?),
        "list" => list(client.must(&[&b"LRANGE"[..], key, b"0", b"-1"])?),
        "hash" => pairs(client.must(&[b"HGETALL", key])?),
        "zset" => pairs(client.must(&[&b"ZRANGE"[..], key, b"0", b"-1", b"WITHSCORES"])?),
        "stream" => entries(client.must(&[&b"XRANGE"[..], key, b"-", b"+"])?),
        _ => Vec::new(),
    };
    if kind == "set" || kind == "hash" {
        items.sort();
    }
    let ttl = client.must(&[b"PTTL", key])?;
    Ok(Holding { kind, items, expires: matches!(ttl, Value::Int(1..)) })
}

fn list(value: Value) -> Vec<Vec<u8>> {
    match value {
        Value::Array(items) => items.into_iter().flat_map(list).collect(),
        Value::BulkString(bytes) => vec![bytes],
        Value::SimpleString(text) => vec![text.into_bytes()],
        _ => Vec::new(),
    }
}

fn pairs(value: Value) -> Vec<Vec<u8>> {
    list(value).chunks(2).map(|pair| pair.join(&b"="[..])).collect()
}

fn entries(value: Value) -> Vec<Vec<u8>> {
    let Value::Array(entries) = value else { return Vec::new() };
    let entry = |entry| match entry {
        Value::Array(parts) => {
            let mut fields = parts.into_iter().nth(1).map(pairs).unwrap_or_default();
            fields.sort();
            fields.join(&b" "[..])
        }
        _ => Vec::new(),
    };
    entries.into_iter().map(entry).collect()
}

/// The number in a key, if it is one.
pub fn number(state: &State, key: &[u8]) -> Option<i64> {
    integer::parse(state.get(key)?.items.first()?)
}

pub fn len(state: &State, key: &[u8]) -> usize {
    state.get(key).map_or(0, |held| if held.kind == "string" { 0 } else { held.items.len() })
}

/// In which keys two states differ, in words: what the first has, and what the second.
pub fn differences(one: &State, other: &State) -> Vec<(String, String, String)> {
    let keys: std::collections::BTreeSet<_> = one.keys().chain(other.keys()).collect();
    let differ = keys.into_iter().filter(|key| one.get(*key) != other.get(*key));
    let shown = |state: &State, key: &[u8]| state.get(key).map_or("no such key".into(), shown);
    differ.map(|key| (key.escape_ascii().to_string(), shown(one, key), shown(other, key))).collect()
}

fn shown(held: &Holding) -> String {
    let expires = if held.expires { ", expires" } else { "" };
    let text = |item: &Vec<u8>| {
        let text = item.escape_ascii().to_string();
        if text.len() > 60 { format!("{}...", &text[..57]) } else { text }
    };
    match held.items.as_slice() {
        [one] if held.kind == "string" => format!("{}{expires}", text(one)),
        [one] => format!("{} of {}{expires}", held.kind, text(one)),
        items => format!("{} of {} items{expires}", held.kind, items.len()),
    }
}

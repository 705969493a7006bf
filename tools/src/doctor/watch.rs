//! Watches a running script with MONITOR: the commands that it calls, and the keys before and
//! after. The script itself is not changed.

use anyhow::{Context, Result};
use domain::integer;

use crate::reply::Reply;
use crate::server::{Client, Server};
use crate::template::{Field, Slot};
use crate::wire::Words;
use crate::world::{Cell, Cells, Kind, World, plant};

/// Two connections to a server without the module.
pub struct Watch {
    pub client: Client,
    monitor: Client,
}

/// What was observed in one run.
#[derive(Clone, Debug)]
pub struct Seen {
    pub reply: Reply,
    /// Commands as the script called them, with names in capitals.
    pub calls: Vec<Words>,
    pub before: World,
    pub after: World,
}

const BEGIN: &[u8] = b"seckill-doctor-begin-of-the-run";
const END: &[u8] = b"seckill-doctor-end-of-the-run";

impl Watch {
    pub fn of(server: &Server) -> Result<Self> {
        let client = server.client()?;
        let mut monitor = server.client()?;
        monitor.must(&["MONITOR"])?;
        Ok(Self { client, monitor })
    }

    pub fn run(&mut self, cells: &Cells, eval: &[Vec<u8>]) -> Result<Seen> {
        self.client.all(&plant(cells))?;
        let before = World::read(&mut self.client)?;
        self.client.must(&[b"ECHO", BEGIN])?;
        let reply = self.client.eval(eval)?;
        self.client.must(&[b"ECHO", END])?;
        let (mut calls, mut begun) = (Vec::new(), false);
        loop {
            let line = self.monitor.next()?.bytes();
            let is = |mark: &[u8]| line.windows(mark.len()).any(|part| part == mark);
            if !begun {
                begun = is(BEGIN);
                continue;
            }
            let (by_script, call) = parse(&line).context("a line of MONITOR")?;
            if by_script {
                calls.push(call);
            } else if call.get(1).is_some_and(|word| word == END) {
                break;
            }
        }
        Ok(Seen { reply, calls, before, after: World::read(&mut self.client)? })
    }
}

/// The command that runs a script.
pub fn eval(script: &[u8], slots: &[Slot], value: &impl Fn(Slot) -> Vec<u8>) -> Words {
    let keys = slots.iter().filter(|slot| slot.is_key()).count();
    let mut call = vec![b"EVAL".to_vec(), script.to_vec(), keys.to_string().into_bytes()];
    let is_one = |one: &Slot, other: &Slot| match (one, other) {
        (Slot::Field(one), Slot::Field(other)) => one.arg == other.arg,
        _ => false,
    };
    for slots in slots.chunk_by(is_one) {
        call.push(match slots {
            [slot @ (Slot::Key(_) | Slot::Arg(_))] => value(*slot),
            fields => json(fields, value),
        });
    }
    call
}

/// A JSON object, whose bytes need not be UTF-8. Units are written as numbers, ids as texts.
fn json(fields: &[Slot], value: &impl Fn(Slot) -> Vec<u8>) -> Vec<u8> {
    const UNITS: [&str; 6] = ["unit", "count", "num", "quantity", "qty", "amount"];
    let mut object = Vec::new();
    for slot in fields {
        let Slot::Field(Field { name, .. }) = slot else { continue };
        let text = value(*slot);
        let is_number = UNITS.iter().any(|word| name.to_lowercase().contains(word))
            && integer::parse(&text).is_some();
        object.extend(if object.is_empty() { *b"{\"" } else { *b",\"" });
        object.extend(format!("{name}\":").into_bytes());
        if is_number {
            object.extend(text);
            continue;
        }
        object.push(b'"');
        for byte in text {
            match byte {
                b'"' | b'\\' => object.extend([b'\\', byte]),
                0..=31 => object.extend(format!("\\u{byte:04x}").into_bytes()),
                other => object.push(other),
            }
        }
        object.push(b'"');
    }
    object.push(b'}');
    object
}

/// What a call reads: the key, its kind if the command implies one, and the item.
pub struct Look {
    pub key: Vec<u8>,
    pub kind: Option<Kind>,
    /// None if the whole key is read.
    pub item: Option<Vec<u8>>,
}

impl Look {
    /// Whether a world has what is read.
    pub fn is_in(&self, world: &World) -> bool {
        let is_it = |cell: &Cell| self.item.as_ref().is_none_or(|item| *item == cell.item);
        world.cells.keys().any(|cell| cell.key == self.key && is_it(cell))
    }
}

/// Everything that a call reads, even if it writes: DECR reads, and SADD replies whether the member
/// existed.
pub fn looks(call: &Words) -> Vec<Look> {
    use Kind::{Hash, List, Set, Sorted, Text};
    let name = String::from_utf8_lossy(call.first().map(Vec::as_slice).unwrap_or_default());
    let keys = call.get(1..).unwrap_or_default();
    let Some(key) = keys.first() else { return Vec::new() };
    let look = |kind, item: Option<&Vec<u8>>| Look { key: key.clone(), kind, item: item.cloned() };
    let each = |kind, words: &[Vec<u8>]| words.iter().map(|w| look(Some(kind), Some(w))).collect();
    let many = |kind: Option<Kind>| {
        let one = |key: &Vec<u8>| Look { key: key.clone(), kind, item: None };
        keys.iter().map(one).collect()
    };
    let rest = &keys[1..];
    match &*name {
        "GET" | "GETEX" | "GETSET" | "GETDEL" | "GETRANGE" | "STRLEN" | "INCR" | "INCRBY"
        | "DECR" | "DECRBY" | "INCRBYFLOAT" | "SET" | "SETNX" | "SETEX" | "PSETEX" | "GETBIT"
        | "SETBIT" => vec![look(Some(Text), None)],
        "MGET" => many(Some(Text)),
        "EXISTS" | "DEL" | "UNLINK" => many(None),
        "TTL" | "PTTL" | "TYPE" | "EXPIRE" | "PEXPIRE" | "EXPIREAT" | "RENAME" | "PERSIST" => {
            vec![look(None, None)]
        }
        "HGET" | "HEXISTS" | "HINCRBY" | "HINCRBYFLOAT" | "HSETNX" | "HSET" | "HMSET" => {
            each(Hash, rest.get(..1).unwrap_or_default())
        }
        "HMGET" | "HDEL" => each(Hash, rest),
        "HGETALL" | "HLEN" | "HKEYS" | "HVALS" => vec![look(Some(Hash), None)],
        "SISMEMBER" | "SMISMEMBER" | "SREM" | "SADD" => each(Set, rest),
        "SPOP" | "SCARD" | "SMEMBERS" | "SRANDMEMBER" => vec![look(Some(Set), None)],
        "LPOP" | "RPOP" | "LLEN" | "LRANGE" | "LINDEX" | "RPOPLPUSH" | "LMOVE" | "LPUSH"
        | "RPUSH" | "LREM" => vec![look(Some(List), None)],
        "ZSCORE" | "ZRANK" | "ZREM" => each(Sorted, rest.get(..1).unwrap_or_default()),
        "ZINCRBY" | "ZADD" => each(Sorted, rest.get(1..2).unwrap_or_default()),
        name if name.starts_with('Z') => vec![look(Some(Sorted), None)],
        _ => Vec::new(),
    }
}

/// Whether a script learns anything about a key from this call.
pub fn asks(call: &Words) -> bool {
    const ANSWERS: &str =
        " SADD SETNX HSETNX HINCRBY INCR INCRBY DECR DECRBY ZADD SREM DEL SETBIT ";
    let name = String::from_utf8_lossy(&call[0]).into_owned();
    let only_new = name == "SET" && call.iter().any(|word| word.eq_ignore_ascii_case(b"NX"));
    !writes(call) || only_new || ANSWERS.contains(&format!(" {name} "))
}

/// Whether a command writes, judged by its name.
pub fn writes(call: &Words) -> bool {
    const READS: &str = " GET MGET EXISTS SISMEMBER SMISMEMBER SCARD SMEMBERS SRANDMEMBER HGET \
        HEXISTS HGETALL HMGET HLEN HKEYS HVALS TTL PTTL TYPE TIME XLEN XRANGE STRLEN GETRANGE \
        LLEN LRANGE LINDEX ZSCORE ZRANK ZCARD ZRANGE ZCOUNT ZRANGEBYSCORE GETBIT ECHO PING ";
    let name = String::from_utf8_lossy(&call[0]).into_owned();
    !READS.contains(&format!(" {name} "))
}

/// The call in a line of MONITOR, and whether a script made it:
/// `1700000000.123456 [0 lua] "GET" "seckill:stock:7"`.
fn parse(line: &[u8]) -> Option<(bool, Words)> {
    let from = line.iter().position(|byte| *byte == b'[')?;
    let to = from + line[from..].iter().position(|byte| *byte == b']')?;
    let by_script = line[from..to].ends_with(b" lua");
    let mut call = words(&line[to + 1..]);
    if let Some(name) = call.first_mut() {
        name.make_ascii_uppercase();
    }
    Some((by_script, call))
}

/// Parses quoted words, with the escapes that the server writes.
fn words(text: &[u8]) -> Words {
    let mut words: Words = Vec::new();
    let mut open: Option<Vec<u8>> = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (&mut open, byte) {
            (None, b'"') => open = Some(Vec::new()),
            (None, _) => {}
            (Some(_), b'"') => words.extend(open.take()),
            (Some(word), b'\\') => match bytes.next() {
                Some(b'n') => word.push(b'\n'),
                Some(b'r') => word.push(b'\r'),
                Some(b't') => word.push(b'\t'),
                Some(b'a') => word.push(7),
                Some(b'b') => word.push(8),
                Some(b'x') => {
                    let digits: String = bytes.by_ref().take(2).map(char::from).collect();
                    word.push(u8::from_str_radix(&digits, 16).unwrap_or_default());
                }
                Some(other) => word.push(other),
                None => {}
            },
            (Some(word), other) => word.push(other),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_apart() {
        let (by_script, call) = parse(br#"17.1 [0 lua] "get" "a b\"\\" "\x00\xff\n""#).unwrap();
        assert!(by_script);
        assert_eq!(call, [&b"GET"[..], b"a b\"\\", b"\x00\xff\n"]);
        let (by_script, call) = parse(br#"17.1 [0 unix:/a/socket] "PING""#).unwrap();
        assert!(!by_script);
        assert_eq!(call, [b"PING"]);
    }

    #[test]
    fn fields_become_one_argument() {
        let field = |number, name| Slot::Field(Field { arg: 1, number, name });
        let slots = [Slot::Key(1), field(1, "user"), field(2, "units"), Slot::Arg(2)];
        let value = |slot: Slot| match slot {
            Slot::Field(Field { number: 1, .. }) => b"a\"\n\xff".to_vec(),
            _ => b"3".to_vec(),
        };
        let call = eval(b"lua", &slots, &value);
        assert_eq!(call[3..], [&b"3"[..], b"{\"user\":\"a\\\"\\u000a\xff\",\"units\":3}", b"3"]);
    }
}

//! Where scripts run: a server without the module, watched by MONITOR, and one with it.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use domain::integer;
use itertools::Itertools;
use seckill_tools::sanitize::sanitize;

use crate::call::{Call, Values};
use crate::conf::{Setting, defaults};
use crate::keyspace::Keyspace;
use crate::lua::MARK;
use crate::reply::Reply;
use crate::server::{Client, Programs, Server};
use crate::wire::Words;

pub struct Bench<'a> {
    pub programs: &'a Programs,
    pub plain: Side,
    pub module: Side,
}

/// A server whose calls MONITOR shows.
pub struct Side {
    client: Client,
    monitor: Client,
    /// What a command does to keys, as the server says it.
    known: BTreeMap<Words, Vec<Access>>,
    kinds: BTreeMap<String, Vec<String>>,
    _server: Server,
}

/// A key that a command gets, and what for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Access {
    pub key: Vec<u8>,
    pub writes: bool,
}

/// What a script called, with the name in capitals, and the keys of the call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Called {
    pub words: Words,
    pub keys: Vec<Access>,
}

impl Called {
    pub fn name(&self) -> String {
        String::from_utf8_lossy(&self.words[0]).into_owned()
    }

    pub fn publishes(&self) -> bool {
        self.words[0] == b"PUBLISH"
    }

    /// Whether it writes or publishes.
    pub fn lasts(&self) -> bool {
        self.writes() || self.publishes()
    }

    pub fn writes(&self) -> bool {
        self.keys.iter().any(|key| key.writes)
    }

    pub fn gets(&self, key: &[u8]) -> bool {
        self.keys.iter().any(|own| own.key == key)
    }
}

/// One run of a script.
#[derive(Clone, Debug)]
pub struct Seen {
    pub reply: Reply,
    pub calls: Vec<Called>,
    /// Parts of conditions, by their numbers, and whether they were true.
    pub parts: Vec<(usize, bool)>,
    pub after: Keyspace,
}

impl Seen {
    /// What it published.
    pub fn messages(&self) -> impl Iterator<Item = &Words> {
        self.calls.iter().filter(|call| call.publishes()).map(|call| &call.words)
    }
}

/// How a server is asked to do what the script does.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A loaded script, by its sha1.
    Sha(String),
    Function(String),
}

impl Entry {
    pub fn sha(&self) -> Option<&str> {
        if let Self::Sha(sha) = self { Some(sha) } else { None }
    }

    pub fn words(&self, call: &Call, values: &Values) -> Words {
        let (command, name) = match self {
            Self::Sha(sha) => ("EVALSHA", sha),
            Self::Function(name) => ("FCALL", name),
        };
        let mut words: Words = vec![command.into(), name.clone().into_bytes()];
        words.extend(call.arguments(values));
        words
    }
}

const BEGIN: &[u8] = b"seckill-doctor-begin-of-the-run";
const END: &[u8] = b"seckill-doctor-end-of-the-run";

impl<'a> Bench<'a> {
    pub fn new(programs: &'a Programs) -> Result<Self> {
        let side = |module| Side::new(Server::start(programs, module)?);
        Ok(Self { programs, plain: side(false)?, module: side(true)? })
    }

    /// Gives the module these settings, and the others their defaults; its answer if it refuses.
    pub fn set(&mut self, settings: &[Setting]) -> Result<Option<Reply>> {
        let mut words: Words = vec![b"CONFIG".to_vec(), b"SET".to_vec()];
        for (name, default) in defaults() {
            let own = settings.iter().find(|(own, _)| *own == name);
            words.push(name.into());
            words.push(own.map_or_else(|| default.into(), |(_, value)| value.clone().into_bytes()));
        }
        let reply = self.module.client.call(&words)?;
        Ok(reply.refuses().then_some(reply))
    }

    pub fn clear(&mut self) -> Result<()> {
        self.plain.clear()?;
        self.module.clear()
    }

    /// Sends commands to both servers.
    pub fn prepare(&mut self, commands: &[Words]) -> Result<()> {
        self.plain.send(commands)?;
        self.module.send(commands).map(drop)
    }
}

impl Side {
    fn new(server: Server) -> Result<Self> {
        let (client, mut monitor) = (server.client()?, server.client()?);
        monitor.must(&["MONITOR"])?;
        let (known, kinds) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { client, monitor, known, kinds, _server: server })
    }

    /// Loads a script, or a library with this function; its answer if it refuses.
    pub fn load(&mut self, text: &[u8], function: Option<&str>) -> Result<Result<Entry, Reply>> {
        let words: &[&[u8]] = match function {
            Some(_) => &[b"FUNCTION", b"LOAD", b"REPLACE", text],
            None => &[b"SCRIPT", b"LOAD", text],
        };
        let loaded = self.client.call(words)?;
        Ok(match function {
            _ if loaded.refuses() => Err(loaded),
            Some(name) => Ok(Entry::Function(name.to_owned())),
            None => Ok(Entry::Sha(loaded.text())),
        })
    }

    pub fn clear(&mut self) -> Result<()> {
        self.client.must(&["FLUSHALL"]).map(drop)
    }

    pub fn send(&mut self, commands: &[Words]) -> Result<Vec<Reply>> {
        self.client.replies(commands)
    }

    pub fn keys(&mut self) -> Result<Keyspace> {
        Keyspace::read(&mut self.client)
    }

    /// Runs a script, and watches what it calls.
    pub fn run(&mut self, words: &Words) -> Result<Seen> {
        let (reply, mut calls) = self.watched(words)?;
        let mut parts = Vec::new();
        calls.retain(|call| {
            let mark = call.get(1).filter(|_| call[0] == b"ECHO");
            let mark = mark.and_then(|mark| mark.strip_prefix(MARK.as_bytes()));
            let part = mark.and_then(|mark| {
                let (is_true, number) = mark.split_last()?;
                Some((usize::try_from(integer::parse(number)?).ok()?, *is_true == b'+'))
            });
            parts.extend(part);
            mark.is_none()
        });
        Ok(Seen { reply, calls: self.with_keys(calls)?, parts, after: self.keys()? })
    }

    /// Runs a script, and does not watch it.
    pub fn run_blind(&mut self, words: &Words) -> Result<Seen> {
        let (reply, calls, parts) = (self.client.eval(words)?, Vec::new(), Vec::new());
        Ok(Seen { reply, calls, parts, after: self.keys()? })
    }

    fn watched(&mut self, words: &Words) -> Result<(Reply, Vec<Words>)> {
        self.client.must(&[b"ECHO", BEGIN])?;
        let reply = self.client.eval(words)?;
        self.client.must(&[b"ECHO", END])?;
        let (mut calls, mut begun) = (Vec::new(), false);
        loop {
            let line = self.monitor.next()?.bytes();
            if !begun {
                begun = line.windows(BEGIN.len()).any(|part| part == BEGIN);
                continue;
            }
            let (by_script, call) = parse(&line).context("a line of MONITOR")?;
            match call.get(1) {
                Some(word) if word == END && !by_script => return Ok((reply, calls)),
                _ if by_script => calls.push(call),
                _ => {}
            }
        }
    }

    /// The keys of each call, asked of the server, which knows its commands.
    fn with_keys(&mut self, calls: Vec<Words>) -> Result<Vec<Called>> {
        let unknown: Vec<&Words> =
            calls.iter().filter(|words| !self.known.contains_key(*words)).collect();
        let ask = |words: &&Words| -> Words {
            let name = [b"COMMAND".to_vec(), b"GETKEYSANDFLAGS".to_vec()];
            name.into_iter().chain((*words).iter().cloned()).collect()
        };
        let asked: Vec<Words> = unknown.iter().map(ask).collect();
        for (words, reply) in unknown.into_iter().zip(self.client.replies(&asked)?) {
            let keys = match reply {
                Reply::List(keys) => keys.into_iter().map(access).collect::<Result<Vec<_>>>()?,
                // A command without keys, or one that the server does not have.
                other if other.refuses() => Vec::new(),
                other => bail!("COMMAND GETKEYSANDFLAGS: {other}"),
            };
            self.known.insert(words.clone(), keys);
        }
        let known = |words: Words| {
            let keys = self.known.get(&words).cloned().unwrap_or_default();
            Called { keys, words }
        };
        let called = calls.into_iter().map(known).collect();
        if self.known.len() > 20_000 {
            self.known.clear();
        }
        Ok(called)
    }

    /// Whether a command is of a category.
    pub fn is(&mut self, name: &str, category: &str) -> Result<bool> {
        Ok(self.categories(name)?.iter().any(|own| own == category))
    }

    /// Kinds of keys that a command is for, as the server's categories say it: `@string`.
    pub fn categories(&mut self, name: &str) -> Result<Vec<String>> {
        if let Some(known) = self.kinds.get(name) {
            return Ok(known.clone());
        }
        let info = self.client.call(&["COMMAND", "INFO", name])?.items().into_iter().next();
        let mut info = info.map(Reply::items).unwrap_or_default();
        let categories = if info.len() > 6 { info.swap_remove(6).items() } else { Vec::new() };
        let kinds: Vec<String> = categories.iter().map(Reply::text).collect();
        self.kinds.insert(name.to_owned(), kinds.clone());
        Ok(kinds)
    }
}

fn access(reply: Reply) -> Result<Access> {
    let Ok([key, flags]) = <[_; 2]>::try_from(reply.items()) else {
        bail!("COMMAND GETKEYSANDFLAGS has another form on this server");
    };
    // RO: it reads the key; RW, OW, RM: it writes.
    let writes = flags.items().iter().any(|flag| ["RW", "OW", "RM"].contains(&&*flag.text()));
    Ok(Access { key: key.bytes(), writes })
}

/// The call in a line of MONITOR, and whether a script made it:
/// `1700000000.123456 [0 lua] "GET" "seckill:stock:7"`.
fn parse(line: &[u8]) -> Option<(bool, Words)> {
    let from = line.iter().position(|byte| *byte == b'[')?;
    let to = from + line[from..].iter().position(|byte| *byte == b']')?;
    let by_script = line[from..to].ends_with(b" lua");
    let mut call = words(&line[to + 1..]);
    call.first_mut()?.make_ascii_uppercase();
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

/// A command as a line of redis-cli.
pub fn shown(words: &[Vec<u8>]) -> String {
    let word = |word: &Vec<u8>| {
        let text = String::from_utf8_lossy(word);
        let plain = |c: char| c.is_alphanumeric() || "_.:{}[]-+*/@=,!~<>?#".contains(c);
        match !text.is_empty() && text.chars().all(plain) && !text.contains('\u{fffd}') {
            true => text.into_owned(),
            false => format!("\"{}\"", sanitize(&text).replace('"', "\\\"")),
        }
    };
    words.iter().map(word).join(" ")
}

/// Commands in one line.
pub fn shown_all(commands: &[Words]) -> String {
    commands.iter().map(|words| shown(words)).join("; ")
}

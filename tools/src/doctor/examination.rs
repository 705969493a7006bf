//! A script that is examined: its text, how it is called, the two servers that it runs on, one
//! without the module, watched by MONITOR, and one with it, and what one call did.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use domain::fields::ORDER_FIELDS;
use domain::integer;
use domain::key_names::{BUYERS_PREFIX, ORDER_STREAM, STOCK_PREFIX};
use itertools::Itertools;
use seckill_tools::command_line::quoted;
use seckill_tools::sanitize::sanitize_bytes;

use crate::call::{Call, Values};
use crate::keyspace::{Cell, Keyspace, Kind, planted};
use crate::lua::{Lua, MARK};
use crate::reply::{Reply, Words};
use crate::server::{Client, Programs, Server};
use crate::source::Source;
use crate::template::{Slot, Template};

pub type Setting = (&'static str, String);

/// The settings that a replacement may need, at their defaults.
pub const DEFAULTS: [(&str, &str); 7] = [
    ("seckill.stock-prefix", STOCK_PREFIX),
    ("seckill.buyers-prefix", BUYERS_PREFIX),
    ("seckill.order-stream", ORDER_STREAM),
    ("seckill.order-fields", ORDER_FIELDS),
    ("seckill.missing-stock", "error"),
    ("seckill.unlimited-stock", "no"),
    ("seckill.scripts", ""),
];

pub struct Bench<'a> {
    pub programs: &'a Programs,
    pub plain: Side,
    pub module: Side,
}

/// A server whose calls MONITOR shows.
pub struct Side {
    client: Client,
    monitor: Client,
    /// What commands do to keys, and their categories, as the server says it.
    known: BTreeMap<Words, Vec<Access>>,
    categories: BTreeMap<String, Vec<String>>,
    _server: Server,
}

/// A key that a command gets, and what for.
#[derive(Clone, Debug)]
pub struct Access {
    pub key: Vec<u8>,
    pub writes: bool,
}

/// What a script called, with the name in capitals, and the keys of the call.
#[derive(Clone, Debug)]
pub struct Called {
    pub name: String,
    pub words: Words,
    pub keys: Vec<Access>,
}

impl Called {
    pub fn publishes(&self) -> bool {
        self.name == "PUBLISH"
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

const BEGIN: &[u8] = b"seckill-doctor-begin-of-the-run";
const END: &[u8] = b"seckill-doctor-end-of-the-run";

impl<'a> Bench<'a> {
    pub fn new(programs: &'a Programs) -> Result<Self> {
        let side = |module| Side::new(Server::start(programs, module)?);
        Ok(Self { programs, plain: side(false)?, module: side(true)? })
    }

    /// Gives the module these settings, and the others their defaults; its answer if it refuses.
    pub fn set(&mut self, settings: &[Setting]) -> Result<Option<Reply>> {
        let mut words = vec!["CONFIG", "SET"];
        for (name, default) in DEFAULTS {
            let own = settings.iter().find(|(own, _)| *own == name);
            words.extend([name, own.map_or(default, |(_, value)| value)]);
        }
        let reply = self.module.client.call(&words)?;
        Ok(reply.refuses().then_some(reply))
    }
}

impl Side {
    fn new(server: Server) -> Result<Self> {
        let (client, mut monitor) = (server.client()?, server.client()?);
        monitor.must(&["MONITOR"])?;
        let (known, categories) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { client, monitor, known, categories, _server: server })
    }

    /// Loads a script: its sha1, or the server's answer if it refuses.
    pub fn load(&mut self, text: &[u8]) -> Result<Result<String, Reply>> {
        let loaded = self.client.call(&[&b"SCRIPT"[..], b"LOAD", text])?;
        Ok(if loaded.refuses() { Err(loaded) } else { Ok(loaded.text()) })
    }

    /// Has only what these commands make.
    pub fn begin(&mut self, commands: &[Words]) -> Result<Keyspace> {
        self.client.must(&["FLUSHALL"])?;
        self.send(commands)?;
        self.keys()
    }

    pub fn send(&mut self, commands: &[Words]) -> Result<Vec<Reply>> {
        self.client.replies(commands)
    }

    pub fn keys(&mut self) -> Result<Keyspace> {
        Keyspace::read(&mut self.client)
    }

    /// Runs a script, and watches what it calls.
    pub fn run(&mut self, words: &Words) -> Result<Seen> {
        self.client.must(&[b"ECHO", BEGIN])?;
        let reply = self.client.eval(words)?;
        self.client.must(&[b"ECHO", END])?;
        let (mut calls, mut parts, mut begun) = (Vec::new(), Vec::new(), false);
        loop {
            let line = self.monitor.next()?.bytes();
            if !begun {
                begun = line.windows(BEGIN.len()).any(|part| part == BEGIN);
                continue;
            }
            let (by_script, call) = parse(&line).context("a line of MONITOR")?;
            let word = call.get(1).map_or(&b""[..], Vec::as_slice);
            match word.strip_prefix(MARK.as_bytes()).and_then(<[u8]>::split_last) {
                Some((sign, number)) if by_script => {
                    let number = integer::parse(number).and_then(|n| usize::try_from(n).ok());
                    parts.push((number.context("a mark")?, *sign == b'+'));
                }
                _ if by_script => calls.push(call),
                _ if word == END => break,
                _ => {}
            }
        }
        let calls = calls.into_iter().map(|words| self.called(words)).collect::<Result<_>>()?;
        Ok(Seen { reply, calls, parts, after: self.keys()? })
    }

    /// A call with its keys, asked of the server, which knows its commands.
    fn called(&mut self, words: Words) -> Result<Called> {
        if !self.known.contains_key(&words) {
            let ask = [b"COMMAND".to_vec(), b"GETKEYSANDFLAGS".to_vec()];
            let keys = match self.client.call(&[&ask, &words[..]].concat())? {
                Reply::List(keys) => keys.into_iter().map(access).collect::<Result<Vec<_>>>()?,
                // A command without keys, or one that the server does not have.
                other if other.refuses() => Vec::new(),
                other => bail!("COMMAND GETKEYSANDFLAGS: {other}"),
            };
            self.known.insert(words.clone(), keys);
        }
        let name = String::from_utf8_lossy(&words[0]).into_owned();
        Ok(Called { name, keys: self.known[&words].clone(), words })
    }

    /// Whether a command is of a category, such as `@string`.
    pub fn is(&mut self, name: &str, category: &str) -> Result<bool> {
        Ok(self.categories(name)?.iter().any(|own| own == category))
    }

    /// The categories of a command; none if the server does not have it.
    pub fn categories(&mut self, name: &str) -> Result<&[String]> {
        if !self.categories.contains_key(name) {
            let info = self.client.call(&["COMMAND", "INFO", name])?.items();
            let info = info.into_iter().next().map(Reply::items).unwrap_or_default();
            let categories = info.into_iter().nth(6).map(Reply::items).unwrap_or_default();
            let categories = categories.iter().map(Reply::text).collect();
            self.categories.insert(name.to_owned(), categories);
        }
        Ok(&self.categories[name])
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
    let mut call = words(&line[to + 1..])?;
    call.first_mut()?.make_ascii_uppercase();
    Some((by_script, call))
}

/// Parses quoted words, with the escapes that the server writes.
fn words(text: &[u8]) -> Option<Words> {
    let mut words: Words = Vec::new();
    let mut open: Option<Vec<u8>> = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (&mut open, byte) {
            (None, b'"') => open = Some(Vec::new()),
            (None, _) => {}
            (Some(_), b'"') => words.extend(open.take()),
            (Some(word), b'\\') => word.push(match bytes.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'a' => 7,
                b'b' => 8,
                b'x' => {
                    let digits: String = bytes.by_ref().take(2).map(char::from).collect();
                    u8::from_str_radix(&digits, 16).ok()?
                }
                other => other,
            }),
            (Some(word), other) => word.push(other),
        }
    }
    Some(words)
}

/// A command as a line of redis-cli, for a shell.
pub fn shown(words: &[Vec<u8>]) -> String {
    words.iter().map(|word| quoted(&sanitize_bytes(word))).join(" ")
}

/// Commands in one line.
pub fn shown_all(commands: &[Words]) -> String {
    commands.iter().map(|words| shown(words)).join("; ")
}

pub struct Examination<'e, 'b> {
    pub bench: &'e mut Bench<'b>,
    pub source: &'e Source,
    pub sha: String,
    /// The sha1 of the copy in which the parts of conditions are marked.
    pub marked: String,
    pub lua: Lua,
    pub call: Call,
}

pub type Plants = Vec<(Cell, Vec<u8>)>;

/// One call, and the keys before and after.
#[derive(Clone)]
pub struct Run {
    pub plants: Plants,
    pub values: Values,
    /// What each of KEYS and ARGV was.
    pub slots: Vec<(Slot, Vec<u8>)>,
    pub before: Keyspace,
    pub seen: Seen,
}

impl Examination<'_, '_> {
    /// Calls the script on a server that has only what is planted.
    pub fn run(&mut self, plants: Plants, values: Values) -> Result<Run> {
        let before = self.bench.plain.begin(&setup(&plants))?;
        self.run_on(plants, values, before)
    }

    fn run_on(&mut self, plants: Plants, values: Values, before: Keyspace) -> Result<Run> {
        let seen = self.bench.plain.run(&self.call.words(&self.sha, &values))?;
        Ok(Run { plants, slots: self.call.values(&values), values, before, seen })
    }

    /// Calls it, one after the other, on a server that has only what these commands make.
    pub fn play(&mut self, setup: &[Words], calls: &[Values]) -> Result<Vec<Run>> {
        let mut before = self.bench.plain.begin(setup)?;
        let mut turns: Vec<Run> = Vec::new();
        for values in calls {
            turns.push(self.run_on(Vec::new(), values.clone(), before)?);
            before = turns[turns.len() - 1].seen.after.clone();
        }
        Ok(turns)
    }
}

/// The commands that make a state.
pub fn setup(plants: &Plants) -> Vec<Words> {
    plants.iter().map(|(cell, value)| planted(cell, value)).collect()
}

impl Run {
    pub fn changes(&self) -> Vec<Cell> {
        self.before.changes(&self.seen.after)
    }

    pub fn template(&self, text: &[u8]) -> Template {
        Template::of(text, &self.slots)
    }

    /// How many units it took from a number that was there, and still is.
    pub fn taken(&self, cell: &Cell) -> i64 {
        let numbers = self.before.number(cell).zip(self.seen.after.number(cell));
        numbers.map_or(0, |(old, new)| old.wrapping_sub(new))
    }

    /// The keys that changed, but for one cell: their kinds, and the caller's words in them.
    pub fn shape(&self, but: &Cell) -> BTreeSet<(Template, Kind)> {
        let others = self.changes().into_iter().filter(|cell| cell != but);
        others.map(|cell| (self.template(&cell.key), cell.kind)).collect()
    }

    /// The other cells that were not there before.
    pub fn added(&self, but: &Cell) -> Vec<Cell> {
        let is_new = |cell: &Cell| !self.before.cells.contains_key(cell) && cell != but;
        self.changes().into_iter().filter(is_new).collect()
    }

    /// Whether it wrote and then failed.
    pub fn halves(&self) -> Option<String> {
        let (reply, changed) = (&self.seen.reply, self.changes());
        let first = changed.first().filter(|_| reply.is_error())?;
        Some(format!("it is written by halves: the call fails ({reply}), and has changed {first}"))
    }
}

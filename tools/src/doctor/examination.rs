//! A script that is examined: its text, how it is called, the two servers that it runs on, one
//! without the module and one with it, and what one call did.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use domain::fields::ORDER_FIELDS;
use domain::integer;
use domain::key_names::{BUYERS_PREFIX, ORDER_STREAM, STOCK_PREFIX};
use itertools::Itertools;
use seckill_tools::command_line::quoted;
use seckill_tools::sanitize::sanitize_bytes;

use crate::call::{Call, Values};
use crate::keyspace::{Cell, Keyspace, Kind, planted};
use crate::lua::{Lua, RECORD};
use crate::reply::{Reply, Words};
use crate::server::{Client, MEMORY_MAX_MB, Programs, Server};
use crate::source::Source;
use crate::template::{Slot, Template};

pub type Setting = (&'static str, String);

/// The settings that a replacement may need, at their defaults.
pub const DEFAULTS: [(&str, &str); 6] = [
    ("seckill.stock-prefix", STOCK_PREFIX),
    ("seckill.buyers-prefix", BUYERS_PREFIX),
    ("seckill.order-stream", ORDER_STREAM),
    ("seckill.order-fields", ORDER_FIELDS),
    ("seckill.missing-stock", "error"),
    ("seckill.scripts", ""),
];

pub struct Bench<'a> {
    pub programs: &'a Programs,
    pub plain: Side,
    pub module: Side,
}

pub struct Side {
    client: Client,
    /// Of commands, as the server says it.
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
    pub fn writes(&self) -> bool {
        self.keys.iter().any(|key| key.writes)
    }

    pub fn gets(&self, key: &[u8]) -> bool {
        self.keys.iter().any(|own| own.key == key)
    }
}

/// One run of a script.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub reply: Reply,
    pub calls: Vec<Called>,
    /// Twice the numbers of parts of conditions, and one more for those that were true.
    pub parts: Vec<i64>,
    pub after: Keyspace,
}

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
        Ok(Self { client: server.client()?, categories: BTreeMap::new(), _server: server })
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

    /// Runs a script.
    pub fn run(&mut self, words: &Words) -> Result<Seen> {
        let mut seen = match self.client.eval(words)? {
            Reply::List(record) if record.first().is_some_and(|one| one.text() == RECORD) => {
                opened(record)?
            }
            reply => Seen { reply, ..Seen::default() },
        };
        let is_full = seen.reply.refuses() && seen.reply.text().contains("not enough memory");
        ensure!(!is_full, "the script and its server took more than {MEMORY_MAX_MB} MB of memory");
        seen.after = self.keys()?;
        Ok(seen)
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

/// What a recorded script did, but for the keys.
fn opened(record: Vec<Reply>) -> Result<Seen> {
    let record = <[_; 5]>::try_from(record).ok();
    let [_, ends, mut reply, calls, parts] = record.context("a record has another form")?;
    if ends == Reply::Nil {
        let text = reply.text();
        let code = if text.starts_with("user_script") { "ERR " } else { "" };
        reply = Reply::error(format!("{code}{text} script: user_script").as_bytes());
    }
    let called = |call: Reply| {
        let [words, keys] = <[_; 2]>::try_from(call.items()).unwrap_or_default();
        let words: Words = words.items().into_iter().map(Reply::bytes).collect();
        let name = words.first().context("a call without a name")?;
        let name = String::from_utf8_lossy(name).to_uppercase();
        let keys = keys.items().into_iter().map(access).collect::<Result<_>>()?;
        Ok(Called { name, words, keys })
    };
    let calls = calls.items().into_iter().map(called).collect::<Result<_>>()?;
    let parts = parts.items().into_iter().filter_map(|part| integer::parse(&part.bytes()));
    Ok(Seen { reply, calls, parts: parts.collect(), after: Keyspace::default() })
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
    /// The sha1 of the copy that records what it does.
    pub recorded: String,
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
        let seen = self.bench.plain.run(&self.call.words(&self.recorded, &values))?;
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

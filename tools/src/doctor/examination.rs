//! A script that is examined: its text, how it is called, the two servers that it runs on, one
//! without the module and one with it, and what its calls did.

use anyhow::{Context, Result, bail, ensure};
use domain::fields::ORDER_FIELDS;
use domain::integer;
use domain::key_names::{BUYERS_PREFIX, ORDER_STREAM, STOCK_PREFIX};
use itertools::Itertools;
use seckill_tools::command_line::quoted;
use seckill_tools::sanitize::sanitize_bytes;

use crate::call::{Call, Values};
use crate::keyspace::Keyspace;
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
    pub client: Client,
    _server: Server,
}

/// What other clients do before a call, and its values.
#[derive(Clone, Default)]
pub struct Step {
    pub before: Vec<Words>,
    pub values: Values,
}

/// A key that a command gets, and what for.
#[derive(Clone)]
pub struct Access {
    pub key: Vec<u8>,
    pub writes: bool,
}

/// What a script called, with the name in capitals, and the keys of the call.
#[derive(Clone)]
pub struct Called {
    pub name: String,
    pub words: Words,
    pub keys: Vec<Access>,
}

/// One call of a script, and what it did.
#[derive(Clone, Default)]
pub struct Run {
    pub step: Step,
    /// What each of KEYS and ARGV was.
    pub slots: Vec<(Slot, Vec<u8>)>,
    pub before: Keyspace,
    pub after: Keyspace,
    pub reply: Reply,
    pub calls: Vec<Called>,
    /// Twice the numbers of parts of conditions, and one more for those that were true.
    pub parts: Vec<i64>,
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

impl<'a> Bench<'a> {
    pub fn new(programs: &'a Programs) -> Result<Self> {
        let side = |module| {
            let server = Server::start(programs, module)?;
            anyhow::Ok(Side { client: server.client()?, _server: server })
        };
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
    /// Loads a script: its sha1, or the server's answer if it refuses.
    pub fn load(&mut self, text: &[u8]) -> Result<Result<String, Reply>> {
        let loaded = self.client.call(&[&b"SCRIPT"[..], b"LOAD", text])?;
        Ok(if loaded.refuses() { Err(loaded) } else { Ok(loaded.text()) })
    }

    /// Calls a script, step by step, on the empty server.
    pub fn play(&mut self, call: &Call, sha: &str, steps: &[Step]) -> Result<Vec<Run>> {
        self.client.must(&["FLUSHALL"])?;
        let (mut before, mut runs) = (Keyspace::default(), Vec::new());
        for step in steps {
            if !step.before.is_empty() {
                self.client.replies(&step.before)?;
                before = Keyspace::read(&mut self.client)?;
            }
            let run = match self.client.eval(&call.words(sha, &step.values))? {
                Reply::List(record) if record.first().is_some_and(|one| one.text() == RECORD) => {
                    opened(record)?
                }
                reply => Run { reply, ..Run::default() },
            };
            let is_full = run.reply.refuses() && run.reply.text().contains("not enough memory");
            ensure!(
                !is_full,
                "the script and its server took more than {MEMORY_MAX_MB} MB of memory"
            );
            let (slots, after) = (call.values(&step.values), Keyspace::read(&mut self.client)?);
            runs.push(Run { step: step.clone(), slots, before, after: after.clone(), ..run });
            before = after;
        }
        Ok(runs)
    }
}

/// What a recorded script did, but for the keys.
fn opened(record: Vec<Reply>) -> Result<Run> {
    let record = <[_; 5]>::try_from(record).ok();
    let [_, ends, mut reply, calls, parts] = record.context("a record has another form")?;
    if ends == Reply::Nil {
        let text = reply.text();
        let code = if text.starts_with("user_script") { "ERR " } else { "" };
        reply = Reply::error(format!("{code}{text} script: user_script").as_bytes());
    }
    let calls = calls.items().into_iter().map(called).collect::<Result<_>>()?;
    let parts = parts.items().into_iter().filter_map(|part| integer::parse(&part.bytes()));
    Ok(Run { reply, calls, parts: parts.collect(), ..Run::default() })
}

fn called(call: Reply) -> Result<Called> {
    let [words, keys] = <[_; 2]>::try_from(call.items()).unwrap_or_default();
    let words: Words = words.items().into_iter().map(Reply::bytes).collect();
    let name = words.first().context("a call without a name")?;
    let name = String::from_utf8_lossy(name).to_uppercase();
    let access = |key: Reply| match <[_; 2]>::try_from(key.items()) {
        Ok([key, flags]) => {
            // RO: it reads the key; RW, OW, RM: it writes.
            let writes = |flag: Reply| ["RW", "OW", "RM"].contains(&&*flag.text());
            Ok(Access { key: key.bytes(), writes: flags.items().into_iter().any(writes) })
        }
        Err(_) => bail!("COMMAND GETKEYSANDFLAGS has another form on this server"),
    };
    let keys = keys.items().into_iter().map(access).collect::<Result<_>>()?;
    Ok(Called { name, words, keys })
}

impl Called {
    pub fn writes(&self) -> bool {
        self.keys.iter().any(|key| key.writes)
    }

    pub fn gets(&self, key: &[u8]) -> bool {
        self.keys.iter().any(|own| own.key == key)
    }
}

impl Run {
    pub fn template(&self, text: &[u8]) -> Template {
        Template::of(text, &self.slots)
    }

    pub fn templates(&self, words: &Words) -> Vec<Template> {
        words.iter().map(|word| self.template(word)).collect()
    }

    /// Whether no key has changed.
    pub fn is_still(&self) -> bool {
        self.before.difference(&self.after).is_none()
    }

    /// How many units it took from a number that was there, and still is.
    pub fn taken(&self, key: &[u8]) -> i64 {
        let numbers = self.before.number(key).zip(self.after.number(key));
        numbers.map_or(0, |(old, new)| old.wrapping_sub(new))
    }
}

impl Examination<'_, '_> {
    /// Calls the script, step by step, on the empty server without the module.
    pub fn play(&mut self, steps: &[Step]) -> Result<Vec<Run>> {
        self.bench.plain.play(&self.call, &self.recorded, steps)
    }
}

/// A command as a line of redis-cli, for a shell.
pub fn shown(words: &[Vec<u8>]) -> String {
    words.iter().map(|word| quoted(&sanitize_bytes(word))).join(" ")
}

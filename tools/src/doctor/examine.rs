//! Examines one script: it is run, and what can be shown is said.

mod seen;

use std::collections::BTreeSet;

use anyhow::Result;
use seckill_tools::sanitize::sanitize;

use crate::bench::{Bench, Entry, shown_all};
use crate::call::{Call, Role, Slot};
use crate::candidates::{self, Candidate};
use crate::compare::Why;
use crate::harm::Session;
use crate::history::{History, Writer};
use crate::keyspace::Kind;
use crate::learn::{Learned, Marks, Sale, marks};
use crate::lua::Lua;
use crate::replace::{Replacement, with_default_names};
use crate::source::Source;
use crate::template::Template;

/// What is said of a script.
#[derive(Default, Debug)]
pub struct Examined {
    pub file: String,
    /// Of the text that was examined; empty if the server can't compile it.
    pub sha1: String,
    pub sessions: Vec<Session>,
    pub replacements: Vec<Replacement>,
    /// Lines to complete, which would help.
    pub asks: Vec<String>,
    /// What was seen.
    pub seen: Vec<String>,
    pub is_loaded: bool,
}

/// The gravest verdict of many decides about the exit code: the last of these.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    Replaceable,
    Undecided,
    Broken,
}

impl Examined {
    pub fn new(source: &Source) -> Self {
        let is_loaded = source.is_loaded;
        Self { file: source.name.clone(), is_loaded, ..Self::default() }
    }

    pub fn verdict(&self) -> Verdict {
        match (self.sessions.is_empty(), self.replacements.is_empty()) {
            (false, _) => Verdict::Broken,
            (true, false) => Verdict::Replaceable,
            (true, true) => Verdict::Undecided,
        }
    }

    fn saw(&mut self, text: impl Into<String>) {
        self.seen.push(text.into());
    }

    fn with(mut self, text: impl Into<String>) -> Self {
        self.saw(text);
        self
    }
}

/// The mark that some editors put before a text, which no server takes.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub fn examine(bench: &mut Bench<'_>, source: &Source, told: Option<&Call>) -> Result<Examined> {
    let mut said = Examined::new(source);
    let text = source.text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&source.text);
    if text.len() < source.text.len() {
        said.saw(
            "It begins with a byte order mark, which no server compiles and many clients strip; \
             the text without it was examined.",
        );
    }
    if source.is_joined {
        return Ok(said.with(
            "Other source text joins values into it at run time, so the server gets another text: \
             examine that.",
        ));
    }
    let readable = String::from_utf8_lossy(text);
    let first_line = readable.lines().next().unwrap_or_default();
    let is_library = first_line.starts_with("#!") && first_line.contains("name=");
    let lua = Lua::read(&readable);
    let function = told.and_then(|call| call.function.as_deref());
    let registers = lua.as_ref().is_some_and(|lua| !lua.functions.is_empty());
    if registers && !is_library {
        said.saw(
            "It registers functions, but FUNCTION LOAD needs a first line #!lua name=<library>.",
        );
    }
    if (is_library || registers) && function.is_none() {
        of_library(&mut said, source, lua.as_ref());
        return Ok(said);
    }
    let entry = match bench.plain.load(text, function)? {
        Ok(entry) => entry,
        Err(refusal) => {
            let part = if source.is_part { "It is a part of a script. " } else { "" };
            let why = source.error(&refusal);
            return Ok(said
                .with(format!("{part}The server does not compile it, so it was not run: {why}.")));
        }
    };
    if let Entry::Sha(sha) = &entry {
        said.sha1.clone_from(sha);
    }
    let Some(lua) = lua else {
        return Ok(said.with("Its text is too long to be read, or is not of Lua 5.1."));
    };
    let call = told.cloned().unwrap_or_else(|| Call::usual(&lua, false));
    Examination { bench, source, text, entry, lua, call, said }.run()
}

fn of_library(said: &mut Examined, source: &Source, lua: Option<&Lua>) {
    said.saw(
        "It is a library of functions: FUNCTION LOAD takes it and FCALL calls it. \
         seckill.scripts replaces no FCALL.",
    );
    for name in lua.map(|lua| lua.functions.as_slice()).unwrap_or_default() {
        let name = sanitize(name);
        said.asks.push(format!(
            "seckill-doctor --call 'FCALL {name} 1 stock:{{voucher}} ?' {}",
            source.name
        ));
    }
}

/// A script, as the server has it, and what is known and said of it.
pub struct Examination<'b, 'a, 's> {
    pub bench: &'b mut Bench<'a>,
    pub source: &'s Source,
    pub text: &'s [u8],
    pub entry: Entry,
    pub lua: Lua,
    /// As it is told, or as it is tried and known so far.
    pub call: Call,
    pub said: Examined,
}

impl Examination<'_, '_, '_> {
    fn run(mut self) -> Result<Examined> {
        if !self.lua.calls_redis {
            return Ok(self.said.with("It calls no command of the server."));
        }
        if let Some(name) = self.foreign()? {
            return Ok(self.said.with(format!(
                "The server that it was run on has no command {name}: name one that has it by \
                 --server."
            )));
        }
        if !self.call.is_told && self.lua.computes {
            self.ask();
            let text = "It takes a number of keys or arguments that its text does not show.";
            return Ok(self.said.with(text));
        }
        let mut learned = self.learn()?;
        let numbers = Call::usual(&self.lua, true);
        if !self.call.is_told && learned.is_empty() && numbers != self.call {
            let names = std::mem::replace(&mut self.call, numbers);
            let other = self.learn()?;
            if other.is_empty() {
                self.call = names;
            } else {
                learned = other;
            }
        }
        let is_decided = match &learned.sale {
            Some(sale) => self.of_sale(sale)?,
            None => {
                self.of_harm(&learned)?
                    || self.of_lock(&learned)?
                    || self.of_return(&learned)?
                    || self.of_fault(&learned)?
            }
        };
        if !is_decided {
            self.undecided(&learned)?;
        }
        Ok(self.said)
    }

    /// A command that it calls and that a module, or a newer server, may have.
    fn foreign(&mut self) -> Result<Option<String>> {
        const NEWER: &str = "HEXPIRE HPEXPIRE HEXPIREAT HPEXPIREAT HTTL HPTTL HPERSIST HGETEX \
            HSETEX HGETDEL DELIFEQ DELEX MSETEX DIGEST XACKDEL XDELEX";
        for name in &self.lua.commands {
            let may_be = name.contains('.') || NEWER.split(' ').any(|newer| newer == name);
            if may_be && self.bench.plain.categories(name)?.is_empty() {
                return Ok(Some(sanitize(name)));
            }
        }
        Ok(None)
    }

    fn of_sale(&mut self, sale: &Sale) -> Result<bool> {
        if self.harm_of_sale(sale)? {
            return Ok(true);
        }
        let unknown = self.call.clone();
        seen::learn_roles(&mut self.call, sale);
        self.said.saw(format!("It takes units from {}.", self.shown(&sale.stock)));
        self.undeclared(&unknown, sale);
        if let Some(why) = obstacle(sale) {
            self.said.saw(why);
            return Ok(false);
        }
        let candidates = candidates::of_sale(sale);
        let is_decided = self.compare(&|writer| writer.of_sale(sale), &candidates)?;
        if is_decided && !self.said.replacements.iter().any(|one| one.by_names) {
            self.by_default_names(sale)?;
        }
        Ok(is_decided)
    }

    /// If the caller's keys may have the default names, SECKILL.TRY may replace it, too.
    fn by_default_names(&mut self, sale: &Sale) -> Result<()> {
        let named = with_default_names(&self.call, sale);
        let (Some(named), Some((buyers, user))) = (named, &sale.buyers) else { return Ok(()) };
        self.call = named;
        let values = marks(&self.call, Marks::Rising);
        let mut arguments = self.call.values(&values);
        arguments.retain(|(slot, _)| matches!(slot, Slot::Arg(_)));
        let renamed = |key: &Template| Template::of(&key.text(&self.call, &values), &arguments);
        let mut by_names = sale.clone();
        by_names.stock = renamed(&sale.stock);
        by_names.buyers = Some((renamed(buyers), *user));
        if let Some(orders) = &mut by_names.orders {
            orders.stream = renamed(&orders.stream);
        }
        let mut candidates = candidates::of_sale(&by_names);
        candidates.retain(Candidate::by_names);
        self.compare(&|writer| writer.of_sale(sale), &candidates).map(drop)
    }

    /// What breaks without a stock that a call takes from.
    fn of_harm(&mut self, learned: &Learned) -> Result<bool> {
        if let Some(run) = learned.failed()
            && self.harm_of_failure(run)?
        {
            return Ok(true);
        }
        for run in learned.grown(true).filter(|_| self.source.is_of_stock()) {
            if self.harm_of_repeat(run)? {
                return Ok(true);
            }
        }
        for run in learned.grown(false) {
            if self.harm_of_quota(run)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A fault of the text in which every call ends, in every state that was tried.
    fn of_fault(&mut self, learned: &Learned) -> Result<bool> {
        // Words of scripts for other programs.
        const ELSEWHERE: [&str; 3] = ["require", "ngx", "module"];
        let text = String::from_utf8_lossy(self.text);
        let is_for_another = ELSEWHERE.iter().any(|word| text.contains(word))
            || self.call.slots().next().is_none() && text.contains("print");
        Ok(learned.always_fails() && !is_for_another && self.harm_of_fault()?)
    }

    fn of_lock(&mut self, learned: &Learned) -> Result<bool> {
        let told = self.call.slots().any(|(_, word)| word.only() == Some(Role::Lock));
        if (told || self.source.is_of_locks()) && !self.call.args.is_empty() {
            let is_sure = told || self.source.name.to_lowercase().contains("unlock");
            for (key, kind) in learned.deleted() {
                if self.harm_of_lock(&key, kind, is_sure)? {
                    return Ok(true);
                }
            }
        }
        let unknown = self.call.clone();
        let mut tried: BTreeSet<String> = BTreeSet::new();
        for lock in &learned.locks() {
            if !tried.insert(format!("{lock:?}")) || tried.len() > 6 {
                continue;
            }
            self.call.learn(lock.token.only(), Role::Token);
            self.call.learn(lock.lease.as_ref().and_then(|(lease, _)| lease.only()), Role::Lease);
            if self.compare(&|writer| writer.of_lock(lock), &candidates::of_lock(lock))? {
                return Ok(true);
            }
            self.call.clone_from(&unknown);
        }
        Ok(false)
    }

    fn of_return(&mut self, learned: &Learned) -> Result<bool> {
        let Some(returns) = &learned.returns() else { return Ok(false) };
        self.call.learn(returns.units.ok(), Role::Units);
        self.compare(&|writer| writer.of_return(returns), &[candidates::of_return(returns)])
    }

    /// Compares candidates, and says where the nearest one differs if all do.
    fn compare(
        &mut self,
        write: &dyn Fn(&mut Writer<'_>) -> Vec<History>,
        candidates: &[Candidate],
    ) -> Result<bool> {
        let histories = write(&mut Writer::new(&self.call, &self.lua));
        let on_nodes = Writer::new(&self.call, &self.lua).for_nodes(write);
        let (found, nearest) = self.replacements(candidates, &histories, &on_nodes)?;
        if let Some(difference) =
            nearest.filter(|_| found.is_empty() && self.said.replacements.is_empty())
        {
            let name = candidates.first().map(|one| one.name).unwrap_or_default();
            let what = match difference.why {
                Why::Shown => "It differs from a line of",
                _ => "No line of",
            };
            self.said.saw(format!("{what} {name}: {}.", difference.text));
        }
        let is_decided = !found.is_empty();
        self.said.replacements.extend(found);
        Ok(is_decided)
    }
}

/// What no command does.
fn obstacle(sale: &Sale) -> Option<String> {
    if sale.kind != Kind::Text {
        return Some("The stock is in a field of a hash: no command takes it from there.".into());
    }
    if !sale.needs.is_empty() {
        let needs = shown_all(&sale.needs);
        return Some(format!("It did so only after {needs}: no command looks at that."));
    }
    let cuts = |words: &Vec<Template>| {
        let says = |name: &[u8]| {
            let mut constants = words.iter().filter_map(Template::constant);
            constants.any(|word| word.eq_ignore_ascii_case(name))
        };
        says(b"XTRIM") || says(b"XADD") && (says(b"MAXLEN") || says(b"MINID"))
    };
    if sale.extras.iter().any(cuts) {
        let text = "It cuts old entries off a stream: an order that is not read in time is lost. \
            No command does that.";
        return Some(text.into());
    }
    let by_user = |(buyers, user): &(Template, Slot)| buyers.places().any(|slot| slot == *user);
    sale.buyers.as_ref().is_some_and(by_user).then(|| {
        "The set of buyers is named by the user: a user who has bought one voucher is refused \
         every other. No command does that."
            .into()
    })
}

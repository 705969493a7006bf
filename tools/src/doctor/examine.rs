//! Examines one script: it is run, and what can be shown is said.

mod other;
mod seen;

use anyhow::Result;
use seckill_tools::sanitize::sanitize;

use crate::bench::{Bench, Entry, shown};
use crate::call::{Call, Piece, Role, Slot, Word};
use crate::candidates::{self, Candidate};
use crate::compare::Difference;
use crate::harm::{Judge, Session};
use crate::history::{History, Writer};
use crate::keyspace::Kind;
use crate::learn::{Learned, Learner, Sale};
use crate::lua::Lua;
use crate::replace::{Replacement, Replacer, with_default_names};
use crate::source::Source;
use crate::template::{Part, Template};

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

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Broken,
    Replaceable,
    Undecided,
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
}

/// The mark that some editors put before a text, which no server takes.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub fn examine(bench: &mut Bench<'_>, source: &Source, told: Option<&Call>) -> Result<Examined> {
    let mut said = Examined::new(source);
    let text = match source.text.strip_prefix(BYTE_ORDER_MARK) {
        Some(text) => {
            said.saw(
                "It begins with a byte order mark, which no server compiles and many clients \
                 strip; the text without it was examined.",
            );
            text
        }
        None => &source.text,
    };
    if source.is_joined {
        said.saw(
            "Other source text joins values into it at run time, so the server gets another text: \
             examine that.",
        );
        return Ok(said);
    }
    let readable = String::from_utf8_lossy(text);
    let first_line = readable.lines().next().unwrap_or_default();
    let is_library = first_line.starts_with("#!") && first_line.contains("name=");
    let code = if first_line.starts_with("#!") {
        readable.replacen(first_line, "", 1)
    } else {
        readable.clone().into_owned()
    };
    let lua = Lua::read(&code).map(|mut lua| {
        if is_library {
            lua.marked = format!("{first_line}{}", lua.marked);
        }
        lua
    });
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
    let entry = match bench.load(text, function)? {
        Ok(entry) => entry,
        Err(refusal) => {
            let part = if source.is_part { "It is a part of a script. " } else { "" };
            said.saw(format!(
                "{part}The server does not compile it, so it was not run: {}.",
                source.error(&refusal)
            ));
            return Ok(said);
        }
    };
    if let Entry::Sha(sha) = &entry {
        said.sha1.clone_from(sha);
    }
    let Some(lua) = lua else {
        said.saw("Its text is too long to be read, or is not of Lua 5.1.");
        return Ok(said);
    };
    let examination = Examination { bench, source, entry, text, lua, said };
    examination.run(told)
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

struct Examination<'b, 'a, 's> {
    bench: &'b mut Bench<'a>,
    source: &'s Source,
    entry: Entry,
    text: &'s [u8],
    lua: Lua,
    said: Examined,
}

impl Examination<'_, '_, '_> {
    fn run(mut self, told: Option<&Call>) -> Result<Examined> {
        if !self.lua.calls_redis {
            self.said.saw("It calls no command of the server.");
            return Ok(self.said);
        }
        if let Some(name) = self.foreign()? {
            self.said.saw(format!(
                "The server that it was run on has no command {name}: name one that has it by \
                 --server."
            ));
            return Ok(self.said);
        }
        let usual = |has_numbers| Call::usual(self.lua.keys, self.lua.args, has_numbers);
        let mut call = told.cloned().unwrap_or_else(|| usual(false));
        let numbers = usual(true);
        if !call.is_told && self.lua.computes {
            self.said.saw("It takes a number of keys or arguments that its text does not show.");
            self.ask(&call);
            return Ok(self.said);
        }
        let mut learned = self.learn(&call)?;
        if !call.is_told && learned.is_empty() && numbers != call {
            let other = self.learn(&numbers)?;
            if !other.is_empty() {
                (call, learned) = (numbers, other);
            }
        }
        let is_decided = match &learned {
            Learned { sale: Some(sale), .. } => self.of_sale(&mut call, sale)?,
            _ => {
                self.of_harm(&call, &learned)?
                    || self.of_lock(&mut call, &learned)?
                    || self.of_return(&mut call, &learned)?
                    || self.of_fault(&call, &learned)?
            }
        };
        if !is_decided {
            self.undecided(&call, &learned);
        }
        Ok(self.said)
    }

    /// A command that it calls and that a module, or a newer server, may have.
    fn foreign(&mut self) -> Result<Option<String>> {
        const NEWER: &str = "HEXPIRE HPEXPIRE HEXPIREAT HPEXPIREAT HTTL HPTTL HPERSIST HGETEX \
            HSETEX HGETDEL DELIFEQ DELEX MSETEX DIGEST XACKDEL XDELEX";
        for name in &self.lua.commands {
            let may_be = name.contains('.') || NEWER.split(' ').any(|newer| newer == name);
            if may_be && self.bench.categories(name)?.is_empty() {
                return Ok(Some(sanitize(name)));
            }
        }
        Ok(None)
    }

    fn learn(&mut self, call: &Call) -> Result<Learned> {
        let mut learner = Learner { bench: self.bench, entry: &self.entry, call, lua: &self.lua };
        learner.learn()
    }

    fn of_sale(&mut self, call: &mut Call, sale: &Sale) -> Result<bool> {
        let (bench, entry, text) = (&mut *self.bench, &self.entry, self.text);
        let session = Judge { bench, entry, call, text }.of_sale(sale)?;
        if let Some(session) = session {
            self.said.sessions.push(session);
            return Ok(true);
        }
        let unknown = call.clone();
        seen::learn_roles(call, sale);
        self.said.saw(format!("It takes units from {}.", self.shown(call, &sale.stock)));
        self.undeclared(&unknown, call, sale);
        if sale.kind != Kind::Text {
            self.said.saw("The stock is in a field of a hash: no command takes it from there.");
            return Ok(false);
        }
        if !sale.needs.is_empty() {
            let needs: Vec<String> = sale.needs.iter().map(|words| shown(words)).collect();
            self.said.saw(format!(
                "It did so only after {}: no command looks at that.",
                needs.join("; ")
            ));
            return Ok(false);
        }
        let cuts = |words: &Vec<Template>| {
            let says = |name: &[u8]| {
                let constants = words.iter().filter_map(Template::constant);
                constants.map(<[u8]>::to_ascii_uppercase).any(|word| word == name)
            };
            says(b"XTRIM") || says(b"XADD") && (says(b"MAXLEN") || says(b"MINID"))
        };
        if sale.extras.iter().any(cuts) {
            self.said.saw(
                "It cuts old entries off a stream: an order that is not read in time is lost. No \
                 command does that.",
            );
            return Ok(false);
        }
        let by_user = |(buyers, user): &(Template, Slot)| buyers.slots().any(|slot| slot == *user);
        if sale.buyers.as_ref().is_some_and(by_user) {
            self.said.saw(
                "The set of buyers is named by the user: a user who has bought one voucher is \
                 refused every other. No command does that.",
            );
            return Ok(false);
        }
        let write = |writer: &mut Writer<'_>| writer.of_sale(sale);
        let candidates = candidates::of_sale(sale);
        let is_decided = self.compare(call, &write, &candidates)?;
        if is_decided {
            self.by_default_names(call, sale, &candidates)?;
        }
        Ok(is_decided)
    }

    /// If the caller's keys may have the default names, SECKILL.TRY may replace it, too.
    fn by_default_names(
        &mut self,
        call: &Call,
        sale: &Sale,
        candidates: &[Candidate],
    ) -> Result<()> {
        let named = candidates.iter().find_map(|one| with_default_names(call, one));
        let (Some(named), Some((buyers, user))) = (named, &sale.buyers) else { return Ok(()) };
        if self.said.replacements.iter().any(|one| one.by_names) {
            return Ok(());
        }
        let Some(voucher) = named
            .slots()
            .find_map(|(slot, word)| (word.only_role() == Some(Role::Voucher)).then_some(slot))
        else {
            return Ok(());
        };
        let renamed = |template: &Template| match template.slot().and_then(|slot| named.word(slot))
        {
            Some(Word(pieces)) => prefixed(pieces, voucher),
            None => template.clone(),
        };
        let mut by_names = sale.clone();
        by_names.stock = renamed(&sale.stock);
        by_names.buyers = Some((renamed(buyers), *user));
        if let Some(orders) = &mut by_names.orders {
            orders.stream = renamed(&orders.stream);
        }
        let write = |writer: &mut Writer<'_>| writer.of_sale(sale);
        let mut candidates = candidates::of_sale(&by_names);
        candidates.retain(|one| one.command.name == "SECKILL.TRY");
        self.compare(&named, &write, &candidates).map(drop)
    }

    /// Compares candidates, and says where the nearest one differs if all do.
    fn compare(
        &mut self,
        call: &Call,
        write: &dyn Fn(&mut Writer<'_>) -> Vec<History>,
        candidates: &[Candidate],
    ) -> Result<bool> {
        let histories = write(&mut Writer::new(call, &self.lua));
        let on_nodes = Writer::new(call, &self.lua).for_nodes(write);
        let mut replacer = Replacer {
            bench: self.bench,
            script: &self.entry,
            sha: &self.said.sha1,
            text: self.text,
            call,
            lua: &self.lua,
            histories: &histories,
            on_nodes: &on_nodes,
        };
        match replacer.replacements(candidates)? {
            Ok(found) => {
                self.said.replacements.extend(found);
                return Ok(true);
            }
            Err(Some(difference)) if self.said.replacements.is_empty() => {
                let name = candidates.first().map(|one| one.command.name).unwrap_or_default();
                let what = match &difference {
                    Difference::Shown { .. } => "It differs from a line of",
                    _ => "No line of",
                };
                self.said.saw(format!("{what} {name}: {}.", difference.text()));
            }
            Err(_) => {}
        }
        Ok(false)
    }
}

/// The text of a word of the caller, if it is a text followed by the voucher, or a text alone.
fn prefixed(pieces: &[Piece], voucher: Slot) -> Template {
    let part = |piece: &Piece| match piece {
        Piece::Text(text) => Part::Text(text.clone().into_bytes()),
        Piece::Role(_) => Part::Slot(voucher),
    };
    Template(pieces.iter().map(part).collect())
}

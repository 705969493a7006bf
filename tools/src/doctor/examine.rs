//! Examines one script: it is run, and what can be shown is said. `seen` has the words for what
//! decides nothing.

mod seen;

use std::fs;

use anyhow::{Context, Result};
use itertools::Itertools;
use regex::Regex;
use seckill_tools::sanitize::{sanitize, sanitize_bytes};

use crate::bench::{Bench, shown, shown_all};
use crate::call::{Call, Role, Slot};
use crate::candidates::candidates;
use crate::compare::{Replacement, Why, replacements};
use crate::harm::{self, Session};
use crate::history::histories;
use crate::keyspace::Kind;
use crate::learn::{Act, Deed, Learned, learn, stopped};
use crate::lua::Lua;
use crate::source::{Source, quoted_path};
use crate::template::{Part, Template};
use crate::trial::{Script, Trial};

/// What is said of a script.
#[derive(Clone, Default, Debug)]
pub struct Examined {
    pub file: String,
    /// The path of a file with the text that was examined, for a shell.
    pub path: String,
    /// Of the text that was examined; empty if the server can't compile it.
    pub sha1: String,
    pub session: Option<Session>,
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
        let (file, path) = (source.name.clone(), quoted_path(&source.path));
        Self { file, path, is_loaded: source.is_loaded, ..Self::default() }
    }

    pub fn verdict(&self) -> Verdict {
        match (&self.session, self.replacements.is_empty()) {
            (Some(_), _) => Verdict::Broken,
            (None, false) => Verdict::Replaceable,
            (None, true) => Verdict::Undecided,
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
    let mut said = examined(bench, source, text, told, said)?;
    let is_named = said.session.is_some() || !said.asks.is_empty();
    if is_named && (source.is_inside || text.len() < source.text.len()) {
        // No file has this text, so one is made that a shell can read.
        let file = tempfile::Builder::new().prefix("seckill-doctor-").suffix(".lua").tempfile()?;
        fs::write(file.path(), text)?;
        let (_, path) = file.keep().context("a copy of the script")?;
        let (old, path) = (said.path.clone(), quoted_path(&path));
        for ask in &mut said.asks {
            *ask = ask.replace(&old, &path);
        }
        said.path = path;
    }
    Ok(said)
}

fn examined(
    bench: &mut Bench<'_>,
    source: &Source,
    text: &[u8],
    told: Option<&Call>,
    mut said: Examined,
) -> Result<Examined> {
    let readable = String::from_utf8_lossy(text);
    let first_line = readable.lines().next().unwrap_or_default();
    let is_library = first_line.starts_with("#!") && first_line.contains("name=");
    let lua = Lua::read(&readable);
    let function = told.and_then(|call| call.function.as_deref());
    let functions = lua.as_ref().map(|lua| lua.functions.clone()).unwrap_or_default();
    if !functions.is_empty() && !is_library {
        said.saw(
            "It registers functions, but FUNCTION LOAD needs a first line #!lua name=<library>.",
        );
    }
    if (is_library || !functions.is_empty()) && function.is_none() {
        let ask = |name: &String| {
            let name = sanitize(name);
            format!("seckill-doctor --call 'FCALL {name} 1 stock:{{voucher}} ?' {}", said.path)
        };
        said.asks = functions.iter().map(ask).collect();
        return Ok(said.with(
            "It is a library of functions: FUNCTION LOAD takes it and FCALL calls it. \
             seckill.scripts replaces no FCALL.",
        ));
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
    said.sha1 = entry.sha().unwrap_or_default().to_owned();
    let Some(lua) = lua else {
        return Ok(said.with("Its text is too long to be read, or is not of Lua 5.1."));
    };
    let marked = bench.plain.load(lua.marked.as_bytes(), function)?;
    let marked = marked.ok().context("the copy with marks does not compile")?;
    if !lua.calls_redis {
        return Ok(said.with("It calls no command of the server."));
    }
    if let Some(name) = foreign(bench, &lua)? {
        return Ok(said.with(format!(
            "The server that it was run on has no command {name}: name one that has it by --server."
        )));
    }
    let script = Script { source, text, entry, marked, lua };
    let usual = [Call::usual(&script.lua, false), Call::usual(&script.lua, true)];
    let calls = told.map(|call| vec![call.loosened(), call.clone()]);
    let is_usual = !script.lua.computes && function.is_none();
    let calls = calls.into_iter().chain(is_usual.then(|| usual.to_vec()));
    let mut best: Option<Examined> = None;
    for calls in calls {
        let trial = Trial { bench, script: &script, call: calls[0].clone() };
        // With other values than those that were told a harm may be none.
        let is_other = |call: &Call| call.loosened() != *call && !calls[0].is_told;
        let is_harmless = told.is_some_and(is_other);
        let mut one = Examination { trial, said: said.clone(), is_shown: false, is_harmless };
        one.run(&calls)?;
        let is_over = one.said.verdict() != Verdict::Undecided || one.is_shown;
        // What the call that was told has shown goes before what others have.
        if is_over || best.is_none() {
            best = Some(one.said);
        }
        if is_over {
            break;
        }
    }
    Ok(best.unwrap_or_else(|| {
        let call = Call::usual(&script.lua, false);
        said.asks.push(ask(&call, &said.path));
        said.with("It takes a number of keys or arguments that its text does not show.")
    }))
}

/// A command that it calls and that a module, or a newer server, may have.
fn foreign(bench: &mut Bench<'_>, lua: &Lua) -> Result<Option<String>> {
    const NEWER: &str = "HEXPIRE HPEXPIRE HEXPIREAT HPEXPIREAT HTTL HPTTL HPERSIST HGETEX HSETEX \
        HGETDEL DELIFEQ DELEX MSETEX DIGEST XACKDEL XDELEX";
    for name in &lua.commands {
        let may_be = name.contains('.') || NEWER.split(' ').any(|newer| newer == name);
        if may_be && bench.plain.categories(name)?.is_empty() {
            return Ok(Some(sanitize(name)));
        }
    }
    Ok(None)
}

/// The line to complete.
fn ask(call: &Call, path: &str) -> String {
    let mut text = call.to_string();
    for (slot, word) in call.slots() {
        let is_unknown = matches!(word.only(), Some(Role::Other(_)));
        if is_unknown || matches!(slot, Slot::Key(_)) {
            text = text.replacen(&word.to_string(), "?", 1);
        }
    }
    format!("seckill-doctor --call '{text}' {path}")
}

/// A script that is examined with one call, and what is said of it.
struct Examination<'t, 'b> {
    trial: Trial<'t, 'b>,
    said: Examined,
    /// Whether a line was seen to differ.
    is_shown: bool,
    /// Whether no harm is looked for.
    is_harmless: bool,
}

impl Examination<'_, '_> {
    /// With the first of these calls that does something. Of a call that was told, only the values
    /// that were told show a harm.
    fn run(&mut self, calls: &[Call]) -> Result<()> {
        if let [loose, told] = calls
            && told.is_told
            && loose != told
        {
            let learned = self.learned(std::slice::from_ref(told))?;
            self.harm(&learned)?;
            if self.said.session.is_some() {
                return Ok(());
            }
        }
        let learned = self.learned(calls)?;
        if !self.trial.call.is_told || self.trial.call == calls[calls.len() - 1] {
            self.harm(&learned)?;
        }
        if self.said.session.is_some() {
            return Ok(());
        }
        self.replacements(&learned)?;
        if self.said.replacements.is_empty() && learned.sale().is_none() {
            self.said.session = harm::of_fault(&mut self.trial, &learned)?;
        }
        if self.said.verdict() == Verdict::Undecided {
            self.undecided(&learned)?;
        }
        Ok(())
    }

    fn learned(&mut self, calls: &[Call]) -> Result<Learned> {
        let mut first = None;
        for call in calls.iter().dedup() {
            self.trial.call = call.clone();
            let learned = learn(&mut self.trial)?;
            if !learned.acts.is_empty() {
                return Ok(learned);
            }
            first = first.or(Some(learned));
        }
        self.trial.call.clone_from(&calls[0]);
        Ok(first.unwrap_or_default())
    }

    fn harm(&mut self, learned: &Learned) -> Result<()> {
        self.said.session = match learned.sale() {
            _ if self.is_harmless => None,
            Some(sale) => harm::of_sale(&mut self.trial, sale)?,
            None => harm::of_others(&mut self.trial, learned)?,
        };
        Ok(())
    }

    fn replacements(&mut self, learned: &Learned) -> Result<()> {
        let unknown = self.trial.call.clone();
        let name =
            |act: &&Act| format!("{:?}", (act.deed, &act.key, &act.token, &act.lease, &act.extras));
        for act in learned.acts.iter().unique_by(name).take(7) {
            act.teach(&mut self.trial.call);
            if act.deed == Deed::Sell {
                let taken = format!("It takes units from {}.", self.shown(&act.key));
                self.said.saw(taken);
                self.undeclared(&unknown, act);
                if let Some(why) = seen::obstacle(act) {
                    self.said.saw(why);
                    return Ok(());
                }
            }
            let order = self.spare_order();
            let lua = &self.trial.script.lua;
            let candidates = candidates(act, order, &lua.casts);
            let histories = histories(&self.trial.call, lua, act);
            let (found, nearest) = replacements(&mut self.trial, &candidates, &histories)?;
            self.said.replacements = found;
            if !self.said.replacements.is_empty() {
                return Ok(());
            }
            let name = candidates.first().map(|one| one.name).unwrap_or_default();
            if let Some(difference) = nearest {
                self.is_shown |= difference.why == Why::Shown;
                let what = match difference.why {
                    Why::Shown => "It differs from a line of",
                    _ => "No line of",
                };
                self.said.saw(format!("{what} {name}: {}.", difference.text));
            }
            self.trial.call.clone_from(&unknown);
        }
        Ok(())
    }

    /// The id of the order, where the script gets one and does nothing with it.
    fn spare_order(&self) -> Option<Slot> {
        let is_told = |slot: Slot| self.trial.call.word(slot)?.only();
        let mut unused = self.trial.script.lua.unused.iter();
        let is_order = |slot: Slot, local: &str| {
            let is_id = local.to_lowercase().contains("order");
            matches!(slot, Slot::Arg(_))
                && (is_told(slot) == Some(Role::Order)
                    || is_id && matches!(is_told(slot), Some(Role::Other(_))))
        };
        unused.find(|(slot, local)| is_order(*slot, local)).map(|(slot, _)| *slot)
    }
}

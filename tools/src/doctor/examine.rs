//! Examines one script: it is run, and what can be shown is said.

use std::fs;

use anyhow::{Context, Result};
use itertools::Itertools;
use regex::Regex;
use seckill_tools::sanitize::sanitize;

use crate::call::{Call, Role};
use crate::candidates::candidates;
use crate::compare::replacement;
use crate::examination::{Bench, Examination, shown};
use crate::harm::{Found, of_failure, of_fault, of_locks};
use crate::history::histories;
use crate::learn::{Deed, Learned, learn};
use crate::lua::{Lua, recorded};
use crate::reply::Reply;
use crate::report::{Report, Verdict};
use crate::sales::of_sale;
use crate::source::{Source, quoted_path};
use crate::template::{Slot, Template};

pub fn examine(bench: &mut Bench<'_>, source: &Source, told: Option<&Call>) -> Result<Report> {
    let mut said = Report::new(source);
    if source.is_marked {
        said.saw(
            "It begins with a byte order mark, which no server compiles and many clients strip; \
             the text without it was examined.",
        );
    }
    if source.is_joined {
        return Ok(said.with(
            "Other source text joins values or lines to it, or changes it, at run time, so the \
             server gets another text: examine that.",
        ));
    }
    let mut said = examined(bench, source, told, said)?;
    let is_named = said.session.is_some() || said.ask.is_some();
    if is_named && (source.is_inside || source.is_marked) {
        // No file has this text, so one is made that a shell can read.
        let file = tempfile::Builder::new().prefix("seckill-doctor-").suffix(".lua").tempfile()?;
        fs::write(file.path(), &source.text)?;
        let (_, path) = file.keep().context("a copy of the script")?;
        let path = quoted_path(&path);
        said.ask = said.ask.map(|ask| ask.replace(&said.path, &path));
        said.path = path;
    }
    Ok(said)
}

fn examined(
    bench: &mut Bench<'_>,
    source: &Source,
    told: Option<&Call>,
    mut said: Report,
) -> Result<Report> {
    let readable = String::from_utf8_lossy(&source.text);
    if readable.contains(".register_function") {
        return Ok(said.with(
            "It is a library of functions: FUNCTION LOAD takes it and FCALL calls it, and \
             seckill.scripts replaces no FCALL. Examine the body of a function as a script.",
        ));
    }
    let sha = match bench.plain.load(&source.text)? {
        Ok(sha) => sha,
        Err(refusal) => {
            let why = sanitize(&refusal.text());
            return Ok(
                said.with(format!("The server does not compile it, so it was not run: {why}."))
            );
        }
    };
    said.sha1.clone_from(&sha);
    let Some(lua) = Lua::read(&readable) else {
        return Ok(said.with("Its text is too long to be read, or is not of Lua 5.1."));
    };
    let copy = bench.plain.load(&recorded(&lua.marked))?;
    let copy = copy.ok().context("the copy that is recorded does not compile")?;
    let usual = Call::usual(&lua);
    let calls = told.into_iter().chain(Some(&usual).filter(|_| !lua.computes));
    let calls: Vec<Call> = calls.cloned().collect();
    // With other values than those that were told a harm may be none.
    let is_free = !told.is_some_and(Call::has_constants);
    let mut exam = Examination { bench, source, sha, recorded: copy, lua, call: usual.clone() };
    // What the call that was told has shown goes before what the usual one has.
    let mut first = None;
    for (number, call) in calls.into_iter().enumerate() {
        let mut one = said.clone();
        exam.call = call;
        let learned = learn(&mut exam)?;
        let is_end = exam.judged(&learned, is_free || number == 0, &mut one)?;
        if is_end || one.verdict() != Verdict::Undecided {
            return Ok(one);
        }
        first = first.or(Some(one));
    }
    Ok(first.unwrap_or_else(|| {
        said.ask = Some(ask(&usual, &said.path));
        said.with("It takes a number of keys or arguments that its text does not show.")
    }))
}

/// The line to complete.
fn ask(call: &Call, path: &str) -> String {
    let mut text = call.to_string();
    for (slot, word) in call.slots() {
        if matches!(word.only(), Some(Role::Other(_))) || matches!(slot, Slot::Key(_)) {
            text = text.replacen(&word.to_string(), "?", 1);
        }
    }
    format!("seckill-doctor --call '{text}' {path}")
}

/// What is said of a line of a script that gets no id of an order.
const CONSTANT_ID: &str = "The order id in the line is a constant, 0, because the script is passed \
    none that is known. A managed voucher sells one unit by that: pass the id as one more argument \
    of the script, and say so by {orderid} in --call.";

impl Examination<'_, '_> {
    /// Looks for a harm, and then for a line; whether a line was seen to differ.
    fn judged(&mut self, learned: &Learned, may_harm: bool, said: &mut Report) -> Result<bool> {
        const HARMS: [fn(&mut Examination<'_, '_>, &Learned) -> Found; 3] =
            [of_failure, of_locks, of_fault];
        said.session = match learned.sale() {
            _ if !may_harm => None,
            Some(sale) => of_sale(self, sale)?,
            None => {
                let mut found = HARMS.into_iter().map(|harm| harm(self, learned));
                found.find_map(Result::transpose).transpose()?
            }
        };
        if said.session.is_some() {
            return Ok(false);
        }
        let is_shown = self.replaced(learned, said)?;
        if said.verdict() == Verdict::Undecided {
            self.undecided(learned, said);
        }
        Ok(is_shown)
    }

    /// Looks for a line; whether one was seen to differ.
    fn replaced(&mut self, learned: &Learned, said: &mut Report) -> Result<bool> {
        let Some(act) = &learned.act else { return Ok(false) };
        if act.deed == Deed::Sell {
            said.saw(format!("It takes units from {}.", act.key));
        }
        if act.extras.iter().flatten().filter_map(Template::constant).any(is_cut) {
            said.saw(
                "It cuts old entries off a stream: an order that is not read in time is lost. No \
                 command does that.",
            );
            return Ok(false);
        }
        let unknown = self.call.clone();
        act.teach(&mut self.call);
        let order = self.call.slot(Role::Order).or(self.lua.order);
        let candidates = candidates(act, order, &self.lua.casts);
        let histories = histories(&self.call, &self.lua, act);
        let found = replacement(self, &candidates, &histories)?;
        self.call = unknown;
        match found {
            Ok(found) => {
                said.replacement = Some(found);
                if act.buyers.is_some() && act.orders.is_none() && order.is_none() {
                    said.saw(CONSTANT_ID);
                }
                Ok(false)
            }
            Err(difference) => {
                let name = candidates.first().map_or("a command", |one| one.name);
                let what = match difference.is_shown() {
                    true => "It differs from a line of",
                    false => "No line of",
                };
                said.saw(format!("{what} {name}: {difference}."));
                Ok(difference.is_shown())
            }
        }
    }

    /// What was seen of a script, in words.
    fn undecided(&self, learned: &Learned, said: &mut Report) {
        let is_barred = learned.sale().is_some_and(|sale| !sale.needs.is_empty());
        if let Some(run) = learned.best().filter(|_| said.seen.is_empty() || is_barred) {
            let setup = run.step.before.iter().map(|words| shown(words)).join("; ");
            let calls = run.calls.iter().take(8).map(|call| shown(&call.words)).join("; ");
            let calls = if calls.is_empty() { "nothing".to_owned() } else { calls };
            let reply = match &run.reply {
                Reply::Error(text) => format!("failed: {}", sanitize(text)),
                reply => format!("replied {reply}"),
            };
            said.saw(match setup.is_empty() {
                true => format!("On an empty server it called {calls}, and {reply}."),
                false => format!("After {setup} it called {calls}, and {reply}."),
            });
        }
        said.saw(match learned.act.is_some() {
            true => "No command was found that takes its place.",
            false => {
                "No call that was tried did what a command does: none is known that takes \
                its place."
            }
        });
        let text = String::from_utf8_lossy(&self.source.text);
        if has_window(&text) {
            said.saw(
                "It looks at a begin and an end, as managed vouchers do, which have units, a \
                 limit and order ids, too: SECKILL.CREATE makes one, SECKILL.TRY sells it.",
            );
        }
        if !self.call.is_told {
            said.ask = Some(ask(&self.call, &said.path));
        }
    }
}

/// Whether a script has words for a begin, an end and a stock.
fn has_window(text: &str) -> bool {
    const BEGIN: &str = r"(?i)begin|start|\bfrom|\x{5f00}\x{59cb}";
    const END: &str = r#"\bend[_A-Z]|\bend(time|at|ts)\b|(_e|E)nd([_A-Z'"]|\b)|'end'|(?i)deadline"#;
    const STOCK: &str = r"(?i)stock|inventory|sku|voucher|coupon|ticket|sale|goods|left|\x{5e93}";
    let has = |words: &&str| Regex::new(words).is_ok_and(|words| words.is_match(text));
    [BEGIN, END, STOCK].iter().all(has)
}

/// Whether a word makes a stream shorter.
fn is_cut(word: &[u8]) -> bool {
    ["XTRIM", "MAXLEN", "MINID"].iter().any(|cut| word.eq_ignore_ascii_case(cut.as_bytes()))
}

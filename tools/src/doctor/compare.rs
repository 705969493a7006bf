//! Runs a script and what could replace it side by side, and says where they differ.

use std::collections::BTreeSet;

use anyhow::Result;
use seckill_tools::sanitize::sanitize_bytes;
use serde::Serialize;

use crate::bench::{Entry, Seen, shown};
use crate::call::Values;
use crate::candidates::Candidate;
use crate::examine::Examination;
use crate::history::{History, Rigor, Step};
use crate::reply::Reply;
use crate::template::Template;

/// What was compared, and found the same.
#[derive(Clone, Default, Debug, Serialize)]
pub struct Compared {
    /// The call, as the script and the module got it.
    pub call: String,
    pub histories: usize,
    pub calls: usize,
    /// What the histories are about.
    pub about: BTreeSet<&'static str>,
    /// What was seen on a node of a cluster.
    pub cluster: String,
    /// Where one of them answers an error, and the other does something else.
    pub refused: BTreeSet<&'static str>,
    /// What was not compared.
    pub not_compared: Vec<String>,
}

/// Why a line does not take the script's place.
#[derive(Debug)]
pub struct Difference {
    pub why: Why,
    pub text: String,
    /// After how many calls it showed.
    pub played: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// The script does something that the line never does.
    Beside,
    /// Its replies to accepted tries have no rule.
    NoRule,
    /// Replies or keys differ in a history.
    Shown,
}

pub enum Failed {
    Differs(Difference),
    CouldNotRun(anyhow::Error),
}

impl From<anyhow::Error> for Failed {
    fn from(error: anyhow::Error) -> Self {
        Self::CouldNotRun(error)
    }
}

impl Failed {
    pub fn beside(text: impl Into<String>) -> Self {
        Self::Differs(Difference { why: Why::Beside, text: text.into(), played: 0 })
    }

    /// The same, after so many calls.
    pub fn after(self, played: usize) -> Self {
        match self {
            Self::Differs(difference) => Self::Differs(Difference { played, ..difference }),
            other => other,
        }
    }
}

/// Where the two sides are after a step.
pub struct Side<'s> {
    pub step: &'s Step,
    pub yours: &'s Seen,
    pub ours: &'s Reply,
}

impl Examination<'_, '_, '_> {
    /// Plays all histories beside the line. `judge` says how replies differ, if they do.
    pub fn play_beside(
        &mut self,
        histories: &[History],
        ours: &Entry,
        candidate: &Candidate,
        judge: &mut dyn FnMut(&Side<'_>) -> Option<String>,
    ) -> Result<Compared, Failed> {
        let mut compared = Compared { call: self.call.to_string(), ..Compared::default() };
        let publishes = candidate.publishes();
        for history in histories {
            self.bench.clear()?;
            let mut said = Vec::new();
            compared.histories += 1;
            compared.about.insert(history.about);
            for step in &history.steps {
                compared.calls += 1;
                said.extend(step.before.iter().map(|words| shown(words)));
                let words = step.words(&self.entry, &self.call);
                let mut named = words.clone();
                named[1] = b"{sha}".to_vec();
                said.push(shown(&named));
                self.bench.prepare(&step.before)?;
                let is_strict = history.rigor == Rigor::Same;
                let before = if is_strict { None } else { Some(self.bench.plain.keys()?) };
                let yours = self.bench.plain.run(&words)?;
                if history.rigor != Rigor::Odd
                    && let Some(beside) = self.beside(&yours, &step.values, candidate)
                {
                    return Err(Failed::beside(beside));
                }
                let words = step.words(ours, &self.call);
                let ours = match publishes {
                    true => self.bench.module.run(&words)?,
                    false => self.bench.module.run_blind(&words)?,
                };
                let what = match yours.after.difference(&ours.after) {
                    None if publishes && !yours.messages().eq(ours.messages()) => {
                        Some("they publish different messages".to_owned())
                    }
                    Some(keys) => Some(format!("the keys differ, {keys}")),
                    None => judge(&Side { step, yours: &yours, ours: &ours.reply }),
                };
                let Some(what) = what else { continue };
                let may_differ = before.is_some_and(|before| {
                    let refused = ours.reply.refuses() && ours.after.is_same(&before);
                    let fails = yours.reply.is_error();
                    refused && (fails || yours.after.is_same(&before))
                        || history.rigor == Rigor::Odd && (refused || fails)
                });
                if may_differ {
                    compared.refused.insert(history.about);
                    break;
                }
                let last = said.split_off(said.len().saturating_sub(6)).join("; ");
                let text = format!("{}: after {last}: {what}", history.about);
                return Err(Failed::Differs(Difference { why: Why::Shown, text, played: 0 }));
            }
        }
        Ok(compared)
    }

    /// A branch of the script that no call of these histories takes; and where those are that only
    /// a failure of a write would take.
    pub fn unreached(&mut self, histories: &[History]) -> Result<(Option<usize>, Vec<String>)> {
        let mut missed: BTreeSet<usize> = (0..self.lua.branches.len()).collect();
        let (bench, function) = (&mut self.bench.plain, self.call.function.as_deref());
        let marked = bench.load(self.lua.marked.as_bytes(), function)?;
        let Ok(marked) = marked else { return Ok((missed.pop_first(), Vec::new())) };
        for history in histories {
            bench.clear()?;
            for step in &history.steps {
                bench.send(&step.before)?;
                let seen = bench.run(&step.words(&marked, &self.call))?;
                missed.retain(|number| !seen.branches.contains(number));
            }
            if missed.is_empty() {
                break;
            }
        }
        let (mut first, mut failures) = (None, Vec::new());
        for number in missed {
            let checks = self.lua.branches[number].checks.as_ref();
            let is_write = |kinds: Vec<String>| kinds.iter().any(|kind| kind == "@write");
            match checks {
                Some(name) if is_write(bench.categories(name)?) => {
                    let lines = self.lua.lines(number);
                    failures.push(format!("{lines}, after an answer of {name} that no call got"));
                }
                _ => first = first.or(Some(number)),
            }
        }
        Ok((first, failures))
    }

    /// What the script does that the line has no part in: it gets another key, or looks at one of
    /// its own in another way than the command does.
    fn beside(&self, seen: &Seen, values: &Values, candidate: &Candidate) -> Option<String> {
        let text = |key: &Template| key.text(&self.call, values);
        let keys: Vec<Vec<u8>> = candidate.keys.iter().map(text).collect();
        let buyers = candidate.buyers.as_ref().map(|(buyers, _)| text(buyers));
        let mut written: Vec<&[u8]> = Vec::new();
        for called in &seen.calls {
            let name = called.name();
            if candidate.publishes() && called.publishes() {
                continue;
            }
            if called.keys.is_empty() {
                return Some(format!("it calls {name}"));
            }
            for access in &called.keys {
                let key = access.key.as_slice();
                // A reply may tell what the call has written itself.
                let may_read = keys.first().is_some_and(|own| own == key)
                    && !TIMES.contains(&&*name)
                    || written.contains(&key)
                    || buyers.as_deref() == Some(key) && ASKS.contains(&&*name);
                if !keys.iter().any(|own| own == key) || !access.writes && !may_read {
                    let verb = if access.writes { "writes" } else { "reads" };
                    return Some(format!("it {verb} {} by {name}", sanitize_bytes(key)));
                }
                if access.writes {
                    written.push(key);
                }
            }
        }
        None
    }
}

/// How a stock or a lock is asked what no command of the module looks at.
const TIMES: [&str; 5] = ["TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "OBJECT"];

/// How buyers are asked for one of them, or for what says nothing of them.
const ASKS: [&str; 6] = ["SISMEMBER", "SMISMEMBER", "EXISTS", "TTL", "PTTL", "TYPE"];

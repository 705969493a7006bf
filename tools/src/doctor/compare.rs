//! Runs a script and what could replace it side by side, and says where they differ.

use std::collections::BTreeSet;

use anyhow::Result;
use seckill_tools::sanitize::sanitize_bytes;
use serde::Serialize;

use crate::bench::{Bench, Entry, Seen, shown};
use crate::call::{Call, Values};
use crate::candidates::Candidate;
use crate::history::{History, Rigor, Step};
use crate::keyspace::Keyspace;
use crate::lua::Lua;
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
#[derive(Clone, Debug)]
pub enum Difference {
    /// The script does something that the line never does.
    Beside(String),
    /// Its replies to accepted tries have no rule.
    NoRule(String),
    /// In this history, replies or keys differ.
    Shown { about: &'static str, history: Vec<String>, what: String },
}

impl Difference {
    pub fn text(&self) -> String {
        match self {
            Self::Beside(what) | Self::NoRule(what) => what.clone(),
            Self::Shown { about, history, what } => {
                format!("{about}: after {}: {what}", history.join("; "))
            }
        }
    }
}

/// Where the two sides are after a step.
pub struct Side<'s> {
    pub step: &'s Step,
    pub seen: &'s Seen,
    pub reply: &'s Reply,
}

pub struct Comparison<'b, 'a> {
    pub bench: &'b mut Bench<'a>,
    pub script: &'b Entry,
    pub call: &'b Call,
    pub histories: &'b [History],
}

impl Comparison<'_, '_> {
    /// Plays all histories. `judge` says how replies differ, if they do.
    pub fn play(
        &mut self,
        ours: &Entry,
        candidate: &Candidate,
        judge: &mut dyn FnMut(&Side<'_>) -> Option<String>,
    ) -> Result<Result<Compared, Difference>> {
        let mut compared = Compared { call: self.call.to_string(), ..Compared::default() };
        for history in self.histories {
            self.bench.clear()?;
            let mut said = Vec::new();
            compared.histories += 1;
            compared.about.insert(history.about);
            for step in &history.steps {
                compared.calls += 1;
                said.extend(step.before.iter().map(|words| shown(words)));
                let words = step.words(self.script, self.call);
                let mut named = words.clone();
                named[1] = b"{sha}".to_vec();
                said.push(shown(&named));
                self.bench.prepare(&step.before)?;
                let is_strict = history.rigor == Rigor::Same;
                let before = if is_strict { None } else { Some(self.bench.keys()?) };
                let seen = self.bench.run(&words)?;
                if history.rigor != Rigor::Odd
                    && let Some(beside) = self.beside(&seen, &step.values, candidate)
                {
                    return Ok(Err(Difference::Beside(beside)));
                }
                let ours = step.words(ours, self.call);
                let publishes = candidate.publishes();
                let (reply, published, after) = self.bench.replace(&ours, publishes)?;
                let yours = seen.calls.iter().filter(|call| call.publishes());
                let what = match seen.after.difference(&after) {
                    None if publishes && !yours.map(|call| &call.words).eq(&published) => {
                        Some("they publish different messages".to_owned())
                    }
                    Some(keys) => Some(format!("the keys differ, {keys}")),
                    None => judge(&Side { step, seen: &seen, reply: &reply }),
                };
                let Some(what) = what else { continue };
                let may = before.is_some_and(|before| {
                    let ours = reply.refuses() && after.is_same(&before);
                    let yours = seen.reply.is_error();
                    ours && may_refuse(history.rigor, &seen, &before)
                        || yours && history.rigor == Rigor::Odd
                });
                if may {
                    compared.refused.insert(history.about);
                    break;
                }
                let count = said.len().saturating_sub(6);
                return Ok(Err(Difference::Shown {
                    about: history.about,
                    history: said.split_off(count),
                    what,
                }));
            }
        }
        Ok(Ok(compared))
    }

    /// Branches of the script that no call of these histories takes; apart from those that a
    /// failure of a write would take, of which this says where they are.
    pub fn unreached(
        &mut self,
        lua: &Lua,
        function: Option<&str>,
    ) -> Result<(Option<usize>, Vec<String>)> {
        let mut missed: BTreeSet<usize> = (0..lua.branches.len()).collect();
        let marked = self.bench.load(lua.marked.as_bytes(), function)?;
        let Ok(marked) = marked else { return Ok((missed.pop_first(), Vec::new())) };
        for history in self.histories {
            self.bench.clear_plain()?;
            for step in &history.steps {
                self.bench.prepare_plain(&step.before)?;
                let seen = self.bench.run(&step.words(&marked, self.call))?;
                missed.retain(|number| !seen.branches.contains(number));
            }
            if missed.is_empty() {
                break;
            }
        }
        let mut failures = Vec::new();
        for number in &missed {
            let Some(name) = &lua.branches[*number].checks else { continue };
            if self.bench.categories(name)?.iter().any(|category| category == "@write") {
                let lines = lua.lines(*number);
                failures.push((
                    *number,
                    format!("{lines}, after an answer of {name} that no call got"),
                ));
            }
        }
        missed.retain(|number| !failures.iter().any(|(own, _)| own == number));
        let failures = failures.into_iter().map(|(_, text)| text).collect();
        Ok((missed.pop_first(), failures))
    }

    /// What the script does that the line has no part in: it gets another key, or looks at one of
    /// its own in another way than the command does.
    fn beside(&self, seen: &Seen, values: &Values, candidate: &Candidate) -> Option<String> {
        let text = |key: &Template| key.text(self.call, values);
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

fn may_refuse(rigor: Rigor, seen: &Seen, before: &Keyspace) -> bool {
    match rigor {
        Rigor::Same => false,
        Rigor::MayRefuse => seen.reply.is_error() || seen.after.is_same(before),
        Rigor::Odd => true,
    }
}

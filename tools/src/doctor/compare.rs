//! Compares candidates with the script, whose side is recorded once, and takes the first that never
//! differs; or says where the nearest one does.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use domain::integer;
use itertools::Itertools;
use seckill_tools::sanitize::{sanitize, sanitize_bytes};
use serde::Serialize;

use crate::answers::{Answer, Sample, ambiguous, answer};
use crate::call::Call;
use crate::candidates::Candidate;
use crate::examination::{Examination, Run, Setting, Side, shown};
use crate::history::{History, Rigor};
use crate::lua::recorded;
use crate::reply::Reply;
use crate::template::Template;

/// A line that was compared with the script.
#[derive(Clone, Serialize)]
pub struct Replacement {
    /// The command's words as `seckill.scripts` takes them, after the sha1.
    pub native: Option<String>,
    /// Lua that calls the command.
    pub lua: String,
    pub settings: Vec<Setting>,
    pub compared: Compared,
}

/// What was compared, and found the same.
#[derive(Clone, Default, Serialize)]
pub struct Compared {
    /// The call, as the script and the module got it.
    pub call: String,
    pub histories: usize,
    pub calls: usize,
    /// What the histories are about.
    pub about: BTreeSet<&'static str>,
    /// Where they differ: as is known of the command, or in calls that no application makes.
    pub not_the_same: BTreeSet<&'static str>,
    /// The parts of conditions that were true, and that were false.
    #[serde(skip)]
    parts: BTreeSet<i64>,
    /// What the line replied, by history and step.
    #[serde(skip)]
    replies: Vec<(usize, usize, Reply)>,
}

/// Why a line does not take the script's place.
#[derive(Debug)]
pub struct Difference {
    text: String,
    /// After how many calls replies or keys differ. Without them, the script does something that
    /// the line never does.
    calls: Option<usize>,
}

impl Difference {
    pub fn is_shown(&self) -> bool {
        self.calls.is_some()
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Difference {}

/// What the script does, and the line never does.
fn obstacle(text: impl Into<String>) -> anyhow::Error {
    Difference { text: text.into(), calls: None }.into()
}

/// The first candidate that never differs; or why the nearest one does not take its place.
pub fn replacement(
    exam: &mut Examination<'_, '_>,
    candidates: &[Candidate<'_>],
    histories: &[History],
) -> Result<Result<Replacement, Difference>> {
    let mut nearest = Difference { text: "it has no lease".to_owned(), calls: Some(0) };
    let mut yours = Vec::new();
    for candidate in candidates {
        let mut comparison = Comparison { exam, candidate, histories, yours };
        match comparison.replacement() {
            Ok(one) => return Ok(Ok(one)),
            Err(error) => {
                let other = error.downcast::<Difference>()?;
                let rank = |one: &Difference| (!one.is_shown(), one.calls);
                nearest = if rank(&other) > rank(&nearest) { other } else { nearest };
            }
        }
        yours = comparison.yours;
    }
    Ok(Err(nearest))
}

/// Plays a history on one side; and again where the machine stood still, after which times to live
/// differ.
fn play(side: &mut Side, call: &Call, sha: &str, history: &History) -> Result<Vec<Run>> {
    const STILL: Duration = Duration::from_secs(2);
    let began = Instant::now();
    let runs = side.play(call, sha, &history.steps)?;
    if began.elapsed() < STILL { Ok(runs) } else { side.play(call, sha, &history.steps) }
}

struct Comparison<'c, 'e, 'b> {
    exam: &'c mut Examination<'e, 'b>,
    candidate: &'c Candidate<'c>,
    histories: &'c [History],
    /// The script's side, of as many histories as a line was compared in.
    yours: Vec<Vec<Run>>,
}

impl Comparison<'_, '_, '_> {
    /// The command alone, if the script replies what it answers, or else a line that translates.
    fn replacement(&mut self) -> Result<Replacement> {
        let settings = &self.candidate.settings;
        if let Some(refusal) = self.exam.bench.set(settings)? {
            bail!(obstacle(format!("the settings are refused: {refusal}")));
        }
        let probe = self.line(&self.candidate.probe())?;
        let replies = self.compared(&probe, true)?.replies;
        let answers = self.answers(replies)?;
        if let Some(reply) = ambiguous(&answers) {
            bail!(obstacle(format!(
                "it replies {reply} both when it sells, as the number of units that are left, and \
                 when it refuses"
            )));
        }
        let plain = self.candidate.plain(&answers);
        let native = plain.as_ref().and_then(|_| self.candidate.native());
        let lua = plain.unwrap_or_else(|| self.candidate.lua(&answers));
        let ours = match &native {
            Some(words) => {
                let entry = ("seckill.scripts", format!("{} {words}", self.exam.sha));
                self.exam.bench.set(&[&settings[..], &[entry]].concat())?;
                self.exam.sha.clone()
            }
            None => self.line(&lua)?,
        };
        let compared = self.compared(&ours, false)?;
        self.shown(native, lua, compared)
    }

    /// The line, unless the script has a part in something that the line has not.
    fn shown(
        &mut self,
        native: Option<String>,
        lua: String,
        compared: Compared,
    ) -> Result<Replacement> {
        let text = &self.exam.lua;
        let slots = self.exam.call.slots().map(|(slot, _)| *slot).filter(|_| text.computes);
        let mut slots = slots.chain(text.reads.iter().copied());
        if let Some(slot) = slots.find(|slot| !lua.contains(&slot.to_string())) {
            bail!(obstacle(format!("it reads {slot}, which the line does not pass on")));
        }
        for (part, number) in text.parts.iter().zip(0..) {
            let was = match [1, 0].map(|is_true| compared.parts.contains(&(2 * number + is_true))) {
                [true, true] => continue,
                [false, false] => "reached",
                [false, true] => "made true",
                [true, false] => "made false",
            };
            let (line, text) = (part.line, sanitize(&part.text.split_whitespace().join(" ")));
            bail!(obstacle(format!("{text} in line {line} was {was} by no call that was tried")));
        }
        Ok(Replacement { native, lua, settings: self.candidate.settings.clone(), compared })
    }

    /// Loads a line beside the module.
    fn line(&mut self, lua: &str) -> Result<String> {
        let loaded = self.exam.bench.module.load(&recorded(lua))?;
        loaded.map_err(|refusal| obstacle(format!("the line is refused: {refusal}")))
    }

    /// What the script replies where the command answers each outcome.
    fn answers(&self, replies: Vec<(usize, usize, Reply)>) -> Result<Vec<(i64, Answer)>> {
        let call = &self.exam.call;
        let mut samples: BTreeMap<i64, Vec<Sample>> = BTreeMap::new();
        for (history, step, reply) in replies {
            let Reply::Int(outcome) = reply else { continue };
            let yours = &self.yours[history][step];
            let values = &yours.step.values;
            let units = self.candidate.units.as_ref().map(|units| units.text(call, values));
            let units = units.and_then(|units| integer::parse(&units)).unwrap_or(1);
            let left = yours.after.number(&self.candidate.act.key.text(call, values)).unwrap_or(0);
            let sample = (yours.reply.clone(), [Some(left), left.checked_add(units)]);
            samples.entry(outcome).or_default().push(sample);
        }
        let answers = samples.iter().map(|(outcome, samples)| {
            let answer = answer(*outcome, samples, &self.candidate.stocks(*outcome));
            let answer = answer.map(|answer| (*outcome, answer));
            answer.ok_or_else(|| {
                let replies = samples.iter().map(|(reply, _)| reply).sorted().dedup().take(3);
                obstacle(format!(
                    "its replies have no rule that a line could follow: {} where the command \
                     answers {outcome}",
                    replies.format(", ")
                ))
            })
        });
        answers.collect()
    }

    /// Compares the script with a line, in all histories; or in those that show how replies follow
    /// from outcomes, with a line that replies the outcome.
    fn compared(&mut self, ours: &str, by_outcome: bool) -> Result<Compared> {
        let mut compared = Compared { call: self.exam.call.to_string(), ..Compared::default() };
        for (at, history) in self.histories.iter().enumerate() {
            let Examination { bench, call, recorded, .. } = &mut *self.exam;
            if self.yours.len() == at {
                self.yours.push(play(&mut bench.plain, call, recorded, history)?);
            }
            if !by_outcome || history.rigor == Rigor::Same {
                compared.histories += 1;
                compared.about.insert(history.about);
                let ours = play(&mut bench.module, call, ours, history)?;
                self.history(at, &ours, by_outcome, &mut compared)?;
            }
        }
        Ok(compared)
    }

    /// Compares one history, up to a difference that may be.
    fn history(
        &self,
        at: usize,
        ours: &[Run],
        by_outcome: bool,
        compared: &mut Compared,
    ) -> Result<()> {
        let (history, mut said) = (&self.histories[at], Vec::new());
        for (number, (yours, ours)) in self.yours[at].iter().zip(ours).enumerate() {
            compared.calls += 1;
            said.extend(yours.step.before.iter().map(|words| shown(words)));
            said.push(shown(&self.exam.call.words("{sha}", &yours.step.values)));
            if let Some(what) = self.beside(yours).filter(|_| history.rigor != Rigor::Odd) {
                bail!(obstacle(what));
            }
            let what = different(yours, ours, by_outcome);
            let (refuses, fails) = (ours.reply.refuses(), yours.reply.is_error());
            let may_differ = match history.rigor {
                Rigor::Same => false,
                Rigor::Known => true,
                Rigor::MayRefuse => refuses && ours.is_still() && (fails || yours.is_still()),
                Rigor::Odd => refuses && ours.is_still() || fails,
            };
            match what {
                Some(what) if !may_differ => {
                    let last = said.split_off(said.len().saturating_sub(6)).join("; ");
                    let text = format!("{}: after {last}: {what}", history.about);
                    bail!(Difference { text, calls: Some(compared.calls) });
                }
                // What is only reached where the two do something else was not compared.
                Some(_) if !refuses || !yours.is_still() => {}
                _ => compared.parts.extend(&yours.parts),
            }
            compared.replies.push((at, number, ours.reply.clone()));
            if what.is_some() {
                compared.not_the_same.insert(history.about);
                break;
            }
        }
        Ok(())
    }

    /// What the script does that the line has no part in: it gets another key, or looks at one of
    /// its own in another way than the command does.
    fn beside(&self, run: &Run) -> Option<String> {
        /// How a stock or a lock is asked what no command of the module looks at.
        const TIMES: [&str; 5] = ["TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "OBJECT"];
        /// How buyers are asked for one of them, or for what says nothing of them.
        const ASKS: [&str; 6] = ["SISMEMBER", "SMISMEMBER", "EXISTS", "TTL", "PTTL", "TYPE"];
        let text = |key: &Template| key.text(&self.exam.call, &run.step.values);
        let keys: Vec<Vec<u8>> = self.candidate.act.keys().map(text).collect();
        let buyers = self.candidate.act.buyers.as_ref().map(|(buyers, _)| text(buyers));
        let mut written: Vec<&[u8]> = Vec::new();
        for called in &run.calls {
            let name = called.name.as_str();
            if called.keys.is_empty() {
                return Some(format!("it calls {name}"));
            }
            for access in &called.keys {
                let key = access.key.as_slice();
                // A reply may tell what the call has written itself.
                let may_read = keys[0] == key && !TIMES.contains(&name)
                    || written.contains(&key)
                    || buyers.as_deref() == Some(key) && ASKS.contains(&name);
                if !keys.iter().any(|own| own == key) || !access.writes && !may_read {
                    let verb = if access.writes { "writes" } else { "reads" };
                    return Some(format!("it {verb} {} by {name}", sanitize_bytes(key)));
                }
                written.extend(access.writes.then_some(key));
            }
        }
        None
    }
}

/// How keys or replies differ.
fn different(yours: &Run, ours: &Run, by_outcome: bool) -> Option<String> {
    if let Some(keys) = yours.after.difference(&ours.after) {
        return Some(format!("the keys differ, {keys}"));
    }
    let (yours, ours) = (&yours.reply, &ours.reply);
    let is_same = match ours {
        Reply::Int(_) if by_outcome => true,
        _ if by_outcome => yours.is_error() && ours.refuses(),
        _ => yours.is_like(ours),
    };
    (!is_same).then(|| format!("it replies {yours}, and the line {ours}"))
}

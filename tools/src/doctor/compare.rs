//! Compares candidates with the script, side by side, and takes the first that never differs; or
//! says where the nearest one does. `beside` is what a line has no part in.

mod beside;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use itertools::Itertools;
use seckill_tools::sanitize::{sanitize, sanitize_bytes};
use serde::Serialize;

use crate::answers::{Answer, Sample, ambiguous, answer, is_same};
use crate::bench::{Entry, Seen, shown};
use crate::call::{Slot, Values};
use crate::candidates::Candidate;
use crate::conf::Setting;
use crate::history::{History, Rigor, Step};
use crate::reply::Reply;
use crate::template::Template;
use crate::trial::Trial;

/// A line that was compared with the script.
#[derive(Clone, Debug)]
pub struct Replacement {
    /// The command's words as `seckill.scripts` takes them, after the sha1.
    pub native: Option<String>,
    /// Lua that calls the command.
    pub lua: String,
    /// Names and values of settings, with the entry of `seckill.scripts` last, if it has one.
    pub settings: Vec<Setting>,
    pub notes: Vec<String>,
    pub compared: Compared,
    /// Whether its keys must have the names that the settings give.
    pub by_names: bool,
}

impl Replacement {
    /// The entry of `seckill.scripts`.
    pub fn entry(&self) -> Option<&str> {
        self.settings.last().filter(|_| self.native.is_some()).map(|(_, entry)| entry.as_str())
    }

    /// The settings beside that entry.
    pub fn others(&self) -> &[Setting] {
        &self.settings[..self.settings.len() - usize::from(self.native.is_some())]
    }

    /// What the application calls then.
    pub fn command(&self) -> &str {
        self.native.as_ref().unwrap_or(&self.lua)
    }
}

/// What was compared, and found the same.
#[derive(Clone, Default, Debug, Serialize)]
pub struct Compared {
    /// The call, as the script and the module got it.
    pub call: String,
    pub histories: usize,
    pub calls: usize,
    /// What the histories are about.
    pub about: BTreeSet<&'static str>,
    /// Where they differ: as is known of the command, or in calls that no application makes.
    pub not_the_same: BTreeSet<&'static str>,
    pub not_compared: Vec<String>,
    /// The parts of conditions that were true, and that were false.
    #[serde(skip)]
    parts: BTreeSet<(usize, bool)>,
}

/// Why a line does not take the script's place.
#[derive(Debug)]
pub struct Difference {
    pub why: Why,
    pub text: String,
    /// After how many calls it showed.
    played: usize,
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

enum Failed {
    Differs(Difference),
    CouldNotRun(anyhow::Error),
}

impl From<anyhow::Error> for Failed {
    fn from(error: anyhow::Error) -> Self {
        Self::CouldNotRun(error)
    }
}

impl Failed {
    fn beside(text: impl Into<String>, played: usize) -> Self {
        Self::Differs(Difference { why: Why::Beside, text: text.into(), played })
    }

    /// The same, after so many calls.
    fn after(self, played: usize) -> Self {
        match self {
            Self::Differs(difference) => Self::Differs(Difference { played, ..difference }),
            other => other,
        }
    }
}

/// Where the two sides are after a step.
struct Side<'s> {
    step: &'s Step,
    yours: &'s Seen,
    ours: &'s Reply,
}

/// How many histories are tried first.
const FEW: usize = 6;

/// The replacements, the best first; and where the nearest candidate differs, if all do.
pub fn replacements(
    trial: &mut Trial<'_, '_>,
    candidates: &[Candidate],
    histories: &[History],
) -> Result<(Vec<Replacement>, Option<Difference>)> {
    let (mut found, mut nearest): (Vec<Replacement>, Option<Difference>) = (Vec::new(), None);
    for candidate in candidates {
        let by_names = candidate.by_names();
        if found.iter().any(|one| one.by_names == by_names || one.others().is_empty()) {
            continue;
        }
        match (Comparison { trial, candidate, histories }).replacement() {
            Ok(one) => found.push(one),
            Err(Failed::CouldNotRun(error)) => return Err(error),
            Err(Failed::Differs(difference)) => {
                let why = difference.why;
                if nearest.as_ref().is_none_or(|near| difference.played > near.played) {
                    nearest = Some(difference);
                }
                // No other way to ask first changes what an accepted try is answered.
                if why == Why::NoRule {
                    break;
                }
            }
        }
    }
    Ok((found, nearest))
}

struct Comparison<'c, 't, 'b> {
    trial: &'c mut Trial<'t, 'b>,
    candidate: &'c Candidate,
    histories: &'c [History],
}

impl Comparison<'_, '_, '_> {
    /// The command alone, if the script replies what it answers, or else a line that translates.
    fn replacement(&mut self) -> Result<Replacement, Failed> {
        let settings = &self.candidate.settings;
        if let Some(refusal) = self.trial.bench.set(settings)? {
            return Err(Failed::beside(format!("the settings are refused: {refusal}"), 0));
        }
        let same = |side: &Side<'_>| {
            let (yours, ours) = (&side.yours.reply, side.ours);
            (!is_same(yours, ours)).then(|| format!("it replies {yours}, and the line {ours}"))
        };
        if let Some(lua) = self.candidate.plain() {
            let mut settings = settings.clone();
            let native = self.candidate.native().zip(self.trial.script.entry.sha());
            let (ours, native) = match native {
                Some((words, sha)) => {
                    settings.push(("seckill.scripts", format!("{sha} {words}")));
                    self.trial.bench.set(&settings)?;
                    (Entry::Sha(sha.to_owned()), Some(words))
                }
                None => (self.line(&lua)?, None),
            };
            match self.play(self.histories, &ours, &mut { same }) {
                Ok(compared) => return self.shown(native, lua, settings, compared, &[]),
                Err(Failed::CouldNotRun(error)) => return Err(error.into()),
                Err(Failed::Differs(_)) => drop(self.trial.bench.set(&self.candidate.settings)?),
            }
        }
        let probes = self.histories.iter().filter(|history| history.is_probe()).cloned();
        let probes: Vec<History> = probes.collect();
        // Most candidates differ in the first histories.
        self.probe(&probes[..FEW.min(probes.len())])?;
        let (answers, played) = self.probe(&probes)?;
        if let Some(reply) = ambiguous(&answers) {
            let text = format!(
                "it replies {reply} both when it sells, as the number of units that are left, and \
                 when it refuses"
            );
            return Err(Failed::Differs(Difference { why: Why::NoRule, text, played }));
        }
        let lua = self.candidate.lua(&answers);
        let lua =
            lua.ok_or_else(|| Failed::beside("its replies can't be made by a line of Lua", 0))?;
        let ours = self.line(&lua)?;
        let compared = self.play(self.histories, &ours, &mut { same });
        let compared = compared.map_err(|failed| failed.after(played + 1))?;
        self.shown(None, lua, self.candidate.settings.clone(), compared, &answers)
    }

    /// The line, unless the script has a part in something that the line has not.
    fn shown(
        &mut self,
        native: Option<String>,
        lua: String,
        settings: Vec<Setting>,
        mut compared: Compared,
        answers: &[(i64, Answer)],
    ) -> Result<Replacement, Failed> {
        let (text, played) = (&self.trial.script.lua, compared.calls);
        let plain = &mut self.trial.bench.plain;
        let reads = |slot: &Slot| text.computes || text.reads.contains(slot);
        let all = self.trial.call.slots().map(|(slot, _)| slot).chain(text.reads.iter().copied());
        if let Some(slot) =
            all.into_iter().find(|slot| reads(slot) && !lua.contains(&slot.to_string()))
        {
            let why = format!("it reads {slot}, which the line does not pass on");
            return Err(Failed::beside(why, played));
        }
        for (number, part) in text.parts.iter().enumerate() {
            let seen = [true, false].map(|is_true| compared.parts.contains(&(number, is_true)));
            let shown = sanitize(&part.text.split_whitespace().join(" "));
            match &part.asks {
                _ if seen == [true, true] => {}
                Some((name, is_nil))
                    if seen != [false; 2] && (*is_nil || plain.is(name, "@write")?) =>
                {
                    compared.not_compared.push(format!(
                        "line {}, {shown}, after an answer of {name} that no call got",
                        part.line
                    ));
                }
                _ => {
                    let was = match seen {
                        [false, false] => "reached",
                        [false, true] => "made true",
                        [true, _] => "made false",
                    };
                    let line = part.line;
                    let why = format!("{shown} in line {line} was {was} by no call that was tried");
                    return Err(Failed::beside(why, played));
                }
            }
        }
        if answers.iter().any(|(_, answer)| answer.counts()) {
            compared.not_compared.push("the last digits of replies beyond 2^53".to_owned());
        }
        let (notes, by_names) = (self.candidate.notes(), self.candidate.by_names());
        Ok(Replacement { native, lua, settings, notes, compared, by_names })
    }

    /// Loads a line beside the module.
    fn line(&mut self, lua: &str) -> Result<Entry, Failed> {
        let loaded = self.trial.bench.module.load(lua.as_bytes(), None)?;
        loaded.map_err(|refusal| Failed::beside(format!("the line is refused: {refusal}"), 0))
    }

    /// Plays histories with a line that replies the command's outcome, to learn what the script
    /// replies then, and after how many calls.
    fn probe(&mut self, histories: &[History]) -> Result<(Vec<(i64, Answer)>, usize), Failed> {
        let (ours, candidate) = (self.line(&self.candidate.probe())?, self.candidate);
        let call = self.trial.call.clone();
        let mut seen: BTreeMap<i64, Vec<Sample>> = BTreeMap::new();
        let mut played = 0;
        let result = self.play(histories, &ours, &mut |side| {
            played += 1;
            let (values, yours) = (&side.step.values, side.yours);
            let number = |key: &Template| {
                let text = yours.after.text(&key.text(&call, values));
                Some((key.clone(), domain::integer::parse(text?)?))
            };
            match side.ours {
                Reply::Int(outcome) => {
                    let stock = candidate.keys.first().and_then(number);
                    let units = candidate.units.as_ref().map(|units| units.text(&call, values));
                    seen.entry(*outcome).or_default().push(Sample {
                        reply: yours.reply.clone(),
                        left: stock.map(|(_, left)| left),
                        units: units.and_then(|units| domain::integer::parse(&units)).unwrap_or(1),
                        values: values.clone(),
                        numbers: candidate.keys.iter().skip(1).filter_map(number).collect(),
                    });
                    None
                }
                refusal if yours.reply.is_error() && refusal.refuses() => None,
                refusal => Some(format!("it replies {}, and the line {refusal}", yours.reply)),
            }
        });
        result.map_err(|failed| failed.after(played))?;
        let answers = seen.iter().map(|(outcome, samples)| {
            let answer = answer(&call, *outcome, samples).map(|answer| (*outcome, answer));
            answer.ok_or_else(|| {
                let replies = samples.iter().map(|one| &one.reply).sorted().dedup().take(3);
                let text = format!(
                    "its replies have no rule that a line could follow: {} where the command \
                     answers {outcome}",
                    replies.format(", ")
                );
                let is_accepted = *outcome == 0 && candidate.name.starts_with("SECKILL");
                let why = if is_accepted { Why::NoRule } else { Why::Beside };
                Failed::Differs(Difference { why, text, played })
            })
        });
        Ok((answers.collect::<Result<_, _>>()?, played))
    }

    /// Plays histories on both sides. `judge` says how replies differ, if they do.
    fn play(
        &mut self,
        histories: &[History],
        ours: &Entry,
        judge: &mut dyn FnMut(&Side<'_>) -> Option<String>,
    ) -> Result<Compared, Failed> {
        let call = self.trial.call.clone();
        let mut compared = Compared { call: call.to_string(), ..Compared::default() };
        let publishes = self.candidate.publishes();
        for history in histories {
            let bench = &mut *self.trial.bench;
            bench.clear()?;
            let mut said = Vec::new();
            compared.histories += 1;
            compared.about.insert(history.about);
            for step in &history.steps {
                let bench = &mut *self.trial.bench;
                compared.calls += 1;
                said.extend(step.before.iter().map(|words| shown(words)));
                let words = step.words(&self.trial.script.marked, &call);
                let mut named = words.clone();
                named[1] = b"{sha}".to_vec();
                said.push(shown(&named));
                bench.prepare(&step.before)?;
                let is_strict = history.rigor == Rigor::Same;
                let before = if is_strict { None } else { Some(bench.plain.keys()?) };
                let yours = bench.plain.run(&words)?;
                let words = step.words(ours, &call);
                let ours = match publishes {
                    true => bench.module.run(&words)?,
                    false => bench.module.run_blind(&words)?,
                };
                if history.rigor != Rigor::Odd
                    && let Some(beside) = self.beside(&yours, &step.values)
                {
                    return Err(Failed::beside(beside, compared.calls));
                }
                let what = match yours.after.difference(&ours.after) {
                    None if publishes && !yours.messages().eq(ours.messages()) => {
                        Some("they publish different messages".to_owned())
                    }
                    Some(keys) => Some(format!("the keys differ, {keys}")),
                    None => judge(&Side { step, yours: &yours, ours: &ours.reply }),
                };
                let Some(what) = what else {
                    compared.parts.extend(yours.parts);
                    continue;
                };
                let may_differ = before.is_some_and(|before| {
                    let refused = ours.reply.refuses() && ours.after.is_same(&before);
                    let fails = yours.reply.is_error();
                    match history.rigor {
                        Rigor::Same => false,
                        Rigor::Known => true,
                        Rigor::MayRefuse => refused && (fails || yours.after.is_same(&before)),
                        Rigor::Odd => refused || fails,
                    }
                });
                if may_differ {
                    // What is only reached where the line is known to differ was not compared.
                    let parts = yours.parts.into_iter().filter(|_| history.rigor != Rigor::Known);
                    compared.parts.extend(parts);
                    compared.not_the_same.insert(history.about);
                    break;
                }
                let last = said.split_off(said.len().saturating_sub(6)).join("; ");
                let text = format!("{}: after {last}: {what}", history.about);
                let played = compared.calls;
                return Err(Failed::Differs(Difference { why: Why::Shown, text, played }));
            }
        }
        Ok(compared)
    }
}

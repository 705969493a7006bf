//! Tries candidates: each is compared with the script, and the first that never differs replaces
//! it. `answers` are its replies, `node` is what happens in a cluster.

mod answers;
mod node;

use std::collections::BTreeMap;

use anyhow::Result;
use itertools::Itertools;

use crate::bench::Entry;
use crate::call::{Call, Role, Slot, Word};
use crate::candidates::{Answer, Candidate};
use crate::compare::{Compared, Difference, Failed, Side, Why};
use crate::conf::Setting;
use crate::examine::Examination;
use crate::history::History;
use crate::learn::Sale;
use crate::reply::Reply;
use crate::template::Template;
use answers::{Sample, ambiguous, answer, is_same};

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

/// What the script replies for each outcome, and how many calls showed it.
type Probed = (Vec<(i64, Answer)>, usize);

/// How many histories are tried first.
const FEW: usize = 6;

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

impl Examination<'_, '_, '_> {
    /// The replacements, the best first; and where the nearest candidate differs, if all do.
    pub fn replacements(
        &mut self,
        candidates: &[Candidate],
        histories: &[History],
        on_nodes: &[History],
    ) -> Result<(Vec<Replacement>, Option<Difference>)> {
        let (mut found, mut nearest): (Vec<Replacement>, Option<Difference>) = (Vec::new(), None);
        for candidate in candidates {
            let by_names = candidate.by_names();
            if found.iter().any(|one| one.by_names == by_names || one.others().is_empty()) {
                continue;
            }
            match self.replacement(candidate, histories, on_nodes) {
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

    fn replacement(
        &mut self,
        candidate: &Candidate,
        histories: &[History],
        on_nodes: &[History],
    ) -> Result<Replacement, Failed> {
        let passes =
            |slot: Slot| candidate.templates().any(|word| word.places().any(|own| own == slot));
        let is_fixed = |slot: &Slot, word: &Word| {
            matches!(slot, Slot::Arg(_)) && word.places().next().is_none()
        };
        let fixed = self.call.slots().find(|(slot, word)| is_fixed(slot, word) && !passes(*slot));
        if let Some((slot, _)) = fixed {
            return Err(Failed::beside(format!(
                "{slot} was told as a constant, and the line does not pass it on"
            )));
        }
        self.set(&candidate.settings)?;
        let probes = histories.iter().filter(|history| history.is_probe()).cloned();
        let probes: Vec<History> = probes.collect();
        // Most candidates differ in the first histories.
        self.probe(candidate, &probes[..FEW.min(probes.len())])?;
        let (answers, played) = self.probe(candidate, &probes)?;
        if let Some(reply) = ambiguous(&answers) {
            let text = format!(
                "it replies {reply} both when it sells, as the number of units that are left, and \
                 when it refuses"
            );
            return Err(Failed::Differs(Difference { why: Why::NoRule, text, played }));
        }
        let lua = candidate.lua(&answers);
        let lua =
            lua.ok_or_else(|| Failed::beside("its replies can't be made by a line of Lua"))?;
        let native = candidate.native(&answers).filter(|_| self.call.function.is_none());
        let mut settings = candidate.settings.clone();
        let ours = match &native {
            Some(words) => {
                settings.push(("seckill.scripts", format!("{} {words}", self.said.sha1)));
                Entry::Sha(self.said.sha1.clone())
            }
            None => self.line(&lua)?,
        };
        self.set(&settings)?;
        let mut differs = |side: &Side<'_>| {
            let (yours, ours) = (&side.yours.reply, side.ours);
            (!is_same(yours, ours)).then(|| format!("it replies {yours}, and the line {ours}"))
        };
        let compared = self.play_beside(histories, &ours, candidate, &mut differs);
        let mut compared = compared.map_err(|failed| failed.after(played + 1))?;
        let (missed, failures) = self.unreached(histories)?;
        if let Some(number) = missed {
            let what = format!("no call that was tried reaches {}", self.lua.lines(number));
            return Err(Failed::beside(what).after(played + 2));
        }
        let on_node = self.on_node(on_nodes, &settings, native.is_some(), &lua);
        compared.cluster = on_node.unwrap_or_else(|error| format!("not compared: {error:#}"));
        compared.not_compared = candidate.not_compared();
        compared.not_compared.extend(failures);
        if answers.iter().any(|(_, answer)| answer.counts()) {
            compared.not_compared.push("the last digits of replies beyond 2^53".to_owned());
        }
        let notes = candidate.notes();
        let by_names = candidate.by_names();
        Ok(Replacement { native, lua, settings, notes, compared, by_names })
    }

    fn set(&mut self, settings: &[Setting]) -> Result<(), Failed> {
        match self.bench.set(settings)? {
            None => Ok(()),
            Some(refusal) => Err(Failed::beside(format!("the settings are refused: {refusal}"))),
        }
    }

    /// Loads a line beside the module.
    fn line(&mut self, lua: &str) -> Result<Entry, Failed> {
        let loaded = self.bench.module.load(lua.as_bytes(), None)?;
        loaded.map_err(|refusal| Failed::beside(format!("the line of Lua is refused: {refusal}")))
    }

    /// Plays histories with a line that replies the command's outcome, to learn what the script
    /// replies then, and after how many calls.
    fn probe(&mut self, candidate: &Candidate, histories: &[History]) -> Result<Probed, Failed> {
        let ours = self.line(&candidate.probe())?;
        let call = self.call.clone();
        let mut seen: BTreeMap<i64, Vec<Sample>> = BTreeMap::new();
        let mut played = 0;
        let result = self.play_beside(histories, &ours, candidate, &mut |side| {
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
        let answers = seen.iter().map(|(outcome, replies)| {
            let answer = answer(&call, *outcome, replies).map(|answer| (*outcome, answer));
            answer.ok_or_else(|| no_rule(candidate, *outcome, replies).after(played))
        });
        Ok((answers.collect::<Result<_, _>>()?, played))
    }
}

fn no_rule(candidate: &Candidate, outcome: i64, replies: &[Sample]) -> Failed {
    let replies = replies.iter().map(|one| &one.reply).sorted().dedup().take(3).join(", ");
    let text = format!(
        "its replies have no rule that a line could follow: {replies} where the command answers \
         {outcome}"
    );
    let is_accepted = outcome == 0 && candidate.name.starts_with("SECKILL");
    let why = if is_accepted { Why::NoRule } else { Why::Beside };
    Failed::Differs(Difference { why, text, played: 0 })
}

/// The call with the names that the module gives to keys by default, if each of the script's keys
/// is the stock, the buyers or the stream, and an argument is the voucher.
pub fn with_default_names(call: &Call, sale: &Sale) -> Option<Call> {
    use domain::key_names::{BUYERS_PREFIX, ORDER_STREAM, STOCK_PREFIX};
    let ((buyers, _), orders) = sale.buyers.as_ref().zip(sale.orders.as_ref())?;
    let voucher = orders.values[1].only().filter(|slot| matches!(slot, Slot::Arg(_)))?;
    call.word(voucher)?.only().filter(|role| *role == Role::Voucher)?;
    let names = [
        (&sale.stock, Word::after(STOCK_PREFIX, Role::Voucher)),
        (buyers, Word::after(BUYERS_PREFIX, Role::Voucher)),
        (&orders.stream, Word::constant_of(ORDER_STREAM)),
    ];
    let mut call = call.clone();
    for (at, word) in call.keys.iter_mut().enumerate() {
        let own = |(key, _): &&(&Template, _)| key.only() == Some(Slot::Key(at + 1));
        word.clone_from(&names.iter().find(own)?.1);
    }
    Some(call)
}

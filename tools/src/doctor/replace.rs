//! Tries candidates: each is compared with the script, and the first that never differs replaces
//! it. `answers` are its replies, `node` is what happens in a cluster.

mod answers;
mod node;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use crate::bench::{Bench, Entry};
use crate::call::{Call, Piece, Role, Slot, Word};
use crate::candidates::{Answer, Candidate};
use crate::compare::{Compared, Comparison, Difference};
use crate::conf::Setting;
use crate::history::History;
use crate::keyspace::{Cell, Kind};
use crate::learn::units_of;
use crate::lua::Lua;
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
    /// Names and values of settings, without `seckill.scripts`.
    pub settings: Vec<Setting>,
    pub notes: Vec<String>,
    pub compared: Compared,
    /// Whether its keys must have the names that the settings give.
    pub by_names: bool,
}

pub struct Replacer<'b, 'a> {
    pub bench: &'b mut Bench<'a>,
    pub script: &'b Entry,
    pub sha: &'b str,
    pub text: &'b [u8],
    pub call: &'b Call,
    pub lua: &'b Lua,
    pub histories: &'b [History],
    /// Those for nodes of clusters.
    pub on_nodes: &'b [History],
}

type Seen = BTreeMap<i64, Vec<Sample>>;

/// What the script replies for each outcome, and how many calls showed it.
type Probed = (Vec<(i64, Answer)>, usize);

/// After how many calls a candidate differs, and where.
type Differs = (usize, Difference);

/// How many histories are tried first.
const FEW: usize = 6;

impl Replacer<'_, '_> {
    /// The replacements, the best first, or where the last candidate differs.
    pub fn replacements(
        &mut self,
        candidates: &[Candidate],
    ) -> Result<Result<Vec<Replacement>, Option<Difference>>> {
        let (mut found, mut nearest): (Vec<Replacement>, Option<(usize, Difference)>) =
            (Vec::new(), None);
        for candidate in candidates {
            let by_names = candidate.command.name == "SECKILL.TRY";
            if found.iter().any(|one| one.by_names == by_names || one.settings.is_empty()) {
                continue;
            }
            match self.replacement(candidate)? {
                Ok(one) => found.push(one),
                Err((played, difference)) => {
                    let is_final = matches!(&difference, Difference::NoRule(_));
                    if nearest.as_ref().is_none_or(|(most, _)| played > *most) {
                        nearest = Some((played, difference));
                    }
                    // No other way to ask first changes what an accepted try is answered.
                    if is_final {
                        break;
                    }
                }
            }
        }
        Ok(if found.is_empty() { Err(nearest.map(|(_, near)| near)) } else { Ok(found) })
    }

    /// One replacement; or how many candidates' steps it took until it differed, and where.
    fn replacement(&mut self, candidate: &Candidate) -> Result<Result<Replacement, Differs>> {
        let other = |what: String| Ok(Err((0, Difference::Beside(what))));
        let passes =
            |slot: Slot| candidate.templates().any(|word| word.slots().any(|own| own == slot));
        let is_fixed = |slot: &Slot, word: &Word| {
            matches!(slot, Slot::Arg(_))
                && word.0.iter().all(|piece| matches!(piece, Piece::Text(_)))
        };
        let fixed = self.call.slots().find(|(slot, word)| is_fixed(slot, word) && !passes(*slot));
        if let Some((slot, _)) = fixed {
            return other(format!(
                "{slot} was told as a constant, and the line does not pass it on"
            ));
        }
        if let Some(refusal) = self.bench.set(&candidate.command.settings)? {
            return other(format!("the settings are refused: {refusal}"));
        }
        // Most candidates differ in the first histories.
        let few = self.probe(candidate, FEW)?;
        let (answers, played) = match few {
            Ok(_) => match self.probe(candidate, usize::MAX)? {
                Ok(probed) => probed,
                Err(differs) => return Ok(Err(differs)),
            },
            Err(differs) => return Ok(Err(differs)),
        };
        if let Some(reply) = ambiguous(&answers) {
            let what = format!(
                "it replies {reply} both when it sells, as the number of units that are left, and \
                 when it refuses"
            );
            return Ok(Err((played, Difference::NoRule(what))));
        }
        let Some(lua) = candidate.lua(&answers) else {
            return other("its replies can't be made by a line of Lua".to_owned());
        };
        let native = candidate.native(&answers).filter(|_| self.call.function.is_none());
        let mut settings = candidate.command.settings.clone();
        let ours = match &native {
            Some(words) => {
                settings.push(("seckill.scripts", format!("{} {words}", self.sha)));
                Entry::Sha(self.sha.to_owned())
            }
            None => match self.bench.load_beside_module(lua.as_bytes())? {
                Ok(ours) => ours,
                Err(refusal) => return other(format!("the line of Lua is refused: {refusal}")),
            },
        };
        if let Some(refusal) = self.bench.set(&settings)? {
            return other(format!("the settings are refused: {refusal}"));
        }
        let (histories, script) = (self.histories, self.script);
        let call = self.call;
        let mut comparison = Comparison { bench: self.bench, script, call, histories };
        let replies = |yours: &Reply, ours: &Reply| {
            (!is_same(yours, ours)).then(|| format!("it replies {yours}, and the line {ours}"))
        };
        let compared =
            comparison.play(&ours, candidate, &mut |side| replies(&side.seen.reply, side.reply))?;
        let mut compared = match compared {
            Ok(compared) => compared,
            Err(difference) => return Ok(Err((played + 1, difference))),
        };
        let missed = comparison.unreached(self.lua, self.call.function.as_deref())?;
        let (missed, failures) = missed;
        if let Some(number) = missed {
            let what = format!("no call that was tried reaches {}", self.lua.lines(number));
            return Ok(Err((played + 2, Difference::Beside(what))));
        }
        let on_node = self.on_node(&settings, native.is_some(), &lua);
        compared.cluster = on_node.unwrap_or_else(|error| format!("not compared: {error:#}"));
        settings.retain(|(name, _)| *name != "seckill.scripts");
        compared.not_compared = candidate.not_compared();
        compared.not_compared.extend(failures);
        if answers.iter().any(|(_, answer)| answer.counts()) {
            compared.not_compared.push("the last digits of replies beyond 2^53".to_owned());
        }
        let notes = candidate.notes();
        let by_names = candidate.command.name == "SECKILL.TRY";
        Ok(Ok(Replacement { native, lua, settings, notes, compared, by_names }))
    }

    /// Plays the first of the short histories with a line that replies the command's outcome, to
    /// learn what the script replies then, and after how many calls.
    fn probe(&mut self, candidate: &Candidate, most: usize) -> Result<Result<Probed, Differs>> {
        let ours = match self.bench.load_beside_module(candidate.probe().as_bytes())? {
            Ok(ours) => ours,
            Err(refusal) => {
                let what = format!("the line of Lua is refused: {refusal}");
                return Ok(Err((0, Difference::Beside(what))));
            }
        };
        let histories = self.histories.iter().filter(|history| history.is_probe());
        let histories: Vec<History> = histories.take(most).cloned().collect();
        let (call, stock) = (self.call, candidate.stock.clone());
        let units = units(candidate);
        let (mut seen, mut played) = (Seen::new(), 0);
        let (script, histories) = (self.script, &histories);
        let mut comparison = Comparison { bench: self.bench, script, call, histories };
        let result = comparison.play(&ours, candidate, &mut |side| {
            played += 1;
            let values = &side.step.values;
            match side.reply {
                Reply::Int(outcome) => {
                    let key = stock.as_ref().map(|stock| stock.text(call, values));
                    let cell = key.map(|key| Cell { key, kind: Kind::Text, item: Vec::new() });
                    let left = cell.and_then(|cell| side.seen.after.number(&cell));
                    let number = |key: &Template| {
                        let text = side.seen.after.text(&key.text(call, values));
                        Some((key.clone(), domain::integer::parse(text?)?))
                    };
                    let sample = Sample {
                        reply: side.seen.reply.clone(),
                        left,
                        units: units_of(&units, call, values),
                        values: values.clone(),
                        numbers: candidate.keys.iter().skip(1).filter_map(number).collect(),
                    };
                    seen.entry(*outcome).or_default().push(sample);
                    None
                }
                refusal if side.seen.reply.is_error() && refusal.refuses() => None,
                refusal => Some(format!("it replies {}, and the line {refusal}", side.seen.reply)),
            }
        })?;
        if let Err(difference) = result {
            return Ok(Err((played, difference)));
        }
        let mut answers: Vec<(i64, Answer)> = Vec::new();
        for (outcome, replies) in &seen {
            match answer(self.call, *outcome, replies) {
                Some(answer) => answers.push((*outcome, answer)),
                None => return Ok(Err((played, no_rule(candidate, *outcome, replies)))),
            }
        }
        Ok(Ok((answers, played)))
    }
}

fn no_rule(candidate: &Candidate, outcome: i64, replies: &[Sample]) -> Difference {
    let replies: BTreeSet<&Reply> = replies.iter().map(|one| &one.reply).collect();
    let texts: Vec<String> = replies.iter().take(3).map(|reply| reply.to_string()).collect();
    let what = format!(
        "its replies have no rule that a line could follow: {} where the command answers {outcome}",
        texts.join(", ")
    );
    let is_accepted = outcome == 0 && candidate.command.name.starts_with("SECKILL");
    if is_accepted { Difference::NoRule(what) } else { Difference::Beside(what) }
}

/// The argument with the units, if the command has one.
fn units(candidate: &Candidate) -> Result<Slot, i64> {
    let words = &candidate.command.words;
    let is_word = |word: &Template| word.constant() == Some(b"UNITS");
    let at = words.iter().position(is_word).map_or(1, |at| at + 1);
    let is_bare = !candidate.command.name.starts_with("SECKILL.TRY");
    match words.get(at).filter(|_| at > 1 || is_bare) {
        Some(word) => match (word.slot(), word.constant()) {
            (Some(slot), _) => Ok(slot),
            (_, Some(text)) => Err(domain::integer::parse(text).unwrap_or(1)),
            _ => Err(1),
        },
        None => Err(1),
    }
}

/// The call with the names that the module gives to keys by default, if each of the script's keys
/// is the stock, the buyers or the stream, and an argument is the voucher.
pub fn with_default_names(call: &Call, candidate: &Candidate) -> Option<Call> {
    use domain::key_names::{BUYERS_PREFIX, ORDER_STREAM, STOCK_PREFIX};
    let words = &candidate.command.words;
    let voucher = call.word(words.get(3)?.slot()?)?.only_role()?;
    if voucher != Role::Voucher || !matches!(words.get(3)?.slot()?, Slot::Arg(_)) {
        return None;
    }
    let mut call = call.clone();
    let prefixed =
        |prefix: &str| Word(vec![Piece::Text(prefix.into()), Piece::Role(Role::Voucher)]);
    for (at, word) in call.keys.iter_mut().enumerate() {
        let slot = Some(Slot::Key(at + 1));
        *word = match () {
            () if words[0].slot() == slot => prefixed(STOCK_PREFIX),
            () if words[1].slot() == slot => prefixed(BUYERS_PREFIX),
            () if words[2].slot() == slot => Word(vec![Piece::Text(ORDER_STREAM.into())]),
            () => return None,
        };
    }
    Some(call)
}

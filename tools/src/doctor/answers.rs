//! How a script's replies follow from what a command answers.

use std::collections::BTreeMap;

use crate::call::{Call, Slot, Values, Word};
use crate::reply::{Reply, quoted};
use crate::template::Template;

/// What the script answers for an outcome.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    Always(Reply),
    /// The stock after the call.
    Left,
    /// The stock before the call.
    Before,
    /// One of its arguments.
    Argument(Slot),
    /// The number in another key.
    Number(Template),
    /// A number between two texts, such as JSON.
    Within(Vec<u8>, Box<Answer>, Vec<u8>),
    List(Vec<Answer>),
}

impl Answer {
    /// Whether the stock is in it.
    pub fn counts(&self) -> bool {
        match self {
            Self::Left | Self::Before | Self::Number(_) => true,
            Self::Within(_, inner, _) => inner.counts(),
            Self::List(all) => all.iter().any(Self::counts),
            _ => false,
        }
    }

    /// The Lua expression for it; `left` has the stock after the call, and before it.
    pub fn lua(&self, left: &dyn Fn(bool) -> Option<String>) -> Option<String> {
        match self {
            Self::Always(reply) => reply.lua(),
            Self::Left => left(false),
            Self::Before => left(true),
            Self::Argument(slot) => Some(slot.to_string()),
            Self::Number(key) => Some(number_in(key)),
            Self::Within(before, inner, after) => {
                let [before, after] = [before, after].map(|text| quoted(text));
                Some(format!("{before} .. {} .. {after}", inner.lua(left)?))
            }
            Self::List(all) => {
                let all = all.iter().map(|one| one.lua(left)).collect::<Option<Vec<_>>>()?;
                // Lua ends a list at the first nil, and false is nil for clients.
                Some(format!("{{{}}}", all.join(", ")))
            }
        }
    }
}

/// The outcome of a line that found no stock.
pub const MISSING: i64 = 9;

/// Lua for the number in a key.
pub fn number_in(key: &Template) -> String {
    format!("tonumber(redis.call('GET', {}) or 0)", key.lua())
}

/// From here on Lua's numbers are not exact.
const BEYOND: i64 = (1 << 53) - 1;

/// Lua rounds numbers of this size; a reply of the command is exact.
pub fn is_same(yours: &Reply, ours: &Reply) -> bool {
    match (yours, ours) {
        (Reply::Int(yours), Reply::Int(ours)) if *ours >= BEYOND => {
            yours.abs_diff(*ours) <= 1024 || *yours == i64::MIN
        }
        (Reply::List(yours), Reply::List(ours)) if yours.len() == ours.len() => {
            yours.iter().zip(ours).all(|(yours, ours)| is_same(yours, ours))
        }
        _ => yours.is_like(ours),
    }
}

/// A refusal that could be a number of units that are left.
pub fn ambiguous(answers: &[(i64, Answer)]) -> Option<&Reply> {
    let counts = |(_, answer): &(i64, Answer)| matches!(answer, Answer::Left | Answer::Before);
    let least = |answer: &Answer| i64::from(*answer == Answer::Before);
    let (_, counting) = answers.iter().find(|answer| counts(answer))?;
    answers.iter().find_map(|(_, answer)| match answer {
        Answer::Always(reply @ Reply::Int(number)) if *number >= least(counting) => Some(reply),
        _ => None,
    })
}

/// A reply of the script where the command answered an outcome.
pub struct Sample {
    pub reply: Reply,
    /// The stock after the call, and how many units were asked for.
    pub left: Option<i64>,
    pub units: i64,
    pub values: Values,
    /// Numbers in other keys.
    pub numbers: BTreeMap<Template, i64>,
}

/// The answer that fits all replies to one outcome; none if they have no such rule.
pub fn answer(call: &Call, outcome: i64, seen: &[Sample]) -> Option<Answer> {
    // A script that fails at run time has a fault, unless it has no stock to look at.
    if outcome != MISSING && seen.iter().any(|one| one.reply.is_error()) {
        return None;
    }
    rule(call, &seen.iter().map(|one| (&one.reply, one)).collect::<Vec<_>>())
}

fn left(one: &Sample) -> i64 {
    one.left.unwrap_or(0)
}

fn before(one: &Sample) -> i64 {
    left(one).saturating_add(one.units)
}

/// The texts before and after the last place of a number in a reply.
fn within(reply: &Reply, number: i64) -> Option<(Vec<u8>, Vec<u8>)> {
    let Reply::Text(text) = reply else { return None };
    let digits = number.to_string().into_bytes();
    let at = text.windows(digits.len()).rposition(|part| part == digits)?;
    Some((text[..at].to_vec(), text[at + digits.len()..].to_vec()))
}

/// The rule by which replies, or one item of each, follow from the stock and the arguments.
fn rule(call: &Call, seen: &[(&Reply, &Sample)]) -> Option<Answer> {
    let (first, _) = seen.first()?;
    if seen.iter().all(|(reply, _)| reply.is_like(first)) {
        return Some(Answer::Always((*first).clone()));
    }
    let fits = |is: &dyn Fn(&Sample) -> Reply| seen.iter().all(|(reply, one)| **reply == is(one));
    if fits(&|one| Reply::Int(left(one))) {
        return Some(Answer::Left);
    }
    if fits(&|one| Reply::Int(before(one))) {
        return Some(Answer::Before);
    }
    for (number, answer) in [(left as fn(&Sample) -> i64, Answer::Left), (before, Answer::Before)] {
        let parts = |(reply, one): &(&Reply, &Sample)| within(reply, number(one));
        let all: Option<Vec<_>> = seen.iter().map(parts).collect();
        if let Some(all) = all
            && let Some((before, after)) =
                all.first().filter(|one| all.iter().all(|own| own == *one))
        {
            return Some(Answer::Within(before.clone(), Box::new(answer), after.clone()));
        }
    }
    let own = |word: &Word| fits(&|one| Reply::Text(word.value(&one.values)));
    if let Some((slot, _)) = call.slots().find(|(_, word)| own(word)) {
        return Some(Answer::Argument(slot));
    }
    let numbers = seen.first()?.1.numbers.keys();
    let holds = |key: &Template, one: &Sample| one.numbers.get(key).copied().map(Reply::Int);
    let holds =
        |key: &Template| seen.iter().all(|(reply, one)| holds(key, one).as_ref() == Some(reply));
    if let Some(key) = numbers.into_iter().find(|key| holds(key)) {
        return Some(Answer::Number(key.clone()));
    }
    let Reply::List(items) = first else { return None };
    let item = |at: usize| {
        let of = |(reply, one): &(&'_ Reply, _)| match reply {
            Reply::List(all) if all.len() == items.len() => Some((all.get(at)?.clone(), *one)),
            _ => None,
        };
        let all: Vec<(Reply, &Sample)> = seen.iter().map(of).collect::<Option<_>>()?;
        rule(call, &all.iter().map(|(reply, one)| (reply, *one)).collect::<Vec<_>>())
    };
    (0..items.len()).map(item).collect::<Option<Vec<_>>>().map(Answer::List)
}

//! How a script's replies follow from what a command answers.

use std::collections::BTreeMap;

use crate::reply::{Reply, quoted};
use crate::template::Template;

/// What the script answers for an outcome.
#[derive(Clone, PartialEq, Eq)]
pub enum Answer {
    Always(Reply),
    /// The stock after the call.
    Left,
    /// The stock before the call.
    Before,
    /// The number in another key.
    Number(Template),
    /// A number between two texts, such as JSON.
    Within(Vec<u8>, Box<Answer>, Vec<u8>),
    List(Vec<Answer>),
}

impl Answer {
    /// The Lua expression for it; `left` has the stock after the call, and before it.
    pub fn lua(&self, left: &dyn Fn(bool) -> Option<String>) -> Option<String> {
        Some(match self {
            Self::Always(reply) => reply.lua(),
            Self::Left => left(false)?,
            Self::Before => left(true)?,
            Self::Number(key) => number_in(key),
            Self::Within(before, inner, after) => {
                format!("{} .. {} .. {}", quoted(before), inner.lua(left)?, quoted(after))
            }
            // Lua ends a list at the first nil, and false is nil for clients.
            Self::List(all) => {
                let all = all.iter().map(|one| one.lua(left)).collect::<Option<Vec<_>>>()?;
                format!("{{{}}}", all.join(", "))
            }
        })
    }
}

/// The outcome of a line that found no stock.
pub const MISSING: i64 = 9;

/// Lua for the number in a key.
pub fn number_in(key: &Template) -> String {
    format!("tonumber(redis.call('GET', {}) or 0)", key.lua())
}

/// A refusal that could be a number of units that are left.
pub fn ambiguous(answers: &[(i64, Answer)]) -> Option<&Reply> {
    let least = answers.iter().find_map(|(_, answer)| match answer {
        Answer::Left => Some(0),
        Answer::Before => Some(1),
        _ => None,
    })?;
    answers.iter().find_map(|(_, answer)| match answer {
        Answer::Always(reply @ Reply::Int(number)) if *number >= least => Some(reply),
        _ => None,
    })
}

/// A reply of the script where the command answered an outcome.
pub struct Sample {
    pub reply: Reply,
    /// The stock after the call, and how many units were asked for.
    pub left: i64,
    pub units: i64,
    /// Numbers in other keys.
    pub numbers: BTreeMap<Template, i64>,
}

/// The answer that fits all replies to one outcome; none if they have no such rule.
pub fn answer(outcome: i64, seen: &[Sample]) -> Option<Answer> {
    // A script that fails at run time has a fault, unless it has no stock to look at.
    if outcome != MISSING && seen.iter().any(|one| one.reply.is_error()) {
        return None;
    }
    rule(&seen.iter().map(|one| (one.reply.clone(), one)).collect::<Vec<_>>())
}

/// The texts before and after the last place of a number in a reply.
fn within(reply: &Reply, number: i64) -> Option<(Vec<u8>, Vec<u8>)> {
    let Reply::Text(text) = reply else { return None };
    let digits = number.to_string().into_bytes();
    let at = text.windows(digits.len()).rposition(|part| part == digits)?;
    Some((text[..at].to_vec(), text[at + digits.len()..].to_vec()))
}

/// The rule by which replies, or one item of each, follow from the stock.
fn rule(seen: &[(Reply, &Sample)]) -> Option<Answer> {
    let (first, sample) = seen.first()?;
    if seen.iter().all(|(reply, _)| reply.is_like(first)) {
        return Some(Answer::Always(first.clone()));
    }
    let fits = |is: &dyn Fn(&Sample) -> Option<Reply>| {
        seen.iter().all(|(reply, one)| is(one).as_ref() == Some(reply))
    };
    for answer in [Answer::Left, Answer::Before] {
        let number = |one: &Sample| match answer {
            Answer::Left => one.left,
            _ => one.left.saturating_add(one.units),
        };
        if fits(&|one| Some(Reply::Int(number(one)))) {
            return Some(answer);
        }
        let parts = within(first, number(sample));
        if let Some((before, after)) = parts.clone()
            && seen.iter().all(|(reply, one)| within(reply, number(one)) == parts)
        {
            return Some(Answer::Within(before, Box::new(answer), after));
        }
    }
    let holds = |key: &&Template| fits(&|one| one.numbers.get(*key).copied().map(Reply::Int));
    if let Some(key) = sample.numbers.keys().find(holds) {
        return Some(Answer::Number(key.clone()));
    }
    let Reply::List(items) = first else { return None };
    let item = |at: usize| {
        let of = |(reply, one): &(Reply, _)| match reply {
            Reply::List(all) if all.len() == items.len() => Some((all[at].clone(), *one)),
            _ => None,
        };
        rule(&seen.iter().map(of).collect::<Option<Vec<_>>>()?)
    };
    (0..items.len()).map(item).collect::<Option<_>>().map(Answer::List)
}

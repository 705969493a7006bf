//! How a script's replies follow from what a command answers.

use crate::reply::{Reply, quoted};
use crate::template::Template;

/// What the script answers for an outcome.
pub struct Answer {
    pub lua: String,
    /// The reply, if it is always the same.
    pub always: Option<Reply>,
    /// The least that it may be, if it is the stock.
    least: Option<i64>,
}

/// A number that a reply may tell: what a key has after the call, or had before.
pub struct Number<'a> {
    pub lua: String,
    pub key: &'a Template,
    pub is_before: bool,
    pub is_stock: bool,
}

/// The outcome of a line that found no stock.
pub const MISSING: i64 = 9;

/// Lua for the number in a key.
pub fn number_in(key: &Template) -> String {
    format!("tonumber(redis.call('GET', {}) or 0)", key.lua())
}

/// A refusal that could be a number of units that are left.
pub fn ambiguous(answers: &[(i64, Answer)]) -> Option<&Reply> {
    let least = answers.iter().find_map(|(_, answer)| answer.least)?;
    let mut replies = answers.iter().filter_map(|(_, answer)| answer.always.as_ref());
    replies.find(|reply| matches!(reply, Reply::Int(number) if *number >= least))
}

/// A reply of the script where the command answered an outcome, and the numbers that it may tell.
pub type Sample = (Reply, Vec<Option<i64>>);

/// The answer that fits all replies to one outcome; none if they have no such rule.
pub fn answer(outcome: i64, seen: &[Sample], numbers: &[Number<'_>]) -> Option<Answer> {
    // A script that fails at run time has a fault, unless it has no stock to look at.
    let fails = seen.iter().any(|(reply, _)| reply.is_error());
    if outcome != MISSING && fails { None } else { rule(seen, numbers) }
}

/// The texts before and after the last place of a number in a reply.
fn around(reply: &Reply, number: Option<i64>) -> Option<(&[u8], &[u8])> {
    let (Reply::Text(text), digits) = (reply, number?.to_string()) else { return None };
    let at = text.windows(digits.len()).rposition(|part| part == digits.as_bytes())?;
    Some((&text[..at], &text[at + digits.len()..]))
}

/// The rule by which replies, or one item of each, follow from numbers.
fn rule(seen: &[Sample], numbers: &[Number<'_>]) -> Option<Answer> {
    let (first, values) = seen.first()?;
    let of = |lua| Answer { lua, always: None, least: None };
    if seen.iter().all(|(reply, _)| reply.is_like(first)) {
        return Some(Answer { always: Some(first.clone()), ..of(first.lua()) });
    }
    for (at, number) in numbers.iter().enumerate() {
        if seen.iter().all(|(reply, own)| own[at].map(Reply::Int).as_ref() == Some(reply)) {
            let least = number.is_stock.then_some(i64::from(number.is_before));
            return Some(Answer { least, ..of(number.lua.clone()) });
        }
        if let Some((before, after)) = around(first, values[at])
            && seen.iter().all(|(reply, own)| around(reply, own[at]) == Some((before, after)))
        {
            let [before, after] = [before, after].map(quoted);
            return Some(of(format!("{before} .. {} .. {after}", number.lua)));
        }
    }
    let Reply::List(items) = first else { return None };
    let item = |at: usize| {
        let of = |(reply, own): &Sample| match reply {
            Reply::List(all) if all.len() == items.len() => Some((all[at].clone(), own.clone())),
            _ => None,
        };
        let seen: Vec<Sample> = seen.iter().map(of).collect::<Option<_>>()?;
        rule(&seen, numbers).map(|answer| answer.lua)
    };
    // Lua ends a list at the first nil, and false is nil for clients.
    let items = (0..items.len()).map(item).collect::<Option<Vec<_>>>()?;
    Some(of(format!("{{{}}}", items.join(", "))))
}

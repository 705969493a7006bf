//! How a script's replies follow from what a command answers.

use crate::reply::Reply;

/// What the script answers for an outcome.
pub struct Answer {
    pub lua: String,
    /// The reply, if it is always the same.
    pub always: Option<Reply>,
    /// The least that it may be, if it is the stock.
    least: Option<i64>,
}

/// The outcome of a line that found no stock.
pub const MISSING: i64 = 9;

/// A refusal that could be a number of units that are left.
pub fn ambiguous(answers: &[(i64, Answer)]) -> Option<&Reply> {
    let least = answers.iter().find_map(|(_, answer)| answer.least)?;
    let mut replies = answers.iter().filter_map(|(_, answer)| answer.always.as_ref());
    replies.find(|reply| matches!(reply, Reply::Int(number) if *number >= least))
}

/// A reply of the script where the command answered an outcome, and the stock after it and before.
pub type Sample = (Reply, [Option<i64>; 2]);

/// The answer that fits all replies to one outcome; none if they have no such rule. `stocks` is Lua
/// for the stock after the call, and before it.
pub fn answer(outcome: i64, seen: &[Sample], stocks: &[String; 2]) -> Option<Answer> {
    // A script that fails at run time has a fault, unless it has no stock to look at.
    let fails = seen.iter().any(|(reply, _)| reply.is_error());
    if outcome != MISSING && fails { None } else { rule(seen, stocks) }
}

/// The rule by which replies, or one item of each, follow from the stock.
fn rule(seen: &[Sample], stocks: &[String; 2]) -> Option<Answer> {
    let (first, _) = seen.first()?;
    let of = |lua| Answer { lua, always: None, least: None };
    if seen.iter().all(|(reply, _)| reply.is_like(first)) {
        return Some(Answer { always: Some(first.clone()), ..of(first.lua()) });
    }
    for (at, least) in [(0, 0), (1, 1)] {
        if seen.iter().all(|(reply, own)| own[at].map(Reply::Int).as_ref() == Some(reply)) {
            return Some(Answer { least: Some(least), ..of(stocks[at].clone()) });
        }
    }
    let Reply::List(items) = first else { return None };
    let item = |at: usize| {
        let of = |(reply, own): &Sample| match reply {
            Reply::List(all) if all.len() == items.len() => Some((all[at].clone(), *own)),
            _ => None,
        };
        let seen: Vec<Sample> = seen.iter().map(of).collect::<Option<_>>()?;
        rule(&seen, stocks).map(|answer| answer.lua)
    };
    // Lua ends a list at the first nil, and false is nil for clients.
    let items = (0..items.len()).map(item).collect::<Option<Vec<_>>>()?;
    Some(of(format!("{{{}}}", items.join(", "))))
}

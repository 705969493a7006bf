//! The rules of a sale, as clients give them.

use crate::args::Args;
use crate::error::CommandError;
use domain::rules::{MILLIS_MAX, Millis, Rules, is_in_seconds};

/// Reads `[BEGIN ms] [END ms] [LIMIT n] [HOLD ms]`, each at most once and in any order, and applies
/// them to `rules`. A value of 0 means none.
pub(super) fn rules_from(mut args: Args<'_>, mut rules: Rules) -> Result<Rules, CommandError> {
    let mut seen = Vec::new();
    while !args.is_empty() {
        let word = args.next_word(&["BEGIN", "END", "LIMIT", "HOLD"])?;
        if seen.contains(&word) {
            return Err(CommandError::Syntax);
        }
        seen.push(word);
        let bound = |value: i64| (value != 0).then_some(value);
        match word {
            "BEGIN" => rules.begin = bound(next_moment(&mut args, "begin")?),
            "END" => rules.end = bound(next_moment(&mut args, "end")?),
            "HOLD" => rules.hold = bound(args.next_integer("hold", 0..=MILLIS_MAX)?),
            _ => rules.limit = args.next_integer("limit", 1..=i64::MAX)?,
        }
    }
    Ok(rules.checked()?)
}

fn next_moment(args: &mut Args<'_>, argument: &'static str) -> Result<Millis, CommandError> {
    let moment = args.next_integer(argument, 0..=MILLIS_MAX)?;
    if is_in_seconds(moment) { Err(CommandError::Seconds { argument }) } else { Ok(moment) }
}

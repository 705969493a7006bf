//! The streams of dead letters: entries that a consumer gave up, where they came from, and why.

use crate::config;
use crate::error::CommandError;
use crate::keyspace::fields::owned;
use crate::keyspace::groups::Delivery;
use crate::keyspace::orders::Orders;
use crate::keyspace::presence::count_here;
use crate::server::{Ctx, OwnedStr, Str};
use crate::typed::{KeyName, Reason};
use domain::book::State;
use domain::facts::Stream;
use domain::hash_tag::StrayBraces;
use domain::key_names::{DEAD_LETTERS_SUFFIX, companion};
use domain::rejection::{DeadLetter, Fate};

/// The reason of a rejection that gives none, or that comes while memory is full.
const NO_REASON: &[u8] = b"unspecified";

/// How many bytes of a reason are kept. Enough for the head of a stack trace.
const REASON_LEN_MAX: usize = 1024;

/// The name of the dead-letter stream of a stream, in the stream's slot if there are slots, and
/// known to be on this node.
pub(crate) fn name(ctx: Ctx<'_>, stream: KeyName<'_>) -> Result<OwnedStr, CommandError> {
    let name = companion(stream.0.bytes(), DEAD_LETTERS_SUFFIX, config::hash_tags())
        .map_err(|StrayBraces| CommandError::StreamStrayBraces)?;
    let name = OwnedStr::new(&name);
    if config::is_cluster() {
        // The client named only the stream: while its slot moves, the two may be on different
        // nodes.
        count_here(ctx, &[stream.0, name.as_str()], CommandError::DeadLettersNotHere)?;
    }
    Ok(name)
}

/// A pending entry that is rejected, and the stream that it is moved to.
pub(crate) struct Rejected<'a> {
    pub(crate) delivery: Delivery<'a>,
    pub(crate) deliveries: i64,
    pub(crate) reason: Option<Reason<'a>>,
    /// The fields, names and values in turn.
    pub(crate) entry: &'a [Str<'a>],
    pub(crate) letters: Str<'a>,
}

impl Rejected<'_> {
    /// Makes the entry a dead letter that concerns no order. On an error nothing has been changed.
    pub(crate) fn bury(&self, ctx: Ctx<'_>, fate: Fate) -> Result<(), CommandError> {
        let own = self.letter(fate, None);
        let fields = self.fields(&own);
        let name = Stream::DeadLetters.name();
        let letter = Orders::open(ctx, self.letters, name)?.add(&fields)?;
        match self.delivery.acknowledge(ctx) {
            Ok(()) => letter.effect(&fields).publish(ctx),
            Err(error) => {
                letter.take_back(ctx, &fields);
                return Err(error);
            }
        }
        Ok(())
    }

    /// What the dead letter says beside the fields of its entry, names and values in turn.
    pub(super) fn letter(&self, fate: Fate, was: Option<State>) -> Vec<OwnedStr> {
        let reason = self.reason.map_or(NO_REASON, |reason| shortened(reason.0.bytes()));
        let letter = DeadLetter {
            stream: Some(self.delivery.stream.0.bytes()),
            group: self.delivery.group.0.bytes(),
            id: self.delivery.id,
            deliveries: Some(self.deliveries),
            reason: Some(reason),
            fate: Some(fate),
            was,
        };
        let mut fields = Vec::new();
        letter.write(|name, value| fields.extend([OwnedStr::new(name), owned(value)]));
        fields
    }

    /// The fields of the dead letter. What is ours is always the last.
    pub(super) fn fields<'l>(&'l self, letter: &'l [OwnedStr]) -> Vec<Str<'l>> {
        self.entry.iter().copied().chain(letter.iter().map(OwnedStr::as_str)).collect()
    }
}

/// As much of a reason as is kept, without half a character at its end.
fn shortened(reason: &[u8]) -> &[u8] {
    let starts = |at: &usize| reason.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
    let end = (0..=REASON_LEN_MAX).rev().take(4).find(starts);
    reason.get(..end.unwrap_or(REASON_LEN_MAX)).unwrap_or(reason)
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        for text in ["", "x", "\u{5730}\u{5740}"] {
            assert_eq!(shortened(text.as_bytes()), text.as_bytes());
        }
        let characters = [("x", 1024), ("\u{e9}", 1024), ("\u{5730}", 1023), ("\u{1d11e}", 1024)];
        for (character, wanted) in characters {
            let text = character.repeat(2000);
            assert_eq!(shortened(text.as_bytes()).len(), wanted, "{character}");
        }
        assert_eq!(shortened(&[0x80; 5000]).len(), 1024);
    }
}

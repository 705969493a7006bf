//! The streams of dead letters: entries that a consumer gave up, where they came from, and why.

use crate::config;
use crate::error::CommandError;
use crate::keyspace::groups::Delivery;
use crate::keyspace::orders::Orders;
use crate::server::{Call, Ctx, OwnedStr, Str};
use crate::typed::{KeyName, Reason};
use domain::book::State;
use domain::fields::DEAD_LETTER_PREFIX;
use domain::hash_tag::StrayBraces;
use domain::integer::Decimal;
use domain::key_names::{DEAD_LETTERS_SUFFIX, companion};
use domain::rejection::Fate;

/// The reason of a rejection that gives none.
const NO_REASON: &[u8] = b"unspecified";

/// The name of the dead-letter stream of a stream, in the stream's slot if there are slots, and
/// known to be on this node.
pub(crate) fn name(ctx: Ctx<'_>, stream: KeyName<'_>) -> Result<OwnedStr, CommandError> {
    let name = companion(stream.0.bytes(), DEAD_LETTERS_SUFFIX, config::hash_tags())
        .map_err(|StrayBraces| CommandError::StreamStrayBraces)?;
    let name = OwnedStr::new(&name);
    if config::is_cluster() {
        // The client named only the stream: while its slot moves, the two may be on different
        // nodes.
        Call::read_all(ctx, c"EXISTS", &[stream.0, name.as_str()]).map_err(|error| {
            match CommandError::of_call(error, "EXISTS") {
                CommandError::TryAgain => CommandError::DeadLettersNotHere,
                other => other,
            }
        })?;
    }
    Ok(name)
}

/// Opens a stream of dead letters, there or not; an error when it can't take an entry.
pub(crate) fn open<'a>(ctx: Ctx<'a>, name: Str<'a>) -> Result<Orders<'a>, CommandError> {
    let open = || {
        let letters = Orders::open(ctx, name)?;
        letters.check_room(ctx)?;
        Ok(letters)
    };
    open().map_err(|error| match error {
        CommandError::StreamExhausted => CommandError::DeadLettersExhausted,
        other => other,
    })
}

/// What a dead letter says beside the fields of its entry.
pub(crate) struct DeadLetter(Vec<OwnedStr>);

impl DeadLetter {
    pub(crate) fn new(
        delivery: &Delivery<'_>,
        deliveries: i64,
        reason: Option<Reason<'_>>,
        fate: Fate,
        was: Option<State>,
    ) -> Self {
        let name = |word: &[u8]| OwnedStr::new(&[DEAD_LETTER_PREFIX, word].concat());
        let reason = reason.map_or(NO_REASON, |reason| reason.0.bytes());
        let mut fields = vec![
            name(b"Stream"),
            OwnedStr::new(delivery.stream.0.bytes()),
            name(b"Group"),
            OwnedStr::new(delivery.group.0.bytes()),
            name(b"Id"),
            OwnedStr::new(&delivery.id.text()),
            name(b"Deliveries"),
            OwnedStr::new(Decimal::new(deliveries).bytes()),
            name(b"Reason"),
            OwnedStr::new(reason),
            name(b"Order"),
            OwnedStr::new(fate.word().as_bytes()),
        ];
        let was = was.map(|state| OwnedStr::new(state.word().as_bytes()));
        fields.extend(was.into_iter().flat_map(|was| [name(b"Was"), was]));
        Self(fields)
    }

    /// All fields of the dead letter, names and values in turn: those of the entry as they are,
    /// then ours, which are always the last.
    pub(crate) fn behind<'s>(&'s self, entry: &[Str<'s>]) -> Vec<Str<'s>> {
        entry.iter().copied().chain(self.0.iter().map(OwnedStr::as_str)).collect()
    }
}

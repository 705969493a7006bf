//! How an entry leaves the hands of the worker: as a row, as a dead letter, as one that needs
//! neither, or as one that is lost, which is told. There is no other way.

use domain::entry_id::EntryId;

use crate::intake::gap::Gap;
use crate::order_events::{OrderKey, Which};

/// A stream and an entry of it.
pub type Place = (Which, EntryId);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A row says what it says.
    Row,
    /// It is in the stream of dead letters.
    DeadLetter,
    /// What it sold is released, or was never to be a row: it needs none.
    Over,
    /// Nobody can read it any more.
    Lost(Cause),
}

/// Why an entry, or all entries of a gap, can't become rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It was deleted from the stream while it was pending.
    Deleted,
    /// They were deleted or trimmed before the group read them; how many, if that is known.
    Gap(Gap),
}

impl Cause {
    /// The word in the table of lost entries.
    pub fn word(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Gap(_) => "gap",
        }
    }

    /// How many entries; none if that is unknown.
    pub fn entries(self) -> Option<u64> {
        match self {
            Self::Deleted => Some(1),
            Self::Gap(gap) => gap.entries,
        }
    }
}

/// A line of the table of lost entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    pub stream: String,
    pub group: String,
    pub entry: String,
    /// The entry itself, or where the gap ends.
    pub until: String,
    pub word: &'static str,
    pub entries: Option<u64>,
    /// The order, if it is known.
    pub key: Option<OrderKey>,
}

/// The word of an entry that a person has given up without releasing its units.
pub const KEPT: &str = "kept";

impl Lost {
    pub fn new(stream: &str, group: &str, id: EntryId, cause: Cause) -> Self {
        let (entry, until) = match cause {
            Cause::Deleted => (id, id),
            Cause::Gap(gap) => (gap.after, gap.until),
        };
        let [entry, until] = [entry, until].map(|id| id.to_string());
        let [stream, group] = [stream, group].map(str::to_owned);
        let (word, entries) = (cause.word(), cause.entries());
        Self { stream, group, entry, until, word, entries, key: None }
    }

    /// The entry has no row by a person's decision.
    pub fn kept(stream: &str, group: &str, id: EntryId) -> Self {
        Self { word: KEPT, ..Self::new(stream, group, id, Cause::Deleted) }
    }

    /// In words, for the log.
    pub fn text(&self) -> String {
        let Self { stream, entry, until, .. } = self;
        match (self.word, self.entries) {
            ("deleted", _) => {
                format!(
                    "entry {entry} of {stream} was deleted while it was pending, so it has no row"
                )
            }
            (_, Some(entries)) => format!(
                "{entries} entries of {stream} were deleted or trimmed before they were read, \
                 between {entry} and {until}: they have no rows"
            ),
            (_, None) => format!(
                "entries of {stream} may have been deleted before they were read, between {entry} \
                 and {until}: the server can't tell"
            ),
        }
    }
}

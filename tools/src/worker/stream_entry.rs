//! What the streams of orders, confirmed orders and releases consist of.

use domain::entry_id::EntryId;

/// One of the streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Which {
    Orders,
    Confirmed,
    Released,
}

impl Which {
    /// The word in the table of changes.
    pub fn word(self) -> &'static str {
        match self {
            Self::Orders => "orders",
            Self::Confirmed => "confirmed",
            Self::Released => "released",
        }
    }
}

/// An entry of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamEntry {
    pub id: EntryId,
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
}

//! An entry of the streams, as a consumer gets it.

use domain::entry_id::EntryId;
pub use domain::stream_entry::Which;

/// An entry of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamEntry {
    pub id: EntryId,
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
}

impl StreamEntry {
    /// Names and values in turn.
    pub fn flat(&self) -> Vec<&[u8]> {
        self.fields.iter().flat_map(|(name, value)| [&name[..], value]).collect()
    }
}

//! Hash tags in the names of keys.

use domain::hash_tag::{StrayBraces, Tagged, tagged};
use crate::server::OwnedStr;

/// How a voucher or a pool stands in the names of its keys.
#[derive(Clone, Copy)]
pub(super) enum Style<'v> {
    Plain,
    OwnTag(&'v [u8]),
    Wrapped,
}

impl<'v> Style<'v> {
    /// Where hash tags are on.
    pub(super) fn tagged(owner: &'v [u8]) -> Result<Self, StrayBraces> {
        Ok(match tagged(owner)? {
            Tagged::Own { tag } => Self::OwnTag(tag),
            Tagged::Wrapped => Self::Wrapped,
        })
    }

    pub(super) fn key(self, prefix: &[u8], owner: &[u8]) -> OwnedStr {
        match self {
            Self::Plain | Self::OwnTag(_) => OwnedStr::new(&[prefix, owner].concat()),
            Self::Wrapped => OwnedStr::new(&[prefix, b"{", owner, b"}"].concat()),
        }
    }

    /// One stream serves all owners of a tag.
    pub(super) fn stream(self, name: &[u8], owner: &[u8]) -> OwnedStr {
        match self {
            Self::Plain => OwnedStr::new(name),
            Self::OwnTag(tag) => OwnedStr::new(&[name, b":{", tag, b"}"].concat()),
            Self::Wrapped => OwnedStr::new(&[name, b":{", owner, b"}"].concat()),
        }
    }
}

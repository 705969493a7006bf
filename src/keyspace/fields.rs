//! The words in the entries of the order streams.

use crate::rules::rejection::FieldNames;
use crate::server::{OwnedStr, Str};

/// The words of an order's entry that are the same for every order.
pub(crate) struct OrderFields {
    user: OwnedStr,
    voucher: OwnedStr,
    id: OwnedStr,
    units: OwnedStr,
    deadline: OwnedStr,
    reason: OwnedStr,
}

impl OrderFields {
    /// The configured names of the fields for user, voucher and order id, and ours for the others.
    pub(super) fn parse(three: &[u8]) -> Self {
        let mut words = three.split(|byte| *byte == b' ');
        let mut next = || OwnedStr::new(words.next().unwrap_or_default());
        Self {
            user: next(),
            voucher: next(),
            id: next(),
            units: OwnedStr::new(b"units"),
            deadline: OwnedStr::new(b"deadline"),
            reason: OwnedStr::new(b"reason"),
        }
    }

    /// The names by which the entry of an order is known.
    pub(crate) fn names(&self) -> FieldNames<'_> {
        FieldNames {
            user: self.user().bytes(),
            voucher: self.voucher().bytes(),
            id: self.id().bytes(),
            units: self.units().bytes(),
            reason: self.reason().bytes(),
        }
    }

    pub(crate) fn user(&self) -> Str<'_> {
        self.user.as_str()
    }

    pub(crate) fn voucher(&self) -> Str<'_> {
        self.voucher.as_str()
    }

    pub(crate) fn id(&self) -> Str<'_> {
        self.id.as_str()
    }

    pub(crate) fn units(&self) -> Str<'_> {
        self.units.as_str()
    }

    pub(crate) fn deadline(&self) -> Str<'_> {
        self.deadline.as_str()
    }

    pub(crate) fn reason(&self) -> Str<'_> {
        self.reason.as_str()
    }
}

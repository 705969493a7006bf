//! The words in the entries of the streams.

use crate::server::{OwnedStr, Str};
use domain::fields::{DEADLINE, DRAW_FIELDS, REASON, UNITS, parse_order_fields};
use domain::rejection::FieldNames;

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
    pub(super) fn configured(text: &[u8]) -> Self {
        // The setting was checked when it was set.
        let words = parse_order_fields(text).unwrap_or_default();
        let [user, voucher, id] = words.map(OwnedStr::new);
        let [units, deadline, reason] = [UNITS, DEADLINE, REASON].map(OwnedStr::new);
        Self { user, voucher, id, units, deadline, reason }
    }

    /// The names by which the entry of an order is known.
    pub(crate) fn names(&self) -> FieldNames<'_> {
        FieldNames {
            user: self.user().bytes(),
            voucher: self.voucher().bytes(),
            id: self.id().bytes(),
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

/// The words of the entry of a draw.
pub(crate) struct DrawFields {
    user: OwnedStr,
    pool: OwnedStr,
    code: OwnedStr,
}

impl DrawFields {
    pub(super) fn new() -> Self {
        let [user, pool, code] = DRAW_FIELDS.map(OwnedStr::new);
        Self { user, pool, code }
    }

    /// The entry: names and values in turn.
    pub(crate) fn of<'a>(&'a self, [user, pool, code]: [Str<'a>; 3]) -> [Str<'a>; 6] {
        [self.user.as_str(), user, self.pool.as_str(), pool, self.code.as_str(), code]
    }
}

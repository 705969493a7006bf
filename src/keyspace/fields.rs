//! The words in the entries of the streams.

use crate::error::CommandError;
use crate::server::{OwnedStr, Str};
use domain::fields::{
    DEADLINE, DRAW_FIELDS, REASON, UNITS, WAS, check_order_fields, parse_order_fields,
};
use domain::rejection::FieldNames;

/// The words of an order's entry that are the same for every order.
pub(crate) struct OrderFields {
    user: OwnedStr,
    voucher: OwnedStr,
    id: OwnedStr,
    units: OwnedStr,
    deadline: OwnedStr,
    reason: OwnedStr,
    was: OwnedStr,
}

impl OrderFields {
    /// The configured names of the fields for user, voucher and order id, and ours for the others.
    pub(super) fn configured(text: &[u8]) -> Self {
        // The setting was checked when it was set.
        let words = parse_order_fields(text).unwrap_or_default();
        let [user, voucher, id] = words.map(OwnedStr::new);
        let [units, deadline, reason, was] = [UNITS, DEADLINE, REASON, WAS].map(OwnedStr::new);
        Self { user, voucher, id, units, deadline, reason, was }
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

    pub(crate) fn was(&self) -> Str<'_> {
        self.was.as_str()
    }
}

/// The names of the fields in the entry of an accepted order.
#[derive(Clone, Copy)]
pub(crate) struct EntryNames<'n> {
    pub(crate) user: Str<'n>,
    pub(crate) voucher: Str<'n>,
    pub(crate) id: Str<'n>,
    pub(crate) units: Str<'n>,
    pub(crate) deadline: Str<'n>,
}

impl<'n> EntryNames<'n> {
    /// The names as the settings have them.
    pub(crate) fn configured(fields: &'n OrderFields) -> Self {
        Self {
            user: fields.user(),
            voucher: fields.voucher(),
            id: fields.id(),
            units: fields.units(),
            deadline: fields.deadline(),
        }
    }

    /// The same with the names of a client for user, voucher and order id.
    pub(crate) fn renamed(self, names: ClientNames<'n>) -> Self {
        let [user, voucher, id] = names.0;
        Self { user, voucher, id, ..self }
    }
}

/// The names that a client gives to the fields for user, voucher and order id.
#[derive(Clone, Copy)]
pub(crate) struct ClientNames<'a>([Str<'a>; 3]);

impl<'a> ClientNames<'a> {
    /// An error for names that the setting would not take either.
    pub(crate) fn new(names: [Str<'a>; 3]) -> Result<Self, CommandError> {
        check_order_fields(names.map(Str::bytes)).map_err(CommandError::Fields)?;
        Ok(Self(names))
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

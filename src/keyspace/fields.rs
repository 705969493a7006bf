//! The words in the entries of the streams: names of fields, and how values are written.

use crate::error::CommandError;
use crate::server::{OwnedStr, Str};
use domain::fields::{DRAW_FIELDS, OWN_FIELDS, check_order_fields, parse_order_fields};
use domain::integer::Decimal;
use domain::stream_entry::{FieldNames, Value};

/// The names of the fields of an order's entry.
pub(crate) struct OrderFields {
    user: OwnedStr,
    voucher: OwnedStr,
    id: OwnedStr,
    /// Those that can't be configured, in the order of `OWN_FIELDS`.
    own: [OwnedStr; OWN_FIELDS.len()],
}

impl OrderFields {
    /// The configured names of the fields for user, voucher and order id, and ours for the others.
    pub(super) fn configured(text: &[u8]) -> Self {
        // The setting was checked when it was set.
        let words = parse_order_fields(text).unwrap_or_default();
        let [user, voucher, id] = words.map(OwnedStr::new);
        Self { user, voucher, id, own: OWN_FIELDS.map(OwnedStr::new) }
    }

    /// A name that can't be configured.
    pub(super) fn own(&self, name: &[u8]) -> Option<&OwnedStr> {
        let mut all = OWN_FIELDS.into_iter().zip(&self.own);
        all.find(|(other, _)| *other == name).map(|(_, kept)| kept)
    }

    /// The names by which the entry of an order is known.
    pub(crate) fn names(&self) -> FieldNames<'_> {
        let [user, voucher, id] = self.three().map(Str::bytes);
        FieldNames { user, voucher, id }
    }

    fn three(&self) -> [Str<'_>; 3] {
        [self.user.as_str(), self.voucher.as_str(), self.id.as_str()]
    }
}

/// The names of the fields of an order's entry, those of user, voucher and order id perhaps given
/// by a client.
#[derive(Clone, Copy)]
pub(crate) struct EntryNames<'n> {
    pub(super) own: &'n OrderFields,
    pub(super) three: [Str<'n>; 3],
}

impl<'n> EntryNames<'n> {
    /// The names as the settings have them.
    pub(crate) fn configured(own: &'n OrderFields) -> Self {
        Self { own, three: own.three() }
    }

    /// The same with the names of a client for user, voucher and order id.
    pub(crate) fn renamed(self, names: ClientNames<'n>) -> Self {
        Self { three: names.0, ..self }
    }
}

/// The names that a client gives to the fields for user, voucher and order id.
#[derive(Clone, Copy)]
pub(crate) struct ClientNames<'a>([Str<'a>; 3]);

impl<'a> ClientNames<'a> {
    /// An error for names that the setting would not take either.
    pub(crate) fn new(names: [Str<'a>; 3]) -> Result<Self, CommandError> {
        check_order_fields(names.map(Str::bytes)).map_err(|why| CommandError::Fields { why })?;
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

pub(super) fn decimal(number: i64) -> OwnedStr {
    OwnedStr::new(Decimal::new(number).bytes())
}

/// The value of a field, as it is in the stream.
pub(super) fn owned(value: Value<&[u8]>) -> OwnedStr {
    match value {
        Value::Number(number) => decimal(number),
        Value::Word(word) => OwnedStr::new(word.as_bytes()),
        Value::Text(text) => OwnedStr::new(text),
        Value::Id(id) => OwnedStr::new(&id.text()),
    }
}

//! The words in the entries of the streams.

use crate::error::CommandError;
use crate::server::{OwnedStr, Str};
use domain::fields::{
    DEADLINE, DRAW_FIELDS, KEPT, PAYMENT, REASON, REFERENCE, SALE, UNITS, WAS, check_order_fields,
    parse_order_fields,
};
use domain::rejection::FieldNames;

/// The names of the fields of an order's entry.
pub(crate) struct OrderFields {
    user: OwnedStr,
    voucher: OwnedStr,
    id: OwnedStr,
    units: OwnedStr,
    deadline: OwnedStr,
    sale: OwnedStr,
    reference: OwnedStr,
    reason: OwnedStr,
    was: OwnedStr,
    payment: OwnedStr,
    kept: OwnedStr,
}

impl OrderFields {
    /// The configured names of the fields for user, voucher and order id, and ours for the others.
    pub(super) fn configured(text: &[u8]) -> Self {
        // The setting was checked when it was set.
        let words = parse_order_fields(text).unwrap_or_default();
        let [user, voucher, id] = words.map(OwnedStr::new);
        let [units, deadline, sale] = [UNITS, DEADLINE, SALE].map(OwnedStr::new);
        let [reference, reason, was] = [REFERENCE, REASON, WAS].map(OwnedStr::new);
        let [payment, kept] = [PAYMENT, KEPT].map(OwnedStr::new);
        Self { user, voucher, id, units, deadline, sale, reference, reason, was, payment, kept }
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
    own: &'n OrderFields,
    three: [Str<'n>; 3],
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

    /// The entry of an order.
    pub(crate) fn entry<'a>(self, values: &EntryValues<'a>) -> EntryFields<'a>
    where
        'n: 'a,
    {
        let (own, [user, voucher, id]) = (self.own, self.three);
        let mut fields = EntryFields { words: [user; 2 * FIELDS_MAX], len: 0 };
        for word in [user, values.user, voucher, values.voucher, id, values.id] {
            fields.push(word);
        }
        for (name, value) in [
            (&own.units, values.units),
            (&own.deadline, values.deadline),
            (&own.sale, values.sale),
            (&own.reference, values.reference),
            (&own.reason, values.reason),
            (&own.payment, values.payment),
            (&own.was, values.was),
            (&own.kept, values.kept),
        ] {
            if let Some(value) = value {
                fields.push(name.as_str());
                fields.push(value);
            }
        }
        fields
    }
}

/// The values of an order's entry. What an entry has no field for is none.
#[derive(Clone, Copy)]
pub(crate) struct EntryValues<'a> {
    pub(crate) user: Str<'a>,
    pub(crate) voucher: Str<'a>,
    pub(crate) id: Str<'a>,
    pub(crate) units: Option<Str<'a>>,
    pub(crate) deadline: Option<Str<'a>>,
    pub(crate) sale: Option<Str<'a>>,
    pub(crate) reference: Option<Str<'a>>,
    pub(crate) reason: Option<Str<'a>>,
    pub(crate) was: Option<Str<'a>>,
    pub(crate) payment: Option<Str<'a>>,
    pub(crate) kept: Option<Str<'a>>,
}

/// How many fields an entry of an order can have.
const FIELDS_MAX: usize = 11;

/// The fields of an entry, names and values in turn. Costs no allocation.
#[derive(Clone, Copy)]
pub(crate) struct EntryFields<'a> {
    words: [Str<'a>; 2 * FIELDS_MAX],
    len: usize,
}

impl<'a> EntryFields<'a> {
    /// Makes it the entry of another order, which differs in the user and the id only.
    #[inline]
    pub(crate) fn set_order(&mut self, user: Str<'a>, id: Str<'a>) {
        let [_, user_now, _, _, _, id_now, ..] = &mut self.words;
        (*user_now, *id_now) = (user, id);
    }

    #[inline]
    fn push(&mut self, word: Str<'a>) {
        if let Some(place) = self.words.get_mut(self.len) {
            *place = word;
            self.len = self.len.saturating_add(1);
        }
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[Str<'a>] {
        self.words.get(..self.len).unwrap_or_default()
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

//! What the entry of a stream says of an order, and what becomes of the order when a consumer gives
//! it up.

use crate::rules::integer;
use crate::rules::managed::Cancellation;
use crate::rules::sale::Units;

/// How the names of the fields begin that a dead letter has beside those of its entry. No field of
/// an order may be named so.
pub(crate) const LETTER_PREFIX: &[u8] = b"dlq";

/// The names that an order's fields have.
#[derive(Clone, Copy)]
pub(crate) struct FieldNames<'n> {
    pub(crate) user: &'n [u8],
    pub(crate) voucher: &'n [u8],
    pub(crate) id: &'n [u8],
    pub(crate) units: &'n [u8],
    /// Not of an order, but of its give-back.
    pub(crate) reason: &'n [u8],
}

/// An order as its entry tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told<V> {
    pub(crate) user: V,
    pub(crate) voucher: V,
    pub(crate) id: V,
    pub(crate) units: Units,
}

/// Reads the fields of an entry, names and values in turn, as an order: user, voucher and id once
/// each, and units, which are 1 where nothing is said of them. Other fields don't matter.
///
/// None for what no try has appended. The entry of a give-back and a dead letter are none either,
/// though they carry the fields of an order: that order has been dealt with.
pub(crate) fn order_told<V: Copy + AsRef<[u8]>>(
    fields: &[V],
    names: FieldNames<'_>,
) -> Option<Told<V>> {
    let words = [names.user, names.voucher, names.id, names.units];
    let mut found = [None; 4];
    for pair in fields.chunks(2) {
        let [name, value] = pair else { return None };
        let name = name.as_ref();
        if name == names.reason || name.starts_with(LETTER_PREFIX) {
            return None;
        }
        for (place, _) in found.iter_mut().zip(words).filter(|(_, word)| *word == name) {
            if place.replace(*value).is_some() {
                return None;
            }
        }
    }
    let [Some(user), Some(voucher), Some(id), units] = found else { return None };
    let units = match units {
        None => Units::ONE,
        Some(text) => integer::parse(text.as_ref()).and_then(Units::new)?,
    };
    Some(Told { user, voucher, id, units })
}

/// What becomes of the order that a rejected entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is given back.
    Rejected,
    /// It was given back before.
    Released,
    /// There is no live order of this id and user on record.
    Unknown,
}

impl Fate {
    /// The word in the dead letter.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Released => "released",
            Self::Unknown => "unknown",
        }
    }
}

/// What is cancelled, or can't be, is rejected likewise.
impl From<Cancellation> for Fate {
    fn from(answer: Cancellation) -> Self {
        match answer {
            Cancellation::GivenBack => Self::Rejected,
            Cancellation::WasReleased => Self::Released,
            Cancellation::NoSuchOrder => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FieldNames, Told, order_told};
    use crate::rules::sale::Units;

    const NAMES: FieldNames<'_> =
        FieldNames { user: b"u", voucher: b"v", id: b"i", units: b"units", reason: b"reason" };

    fn told(text: &str) -> Option<[String; 4]> {
        let fields: Vec<&[u8]> = text.split(' ').map(str::as_bytes).collect();
        let Told { user, voucher, id, units } = order_told(&fields, NAMES)?;
        let [user, voucher, id] =
            [user, voucher, id].map(|value| String::from_utf8_lossy(value).into_owned());
        Some([user, voucher, id, units.get().to_string()])
    }

    #[test]
    fn an_order_is_known_by_its_fields() {
        for (text, want) in [
            ("u ann v 7 i o1", Some(["ann", "7", "o1", "1"])),
            ("i o1 u ann v 7", Some(["ann", "7", "o1", "1"])),
            ("u ann v 7 i o1 units 3", Some(["ann", "7", "o1", "3"])),
            ("u ann v 7 i o1 units 9223372036854775807 deadline 5", {
                Some(["ann", "7", "o1", "9223372036854775807"])
            }),
            ("u ann v 7 i o1 more 1 more 2", Some(["ann", "7", "o1", "1"])),
            ("u u v v i i", Some(["u", "v", "i", "1"])),
            ("u ann v 7", None),
            ("v 7 i o1 a b", None),
            ("U ann v 7 i o1", None),
            ("u ann u bob v 7 i o1", None),
            ("u ann v 7 i o1 units 1 units 2", None),
            ("u ann v 7 i o1 units 0", None),
            ("u ann v 7 i o1 units -1", None),
            ("u ann v 7 i o1 units 01", None),
            ("u ann v 7 i o1 units many", None),
            ("u ann v 7 i o1 units 9223372036854775808", None),
            ("u ann v 7 i o1 reason cancelled", None),
            ("u ann v 7 i o1 dlqId 1-0", None),
            ("u ann v 7 i o1 odd", None),
        ] {
            assert_eq!(told(text), want.map(|parts| parts.map(str::to_owned)), "{text}");
        }
        assert_eq!(order_told::<&[u8]>(&[], NAMES), None);
        let bytes: [&[u8]; 6] = [b"u", b"\0\xff", b"v", b"", b"i", b"\r\n"];
        let wanted = Told { user: bytes[1], voucher: b"", id: bytes[5], units: Units::ONE };
        assert_eq!(order_told(&bytes, NAMES), Some(wanted));
    }
}

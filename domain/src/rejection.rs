//! Reads an order from the entry of a stream, and decides what happens to it when a consumer gives
//! it up.

use crate::fields::{DEAD_LETTER_PREFIX, PAYMENT, REASON, SALE, UNITS};
use crate::integer;
use crate::payments;
use crate::rules::SaleId;
use crate::sale::Units;

/// The configured names of an order's fields.
#[derive(Clone, Copy)]
pub struct FieldNames<'n> {
    pub user: &'n [u8],
    pub voucher: &'n [u8],
    pub id: &'n [u8],
}

/// An order as its stream entry describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderEntry<V> {
    pub user: V,
    pub voucher: V,
    pub id: V,
    pub units: Units,
    /// The sale of the managed voucher; none for an unmanaged one.
    pub sale: Option<SaleId>,
}

/// Reads the fields of an entry, as alternating names and values, as an order: user, voucher and id
/// once each, units, which default to 1, and the sale. Other fields are ignored, also a field
/// `sale` whose value is not a sale's id.
///
/// None for entries that no try has appended, such as releases, payments to be refunded and dead
/// letters: they have the fields of an order, but that order is finished, or not this one's.
pub fn parse_order_entry<V: Copy + AsRef<[u8]>>(
    fields: &[V],
    names: FieldNames<'_>,
) -> Option<OrderEntry<V>> {
    let words = [names.user, names.voucher, names.id, UNITS, SALE];
    let mut found = [None; 5];
    for pair in fields.chunks(2) {
        let [name, value] = pair else { return None };
        let name = name.as_ref();
        let is_refund = name == PAYMENT && value.as_ref() != payments::FIRST;
        if name == REASON || is_refund || name.starts_with(DEAD_LETTER_PREFIX) {
            return None;
        }
        for (place, _) in found.iter_mut().zip(words).filter(|(_, word)| *word == name) {
            if place.replace(*value).is_some() {
                return None;
            }
        }
    }
    let [Some(user), Some(voucher), Some(id), units, sale] = found else { return None };
    let units = match units {
        None => Units::ONE,
        Some(text) => integer::parse(text.as_ref()).and_then(Units::new)?,
    };
    let sale = sale.and_then(|text| SaleId::parse(text.as_ref()));
    Some(OrderEntry { user, voucher, id, units, sale })
}

/// What happens to the order of a rejected entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is released.
    Rejected,
    /// It was released before.
    Released,
    /// No live order with this id and user is on record.
    Unknown,
}

impl Fate {
    /// The word in the dead letter.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Released => "released",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Fate, FieldNames, OrderEntry, parse_order_entry};
    use crate::rules::SaleId;
    use crate::sale::Units;

    const NAMES: FieldNames<'_> = FieldNames { user: b"u", voucher: b"v", id: b"i" };

    fn parsed(text: &str) -> Option<[String; 4]> {
        let fields: Vec<&[u8]> = text.split(' ').map(str::as_bytes).collect();
        let OrderEntry { user, voucher, id, units, .. } = parse_order_entry(&fields, NAMES)?;
        let [user, voucher, id] =
            [user, voucher, id].map(|value| String::from_utf8_lossy(value).into_owned());
        Some([user, voucher, id, units.get().to_string()])
    }

    #[test]
    fn fates_have_words() {
        let words = [Fate::Rejected, Fate::Released, Fate::Unknown].map(Fate::word);
        assert_eq!(words, ["rejected", "released", "unknown"]);
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
            ("u ann v 7 i o1 sale 17 sale 17", None),
            ("u ann v 7 i o1 units 0", None),
            ("u ann v 7 i o1 units -1", None),
            ("u ann v 7 i o1 units 01", None),
            ("u ann v 7 i o1 units many", None),
            ("u ann v 7 i o1 units 9223372036854775808", None),
            ("u ann v 7 i o1 reason cancelled", None),
            ("u ann v 7 i o1 payment first", Some(["ann", "7", "o1", "1"])),
            ("u ann v 7 i o1 payment late", None),
            ("u ann v 7 i o1 dlqId 1-0", None),
            ("u ann v 7 i o1 odd", None),
        ] {
            assert_eq!(parsed(text), want.map(|parts| parts.map(str::to_owned)), "{text}");
        }
        assert_eq!(parse_order_entry::<&[u8]>(&[], NAMES), None);
        let bytes: [&[u8]; 6] = [b"u", b"\0\xff", b"v", b"", b"i", b"\r\n"];
        let wanted = OrderEntry {
            user: bytes[1],
            voucher: b"",
            id: bytes[5],
            units: Units::ONE,
            sale: None,
        };
        assert_eq!(parse_order_entry(&bytes, NAMES), Some(wanted));
        for (sale, want) in [("17", Some(17)), ("0", None), ("017", None), ("summer", None)] {
            let words: [&[u8]; 8] =
                [b"u", b"ann", b"v", b"7", b"i", b"o1", b"sale", sale.as_bytes()];
            let order = parse_order_entry(&words, NAMES).expect("an order");
            assert_eq!(order.sale.map(SaleId::get), want, "{sale}");
        }
    }
}

//! Entries of streams, as the module reads them.

use domain::rejection::{FieldNames, OrderEntry, parse_order_entry};
use domain::rules::SaleId;

use crate::input::Input;

const NAMES: [&str; 8] =
    ["userId", "voucherId", "id", "units", "deadline", "reason", "dlqId", "sale"];

/// The order of an entry is what its fields say, each once.
pub(crate) fn order_entry(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut fields: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    if input.flag() {
        for (name, value) in [("userId", "u"), ("voucherId", "7"), ("id", "o")] {
            fields.push((name.into(), value.into()));
        }
    }
    while !input.is_empty() {
        let name = match input.byte() {
            byte @ 0..248 => NAMES[usize::from(byte % 8)].as_bytes().to_vec(),
            _ => input.word().to_vec(),
        };
        let value = match input.below(3) {
            0 => input.word().to_vec(),
            _ => input.number().to_string().into_bytes(),
        };
        fields.push((name, value));
    }
    let flat: Vec<&[u8]> = fields.iter().flat_map(|(name, value)| [&name[..], value]).collect();
    let names = FieldNames { user: b"userId", voucher: b"voucherId", id: b"id" };
    let parsed = parse_order_entry(&flat, names);
    assert!(flat.is_empty() || parse_order_entry(&flat[1..], names).is_none());
    let count = |name: &str| fields.iter().filter(|(n, _)| n == name.as_bytes()).count();
    let value = |name: &str| {
        fields.iter().find(|(n, _)| n == name.as_bytes()).map(|(_, value)| value.as_slice())
    };
    if let Some(OrderEntry { user, voucher, id, units, sale }) = parsed {
        let stated = value("sale").and_then(|text| std::str::from_utf8(text).ok());
        let stated = stated.filter(|text| text.starts_with(|first| ('1'..='9').contains(&first)));
        let stated = stated.and_then(|text| text.parse().ok()).filter(|sale: &i64| *sale < 1 << 53);
        assert_eq!((sale.map(SaleId::get), count("sale") <= 1), (stated, true));
        let ids = ["userId", "voucherId", "id"].map(|name| value(name).expect("a field"));
        assert_eq!([user, voucher, id], ids);
        assert!(["userId", "voucherId", "id"].iter().all(|name| count(name) == 1));
        let text = value("units").unwrap_or(b"1");
        assert_eq!(text, units.get().to_string().as_bytes());
        assert_eq!(count("reason") + count("dlqId"), 0);
    }
}

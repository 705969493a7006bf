//! Entries of streams, as the module and the worker read them, and the entries that a row
//! remembers.

use std::collections::BTreeSet;

use domain::book::Reason;
use domain::entry_id::EntryId;
use domain::order_events::{Order, Release, StreamEntry};
use domain::rejection::{FieldNames, OrderEntry, parse_order_entry};
use domain::rules::SaleId;
use domain::seen_entries::SeenEntries;

use crate::input::Input;

const NAMES: [&str; 8] =
    ["userId", "voucherId", "id", "units", "deadline", "reason", "dlqId", "sale"];

/// The module and the worker recognize the same entries as orders, and read them alike.
pub(crate) fn order_entry(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let id = EntryId { ms: 1, seq: 2 };
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
    let entry = StreamEntry { id, fields: fields.clone() };
    let release = Release::parse(&entry, names);
    match Order::parse(&entry, names) {
        Ok(order) => {
            assert!(release.is_err(), "an order and a release at once");
            // The worker accepts a number with leading zeros, the module does not.
            let text = value("units").unwrap_or(b"1");
            if text.first() != Some(&b'0') {
                let parsed = parsed.expect("an order for the worker");
                assert_eq!(parsed.user, order.user.as_bytes());
                assert_eq!(parsed.voucher, order.key.voucher.as_bytes());
                assert_eq!(
                    (parsed.id, parsed.units.get()),
                    (order.key.order.as_bytes(), order.units)
                );
            }
        }
        Err(_) => {
            let storable = |value: &[u8]| value.len() <= 512 && !value.contains(&0);
            let plain = flat.iter().all(|text| text.is_ascii() && storable(text));
            assert!(parsed.is_none() || !plain || count("deadline") > 0, "an order for the module");
        }
    }
    if let Ok(release) = release {
        assert_eq!(value("reason").and_then(Reason::parse), Some(release.reason));
        assert!(parsed.is_none() && release.units > 0);
    }
}

/// A row remembers the entries that it has seen, in any order and number of deliveries.
pub(crate) fn rows(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (orders, releases) = text.split_once('|').unwrap_or((&text, ""));
    // Any text that other programs wrote into the columns can be read.
    let read = SeenEntries::parse(orders, releases);
    let (orders, releases) = read.texts();
    assert_eq!(SeenEntries::parse(&orders, &releases), read);

    let mut input = Input::new(bytes);
    let (mut seen, mut model) = (SeenEntries::default(), [BTreeSet::new(), BTreeSet::new()]);
    // So few that none is forgotten.
    while !input.is_empty() && model.iter().all(|ids| ids.len() < 16) {
        let (kind, ms) = (usize::from(input.below(2)), u64::from(input.below(12)));
        let id = EntryId { ms, seq: 0 };
        let is_new = if kind == 0 { seen.order(id) } else { seen.release(id) };
        assert_eq!(is_new, model[kind].insert(id));
        assert_eq!(seen.is_live(), model[0].len() > model[1].len());
        assert_eq!(seen.last_order(), model[0].last().copied());
        assert_eq!(seen.last_release(), model[1].last().copied());
        let (orders, releases) = seen.texts();
        assert_eq!(SeenEntries::parse(&orders, &releases), seen);
    }
}

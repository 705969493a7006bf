//! Entries of streams, as the module writes them and everybody reads them.

use domain::book::{Reason, State};
use domain::entry_id::EntryId;
use domain::payments::Outcome;
use domain::rejection::{DeadLetter, Fate};
use domain::rules::SaleId;
use domain::sale::Units;
use domain::stream_entry::{EventEntry, FieldNames, OrderEntry, ReleaseEntry, Says, Which, read};

use crate::input::Input;

const IDS: [&str; 3] = ["userId", "voucherId", "id"];
const OWN: [&str; 14] = [
    "units", "deadline", "reason", "was", "sale", "ref", "payment", "kept", "waited", "dlqId",
    "paid", "norestock", "refunded", "entry",
];

fn read_all(which: Which, fields: &[(Vec<u8>, Vec<u8>)]) -> Option<EventEntry<&[u8]>> {
    let flat: Vec<&[u8]> = fields.iter().flat_map(|(name, value)| [&name[..], value]).collect();
    let names = FieldNames { user: b"userId", voucher: b"voucherId", id: b"id" };
    assert!(flat.is_empty() || read(which, &flat[1..], names).is_err());
    read(which, &flat, names).ok()
}

/// What an entry says is read from what is written of it, whatever the shop adds; and what is read
/// of any fields is in them, each once.
pub(crate) fn order_entry(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let which = Which::ALL[usize::from(input.below(3))];
    if input.flag() {
        return written(which, &mut input);
    }
    let mut fields: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    if input.flag() {
        fields.extend(IDS.map(|name| (name.into(), b"x".to_vec())));
    }
    while !input.is_empty() {
        let name = match input.byte() {
            byte @ 0..32 => IDS[usize::from(byte % 3)].as_bytes().to_vec(),
            byte @ 32..248 => OWN[usize::from(byte % 14)].as_bytes().to_vec(),
            _ => input.word().to_vec(),
        };
        let value = match input.below(5) {
            0 => input.word().to_vec(),
            4 => b"1".to_vec(),
            1 => State::ALL[usize::from(input.below(6))].word().into(),
            _ => input.number().to_string().into_bytes(),
        };
        fields.push((name, value));
    }
    let Some(entry) = read_all(which, &fields) else { return };
    let count = |name: &str| fields.iter().filter(|(n, _)| n == name.as_bytes()).count();
    let value = |name: &str| {
        fields.iter().find(|(n, _)| n == name.as_bytes()).map(|(_, value)| value.as_slice())
    };
    let order = entry.order;
    assert_eq!([order.user, order.voucher, order.id].map(Some), IDS.map(value));
    assert!(IDS.iter().all(|name| count(name) == 1) && count("dlqId") == 0);
    assert!(["units", "sale"].iter().all(|name| count(name) <= 1));
    assert_eq!(value("units").unwrap_or(b"1"), order.units.get().to_string().as_bytes());
    let sale = order.sale.map(|sale| sale.get().to_string());
    assert!(sale.is_none_or(|sale| value("sale") == Some(sale.as_bytes())));
    match entry.says {
        Says::Released(it) => {
            assert_eq!(value("reason"), Some(it.reason.word().as_bytes()));
            let said = |name| value(name) == Some(b"1");
            assert_eq!([said("norestock"), said("refunded")], [it.norestock, it.refunded]);
            assert!(!it.refunded || it.reference.is_some());
        }
        Says::Confirmed { paid, reference } | Says::Payment { paid, reference, .. } => {
            let said = paid.map(|paid| paid.get().to_string().into_bytes());
            assert_eq!((count("reason"), value("paid")), (0, said.as_deref()));
            assert!(paid.is_none() || reference.is_some());
        }
        Says::Accepted { .. } => assert_eq!(count("reason"), 0),
    }
    again(which, &entry, &[]);
}

/// Any entry that the module could write.
fn written(which: Which, input: &mut Input<'_>) {
    let [user, voucher, id, reference] = std::array::from_fn(|_| input.word().to_vec());
    let units = Units::new(input.number()).unwrap_or(Units::ONE);
    let sale = SaleId::new(input.number());
    let positive = |number: i64| (number >= 0).then_some(number);
    let [first, second] = [input.number(), input.number()];
    let reference = input.flag().then_some(&reference[..]);
    let says = match which {
        Which::Orders => Says::Accepted { deadline: positive(first), waited: positive(second) },
        Which::Confirmed => {
            let paid = Units::new(first).filter(|_| reference.is_some());
            let all = [Outcome::First, Outcome::Late, Outcome::Duplicate, Outcome::Unmatched];
            match all[usize::from(input.below(4))] {
                Outcome::First => Says::Confirmed { reference, paid },
                outcome => Says::Payment { outcome, reference, paid },
            }
        }
        Which::Released => {
            let reasons = [Reason::Cancelled, Reason::Expired, Reason::Rejected];
            let reason = reasons[usize::from(input.below(3))];
            let was = [None, Some(State::Held), Some(State::Sold)][usize::from(input.below(3))];
            let [norestock, refunded, by_entry] = [(); 3].map(|()| input.flag());
            let refunded = refunded && reference.is_some();
            let (kept, seq) = (Units::new(first), second.unsigned_abs());
            let entry = by_entry.then_some(EntryId { ms: first.unsigned_abs(), seq });
            Says::Released(ReleaseEntry {
                reason,
                was,
                kept,
                reference,
                norestock,
                refunded,
                entry,
            })
        }
    };
    letter(input, &user, &voucher);
    let order = OrderEntry { user: &user[..], voucher: &voucher[..], id: &id[..], units, sale };
    let own: &[u8] = input.rest();
    again(which, &EventEntry { order, says }, own);
}

/// A letter behind any fields is read as it was written, and is no order.
fn letter(input: &mut Input<'_>, stream: &[u8], group: &[u8]) {
    let [ms, seq, deliveries] = [(); 3].map(|()| input.number());
    let letter = DeadLetter {
        stream: input.flag().then_some(stream),
        group,
        id: EntryId { ms: ms.unsigned_abs(), seq: seq.unsigned_abs() },
        deliveries: (deliveries >= 0).then_some(deliveries),
        reason: input.flag().then_some(group),
        fate: Fate::ALL.get(usize::from(input.below(4))).copied(),
        was: State::ALL.get(usize::from(input.below(7))).copied(),
    };
    let mut fields: Vec<(Vec<u8>, Vec<u8>)> =
        IDS.map(|name| (name.into(), input.word().to_vec())).into();
    letter.write(|name, value| fields.push((name.to_vec(), value.bytes().into_owned())));
    let flat: Vec<&[u8]> = fields.iter().flat_map(|(name, value)| [&name[..], value]).collect();
    assert_eq!(DeadLetter::read(&flat), Some(letter));
    assert!(Which::ALL.iter().all(|which| read_all(*which, &fields).is_none()));
    DeadLetter::read(flat.get(1..).unwrap_or_default());
}

fn again(which: Which, entry: &EventEntry<&[u8]>, own: &[u8]) {
    let order = &entry.order;
    let ids = IDS.into_iter().zip([order.user, order.voucher, order.id]);
    let mut fields: Vec<(Vec<u8>, Vec<u8>)> =
        ids.map(|(name, value)| (name.into(), value.to_vec())).collect();
    entry.write(|name, value| {
        fields.push((name.to_vec(), value.bytes().into_owned()));
    });
    fields.push((b"the shop's own".to_vec(), own.to_vec()));
    assert_eq!(read_all(which, &fields).as_ref(), Some(entry));
}

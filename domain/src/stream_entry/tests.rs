//! Entries as they are written and read, also as the vectors that other languages test with.

use super::*;
use crate::rejection::{DeadLetter, Fate};
use serde_json::{Value as Json, json};

const NAMES: FieldNames<'_> = FieldNames { user: b"userId", voucher: b"voucherId", id: b"id" };

fn entry_of(which: Which, text: &str) -> Result<EventEntry<&[u8]>, Unread> {
    let fields: Vec<&[u8]> = text.split(' ').map(str::as_bytes).collect();
    read(which, &fields, NAMES)
}

/// Entries of the order 1 of u for v, by the stream and the fields beside these.
const ENTRIES: [(Which, &str); 65] = {
    use Which::{Confirmed, Orders, Released};
    [
        (Orders, ""),
        (Orders, "units 3"),
        (Orders, "units 9223372036854775807 deadline 5"),
        (Orders, "deadline 1795344856123 sale 1795344856123456 waited 250"),
        (Orders, "sale 17 shop's own more 1 more 2"),
        // A part of a cart is read as any order.
        (Orders, "units 2 deadline 1795344856123 sale 17 cart 3"),
        (Orders, "sale summer"),
        (Orders, "sale 0"),
        (Orders, "sale 017"),
        (Orders, "sale 9007199254740992"),
        (Orders, "sale 17 sale 17"),
        (Orders, "id 2"),
        (Orders, "units 1 units 2"),
        (Orders, "units 0"),
        (Orders, "units -1"),
        (Orders, "units 01"),
        (Orders, "units +1"),
        (Orders, "units many"),
        (Orders, "units 9223372036854775808"),
        (Orders, "deadline soon"),
        (Orders, "deadline -5"),
        (Orders, "waited 1s"),
        (Orders, "reason cancelled"),
        (Orders, "payment first"),
        (Orders, "payment late"),
        (Orders, "dlqId 1-0"),
        (Confirmed, ""),
        (Confirmed, "units 2 sale 17"),
        (Confirmed, "sale 17 ref p:1 payment first"),
        (Confirmed, "sale 17 ref p:1 payment late"),
        (Confirmed, "sale 17 ref p:1 payment duplicate"),
        (Confirmed, "ref p:1 payment unmatched"),
        (Confirmed, "units 2 sale 17 ref p:1 payment first paid 3"),
        (Confirmed, "sale 17 ref p:1 payment late paid 2"),
        (Confirmed, "sale 17 ref p:1 payment unmatched paid 1"),
        (Confirmed, "units 2 sale 17 ref p:1 payment released paid 2"),
        (Confirmed, "sale 17 paid 2"),
        (Confirmed, "ref p:1 payment first paid 0"),
        (Confirmed, "ref p:1 payment first paid two"),
        (Confirmed, "ref p:1 payment first paid 1 paid 2"),
        (Confirmed, "ref p:1 payment else"),
        (Confirmed, "ref p:1 ref p:2 payment first"),
        (Confirmed, "reason expired"),
        (Released, "reason cancelled"),
        (Released, "sale 17 reason expired was held"),
        (Released, "units 2 sale 17 ref p:1 reason cancelled was sold kept 3"),
        (Released, "reason rejected was sold"),
        (Released, "sale 17 reason rejected was held entry 1795259348145-2"),
        (
            Released,
            "units 2 sale 17 ref p:1 reason cancelled was sold kept 3 norestock 1 refunded 1",
        ),
        (Released, "sale 17 ref p:1 reason cancelled was sold refunded 1"),
        (Released, "sale 17 reason cancelled was held norestock 1"),
        (Released, "reason cancelled norestock yes"),
        (Released, "reason cancelled norestock 1 norestock 1"),
        (Released, "reason cancelled was sold refunded 1"),
        (Released, "ref p:1 reason cancelled was sold refunded 0"),
        (Released, "reason rejected entry 17-x"),
        (Released, "reason rejected entry 17-1 entry 17-2"),
        (Orders, "paid 0 norestock 0 refunded 0 entry 0"),
        (Confirmed, "norestock 0 refunded 0 entry x"),
        (Released, ""),
        (Released, "reason sold"),
        (Released, "reason bored"),
        (Released, "reason cancelled was expired"),
        (Released, "reason cancelled kept 0"),
        (Released, "reason cancelled dlqId 1-0"),
    ]
};

/// Dead letters of the order 1 of u for v, by their own fields.
const LETTERS: [&str; 11] = [
    "dlqStream s dlqGroup g dlqId 17-1 dlqDeliveries 3 dlqReason bad dlqOrder rejected dlqWas held",
    "dlqStream s dlqGroup g dlqId 17-1 dlqDeliveries 3 dlqReason bad dlqOrder released",
    "dlqStream s dlqGroup g dlqId 17-1 dlqDeliveries 1 dlqReason bad dlqOrder unknown",
    "dlqGroup g dlqId 17-1",
    "dlqGroup f dlqId 1-1 dlqReason no dlqGroup g dlqId 17-1 dlqReason bad",
    "dlqGroup g dlqId 17-1 dlqDeliveries many dlqWas gone",
    "dlqGroup g dlqId 17-1 dlqMore 1",
    "dlqGroup g",
    "dlqId 17-1",
    "dlqGroup g dlqId *",
    "",
];

fn told_of_letter(letter: &DeadLetter<&[u8]>) -> Json {
    json!({
        "says": "given up",
        "stream": letter.stream.map(shown),
        "group": shown(letter.group),
        "entry": letter.id.to_string(),
        "deliveries": letter.deliveries,
        "reason": letter.reason.map(shown),
        "order": letter.fate.map(Fate::word),
        "was": letter.was.map(State::word),
    })
}

fn letter_of(text: &str) -> Option<DeadLetter<&[u8]>> {
    DeadLetter::read(&text.split(' ').map(str::as_bytes).collect::<Vec<_>>())
}

fn text_of(more: &str) -> String {
    format!("userId u voucherId v id 1 {more}").trim_end().to_owned()
}

fn told(entry: &EventEntry<&[u8]>) -> Json {
    let text = shown;
    let order = &entry.order;
    let mut told = json!({
        "user": text(order.user),
        "voucher": text(order.voucher),
        "id": text(order.id),
        "units": order.units.get(),
        "sale": order.sale.map(SaleId::get),
    });
    let says = match entry.says {
        Says::Accepted { deadline, waited } => {
            json!({ "says": "accepted", "deadline": deadline, "waited": waited })
        }
        Says::Confirmed { reference, paid } => json!({
            "says": "confirmed",
            "ref": reference.map(text),
            "paid": paid.map(Units::get),
        }),
        Says::Payment { outcome, reference, paid } => json!({
            "says": "payment",
            "payment": outcome.word(),
            "ref": reference.map(text),
            "paid": paid.map(Units::get),
        }),
        Says::Released(it) => json!({
            "says": "released",
            "reason": it.reason.word(),
            "was": it.was.map(State::word),
            "kept": it.kept.map(Units::get),
            "ref": it.reference.map(text),
            "norestock": it.norestock,
            "refunded": it.refunded,
            "entry": it.entry.map(|id| id.to_string()),
        }),
    };
    if let (Json::Object(told), Json::Object(says)) = (&mut told, says) {
        told.extend(says);
    }
    told
}

#[test]
fn the_vectors_are_what_is_read() {
    let vector = |stream: &str, text: &str, read: Result<Json, String>| {
        let words: Vec<&str> = text.split(' ').collect();
        let fields: Vec<_> = words.chunks(2).collect();
        let (read, why) = (read.as_ref().ok(), read.as_ref().err());
        json!({ "stream": stream, "fields": fields, "read": read, "refused": why })
    };
    let entries = ENTRIES.into_iter().map(|(which, more)| {
        let text = text_of(more);
        let read = match entry_of(which, &text) {
            Ok(entry) => Ok(told(&entry)),
            Err(Unread::Garbled(why)) => Err(why),
            Err(Unread::Foreign(lacks)) => panic!("{more}: {lacks:?}"),
        };
        vector(which.word(), &text, read)
    });
    let letters = LETTERS.into_iter().map(|more| {
        let text = text_of(more);
        let read = letter_of(&text).ok_or("it names no entry of a group".to_owned());
        vector("orders.dlq", &text, read.as_ref().map(told_of_letter).map_err(Clone::clone))
    });
    let all: Vec<Json> = entries.chain(letters).collect();
    let lines: Vec<_> = all.iter().map(ToString::to_string).collect();
    let text = format!("[\n{}\n]\n", lines.join(",\n"));
    let kept = include_str!("../../vectors/entries.json");
    assert!(kept == text, "domain/vectors/entries.json must be:\n{text}");
}

#[test]
fn what_is_written_is_read_again() {
    for (which, more) in ENTRIES {
        let text = text_of(more);
        let Ok(entry) = entry_of(which, &text) else { continue };
        let mut again = "userId u voucherId v id 1".to_owned();
        entry.write(|name, value| {
            let [name, value] = [name, &value.bytes()].map(shown);
            again += &format!(" {name} {value}");
        });
        assert_eq!(entry_of(which, &again), Ok(entry), "{more}");
    }
}

#[test]
fn a_letter_that_is_written_is_read_again() {
    for more in LETTERS {
        let text = text_of(more);
        let Some(letter) = letter_of(&text) else { continue };
        // Its entry may have been a dead letter, too.
        let mut again = text_of("dlqGroup f dlqId 1-1");
        letter.write(|name, value| {
            let [name, value] = [name, &value.bytes()].map(shown);
            again += &format!(" {name} {value}");
        });
        assert_eq!(letter_of(&again), Some(letter), "{more}");
        assert!(entry_of(Which::Orders, &again).is_err(), "a dead letter is no order");
    }
    assert_eq!(DeadLetter::read(&[&b"dlqGroup"[..], b"g", b"dlqId"]), None);
    let odd = letter_of("dlqGroup g dlqId 17 dlqOrder lost dlqDeliveries -1").expect("a letter");
    assert_eq!((odd.id.seq, odd.fate, odd.deliveries), (0, None, None));
}

#[test]
fn an_order_is_known_by_its_fields() {
    let which = Which::Orders;
    for (text, lacks) in [
        ("userId u voucherId v", "no field id"),
        ("voucherId v id 1 a b", "no field userId"),
        ("USERID u voucherId v id 1 units 2", "no field userId"),
    ] {
        let found = entry_of(which, text);
        let is_so = match &found {
            Err(Unread::Garbled(why)) => why == lacks,
            Err(Unread::Foreign(name)) => lacks.ends_with(&*String::from_utf8_lossy(name)),
            Ok(_) => false,
        };
        assert!(is_so, "{text}: {found:?}");
    }
    let found = entry_of(which, "userId u voucherId v orderId 1");
    assert_eq!(found, Err(Unread::Foreign(b"id".to_vec())));
    assert!(matches!(entry_of(which, "userId u odd"), Err(Unread::Garbled(_))));
    assert!(read::<&[u8]>(which, &[], NAMES).is_err());
    let bytes: [&[u8]; 6] = [b"userId", b"\0\xff", b"voucherId", b"", b"id", b"\r\n"];
    let order = read(which, &bytes, NAMES).expect("an order").order;
    assert_eq!((order.user, order.voucher, order.id), (bytes[1], &b""[..], bytes[5]));
}

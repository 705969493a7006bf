//! Texts in keys and arguments are read strictly, and a written text is read unchanged.

use domain::book::{Entry, State, UserUnits};
use domain::entry_id::EntryId;
use domain::hash_tag::{Tagged, tag_of, tagged};
use domain::integer::{self, Decimal};
use domain::key_names::{self, HOLDS_PREFIX, Naming, RULES_PREFIX, WAIT_PREFIX};
use domain::payments::Payment;
use domain::rules::{BadRules, MILLIS_MAX, Rules, SaleId};
use domain::sale::Units;
use domain::slot::Slot;

use crate::input::Input;

/// Integers have one spelling: that of Rust's formatter.
pub(crate) fn integers(bytes: &[u8]) {
    assert_eq!(integer::parse(bytes), canonical(bytes));
    let number = Input::new(bytes).number();
    assert_eq!(Decimal::new(number).bytes(), number.to_string().as_bytes());
    assert_eq!(integer::parse(Decimal::new(number).bytes()), Some(number));
    let digits = |text: &[u8]| text.iter().all(u8::is_ascii_digit) && !text.is_empty();
    let text = std::str::from_utf8(bytes).ok().filter(|text| digits(text.as_bytes()));
    assert_eq!(integer::parse_digits(bytes), text.and_then(|text| text.parse().ok()));
    let unsigned = number as u64;
    assert_eq!(Decimal::unsigned(unsigned).bytes(), unsigned.to_string().as_bytes());
}

fn canonical(bytes: &[u8]) -> Option<i64> {
    let number: i64 = std::str::from_utf8(bytes).ok()?.parse().ok()?;
    (number.to_string().as_bytes() == bytes).then_some(number)
}

/// An entry id is `ms-seq` or `ms`, in digits.
pub(crate) fn entry_id(bytes: &[u8]) {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if digits { text.parse::<u64>().ok() } else { None }
    };
    let model = std::str::from_utf8(bytes).ok().and_then(|text| match text.split_once('-') {
        None => Some([number(text)?, 0]),
        Some((ms, seq)) => Some([number(ms)?, number(seq)?]),
    });
    let read = EntryId::parse(bytes);
    assert_eq!(read.map(|id| [id.ms, id.seq]), model);
    if let Some(id) = read {
        assert_eq!(id.text(), format!("{}-{}", id.ms, id.seq).as_bytes());
        assert_eq!(EntryId::parse(&id.text()), Some(id));
        assert_eq!(id.to_string().as_bytes(), id.text());
    }
}

/// The JSON of a voucher's rules: exactly the object, or an error; and written rules are read
/// unchanged.
pub(crate) fn rules(bytes: &[u8]) {
    let read = Rules::parse(bytes);
    if let Ok(rules) = read {
        assert_eq!(Rules::parse(rules.to_json().as_bytes()), Ok(rules));
        let is_empty = rules.begin.is_some() && rules.begin == rules.end;
        assert!(is_empty || rules.checked() == Ok(rules));
    }
    let value = serde_json::from_slice::<serde_json::Value>(bytes).ok();
    match value.as_ref().and_then(serde_json::Value::as_object) {
        None => assert_eq!(read, Err(BadRules::Unreadable)),
        Some(object) => {
            // The model counts a repeated field once.
            if read != Err(BadRules::Unreadable) {
                let fields: Vec<&str> = object.keys().map(String::as_str).collect();
                assert_eq!(fields, ["begin", "end", "hold", "limit", "sale", "total"]);
            }
            let number = |name: &str| object[name].as_i64();
            if let Ok(Rules { total, begin, end, limit, hold, sale }) = read {
                assert_eq!(Some(sale.get()), number("sale"));
                assert!((1..1 << 53).contains(&sale.get()));
                assert_eq!((Some(total), Some(limit)), (number("total"), number("limit")));
                let bounds = ["begin", "end", "hold"].map(number);
                assert_eq!([begin, end, hold], bounds);
                let moments = [begin, end].into_iter().flatten();
                assert!(moments.into_iter().all(|ms| (0..=MILLIS_MAX).contains(&ms)));
                assert!(total >= 0 && limit >= 1 && hold.is_none_or(|hold| hold >= 1));
                assert!(begin.zip(end).is_none_or(|(begin, end)| begin <= end));
            }
        }
    }
    let mut input = Input::new(bytes);
    let mut bound = || input.flag().then(|| input.number());
    let (begin, end, hold) = (bound(), bound(), bound());
    let (total, limit) = (input.number(), input.number());
    let Some(sale) = SaleId::new(input.number()) else { return };
    let rules = Rules { total, begin, end, limit, hold, sale };
    let is_empty = begin.is_some() && begin == end;
    let valid = if is_empty { Rules { end: None, ..rules }.checked() } else { rules.checked() };
    assert_eq!(Rules::parse(rules.to_json().as_bytes()), valid.map(|_| rules));
}

/// Entries of the book and of the buyers.
pub(crate) fn book(bytes: &[u8]) {
    if let Ok(entry) = Entry::parse(bytes) {
        assert_eq!(entry.write(), bytes);
        assert_eq!(entry.was.is_some(), entry.state.is_released());
    }
    if let Ok(payment) = Payment::parse(bytes) {
        assert_eq!(payment.write(), bytes);
    }

    let parts: Vec<&[u8]> = bytes.splitn(2, |byte| *byte == b':').collect();
    let model = match parts[..] {
        [units, order] => {
            let mut parts = units.splitn(2, |byte| *byte == b',');
            let units = parts.next().and_then(canonical).filter(|units| *units > 0);
            let waiting = parts.next().map_or(Some(0), |part| {
                let waiting = part.strip_prefix(b"waiting").and_then(canonical);
                waiting.filter(|it| *it > 0 && Some(*it) <= units)
            });
            units.zip(waiting).map(|(units, waiting)| (units, waiting, order))
        }
        _ => None,
    };
    let has = UserUnits::parse(bytes).ok();
    assert_eq!(has.map(|has| (has.units.get(), has.waiting, has.latest)), model);
    assert!(has.is_none_or(|has| has.write() == bytes));

    let mut input = Input::new(bytes);
    let Some(units) = Units::new(input.number()) else { return };
    let user = input.rest();
    for reference in [None, Some(user).filter(|bytes| !bytes.is_empty())] {
        let sold = Entry { reference, ..Entry::made(State::Sold, units, 0, user) };
        assert_eq!(Entry::parse(&sold.write()), Ok(sold));
    }
    for waiting in [0, 1, units.get()] {
        let has = UserUnits { units, waiting, latest: user };
        assert_eq!(UserUnits::parse(&has.write()), Ok(has));
    }
}

/// Keys named after a voucher are in its slot, or the voucher is refused.
pub(crate) fn tags(bytes: &[u8]) {
    let open = bytes.iter().position(|byte| *byte == b'{');
    let close = open.and_then(|open| {
        let close = bytes[open..].iter().position(|byte| *byte == b'}');
        close.map(|close| open + close)
    });
    let between = open.zip(close).map(|(open, close)| &bytes[open + 1..close]);
    let model = between.filter(|tag| !tag.is_empty());
    assert_eq!(tag_of(bytes), model);
    let slot = Slot::of(bytes);
    assert_eq!(slot.number(), crc16(model.unwrap_or(bytes)) % 16_384);
    assert_eq!(Slot::of(&slot.tag()), slot);
    assert_eq!(Slot::of(&[b"icr:{".as_slice(), &slot.tag(), b"}"].concat()), slot);
    let derived = match tagged(bytes) {
        Ok(Tagged::Own { tag }) => {
            assert_eq!(Some(tag), model);
            assert_eq!(Slot::of(&[b"stream:{", tag, b"}"].concat()), slot);
            [b"seckill:stock:", bytes].concat()
        }
        Ok(Tagged::Wrapped) => [b"seckill:stock:{", bytes, b"}"].concat(),
        Err(_) => {
            assert!(model.is_none() && (bytes.is_empty() || bytes.contains(&b'}')));
            return;
        }
    };
    assert_eq!(Slot::of(&derived), slot);
}

/// The checksum bit by bit, as in the cluster specification.
fn crc16(bytes: &[u8]) -> u16 {
    let mut crc = 0_u16;
    for byte in bytes {
        crc ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
        }
    }
    crc
}

/// Keys and streams are named after the hash tag of their owner, and the voucher read from the name
/// of a holds key has exactly these keys.
pub(crate) fn prefixes(bytes: &[u8]) {
    let Some((first, voucher)) = bytes.split_first() else { return };
    let hash_tags = first & 1 == 1;
    let in_name = |voucher: &[u8]| match (hash_tags, tagged(voucher)) {
        (false, _) | (true, Ok(Tagged::Own { .. })) => Some(voucher.to_vec()),
        (true, Ok(Tagged::Wrapped)) => Some([b"{", voucher, b"}"].concat()),
        (true, Err(_)) => None,
    };
    let naming = Naming::of(voucher, hash_tags).ok();
    let name = in_name(voucher);
    assert_eq!(naming.map(|naming| naming.key(b"")), name);
    let fence = key_names::companion(voucher, b":fence", hash_tags).ok();
    assert_eq!(fence, name.as_ref().map(|name| [name, b":fence".as_slice()].concat()));
    if let (Some(naming), Some(name)) = (naming, name) {
        let streams = [
            naming.stream(b"orders"),
            naming.released_stream(b"orders"),
            naming.confirmed_stream(b"orders"),
        ];
        assert!(key_names::is_confirmed_name(&streams[2]));
        if hash_tags {
            let all = streams.iter().chain(&fence);
            assert!(all.map(|key| Slot::of(key)).all(|slot| slot == Slot::of(voucher)));
        } else {
            let names = ["orders", "orders.released", "orders.confirmed"];
            assert_eq!(streams, names.map(|name| name.as_bytes().to_vec()));
        }
        let timed = [HOLDS_PREFIX, WAIT_PREFIX].map(|prefix| naming.key(prefix));
        for (key, prefix) in timed.iter().zip([HOLDS_PREFIX, WAIT_PREFIX]) {
            assert!(key_names::is_timed_name(key) && !key_names::is_rules_name(key));
            assert_eq!(key_names::is_wait_name(key), prefix == WAIT_PREFIX);
            let found = key_names::voucher_of_timed(key, hash_tags).expect("the name of a voucher");
            assert_eq!(in_name(&found), Some(name.clone()), "another voucher with other keys");
            assert_eq!(key_names::owner_of(key, prefix, hash_tags), Some(found));
        }
        let rules = naming.key(RULES_PREFIX);
        assert!(key_names::is_rules_name(&rules) && !key_names::is_timed_name(&rules));
        assert_eq!(key_names::timed_names_of_rules(&rules), Some(timed));
    }
    if let Some(owner) = key_names::owner_of(voucher, HOLDS_PREFIX, hash_tags) {
        let naming = Naming::of(&owner, hash_tags).ok();
        assert_eq!(naming.map(|naming| naming.key(HOLDS_PREFIX)).as_deref(), Some(voucher));
    }
    let is_timed = key_names::is_timed_name(voucher);
    assert_eq!(key_names::voucher_of_timed(voucher, hash_tags).is_some(), is_timed);
    let is_rules = key_names::is_rules_name(voucher);
    assert_eq!(key_names::timed_names_of_rules(voucher).is_some(), is_rules);
}

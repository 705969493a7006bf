//! The entries of the streams of orders, confirmed orders and releases, as read by a consumer that
//! writes a row per order.

use domain::book::{Reason, State};
use domain::entry_id::EntryId;
use domain::fields::{DEAD_LETTER_PREFIX, DEADLINE, REASON, SALE, UNITS, WAS};
use domain::integer;
use domain::rejection::FieldNames;
use domain::rules::SaleId;

/// The longest id in a row: two of them must fit into an index of every database.
const ID_LEN_MAX: usize = 512;

/// An entry of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamEntry {
    pub id: EntryId,
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Identifies an order. An order id is only unique within one sale of one voucher.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderKey {
    pub voucher: String,
    /// Empty if the entry names no sale.
    pub sale: String,
    pub order: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    pub id: EntryId,
    pub key: OrderKey,
    pub user: String,
    pub units: i64,
    pub deadline_ms: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    pub id: EntryId,
    pub key: OrderKey,
    pub user: String,
    pub units: i64,
    pub reason: Reason,
    /// The order was sold, maybe paid, rather than only held.
    pub was_sold: bool,
}

/// A held order was paid for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirmation {
    pub id: EntryId,
    pub key: OrderKey,
    pub user: String,
    pub units: i64,
}

/// Why an entry can't become a row, however often it is delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// No command appends such an entry.
    Garbled(String),
    /// It has an id that not every database can store.
    Unstorable(String),
}

impl Unfit {
    pub fn why(&self) -> &str {
        match self {
            Self::Garbled(why) | Self::Unstorable(why) => why,
        }
    }
}

impl Order {
    /// An entry of the order stream.
    pub fn parse(entry: &StreamEntry, names: FieldNames<'_>) -> Result<Self, Unfit> {
        if entry.field(REASON)?.is_some() {
            return Err(unfit("it is a release, not an order"));
        }
        if entry.fields.iter().any(|(name, _)| name.starts_with(DEAD_LETTER_PREFIX)) {
            return Err(unfit("it is a dead letter, not an order"));
        }
        let deadline_ms = match entry.field(DEADLINE)? {
            None => None,
            Some(text) => Some(integer(text).ok_or_else(|| unfit("deadline is not a number"))?),
        };
        let (key, user) = entry.order(names)?;
        Ok(Self { id: entry.id, key, user, units: entry.units()?, deadline_ms })
    }
}

impl Release {
    /// An entry of the stream of releases.
    pub fn parse(entry: &StreamEntry, names: FieldNames<'_>) -> Result<Self, Unfit> {
        let reason = entry.field(REASON)?.ok_or_else(|| unfit("no field reason"))?;
        let reason = Reason::parse(reason)
            .ok_or_else(|| unfit("reason is not cancelled, expired or rejected"))?;
        let (key, user) = entry.order(names)?;
        let was_sold = entry.field(WAS)? == Some(State::Sold.word().as_bytes());
        Ok(Self { id: entry.id, key, user, units: entry.units()?, reason, was_sold })
    }
}

impl Confirmation {
    /// An entry of the stream of confirmed orders.
    pub fn parse(entry: &StreamEntry, names: FieldNames<'_>) -> Result<Self, Unfit> {
        if entry.field(REASON)?.is_some() {
            return Err(unfit("it is a release, not a confirmation"));
        }
        let (key, user) = entry.order(names)?;
        Ok(Self { id: entry.id, key, user, units: entry.units()? })
    }
}

impl StreamEntry {
    /// The order that the entry is about, and its user.
    fn order(&self, names: FieldNames<'_>) -> Result<(OrderKey, String), Unfit> {
        let voucher = self.id_in(names.voucher)?;
        let order = self.id_in(names.id)?;
        let sale = self.field(SALE)?.and_then(SaleId::parse);
        let sale = sale.map_or_else(String::new, |sale| sale.get().to_string());
        Ok((OrderKey { voucher, sale, order }, self.id_in(names.user)?))
    }

    /// The id in a field, if every database can store it as text.
    fn id_in(&self, name: &[u8]) -> Result<String, Unfit> {
        let value = self.field(name)?;
        let name = String::from_utf8_lossy(name);
        let value = value.ok_or_else(|| Unfit::Garbled(format!("no field {name}")))?;
        let unstorable = |why: String| Err(Unfit::Unstorable(format!("{name} {why}")));
        if value.len() > ID_LEN_MAX {
            return unstorable(format!("is longer than {ID_LEN_MAX} bytes"));
        }
        match std::str::from_utf8(value) {
            Ok(text) if text.contains('\0') => unstorable("holds a NUL".to_owned()),
            Ok(text) => Ok(text.to_owned()),
            Err(_) => unstorable("is not UTF-8".to_owned()),
        }
    }

    fn units(&self) -> Result<i64, Unfit> {
        match self.field(UNITS)? {
            None => Ok(1),
            Some(text) => integer(text)
                .filter(|units| *units > 0)
                .ok_or_else(|| unfit("units is not a number above 0")),
        }
    }

    /// The value of a field. An error if the field occurs twice: either value could be meant.
    fn field(&self, name: &[u8]) -> Result<Option<&[u8]>, Unfit> {
        let mut found = self.fields.iter().filter(|(other, _)| other == name);
        let value = found.next().map(|(_, value)| value.as_slice());
        if found.next().is_some() {
            return Err(Unfit::Garbled(format!("two fields {}", String::from_utf8_lossy(name))));
        }
        Ok(value)
    }
}

fn unfit(why: &str) -> Unfit {
    Unfit::Garbled(why.to_owned())
}

/// A number that is not negative, as the module writes it. Leading zeros are allowed.
fn integer(text: &[u8]) -> Option<i64> {
    integer::parse_digits(text).and_then(|number| i64::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: FieldNames<'_> = FieldNames { user: b"userId", voucher: b"voucherId", id: b"id" };

    fn entry(fields: &[(&str, &[u8])]) -> StreamEntry {
        let fields = fields.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.to_vec()));
        StreamEntry { id: EntryId { ms: 1, seq: 2 }, fields: fields.collect() }
    }

    fn with(more: &[(&str, &[u8])]) -> StreamEntry {
        let ids: [(&str, &[u8]); 3] = [("userId", b"alice"), ("voucherId", b"7"), ("id", b"1001")];
        entry(&[&ids, more].concat())
    }

    fn order(more: &[(&str, &[u8])]) -> Result<Order, String> {
        Order::parse(&with(more), NAMES).map_err(|unfit| unfit.why().to_owned())
    }

    #[test]
    fn an_order_has_one_unit_and_no_deadline_unless_it_says_so() {
        let plain = order(&[]).unwrap();
        assert_eq!((plain.units, plain.deadline_ms), (1, None));
        assert_eq!((plain.key.voucher.as_str(), plain.key.order.as_str()), ("7", "1001"));
        assert_eq!((plain.user.as_str(), plain.id), ("alice", EntryId { ms: 1, seq: 2 }));
        let held = order(&[("units", b"3"), ("deadline", b"1795260248145")]).unwrap();
        assert_eq!((held.units, held.deadline_ms), (3, Some(1_795_260_248_145)));
    }

    #[test]
    fn an_order_of_another_sale_is_another_order() {
        assert_eq!(order(&[]).unwrap().key.sale, "");
        assert_eq!(order(&[("sale", b"17")]).unwrap().key.sale, "17");
        assert!(order(&[("sale", b"1"), ("sale", b"1")]).is_err());
        // A value that is not the id of a sale belongs to a field of the shop.
        assert_eq!(order(&[("sale", b"summer")]).unwrap().key.sale, "");
    }

    #[test]
    fn a_confirmation_is_of_an_order() {
        let parsed = Confirmation::parse(&with(&[("units", b"2"), ("sale", b"3")]), NAMES).unwrap();
        assert_eq!((parsed.units, parsed.key.sale.as_str()), (2, "3"));
        assert!(Confirmation::parse(&with(&[("reason", b"expired")]), NAMES).is_err());
    }

    #[test]
    fn other_fields_do_not_matter() {
        assert_eq!(order(&[("colour", b"\xff\x00")]), order(&[]));
    }

    #[test]
    fn numbers_are_digits_within_bounds() {
        for wrong in [&b"0"[..], b"-1", b"+1", b"", b"1.0", b"9223372036854775808", b"\xff"] {
            assert_eq!(order(&[("units", wrong)]), Err("units is not a number above 0".to_owned()));
        }
        assert_eq!(order(&[("deadline", b"soon")]), Err("deadline is not a number".to_owned()));
    }

    #[test]
    fn ids_must_be_such_that_every_database_can_keep_them() {
        let long = [b'x'; ID_LEN_MAX + 1];
        let rows: [(&[u8], &str); 3] = [
            (b"\xff", "userId is not UTF-8"),
            (b"a\0b", "userId holds a NUL"),
            (&long, "userId is longer than 512 bytes"),
        ];
        for (user, why) in rows {
            let entry = entry(&[("userId", user), ("voucherId", b"7"), ("id", b"1")]);
            let unstorable = Unfit::Unstorable(why.to_owned());
            assert_eq!(Order::parse(&entry, NAMES), Err(unstorable));
        }
        let longest =
            entry(&[("userId", &long[1..]), ("voucherId", b""), ("id", "\u{e9}".as_bytes())]);
        assert_eq!(Order::parse(&longest, NAMES).unwrap().user.len(), ID_LEN_MAX);
    }

    #[test]
    fn other_entries_are_no_orders() {
        let missing = entry(&[("userId", b"alice"), ("voucherId", b"7")]);
        assert_eq!(Order::parse(&missing, NAMES), Err(unfit("no field id")));
        assert_eq!(order(&[("id", b"1002")]), Err("two fields id".to_owned()));
        assert_eq!(
            order(&[("reason", b"expired")]),
            Err("it is a release, not an order".to_owned())
        );
        assert_eq!(
            order(&[("dlqId", b"1-1")]),
            Err("it is a dead letter, not an order".to_owned())
        );
    }

    #[test]
    fn a_release_has_a_reason() {
        for reason in [Reason::Cancelled, Reason::Expired, Reason::Rejected] {
            let release = with(&[("reason", reason.word().as_bytes()), ("units", b"2")]);
            let release = Release::parse(&release, NAMES).unwrap();
            assert_eq!((release.reason, release.units, release.was_sold), (reason, 2, false));
        }
        let sold = with(&[("reason", b"cancelled"), ("was", b"sold")]);
        assert!(Release::parse(&sold, NAMES).unwrap().was_sold);
        for wrong in [&[][..], &[("reason", &b"bored"[..])]] {
            assert!(Release::parse(&with(wrong), NAMES).is_err());
        }
    }

    #[test]
    fn the_fields_can_have_other_names() {
        let names = FieldNames { user: b"u", voucher: b"v", id: b"o" };
        let order = Order::parse(&entry(&[("o", b"1"), ("u", b"bob"), ("v", b"8")]), names);
        assert_eq!(order.unwrap().user, "bob");
    }

    /// The module and the worker recognize the same entries as orders, and read them alike.
    #[test]
    fn random_entries_are_read_as_the_module_reads_them() {
        const WORDS: [&str; 7] =
            ["userId", "voucherId", "id", "units", "deadline", "reason", "sale"];
        let mut random = fastrand::Rng::with_seed(7);
        let mut orders = 0;
        for _ in 0..20_000 {
            let more: Vec<(&str, Vec<u8>)> = (0..random.usize(..4))
                .map(|_| {
                    let number = random.i64(-2..5).to_string().into_bytes();
                    let value = if random.bool() { number } else { vec![random.u8(..)] };
                    (*random.choice(&WORDS).unwrap(), value)
                })
                .collect();
            let more: Vec<_> = more.iter().map(|(name, value)| (*name, value.as_slice())).collect();
            let entry = if random.u8(..) < 200 { with(&more) } else { entry(&more) };
            let flat: Vec<&[u8]> =
                entry.fields.iter().flat_map(|(name, value)| [&name[..], value]).collect();
            let module = domain::rejection::parse_order_entry(&flat, NAMES);
            let Ok(order) = Order::parse(&entry, NAMES) else {
                let is_plain = flat.iter().all(|text| text.is_ascii() && !text.contains(&0));
                let has_deadline = flat.contains(&DEADLINE);
                assert!(module.is_none() || !is_plain || has_deadline, "{entry:?}");
                continue;
            };
            assert!(Release::parse(&entry, NAMES).is_err(), "an order and a release at once");
            let module = module.expect("an order for the module");
            assert_eq!(module.user, order.user.as_bytes());
            assert_eq!(module.voucher, order.key.voucher.as_bytes());
            assert_eq!(module.id, order.key.order.as_bytes());
            assert_eq!(module.units.get(), order.units);
            orders += 1;
        }
        assert!(orders > 1_000, "only {orders} orders");
    }
}

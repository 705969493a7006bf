//! What an entry of a stream says: an order, a give-back, or nothing that a row can be made of.

use crate::stream_id::StreamId;

/// The longest id that goes into a row: two of them must fit into an index of every database.
const ID_LEN_MAX: usize = 512;

/// A field of a give-back, and of no order.
const REASON: &[u8] = b"reason";
/// How the fields begin that only a dead letter has.
const LETTER_PREFIX: &[u8] = b"dlq";

/// The names of the fields of an entry that are configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldNames {
    pub user: String,
    pub voucher: String,
    pub order: String,
}

/// An entry as it stands in a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub id: StreamId,
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
}

/// What tells one order from another. Vouchers have ids of orders to themselves.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderKey {
    pub voucher: String,
    pub order: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    pub id: StreamId,
    pub key: OrderKey,
    pub user: String,
    pub units: i64,
    pub deadline_ms: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    pub id: StreamId,
    pub key: OrderKey,
    pub user: String,
    pub units: i64,
    pub reason: Reason,
}

/// Why an order was given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Cancelled,
    Expired,
    Rejected,
}

impl Reason {
    pub fn parse(text: &[u8]) -> Option<Self> {
        match text {
            b"cancelled" => Some(Self::Cancelled),
            b"expired" => Some(Self::Expired),
            b"rejected" => Some(Self::Rejected),
            _ => None,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Rejected => "rejected",
        }
    }
}

/// Why no row can be made of an entry, whatever is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It is not what a command appends.
    Garbled(String),
    /// It has an id that not every database can keep.
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
    pub fn parse(entry: &Entry, names: &FieldNames) -> Result<Self, Unfit> {
        if entry.field(REASON)?.is_some() {
            return Err(unfit("a give-back is no order"));
        }
        if entry.fields.iter().any(|(name, _)| name.starts_with(LETTER_PREFIX)) {
            return Err(unfit("a dead letter is no order"));
        }
        let deadline_ms = match entry.field(b"deadline")? {
            None => None,
            Some(text) => Some(integer(text).ok_or_else(|| unfit("deadline is no number"))?),
        };
        let (key, user) = entry.whose(names)?;
        Ok(Self { id: entry.id, key, user, units: entry.units()?, deadline_ms })
    }
}

impl Release {
    /// An entry of the stream of give-backs.
    pub fn parse(entry: &Entry, names: &FieldNames) -> Result<Self, Unfit> {
        let reason = entry.field(REASON)?.ok_or_else(|| unfit("no field reason"))?;
        let reason = Reason::parse(reason)
            .ok_or_else(|| unfit("reason is neither cancelled nor expired nor rejected"))?;
        let (key, user) = entry.whose(names)?;
        Ok(Self { id: entry.id, key, user, units: entry.units()?, reason })
    }
}

impl Entry {
    fn whose(&self, names: &FieldNames) -> Result<(OrderKey, String), Unfit> {
        let voucher = self.id_of(&names.voucher)?;
        let order = self.id_of(&names.order)?;
        Ok((OrderKey { voucher, order }, self.id_of(&names.user)?))
    }

    /// An id that every database can keep as text.
    fn id_of(&self, name: &str) -> Result<String, Unfit> {
        let value = self.field(name.as_bytes())?;
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
        match self.field(b"units")? {
            None => Ok(1),
            Some(text) => integer(text)
                .filter(|units| *units > 0)
                .ok_or_else(|| unfit("units is no number above 0")),
        }
    }

    /// The value of a field; it must not be there twice, since then it says nothing.
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

/// Digits only, as the module writes them.
fn integer(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> FieldNames {
        let [user, voucher, order] = ["userId", "voucherId", "id"].map(str::to_owned);
        FieldNames { user, voucher, order }
    }

    fn entry(fields: &[(&str, &[u8])]) -> Entry {
        let fields = fields.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.to_vec()));
        Entry { id: StreamId { ms: 1, seq: 2 }, fields: fields.collect() }
    }

    fn with(more: &[(&str, &[u8])]) -> Entry {
        let ids: [(&str, &[u8]); 3] = [("userId", b"alice"), ("voucherId", b"7"), ("id", b"1001")];
        entry(&[&ids, more].concat())
    }

    fn order(more: &[(&str, &[u8])]) -> Result<Order, String> {
        Order::parse(&with(more), &names()).map_err(|unfit| unfit.why().to_owned())
    }

    #[test]
    fn an_order_has_one_unit_and_no_deadline_unless_it_says_so() {
        let plain = order(&[]).unwrap();
        assert_eq!((plain.units, plain.deadline_ms), (1, None));
        assert_eq!((plain.key.voucher.as_str(), plain.key.order.as_str()), ("7", "1001"));
        assert_eq!((plain.user.as_str(), plain.id.to_string().as_str()), ("alice", "1-2"));
        let held = order(&[("units", b"3"), ("deadline", b"1795260248145")]).unwrap();
        assert_eq!((held.units, held.deadline_ms), (3, Some(1_795_260_248_145)));
    }

    #[test]
    fn fields_that_nobody_asked_for_do_not_matter() {
        assert_eq!(order(&[("colour", b"\xff\x00")]), order(&[]));
    }

    #[test]
    fn numbers_are_digits_within_bounds() {
        for wrong in [&b"0"[..], b"-1", b"+1", b"", b"1.0", b"9223372036854775808", b"\xff"] {
            assert_eq!(order(&[("units", wrong)]), Err("units is no number above 0".to_owned()));
        }
        assert_eq!(order(&[("deadline", b"soon")]), Err("deadline is no number".to_owned()));
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
            assert_eq!(Order::parse(&entry, &names()), Err(unstorable));
        }
        let longest =
            entry(&[("userId", &long[1..]), ("voucherId", b""), ("id", "\u{e9}".as_bytes())]);
        assert_eq!(Order::parse(&longest, &names()).unwrap().user.len(), ID_LEN_MAX);
    }

    #[test]
    fn what_no_try_has_appended_is_no_order() {
        let missing = entry(&[("userId", b"alice"), ("voucherId", b"7")]);
        assert_eq!(Order::parse(&missing, &names()), Err(unfit("no field id")));
        assert_eq!(order(&[("id", b"1002")]), Err("two fields id".to_owned()));
        assert_eq!(order(&[("reason", b"expired")]), Err("a give-back is no order".to_owned()));
        assert_eq!(order(&[("dlqId", b"1-1")]), Err("a dead letter is no order".to_owned()));
    }

    #[test]
    fn a_release_says_why() {
        for reason in [Reason::Cancelled, Reason::Expired, Reason::Rejected] {
            let release = with(&[("reason", reason.word().as_bytes()), ("units", b"2")]);
            let release = Release::parse(&release, &names()).unwrap();
            assert_eq!((release.reason, release.units), (reason, 2));
        }
        for wrong in [&[][..], &[("reason", &b"bored"[..])]] {
            assert!(Release::parse(&with(wrong), &names()).is_err());
        }
    }

    #[test]
    fn the_names_of_fields_can_be_others() {
        let names = FieldNames { user: "u".into(), voucher: "v".into(), order: "o".into() };
        let order = Order::parse(&entry(&[("o", b"1"), ("u", b"bob"), ("v", b"8")]), &names);
        assert_eq!(order.unwrap().user, "bob");
    }
}

//! The entries of the streams of orders, confirmed orders and releases, as read by a consumer that
//! writes a row per order.

use std::cmp::Ordering;

use domain::book::Reason;
use domain::entry_id::EntryId;
use domain::fields::OWN_FIELDS;
use domain::references::Owner;
use domain::rows::Report;
pub use domain::stream_entry::Which;
use domain::stream_entry::{EventEntry, FieldNames, Says, Unread, read};
use seckill_tools::sanitize::{sanitize, sanitize_bytes};

use crate::options::OrderFields;

/// The longest id in a row: keys of two of them must fit into an index of every database.
const ID_LEN_MAX: usize = 512;

/// An entry of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamEntry {
    pub id: EntryId,
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
}

/// A stream and an entry in it.
pub type Place = (Which, EntryId);

/// Identifies a row: an order id is only unique within one sale of one voucher, and after a loss
/// two users may have the same one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OrderKey {
    pub voucher: String,
    /// Empty if the entry names no sale: the voucher is not managed.
    pub sale: String,
    pub order: String,
    pub user: String,
}

impl OrderKey {
    /// A sale as a whole, which comes before all its orders.
    pub fn of_sale(voucher: &str, sale: &str) -> Self {
        let [voucher, sale, order, user] = [voucher, sale, "", ""].map(str::to_owned);
        Self { voucher, sale, order, user }
    }

    /// Entries of managed vouchers name their sale. They have a book.
    pub fn is_managed(&self) -> bool {
        !self.sale.is_empty()
    }

    /// The same order id of the same sale, of whatever user.
    pub fn is_of_order(&self, other: &Self) -> bool {
        (&self.voucher, &self.sale, &self.order) == (&other.voucher, &other.sale, &other.order)
    }
}

impl Owner for OrderKey {
    fn is_of_cart(&self, other: &Self) -> bool {
        (&self.order, &self.user) == (&other.order, &other.user) && self.voucher != other.voucher
    }
}

/// In the order of the columns. To compare two texts of no bytes takes some processors longer than
/// all else that is done with an order: an empty text points to no memory.
impl Ord for OrderKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let texts = [
            (&self.voucher, &other.voucher),
            (&self.sale, &other.sale),
            (&self.order, &other.order),
            (&self.user, &other.user),
        ];
        let order = |(one, two): (&String, &String)| match one.is_empty() || two.is_empty() {
            true => one.len().cmp(&two.len()),
            false => one.cmp(two),
        };
        texts.into_iter().map(order).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

impl PartialOrd for OrderKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What an entry says of its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub place: Place,
    pub key: OrderKey,
    pub report: Report<String>,
    /// Of an order that is held.
    pub deadline_ms: Option<i64>,
    /// Of a release.
    pub reason: Option<Reason>,
    /// The entry that a release has rejected.
    pub rejects: Option<EntryId>,
}

/// An order by the bytes of its entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RawOrder {
    pub voucher: Vec<u8>,
    /// Empty if the entry names no sale.
    pub sale: String,
    pub user: Vec<u8>,
    pub order: Vec<u8>,
}

impl RawOrder {
    /// None if it can't be read.
    pub fn of(which: Which, entry: &StreamEntry, names: &[OrderFields]) -> Option<Self> {
        let order = entry.read(which, names).ok()?.order;
        let [voucher, user, id] = [order.voucher, order.user, order.id].map(<[u8]>::to_vec);
        let sale = order.sale.map_or_else(String::new, |sale| sale.get().to_string());
        Some(Self { voucher, sale, user, order: id })
    }
}

/// Why an entry can't become a row, however often it is delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// No command appends such an entry.
    Garbled(String),
    /// It may be an order whose fields have other names.
    Foreign(String),
    /// It has an id that not every database can store.
    Unstorable(String),
}

impl Unfit {
    pub fn why(&self) -> &str {
        match self {
            Self::Garbled(why) | Self::Foreign(why) | Self::Unstorable(why) => why,
        }
    }
}

impl Event {
    /// An entry of a stream. Its fields have one of these lists of names.
    pub fn parse(which: Which, entry: &StreamEntry, names: &[OrderFields]) -> Result<Self, Unfit> {
        let read = entry.read(which, names)?;
        let key = OrderKey {
            voucher: id_of("voucher", read.order.voucher)?,
            sale: read.order.sale.map_or_else(String::new, |sale| sale.get().to_string()),
            order: id_of("order id", read.order.id)?,
            user: id_of("user", read.order.user)?,
        };
        let (deadline_ms, reason, rejects) = match &read.says {
            Says::Accepted { deadline, .. } => (*deadline, None, None),
            Says::Released(release) => (None, Some(release.reason), release.entry),
            Says::Confirmed { .. } | Says::Payment { .. } => (None, None, None),
        };
        let report = Report::of(read, as_text);
        let report =
            report.ok_or_else(|| Unfit::Garbled("a payment without a reference".to_owned()))?;
        Ok(Self { place: (which, entry.id), key, report, deadline_ms, reason, rejects })
    }

    pub fn is_order(&self) -> bool {
        matches!(self.report, Report::Accepted { .. })
    }

    /// The reference of the payment that it is about.
    pub fn reference(&self) -> Option<&str> {
        match &self.report {
            Report::Confirmed { payment, .. } => payment.as_ref().map(|it| &*it.reference),
            Report::Payment { payment, .. } => Some(&payment.reference),
            Report::Released(release) => release.reference.as_deref(),
            Report::Accepted { .. } => None,
        }
    }
}

impl StreamEntry {
    /// Names and values in turn.
    pub fn flat(&self) -> Vec<&[u8]> {
        self.fields.iter().flat_map(|(name, value)| [&name[..], value]).collect()
    }

    /// What the entry says, with the first list of names that fits.
    pub fn read(&self, which: Which, names: &[OrderFields]) -> Result<EventEntry<&[u8]>, Unfit> {
        let fields = self.flat();
        let has = |name: &str| self.fields.iter().any(|(other, _)| other == name.as_bytes());
        let fits = |names: &&OrderFields| names.all().into_iter().all(has);
        let Some(names) = names.iter().find(fits).or(names.first()) else {
            return Err(Unfit::Garbled("no names of fields".to_owned()));
        };
        let [user, voucher, id] = names.all().map(str::as_bytes);
        read(which, &fields, FieldNames { user, voucher, id }).map_err(|unread| match unread {
            Unread::Garbled(why) => Unfit::Garbled(sanitize(&why)),
            Unread::Foreign(lacks) => self.foreign(&lacks),
        })
    }

    /// With the names that it has, it may still be an order.
    fn foreign(&self, lacks: &[u8]) -> Unfit {
        let others = self.fields.iter().map(|(name, _)| name).filter(|name| !name.is_empty());
        let others: Vec<_> = others
            .filter(|name| !OWN_FIELDS.contains(&name.as_slice()))
            .map(|name| sanitize_bytes(name))
            .collect();
        let (lacks, others) = (sanitize_bytes(lacks), others.join(" "));
        Unfit::Foreign(format!(
            "no field {lacks}, but it has {others}: if it is an order, start the worker with \
             --order-fields and the names of its user, voucher and order id, of these"
        ))
    }
}

/// An id, if every database can store it as text.
fn id_of(what: &str, value: &[u8]) -> Result<String, Unfit> {
    let unstorable = |why: String| Err(Unfit::Unstorable(format!("its {what} {why}")));
    if value.len() > ID_LEN_MAX {
        return unstorable(format!("is longer than {ID_LEN_MAX} bytes"));
    }
    match std::str::from_utf8(value) {
        Ok(text) if text.contains('\0') => unstorable("holds a NUL".to_owned()),
        Ok(text) => Ok(text.to_owned()),
        Err(_) => unstorable("is not UTF-8".to_owned()),
    }
}

/// A reference as every database can store it: none is left out for what it is made of. At most
/// 512 bytes: 128 that are each escaped.
pub fn as_text(reference: &[u8]) -> String {
    match std::str::from_utf8(reference) {
        Ok(text) if !text.contains('\0') => text.to_owned(),
        _ => sanitize_bytes(reference),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(fields: &[(&str, &[u8])]) -> StreamEntry {
        let fields = fields.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.to_vec()));
        StreamEntry { id: EntryId { ms: 1, seq: 2 }, fields: fields.collect() }
    }

    fn parsed(which: Which, more: &[(&str, &[u8])]) -> Result<Event, String> {
        let ids: [(&str, &[u8]); 3] = [("userId", b"alice"), ("voucherId", b"7"), ("id", b"1001")];
        let event = Event::parse(which, &entry(&[&ids, more].concat()), &[OrderFields::default()]);
        event.map_err(|unfit| unfit.why().to_owned())
    }

    fn order(more: &[(&str, &[u8])]) -> Result<Event, String> {
        parsed(Which::Orders, more)
    }

    #[test]
    fn keys_are_in_the_order_of_their_columns() {
        let key = |[voucher, sale, order, user]: [&str; 4]| {
            let [voucher, sale, order, user] = [voucher, sale, order, user].map(str::to_owned);
            OrderKey { voucher, sale, order, user }
        };
        let texts = ["", "1", "10", "2"];
        let all = || texts.iter().flat_map(|one| texts.map(|two| [*one, two, *one, two]));
        for (one, two) in all().flat_map(|one| all().map(move |two| (one, two))) {
            assert_eq!(key(one).cmp(&key(two)), one.cmp(&two), "{one:?} {two:?}");
        }
    }

    #[test]
    fn an_order_has_one_unit_and_no_deadline_unless_it_says_so() {
        let plain = order(&[]).unwrap();
        assert_eq!(plain.report, Report::Accepted { units: 1, is_held: false });
        let OrderKey { voucher, sale, order: id, user } = &plain.key;
        let wanted = ("7", "", "1001", "alice");
        assert_eq!((&**voucher, &**sale, &**id, &**user), wanted);
        assert_eq!((plain.place.1, plain.deadline_ms), (EntryId { ms: 1, seq: 2 }, None));
        let held =
            order(&[("units", b"3"), ("deadline", b"1795260248145"), ("sale", b"17")]).unwrap();
        assert_eq!(held.report, Report::Accepted { units: 3, is_held: true });
        assert_eq!((held.deadline_ms, &*held.key.sale), (Some(1_795_260_248_145), "17"));
        // A value that is not the id of a sale belongs to a field of the shop.
        assert_eq!(order(&[("sale", b"summer")]).unwrap().key.sale, "");
    }

    #[test]
    fn a_payment_has_a_reference() {
        let reference =
            |which, more| parsed(which, more).map(|it| it.reference().map(str::to_owned));
        assert_eq!(reference(Which::Confirmed, &[("sale", b"3")]), Ok(None));
        let late: [(&str, &[u8]); 2] = [("payment", b"late"), ("ref", b"p\0")];
        assert_eq!(reference(Which::Confirmed, &late), Ok(Some("p\\x00".to_owned())));
        assert!(reference(Which::Confirmed, &late[..1]).is_err());
    }

    #[test]
    fn other_names_of_fields_may_be_an_orders() {
        let shops: [(&str, &[u8]); 3] = [("userId", b"a"), ("voucherId", b"7"), ("orderId", b"1")];
        let names = OrderFields::parse("userId voucherId orderId").unwrap();
        let parse = |fields, names: &[OrderFields]| {
            Event::parse(Which::Orders, &entry(fields), names).map(|event| event.key.order)
        };
        let both = [OrderFields::default(), names];
        assert_eq!(parse(&shops, &both).as_deref(), Ok("1"));
        let Err(Unfit::Foreign(why)) = parse(&shops, &both[..1]) else { panic!() };
        assert!(why.contains("no field id, but it has userId voucherId orderId"), "{why}");
        let few = parse(&[("userId", b"a"), ("voucherId", b"7"), ("units", b"2")], &both);
        assert!(matches!(few, Err(Unfit::Garbled(_))), "{few:?}");
    }

    #[test]
    fn ids_must_be_such_that_every_database_can_keep_them() {
        let long = [b'x'; ID_LEN_MAX + 1];
        for (user, why) in [
            (&b"\xff"[..], "its user is not UTF-8"),
            (b"a\0", "its user holds a NUL"),
            (&long, "its user is longer than 512 bytes"),
        ] {
            let ids = entry(&[("userId", user), ("voucherId", b"7"), ("id", b"1")]);
            let unfit = Event::parse(Which::Orders, &ids, &[OrderFields::default()]).unwrap_err();
            assert_eq!(unfit, Unfit::Unstorable(why.to_owned()));
            let raw = RawOrder::of(Which::Orders, &ids, &[OrderFields::default()]);
            assert_eq!(raw.map(|raw| raw.user), Some(user.to_vec()));
        }
    }
}

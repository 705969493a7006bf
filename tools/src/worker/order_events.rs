//! The entries of the streams of orders, confirmed orders and releases, as read by a consumer that
//! writes a row per order.

use domain::book::{Reason, State};
use domain::entry_id::EntryId;
use domain::fields::OWN_FIELDS;
use domain::payments::Outcome;
use domain::projection::Known;
use domain::sale::Units;
pub use domain::stream_entry::Which;
use domain::stream_entry::{Entry, FieldNames, Release, Says, Unread, read};
use seckill_tools::sanitize::{sanitize, sanitize_bytes};

use crate::ending::Place;
use crate::options::OrderFields;
use crate::store::now_ms;

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

impl OrderKey {
    /// Entries of managed vouchers name their sale. They have a book.
    pub fn is_managed(&self) -> bool {
        !self.sale.is_empty()
    }
}

/// What an entry says of its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub id: EntryId,
    pub key: OrderKey,
    pub user: String,
    pub units: i64,
    pub reference: Option<String>,
    /// How many units the payment is for, if its confirmation said that.
    pub paid: Option<i64>,
    /// The units released were refunded elsewhere.
    pub is_refunded: bool,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It was accepted.
    Order { deadline_ms: Option<i64> },
    /// It is paid for.
    Confirmed,
    /// A payment to refund, with the word for why: it changes no order.
    Payment(String),
    /// Its units are on sale again: all, or all but those kept. `was` is its state before.
    Released { reason: Reason, was: Option<State>, kept: Option<i64> },
    /// No entry: the row is compared with the server.
    Look,
    /// The same: a held row whose order the server has lost ends.
    Lost,
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
        let Entry { order, says } = entry.read(which, names)?;
        let key = OrderKey {
            voucher: id_of("voucher", order.voucher)?,
            sale: order.sale.map_or_else(String::new, |sale| sale.get().to_string()),
            order: id_of("order id", order.id)?,
        };
        let user = id_of("user", order.user)?;
        let (kind, reference, paid) = match says {
            Says::Accepted { deadline, .. } => (Kind::Order { deadline_ms: deadline }, None, None),
            // The order was sold, and has the payment, though it was released before that.
            Says::Confirmed { reference, paid }
            | Says::Payment { outcome: Outcome::Released, reference, paid } => {
                (Kind::Confirmed, reference, paid)
            }
            Says::Payment { outcome, reference, paid } => {
                (Kind::Payment(outcome.word().to_owned()), reference, paid)
            }
            Says::Released(Release { reason, was, kept, reference, .. }) => {
                (Kind::Released { reason, was, kept: kept.map(Units::get) }, reference, None)
            }
        };
        let is_refunded = matches!(says, Says::Released(Release { refunded: true, .. }));
        let (reference, paid) = (reference.map(as_text), paid.map(Units::get));
        // Of a payment that pays nothing, all of its units are due.
        let its_own = paid.filter(|_| matches!(kind, Kind::Payment(_)));
        let units = its_own.unwrap_or(order.units.get());
        Ok(Self { id: entry.id, key, user, units, reference, paid, is_refunded, kind })
    }

    /// A look at an order, which is compared with the server.
    pub fn look(key: OrderKey, user: String) -> Self {
        let id = EntryId { ms: now_ms().unsigned_abs(), seq: 0 };
        Self::made(id, key, user, 1, Kind::Look)
    }

    /// An event of no entry.
    pub fn made(id: EntryId, key: OrderKey, user: String, units: i64, kind: Kind) -> Self {
        Self { id, key, user, units, reference: None, paid: None, is_refunded: false, kind }
    }

    pub fn is_order(&self) -> bool {
        matches!(self.kind, Kind::Order { .. })
    }

    /// A check has made it: no entry has such an id.
    pub fn is_made(&self) -> bool {
        self.kind == Kind::Look || self.id.ms == 0
    }

    pub fn place_of_entry(&self) -> Place {
        (self.which(), self.id)
    }

    /// The stream that the entry is in.
    pub fn which(&self) -> Which {
        match self.kind {
            Kind::Order { .. } | Kind::Look | Kind::Lost => Which::Orders,
            Kind::Confirmed | Kind::Payment(_) => Which::Confirmed,
            Kind::Released { .. } => Which::Released,
        }
    }

    /// What the entry says of its order; None if it says nothing of that.
    pub fn known(&self) -> Option<Known<String>> {
        let known = |state, was, units| Known::new(state, was, units, self.reference.clone());
        Some(match self.kind {
            Kind::Order { deadline_ms: Some(_) } => known(State::Held, None, self.units),
            Kind::Order { deadline_ms: None } | Kind::Confirmed => {
                known(State::Sold, None, self.units)
            }
            Kind::Released { was, kept: Some(kept), .. } => {
                known(was.unwrap_or(State::Held), None, kept)
            }
            Kind::Released { reason, was, kept: None } => {
                known(State::Released(reason), was, self.units)
            }
            Kind::Payment(_) | Kind::Look | Kind::Lost => return None,
        })
    }
}

impl StreamEntry {
    /// Names and values in turn.
    pub fn flat(&self) -> Vec<&[u8]> {
        self.fields.iter().flat_map(|(name, value)| [&name[..], value]).collect()
    }

    /// What the entry says, with the first list of names that fits.
    pub fn read(&self, which: Which, names: &[OrderFields]) -> Result<Entry<&[u8]>, Unfit> {
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

/// A reference as every database can store it: none is left out for what it is made of.
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
    fn an_order_has_one_unit_and_no_deadline_unless_it_says_so() {
        let plain = order(&[]).unwrap();
        assert_eq!((plain.units, plain.kind), (1, Kind::Order { deadline_ms: None }));
        assert_eq!((plain.key.voucher.as_str(), plain.key.order.as_str()), ("7", "1001"));
        assert_eq!((plain.user.as_str(), plain.id), ("alice", EntryId { ms: 1, seq: 2 }));
        let held = order(&[("units", b"3"), ("deadline", b"1795260248145")]).unwrap();
        let deadline_ms = Some(1_795_260_248_145);
        assert_eq!((held.units, held.kind), (3, Kind::Order { deadline_ms }));
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
    fn only_the_first_payment_confirms() {
        let kind = |more| parsed(Which::Confirmed, more).map(|event| event.kind);
        assert_eq!(kind(&[("sale", b"3")]), Ok(Kind::Confirmed));
        assert_eq!(kind(&[("payment", b"first"), ("ref", b"p")]), Ok(Kind::Confirmed));
        assert!(kind(&[("payment", b"later word"), ("ref", b"p")]).is_err());
        for word in ["late", "second", "unknown"] {
            let payment = parsed(Which::Confirmed, &[("payment", word.as_bytes()), ("ref", b"p")]);
            let payment = payment.unwrap();
            assert_eq!(payment.kind, Kind::Payment(word.to_owned()));
            assert_eq!((payment.known(), payment.reference.as_deref()), (None, Some("p")));
        }
        assert!(kind(&[("reason", b"expired")]).is_err());
    }

    #[test]
    fn a_release_has_a_reason() {
        let known = |more| parsed(Which::Released, more).map(|event| event.known().unwrap());
        let expired = known(&[("reason", b"expired"), ("units", b"2")]).unwrap();
        assert_eq!((expired.units, expired.was_sold), (2, Some(false)));
        let sold = known(&[("reason", b"cancelled"), ("was", b"sold")]).unwrap();
        assert_eq!(sold.was_sold, Some(true));
        let kept: [(&str, &[u8]); 3] = [("reason", b"cancelled"), ("was", b"sold"), ("kept", b"2")];
        let kept = known(&kept).unwrap();
        assert_eq!((kept.state, kept.units), (State::Sold, 2));
        for reason in [&[][..], &[("reason", &b"bored"[..])], &[("reason", b"sold")]] {
            assert!(known(reason).is_err(), "{reason:?}");
        }
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
    fn other_entries_are_no_orders() {
        for (more, why) in [
            (("id", &b"1002"[..]), "two fields id"),
            (("reason", b"expired"), "it is a release"),
            (("dlqId", b"1-1"), "it is a dead letter"),
            (("units", b"0"), "units is not a number above 0"),
            (("units", b"-1"), "units is not a number"),
            (("units", b"9223372036854775808"), "units is not a number"),
            (("deadline", b"soon"), "deadline is not a number"),
        ] {
            assert_eq!(order(&[more]), Err(why.to_owned()));
        }
        assert_eq!(order(&[("colour", b"\xff\x00")]), order(&[]));
    }

    #[test]
    fn ids_must_be_such_that_every_database_can_keep_them() {
        let long = [b'x'; ID_LEN_MAX + 1];
        let of = |user: &[u8], voucher: &[u8]| {
            let ids = entry(&[("userId", user), ("voucherId", voucher), ("id", b"\xc3\xa9")]);
            Event::parse(Which::Orders, &ids, &[OrderFields::default()])
        };
        for (user, why) in [
            (&b"\xff"[..], "its user is not UTF-8"),
            (b"a\0b", "its user holds a NUL"),
            (&long, "its user is longer than 512 bytes"),
        ] {
            assert_eq!(of(user, b"7"), Err(Unfit::Unstorable(why.to_owned())));
        }
        assert_eq!(of(&long[1..], b"").unwrap().user.len(), ID_LEN_MAX);
    }
}

//! The entries of the streams of orders, of confirmed orders and of releases. What they say beside
//! user, voucher and order id is written and read here.
//!
//! An entry consists of the fields for user, voucher and order id, whose names are configured, and
//! of fields whose names are fixed. Any other field is the shop's own, and ignored. Numbers are
//! written without sign and leading zeros, and only read so.

use std::borrow::Cow;

use crate::book::{Reason, State};
use crate::entry_id::EntryId;
use crate::fields::{
    DEAD_LETTER_PREFIX, DEADLINE, ENTRY, KEPT, NO_RESTOCK, OWN_FIELDS, PAID, PAYMENT, REASON,
    REFERENCE, REFUNDED, SALE, UNITS, WAITED, WAS,
};
use crate::integer::{self, Decimal};
use crate::payments::Outcome;
use crate::rules::SaleId;
use crate::sale::Units;

/// An entry with fewer fields of unknown names than user, voucher and order id is no order.
const ORDER_FIELDS_MIN: usize = 3;

/// The configured names of an order's fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldNames<'n> {
    pub user: &'n [u8],
    pub voucher: &'n [u8],
    pub id: &'n [u8],
}

/// The stream that an entry is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Which {
    Orders,
    Confirmed,
    Released,
}

impl Which {
    pub const ALL: [Self; 3] = [Self::Orders, Self::Confirmed, Self::Released];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Orders => "orders",
            Self::Confirmed => "confirmed",
            Self::Released => "released",
        }
    }
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

/// What an entry says of its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says<V> {
    /// It was accepted; held until the deadline, if there is one; after it had waited in the queue.
    Accepted {
        deadline: Option<i64>,
        waited: Option<i64>,
    },
    /// It is paid for, without a reference or by its first payment; which is for so many units, if
    /// that was said.
    Confirmed {
        reference: Option<V>,
        paid: Option<Units>,
    },
    /// A payment that is to be looked at, and that changes no order.
    Payment {
        outcome: Outcome,
        reference: Option<V>,
        paid: Option<Units>,
    },
    Released(ReleaseEntry<V>),
}

/// A release of all units of an order, or of all but those kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleaseEntry<V> {
    pub reason: Reason,
    /// The state that the order of a managed voucher was in.
    pub was: Option<State>,
    pub kept: Option<Units>,
    pub reference: Option<V>,
    /// The units have left the sale. They are on sale again otherwise.
    pub norestock: bool,
    /// They were refunded elsewhere. They are to be refunded otherwise, if they were paid.
    pub refunded: bool,
    /// The entry that was rejected.
    pub entry: Option<EntryId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventEntry<V> {
    pub order: OrderEntry<V>,
    pub says: Says<V>,
}

/// Why an entry is none of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// No command appends such an entry.
    Garbled(String),
    /// It may be an order whose fields have other names: it lacks this one.
    Foreign(Vec<u8>),
}

/// A value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<V> {
    Number(i64),
    Word(&'static str),
    Text(V),
    Id(EntryId),
}

impl<V: AsRef<[u8]>> Value<V> {
    /// As it is in the stream.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Number(number) => Cow::Owned(Decimal::new(*number).bytes().to_vec()),
            Self::Word(word) => Cow::Borrowed(word.as_bytes()),
            Self::Text(text) => Cow::Borrowed(text.as_ref()),
            Self::Id(id) => Cow::Owned(id.text()),
        }
    }
}

impl<V: Copy> EventEntry<V> {
    /// The fields beside user, voucher and order id, in their order.
    pub fn write(&self, mut write: impl FnMut(&'static [u8], Value<V>)) {
        let order = &self.order;
        let mut say = |name, value: Option<Value<V>>| {
            if let Some(value) = value {
                write(name, value);
            }
        };
        let number = |number: Option<i64>| number.map(Value::Number);
        say(UNITS, (order.units != Units::ONE).then(|| Value::Number(order.units.get())));
        if let Says::Accepted { deadline, .. } = self.says {
            say(DEADLINE, number(deadline));
        }
        say(SALE, number(order.sale.map(SaleId::get)));
        match self.says {
            Says::Accepted { waited, .. } => say(WAITED, number(waited)),
            Says::Confirmed { reference: None, .. } => {}
            Says::Confirmed { reference, paid } => {
                say(REFERENCE, reference.map(Value::Text));
                say(PAYMENT, Some(Value::Word(Outcome::First.word())));
                say(PAID, number(paid.map(Units::get)));
            }
            Says::Payment { outcome, reference, paid } => {
                say(REFERENCE, reference.map(Value::Text));
                say(PAYMENT, Some(Value::Word(outcome.word())));
                say(PAID, number(paid.map(Units::get)));
            }
            Says::Released(it) => {
                say(REFERENCE, it.reference.map(Value::Text));
                say(REASON, Some(Value::Word(it.reason.word())));
                say(WAS, it.was.map(|was| Value::Word(was.word())));
                say(KEPT, number(it.kept.map(Units::get)));
                say(NO_RESTOCK, it.norestock.then_some(Value::Number(1)));
                say(REFUNDED, it.refunded.then_some(Value::Number(1)));
                say(ENTRY, it.entry.map(Value::Id));
            }
        }
    }
}

/// Reads the fields of an entry, names and values in turn. One verdict for any bytes.
///
/// A field `sale` whose value is not a sale's id is the shop's own.
pub fn read<V: Copy + AsRef<[u8]>>(
    which: Which,
    fields: &[V],
    names: FieldNames<'_>,
) -> Result<EventEntry<V>, Unread> {
    let fields = Fields::of(fields)?;
    let [user, voucher, id] = [names.user, names.voucher, names.id];
    if let Some(lacks) = [user, voucher, id].into_iter().find(|name| !fields.has(name)) {
        return Err(fields.foreign(lacks));
    }
    let unsuitable = match which {
        _ if fields.all().any(|(name, _)| name.as_ref().starts_with(DEAD_LETTER_PREFIX)) => {
            Some("it is a dead letter")
        }
        Which::Orders | Which::Confirmed if fields.has(REASON) => Some("it is a release"),
        Which::Orders | Which::Released if fields.payment()? != Outcome::First => {
            Some("it is a payment")
        }
        _ => None,
    };
    if let Some(why) = unsuitable {
        return Err(garbled(why));
    }
    let sale = fields.one(SALE)?.and_then(|text| SaleId::parse(text.as_ref()));
    let units = fields.units(UNITS)?.unwrap_or(Units::ONE);
    let the = |name| fields.one(name)?.ok_or_else(|| lacking(name));
    let order = OrderEntry { user: the(user)?, voucher: the(voucher)?, id: the(id)?, units, sale };
    let reference = fields.one(REFERENCE)?;
    let says = match which {
        Which::Orders => {
            let [deadline, waited] = [DEADLINE, WAITED].map(|name| fields.number(name));
            Says::Accepted { deadline: deadline?, waited: waited? }
        }
        Which::Confirmed => {
            let paid = fields.units(PAID)?;
            if paid.is_some() && reference.is_none() {
                return Err(garbled("paid without ref"));
            }
            match fields.payment()? {
                Outcome::First => Says::Confirmed { reference, paid },
                outcome => Says::Payment { outcome, reference, paid },
            }
        }
        Which::Released => {
            let (reason, was) = (fields.state(REASON)?, fields.state(WAS)?);
            let Some(State::Released(reason)) = reason else {
                return Err(garbled("reason is not cancelled, expired or rejected"));
            };
            if was.is_some_and(|was| !was.is_live()) {
                return Err(garbled("was is not held or sold"));
            }
            let [norestock, refunded] = [NO_RESTOCK, REFUNDED].map(|name| fields.flag(name));
            let (norestock, refunded) = (norestock?, refunded?);
            if refunded && reference.is_none() {
                return Err(garbled("refunded without ref"));
            }
            let (kept, entry) = (fields.units(KEPT)?, fields.entry()?);
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
    Ok(EventEntry { order, says })
}

fn garbled(why: &str) -> Unread {
    Unread::Garbled(why.to_owned())
}

fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

fn lacking(name: &[u8]) -> Unread {
    Unread::Garbled(format!("no field {}", shown(name)))
}

/// Names and values in turn.
struct Fields<'f, V>(&'f [[V; 2]]);

impl<'f, V: Copy + AsRef<[u8]>> Fields<'f, V> {
    fn of(fields: &'f [V]) -> Result<Self, Unread> {
        match fields.as_chunks() {
            (pairs, []) => Ok(Self(pairs)),
            _ => Err(garbled("a field without a value")),
        }
    }

    fn all(&self) -> impl Iterator<Item = (V, V)> {
        self.0.iter().map(|[name, value]| (*name, *value))
    }

    fn has(&self, name: &[u8]) -> bool {
        self.all().any(|(other, _)| other.as_ref() == name)
    }

    /// The value of a field. An error if the field occurs twice: either value could be meant.
    fn one(&self, name: &[u8]) -> Result<Option<V>, Unread> {
        let mut found = self.all().filter(|(other, _)| other.as_ref() == name);
        let value = found.next().map(|(_, value)| value);
        match found.next() {
            None => Ok(value),
            Some(_) => Err(Unread::Garbled(format!("two fields {}", shown(name)))),
        }
    }

    fn number(&self, name: &[u8]) -> Result<Option<i64>, Unread> {
        let Some(text) = self.one(name)? else { return Ok(None) };
        let number = integer::parse(text.as_ref()).filter(|number| *number >= 0);
        let not = || Unread::Garbled(format!("{} is not a number", shown(name)));
        number.map(Some).ok_or_else(not)
    }

    fn units(&self, name: &[u8]) -> Result<Option<Units>, Unread> {
        let Some(number) = self.number(name)? else { return Ok(None) };
        let not = || Unread::Garbled(format!("{} is not a number above 0", shown(name)));
        Units::new(number).map(Some).ok_or_else(not)
    }

    /// Is this said?
    fn flag(&self, name: &[u8]) -> Result<bool, Unread> {
        match self.one(name)?.as_ref().map(V::as_ref) {
            None => Ok(false),
            Some(b"1") => Ok(true),
            Some(_) => Err(Unread::Garbled(format!("{} is not 1", shown(name)))),
        }
    }

    fn entry(&self) -> Result<Option<EntryId>, Unread> {
        let Some(text) = self.one(ENTRY)? else { return Ok(None) };
        let id = EntryId::parse(text.as_ref()).ok_or_else(|| garbled("entry is not an id"))?;
        Ok(Some(id))
    }

    fn state(&self, name: &[u8]) -> Result<Option<State>, Unread> {
        let Some(word) = self.one(name)? else { return Ok(None) };
        let not = || Unread::Garbled(format!("{} is not the word of a state", shown(name)));
        State::parse(word.as_ref()).map(Some).ok_or_else(not)
    }

    /// What a payment is; the first, if there is no word.
    fn payment(&self) -> Result<Outcome, Unread> {
        let Some(word) = self.one(PAYMENT)? else { return Ok(Outcome::First) };
        Outcome::parse(word.as_ref()).ok_or_else(|| garbled("payment is not the word of one"))
    }

    /// It lacks a field of an order. With the names that it has, it may still be one.
    fn foreign(&self, lacks: &[u8]) -> Unread {
        let is_other = |name: &[u8]| !name.is_empty() && !OWN_FIELDS.contains(&name);
        let others = self.all().filter(|(name, _)| is_other(name.as_ref())).count();
        match others < ORDER_FIELDS_MIN {
            true => lacking(lacks),
            false => Unread::Foreign(lacks.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;

//! What a decision about a sale may ask. Each question is asked only if the answer matters, since
//! most tries lose, and a losing try must be cheap.

use crate::book::{Entry, Has, UserUnits};
use crate::payments::Payment;
use crate::rules::{Millis, Rules, SaleId};
use crate::sale::{Policy, Stock, Units};
use std::fmt;
use std::rc::Rc;

/// The streams that entries are appended to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    Orders,
    Released,
    Confirmed,
    DeadLetters,
}

impl Stream {
    /// What errors call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Orders => "order stream",
            Self::Released => "stream of released orders",
            Self::Confirmed => "stream of confirmed orders",
            Self::DeadLetters => "dead-letter stream",
        }
    }
}

/// Why a decision refuses a request: mistakes, not outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no stock key.
    NoVoucher,
    /// The voucher has no rules.
    NotManaged,
    /// The order id belongs to another user, or to an order of other units.
    OrderId,
    /// What is on record was written by another client.
    Garbled,
    /// A key is missing that a sale with this order must have.
    Missing(Needed),
    /// The payment is on record for another order, user or sale.
    Reference,
    /// The payment is on record for another number of units.
    Units,
    /// Units of the order were refunded elsewhere in too many parts, with others between them.
    Parts,
    /// Memory is full, and the payment pays nothing.
    NoMemory,
    /// No greater sale id is left.
    LastSale,
    /// The request names another sale of the voucher.
    Sale,
    /// Stock or total would be less than nothing.
    TooFew,
    /// Stock or total would not fit 64 bits.
    Overflow,
    /// The stock to be adopted is negative.
    NotAdoptable,
    /// Keys of the voucher exist already.
    Exists,
    /// Orders are held, or wait.
    Held,
    /// Without reservations nobody can be promoted who waits.
    NoHold,
    /// Somebody waits, and is promoted with a reservation only.
    Waiting,
    /// Waits that ended with the sale are not recorded yet.
    EndingWaits,
    /// Articles of a cart with reservations, and others without.
    MixedHolds,
}

/// A key that a managed sale with such orders has: where it is missing, it may be yet to come, by a
/// tool that copies or renames key after key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needed {
    Rules,
    Stock,
    Buyers,
    Book,
    /// The users' units.
    Units,
    /// Units of held orders beyond the first of each, if there are such orders.
    Extra,
    Holds,
    /// The queue of orders that wait.
    Queue,
    /// The payments on record.
    Payments,
}

/// What the key is called in errors.
impl fmt::Display for Needed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rules => "rules",
            Self::Stock => "stock",
            Self::Buyers => "buyers",
            Self::Book => "book",
            Self::Units => "users' units",
            Self::Extra => "extra units",
            Self::Holds => "holds",
            Self::Queue => "waiting list",
            Self::Payments => "payments",
        })
    }
}

/// An order among those that are due first; without a user, if the book doesn't have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due<N> {
    pub id: N,
    pub user: Option<N>,
}

/// The order of a place in the queue, from 1: whoever joins gets the last one's and 1.
pub type Ticket = i64;

/// The greatest ticket: a sorted set keeps it in a double.
pub const TICKET_MAX: Ticket = (1 << 53) - 1;

/// The queue of orders that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    pub waiting: u64,
    /// How many may wait.
    pub most: u64,
    /// The ticket of the last one; 0 if nobody waits.
    pub last: Ticket,
}

impl Queue {
    /// The ticket of an order behind the last one; None if there is no greater number.
    pub fn next(&self) -> Option<Ticket> {
        Some(self.last.max(0).saturating_add(1)).filter(|ticket| *ticket <= TICKET_MAX)
    }
}

/// The first in the queue, with its order in the book and what its user has; without these, if they
/// can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct First<N> {
    pub id: N,
    pub order: Option<(Entry<N>, Option<UserUnits<N>>)>,
}

/// Orders that are due first.
pub type FirstDue<N> = Rc<[Due<N>]>;

/// The facts of one voucher, as they are at one moment.
///
/// Implemented by the module over keys, by [`crate::overlay`] over other facts and plans that are
/// not applied yet, and by the models over maps. An implementation must answer a question equally
/// until a plan is applied.
pub trait Facts {
    /// A user, an order id or a reference.
    type Name: Clone + Eq;
    type Error: From<Refusal>;

    fn now(&self) -> Millis;

    /// How unusual stocks are to be understood.
    fn policy(&self) -> Policy;

    /// The rules; None if the voucher is not managed.
    fn rules(&self) -> Result<Option<Rules>, Self::Error>;

    fn stock(&self) -> Result<Stock, Self::Error>;

    /// Is the user among the buyers? None if adding the user is the cheapest way to find out.
    fn known_buyer(&self, user: &Self::Name) -> Result<Option<bool>, Self::Error>;

    /// Is the user among the buyers?
    fn is_buyer(&self, user: &Self::Name) -> Result<bool, Self::Error>;

    /// An order in the book.
    fn entry(&self, id: &Self::Name) -> Result<Option<Entry<Self::Name>>, Self::Error>;

    /// The same, if it is this user's.
    fn entry_of(
        &self,
        id: &Self::Name,
        user: &Self::Name,
    ) -> Result<Option<Entry<Self::Name>>, Self::Error> {
        Ok(self.entry(id)?.filter(|entry| entry.user == *user))
    }

    /// Is this key of a managed voucher missing? No, if an operator has said to take the sale as it
    /// is.
    fn is_missing(&self, part: Needed) -> Result<bool, Self::Error>;

    /// How many units the user has, by the book.
    fn units_of(&self, user: &Self::Name) -> Result<Has, Self::Error>;

    /// The same, with the user's latest order.
    fn user_units(&self, user: &Self::Name) -> Result<Option<UserUnits<Self::Name>>, Self::Error>;

    /// How many units are held or sold, by what all users have.
    fn taken(&self) -> Result<i64, Self::Error>;

    /// So many units of the stock are not for sale: another client has put them there. Often none.
    fn note_surplus(&self, units: i64);

    /// The payment with this reference, if it is on record.
    fn payment(&self, reference: &Self::Name) -> Result<Option<Payment<Self::Name>>, Self::Error>;

    /// The voucher's last sale, if it was ever managed; of one that is on, that one.
    fn last_sale(&self) -> Result<Option<SaleId>, Self::Error>;

    /// The units that were taken off the sale for this order, if any: by its
    /// [name](crate::key_names::outside_field).
    fn outside(&self, order: &Self::Name) -> Result<Option<Units>, Self::Error>;

    /// Refuses to keep what pays nothing while memory is full.
    fn keepable(&self) -> Result<(), Self::Error>;

    /// The first `most` orders that are held and overdue, the earliest deadline first. May be None
    /// although some are, while they can't be released.
    fn due(&self, most: usize) -> Result<Option<FirstDue<Self::Name>>, Self::Error>;

    /// Refuses to say what is due while the holds, or what a release touches, may be elsewhere.
    fn sees_holds(&self) -> Result<(), Self::Error>;

    /// The first `most` orders that are held, and how many are.
    fn held(&self, most: usize) -> Result<(Vec<Self::Name>, u64), Self::Error>;

    /// Does anybody wait?
    fn is_waited_for(&self) -> Result<bool, Self::Error>;

    /// The queue.
    fn queue(&self) -> Result<Queue, Self::Error>;

    fn first_waiting(&self) -> Result<Option<First<Self::Name>>, Self::Error>;

    /// Does a key of the voucher exist, the stock included or not, and streams not?
    fn has_own_keys(&self, with_stock: bool) -> Result<bool, Self::Error>;

    /// Refuses a stream that can't take another entry.
    fn room(&self, stream: Stream) -> Result<(), Self::Error>;

    /// Refuses a sale whose book can't be written; if it `counts` units, those beyond the first of
    /// each order or user, one where these can't be counted either.
    fn writable(&self, counts: bool) -> Result<(), Self::Error>;

    /// Refuses a queue that can't be written.
    fn queue_writable(&self) -> Result<(), Self::Error>;

    /// Refuses a release that touches keys which can't be written, or may be elsewhere.
    fn releasable(&self) -> Result<(), Self::Error>;
}

/// Refuses while one of these keys is missing.
pub(crate) fn check_there<F: Facts>(
    facts: &F,
    parts: impl IntoIterator<Item = Needed>,
) -> Result<(), F::Error> {
    for part in parts {
        if facts.is_missing(part)? {
            return Err(Refusal::Missing(part).into());
        }
    }
    Ok(())
}

/// Is one of these keys there?
pub(crate) fn is_any_there<F: Facts>(
    facts: &F,
    parts: impl IntoIterator<Item = Needed>,
) -> Result<bool, F::Error> {
    for part in parts {
        if !facts.is_missing(part)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The rules of a voucher that must have some.
pub(crate) fn managed<F: Facts>(facts: &F) -> Result<Rules, F::Error> {
    facts.rules()?.ok_or(Refusal::NotManaged.into())
}

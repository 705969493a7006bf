//! What a decision writes, as data: all of it or nothing.

use crate::book::{Entry, Has, Reason, State, UserUnits};
use crate::facts::{Stream, Ticket};
use crate::payments::{Outcome, Payment};
use crate::rejection::Fate;
use crate::rules::{Millis, Rules, SaleId};
use crate::sale::Units;
use std::slice;

/// An order, made or not yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Order<N> {
    pub user: N,
    pub id: N,
    pub units: Units,
}

/// A decision: an answer, and what it takes to make it true.
#[allow(clippy::large_enum_variant, reason = "it lives for one command, and none is kept")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision<A, N> {
    /// Nothing is to be written.
    Answer(A),
    Do(A, Plan<N>),
    /// These orders are to be expired first, as far as possible; then the decision is to be made
    /// again, as expired.
    ExpireFirst(Vec<N>),
}

/// Adding a user to the buyers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// A user who is there already changes nothing.
    Add,
    /// A user who is there already has bought: then nothing is written, and the answer is that
    /// they are at the limit.
    Ask,
}

/// A stock before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub before: i64,
    pub after: i64,
}

/// What becomes of the hold of an order that has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    Move(Millis),
    Lift,
}

/// What becomes of an order's place in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The last place, by this ticket.
    Join(Ticket),
    Leave,
}

/// An entry to be appended about an order that was made before: the fields of the order, and those
/// that say what it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Append {
    /// A confirmation without a reference.
    Confirmation,
    /// The plan's payment, and what it is to the order.
    Payment(Outcome),
    /// A release of the plan's units, with the reference of an order that was paid.
    Release {
        reason: Reason,
        /// The state that the order of a managed voucher was in.
        was: Option<State>,
        /// What the order keeps, if not everything is released.
        kept: Option<Units>,
        /// The units leave the sale instead of returning to the stock.
        norestock: bool,
        /// They were refunded elsewhere.
        refunded: bool,
    },
    /// The entry that a consumer rejects, and what became of its order. It is acknowledged once all
    /// entries are appended: the last step that can be refused.
    DeadLetter { fate: Fate, was: Option<State> },
}

impl Append {
    pub fn stream(self) -> Stream {
        match self {
            Self::Confirmation | Self::Payment(_) => Stream::Confirmed,
            Self::Release { .. } => Stream::Released,
            Self::DeadLetter { .. } => Stream::DeadLetters,
        }
    }
}

/// The entries of a plan, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Appends {
    #[default]
    None,
    One(Append),
    Two([Append; 2]),
}

impl Appends {
    pub fn all(&self) -> &[Append] {
        match self {
            Self::None => &[],
            Self::One(append) => slice::from_ref(append),
            Self::Two(both) => both,
        }
    }
}

/// A payment, by its reference.
pub type NamedPayment<N> = (N, Payment<N>);

/// What a decision writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan<N> {
    /// A try gets its units.
    Take(Take<N>),
    /// An order in the queue gets its units, after so long, and leaves the queue.
    Promote(Take<N>, Millis),
    /// Something else becomes of an order.
    Amend(Amend<N>),
    /// Nothing: what is on record is replicated once more. A client that asks again may not know
    /// that it was changed, and the replicas may not either. A `WAIT` waits for that.
    Repeat(Recorded<N>),
    /// The entry that a consumer rejects becomes a dead letter, and concerns no order here.
    DeadLetter(Fate),
    /// A member of the holds that is no held order leaves them: somebody edited the keys.
    StrayHold(N),
    /// A member of the queue that is no waiting order leaves it.
    StrayPlace(N),
}

/// An order gets its units. Written in the order of the fields, then its entry in the stream of
/// orders; these two can be refused, and the first is then undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Take<N> {
    pub order: Order<N>,
    pub admit: Option<Admission>,
    /// None of a stock that is unlimited.
    pub stock: Option<Change>,
    /// Of a managed voucher.
    pub booked: Option<BookWrite<N>>,
}

/// What the book has of an order that got its units, from then on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookWrite<N> {
    pub sale: SaleId,
    /// Held until its deadline, or sold.
    pub entry: Entry<N>,
    /// What its user has.
    pub has: UserUnits<N>,
    /// As [`Amend::beyond_one`].
    pub beyond_one: i64,
}

impl<N> BookWrite<N> {
    pub fn hold(&self) -> Option<Millis> {
        (self.entry.state == State::Held).then_some(self.entry.deadline)
    }

    /// How many more units beyond the first of each order are held.
    pub fn extra(&self) -> i64 {
        self.hold().map_or(0, |_| self.entry.units.beyond_first())
    }

    /// Are units counted beside the lengths of keys?
    pub fn counts(&self) -> bool {
        self.extra() != 0 || self.beyond_one != 0
    }
}

/// The same, of a user who had and has so much, and with so many more orders in the queue.
pub(crate) fn more_beyond_one<N>(had: Has, has: Option<&UserUnits<N>>, in_queue: i64) -> i64 {
    let now = has.map_or(Has::default(), UserUnits::has);
    now.beyond_one().saturating_sub(had.beyond_one()).saturating_add(in_queue)
}

/// What a user has from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left<N> {
    Units(UserUnits<N>),
    Nothing,
}

impl<N> From<Option<UserUnits<N>>> for Left<N> {
    fn from(units: Option<UserUnits<N>>) -> Self {
        units.map_or(Self::Nothing, Self::Units)
    }
}

/// What becomes of an order otherwise. Written in the order of the fields, of which the entries can
/// be refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amend<N> {
    pub order: Order<N>,
    /// The sale, as entries name it; none of an unmanaged voucher.
    pub sale: Option<SaleId>,
    pub appends: Appends,
    /// The rules with a smaller total: units leave the sale.
    pub rules: Option<Rules>,
    pub stock: Option<Change>,
    /// The order in the book.
    pub entry: Option<Entry<N>>,
    pub units: Option<Left<N>>,
    pub hold: Option<Hold>,
    /// How many more units beyond the first of each order are held.
    pub extra: i64,
    /// How many more units there are [beyond one](Has::beyond_one) for each user, with one more for
    /// each order in the queue. With that, these three numbers tell how many units are held and
    /// sold: so many, and one for each user on record, less one for each order in the queue.
    pub beyond_one: i64,
    pub payment: Option<NamedPayment<N>>,
    pub place: Option<Place>,
    /// The user leaves the buyers.
    pub dismiss: bool,
}

impl<N> Amend<N> {
    /// Nothing yet about an order.
    pub fn about(order: Order<N>, sale: Option<SaleId>) -> Self {
        Self {
            order,
            sale,
            appends: Appends::None,
            rules: None,
            stock: None,
            entry: None,
            units: None,
            hold: None,
            extra: 0,
            beyond_one: 0,
            payment: None,
            place: None,
            dismiss: false,
        }
    }
}

impl<N> Amend<N> {
    /// Do left, held and sold together stay what they were, of an order that the book had so? They
    /// become less only if the stock can't have back what it gave: it is missing, or was set to
    /// more.
    pub(crate) fn makes_no_units(&self, was: &Entry<N>) -> bool {
        let units = |entry: &Entry<N>| match entry.state {
            State::Held | State::Sold => entry.units.get(),
            State::Waiting | State::Released(_) => 0,
        };
        let returned = self.stock.map_or(0, |stock| stock.after.saturating_sub(stock.before));
        let is = self.entry.as_ref().map_or(units(was), units);
        returned >= 0 && returned.saturating_add(is) <= units(was)
    }
}

/// What is on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded<N> {
    /// The order in the book with this id.
    Order(N),
    Payment(NamedPayment<N>),
}

impl<N> From<Amend<N>> for Plan<N> {
    fn from(amend: Amend<N>) -> Self {
        Self::Amend(amend)
    }
}

impl<N> Plan<N> {
    /// Can somebody in the queue have what they wait for, once this is written? If units return, or
    /// the queue gets shorter.
    pub fn moves_queue(&self) -> bool {
        match self {
            Self::Amend(it) => {
                // A stock that another client has written need not become more.
                let is_release = |append: &Append| matches!(append, Append::Release { .. });
                let returns = it.appends.all().iter().any(is_release);
                it.sale.is_some() && (returns || it.place == Some(Place::Leave))
            }
            Self::StrayPlace(_) => true,
            Self::Take(_) | Self::Promote(..) | Self::Repeat(_) => false,
            Self::DeadLetter(_) | Self::StrayHold(_) => false,
        }
    }
}

/// What is written about a sale as a whole, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SalePlan<N> {
    pub rules: Option<Rules>,
    /// A stock where there is none.
    pub new_stock: Option<i64>,
    /// The voucher's last sale is this one.
    pub last: Option<SaleId>,
    pub stock: Option<Change>,
    /// The units that are outside of the sale for an order; of None, no more.
    pub outside: Option<(N, Option<Units>)>,
    /// Every key of the voucher is deleted, but no stream, and nothing that outlives a sale. Until
    /// this moment the id of the last sale is kept.
    pub delete: Option<Millis>,
}

impl<N> SalePlan<N> {
    /// Nothing yet.
    pub const NONE: Self =
        Self { rules: None, new_stock: None, last: None, stock: None, outside: None, delete: None };

    /// The same as [`Plan::moves_queue`]: other rules can end waits, too.
    pub fn moves_queue(&self) -> bool {
        self.rules.is_some()
    }
}

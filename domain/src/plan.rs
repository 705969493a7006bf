//! What a decision writes, as data.
//!
//! A plan is about one order. Its parts are written in the order of the fields, all or none of
//! them: the first parts can still be refused, and are then undone.

use crate::book::{Entry, Reason, State, UserUnits};
use crate::facts::{Stream, Ticket};
use crate::payments::{Outcome, Payment};
use crate::rejection::Fate;
use crate::rules::{Millis, Rules, SaleId};
use crate::sale::Units;

/// An order, made or not yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Order<N> {
    pub user: N,
    pub id: N,
    pub units: Units,
}

/// A decision: an answer, and what it takes to make it true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision<A, N> {
    /// Nothing is to be written.
    Answer(A),
    Do(A, Plan<N>),
    /// These orders are to be expired first, as far as possible; then the decision is to be made
    /// again, as settled.
    Settle(Vec<N>),
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

/// What becomes of an order's place among the holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    Place(Millis),
    Move(Millis),
    Lift,
}

/// What becomes of an order's place in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The last place, by this ticket.
    Join(Ticket),
    Leave,
}

/// An entry to be appended: the fields of the plan's order, and those that say what it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Append {
    /// An accepted try, with the deadline of an order that is held.
    Order,
    /// The same of an order that has waited so long for its units.
    Served { waited: Millis },
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
    },
    /// The entry that a consumer rejects, and what became of its order.
    DeadLetter { fate: Fate, was: Option<State> },
}

impl Append {
    pub fn stream(self) -> Stream {
        match self {
            Self::Order | Self::Served { .. } => Stream::Orders,
            Self::Confirmation | Self::Payment(_) => Stream::Confirmed,
            Self::Release { .. } => Stream::Released,
            Self::DeadLetter { .. } => Stream::DeadLetters,
        }
    }
}

/// A payment, by its reference.
pub type Paid<N> = (N, Payment<N>);

/// What is written about one order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan<N> {
    pub order: Order<N>,
    /// The sale, as entries name it.
    pub sale: Option<SaleId>,
    /// The buyers. Can be refused; undone by removing the user.
    pub admit: Option<Admission>,
    /// Entries, each of which can be refused; undone by deleting those before it.
    pub appends: [Option<Append>; 2],
    /// The entry that a consumer rejects is acknowledged. The last step that can be refused.
    pub acknowledge: bool,
    pub stock: Option<Change>,
    /// The order in the book.
    pub entry: Option<Entry<N>>,
    /// What the user has from now on; of None, nothing.
    pub units: Option<Option<UserUnits<N>>>,
    pub hold: Option<Hold>,
    /// How many more units beyond the first of each order are held.
    pub extra: i64,
    pub payment: Option<Paid<N>>,
    pub place: Option<Place>,
    /// The user leaves the buyers.
    pub dismiss: bool,
    /// Everything stays as it is, and the payment, or else the order in the book, is replicated
    /// once more: a client that asks again may not know that it was changed, and the replicas may
    /// not either. A `WAIT` waits for that.
    pub again: bool,
}

impl<N> Plan<N> {
    /// Nothing yet about an order.
    pub fn about(order: Order<N>, sale: Option<SaleId>) -> Self {
        Self {
            order,
            sale,
            admit: None,
            appends: [None, None],
            acknowledge: false,
            stock: None,
            entry: None,
            units: None,
            hold: None,
            extra: 0,
            payment: None,
            place: None,
            dismiss: false,
            again: false,
        }
    }

    /// Only repeats what is on record of an order.
    pub fn again(order: Order<N>, sale: Option<SaleId>) -> Self {
        Self { again: true, ..Self::about(order, sale) }
    }

    /// Can somebody in line have what they wait for, once this is written? If units return, or
    /// the line gets shorter.
    pub fn moves_line(&self) -> bool {
        let returns = self.stock.is_some_and(|stock| stock.after > stock.before);
        let is_served = matches!(self.appends, [Some(Append::Served { .. }), _]);
        let is_shorter = self.place == Some(Place::Leave) && !is_served;
        self.sale.is_some() && (returns || is_shorter)
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
    /// Every key of the voucher is deleted, but no stream, and nothing that outlives a sale.
    pub delete: bool,
}

impl<N> SalePlan<N> {
    /// Nothing yet.
    pub const NONE: Self = Self {
        rules: None,
        new_stock: None,
        last: None,
        stock: None,
        outside: None,
        delete: false,
    };

    /// The same as [`Plan::moves_line`]: other rules can end waits, too.
    pub fn moves_line(&self) -> bool {
        self.rules.is_some()
    }
}

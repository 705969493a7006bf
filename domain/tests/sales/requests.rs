//! What a course is made of: requests, and their answers.

use crate::world::Error;
use domain::confirm::Confirmation;
use domain::orders::{Cancel, Cancellation, OrderRequest};
use domain::plan::Order;
use domain::rejection::Fate;
use domain::rules::{Meant, Millis, SaleId};
use domain::sale::Units;
use domain::{sales, tries};

/// A cancellation of all of an order in any state.
pub const ALL: Cancel<u8> = Cancel::ALL;

/// An order that a request names, and the sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    pub user: u8,
    pub id: u8,
    pub sale: Option<u8>,
}

impl Named {
    pub fn meant(self) -> Meant {
        meant(self.sale)
    }

    pub fn request(self) -> OrderRequest<u8> {
        OrderRequest { user: self.user, id: self.id, sale: self.meant() }
    }
}

/// The sale that a request means.
pub fn meant(sale: Option<u8>) -> Meant {
    Meant::by_request(sale.and_then(|sale| SaleId::new(sale.into())))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Try(Order<u8>),
    /// A try that names a sale, by its number.
    TryFor(Order<u8>, u8),
    /// A try that waits where it would lose.
    Wait(Order<u8>),
    /// The timer looks at the queue.
    Promote,
    /// Two tries of one command.
    Pair(Order<u8>, Order<u8>),
    Confirm(Named, Option<u8>),
    /// A confirmation by a payment that is said to be for so many units.
    Paid(Named, u8, Units),
    /// An operator refunds the payment.
    Refund(Named, u8),
    /// Memory gets full, or is no longer.
    Fill,
    Extend(Named, Millis),
    Cancel(Named, Cancel<u8>),
    /// The entry of this order, of the sale that is on.
    Reject(u8),
    /// The same, only if it is not sold.
    RejectUnsold(u8),
    /// The same of another sale, or of a try that was lost.
    RejectLate(usize, u8),
    Timer(u8),
    Tick,
    Restock(sales::Restock<u8>),
    End(Option<Millis>),
    Begin(Option<Millis>),
    Limit(i64),
    Hold(Option<Millis>),
    Drop {
        forced: bool,
        sale: Option<u8>,
    },
    Create,
    Adopt,
    SetStock(i64),
    /// Another client writes the stock of the sale.
    Overwrite(i64),
    /// From now on the replica gets nothing.
    Lag,
    Failover,
}

/// A cancellation in any state, of all units or of all but so many.
pub fn keeping(kept: Option<Units>) -> Cancel<u8> {
    Cancel { kept, ..ALL }
}

impl Action {
    /// The order and the payment of a confirmation that may pay it.
    pub fn pays(self) -> Option<(Named, Option<u8>)> {
        match self {
            Self::Confirm(named, reference) => Some((named, reference)),
            Self::Paid(named, reference, _) => Some((named, Some(reference))),
            _ => None,
        }
    }

    /// How many units the payment of a confirmation is said to be for.
    pub fn paid(self) -> Option<Units> {
        if let Self::Paid(_, _, units) = self { Some(units) } else { None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Try(tries::TryAnswer),
    Pair([Result<tries::TryAnswer, Error>; 2]),
    Confirm(Confirmation),
    Cancel(Cancellation),
    Reject(Option<Fate>),
    /// What the other commands answer, or nothing.
    Number(i64),
}

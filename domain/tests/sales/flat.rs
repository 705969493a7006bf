//! What a plan of any kind writes, side by side: what the model applies, and where faults are
//! planted.

use domain::book::{Entry, UserUnits};
use domain::plan::{
    Admission, Amend, Append, Change, Left, NamedPayment, Order, Place, Plan, Recorded, Take,
};
use domain::rules::{Millis, Rules, SaleId};
use domain::sale::Units;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    Place(Millis),
    Move(Millis),
    Lift,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flat {
    pub order: Order<u8>,
    pub sale: Option<SaleId>,
    pub admit: Option<Admission>,
    /// An entry in the stream of orders, and how long the order has waited.
    pub taken: Option<Option<Millis>>,
    pub appends: [Option<Append>; 2],
    pub rules: Option<Rules>,
    pub stock: Option<Change>,
    pub entry: Option<Entry<u8>>,
    pub units: Option<Option<UserUnits<u8>>>,
    pub hold: Option<Hold>,
    pub extra: i64,
    pub beyond_one: i64,
    pub payment: Option<NamedPayment<u8>>,
    pub place: Option<Place>,
    pub dismiss: bool,
    pub again: bool,
}

impl Flat {
    pub const fn about(order: Order<u8>) -> Self {
        Self {
            order,
            sale: None,
            admit: None,
            taken: None,
            appends: [None; 2],
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
            again: false,
        }
    }

    fn take(take: Take<u8>, waited: Option<Millis>) -> Self {
        let Take { order, admit, stock, booked } = take;
        let flat = Self { admit, taken: Some(waited), stock, ..Self::about(order) };
        let Some(booked) = booked else { return flat };
        Self {
            sale: Some(booked.sale),
            entry: Some(booked.entry),
            units: Some(Some(booked.has)),
            hold: booked.hold().map(Hold::Place),
            extra: booked.extra(),
            beyond_one: booked.beyond_one,
            place: waited.map(|_| Place::Leave),
            ..flat
        }
    }

    fn amend(amend: Amend<u8>) -> Self {
        let Amend { order, sale, appends, rules, stock, entry, units, hold, .. } = amend;
        let Amend { extra, beyond_one, payment, place, dismiss, .. } = amend;
        let mut both = appends.all().iter().copied();
        let hold = hold.map(|hold| match hold {
            domain::plan::Hold::Move(until) => Hold::Move(until),
            domain::plan::Hold::Lift => Hold::Lift,
        });
        let units = units.map(|left| match left {
            Left::Units(units) => Some(units),
            Left::Nothing => None,
        });
        let appends = [both.next(), both.next()];
        let flat = Self { sale, appends, rules, stock, entry, units, hold, ..Self::about(order) };
        Self { extra, beyond_one, payment, place, dismiss, ..flat }
    }
}

impl From<Plan<u8>> for Flat {
    fn from(plan: Plan<u8>) -> Self {
        // What is no order has no user.
        let of = |id| Self::about(Order { user: 0, id, units: Units::ONE });
        match plan {
            Plan::Take(take) => Self::take(take, None),
            Plan::Promote(take, waited) => Self::take(take, Some(waited)),
            Plan::Amend(amend) => Self::amend(amend),
            Plan::Repeat(Recorded::Order(id)) => Self { again: true, ..of(id) },
            Plan::Repeat(Recorded::Payment(paid)) => {
                Self { again: true, payment: Some(paid), ..of(paid.1.id) }
            }
            Plan::DeadLetter(fate) => {
                let letter = Append::DeadLetter { fate, was: None };
                Self { appends: [Some(letter), None], ..of(0) }
            }
            Plan::StrayHold(id) => Self { hold: Some(Hold::Lift), ..of(id) },
            Plan::StrayPlace(id) => Self { place: Some(Place::Leave), ..of(id) },
        }
    }
}

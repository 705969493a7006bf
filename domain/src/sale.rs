//! The outcomes of a try, and what a stock offers.

use std::num::NonZeroU64;

/// How a try ends. The numbers are what clients see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TryOutcome {
    /// The order is made.
    Accepted = 0,
    /// There are not enough units left.
    SoldOut = 1,
    /// The user already has a unit, or would have more units than the limit allows.
    AtLimit = 2,
    /// The window of a managed voucher has not begun.
    NotStarted = 3,
    /// The window of a managed voucher is over.
    Ended = 4,
    /// The order was released, and its id never sells again.
    Released = 5,
    /// The order is in the queue for units.
    Waiting = 6,
}

impl TryOutcome {
    /// In the order of their codes.
    pub const ALL: [Self; 7] = [
        Self::Accepted,
        Self::SoldOut,
        Self::AtLimit,
        Self::NotStarted,
        Self::Ended,
        Self::Released,
        Self::Waiting,
    ];

    pub const fn code(self) -> i64 {
        self as i64
    }

    /// The outcome with this number.
    pub fn of_code(code: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.code() == code)
    }

    /// The outcome in words, for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::SoldOut => "sold out",
            Self::AtLimit => "at the limit",
            Self::NotStarted => "not started",
            Self::Ended => "ended",
            Self::Released => "released",
            Self::Waiting => "waiting",
        }
    }
}

/// How many units a try is for: 1 to 2^63 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Units(NonZeroU64);

impl Units {
    pub const ONE: Self = Self(NonZeroU64::MIN);

    /// None if `units` is below 1.
    pub fn new(units: i64) -> Option<Self> {
        u64::try_from(units).ok().and_then(NonZeroU64::new).map(Self)
    }

    /// At least 1.
    pub fn get(self) -> i64 {
        // Made from a positive i64, so it fits.
        self.0.get() as i64
    }

    /// All but the first.
    pub fn beyond_first(self) -> i64 {
        self.get().saturating_sub(1)
    }
}

/// The content of the stock key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stock {
    Missing,
    Left(i64),
}

/// How the operator has configured unusual stocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// A missing stock key means sold out, rather than an error.
    pub missing_is_sold_out: bool,
    /// A stock of -1 is unlimited.
    pub minus_one_is_unlimited: bool,
}

/// What the stock allows, before the buyer is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    SoldOut,
    /// The units may be taken, and this many are then left.
    Take {
        left: i64,
    },
    /// The stock is unlimited: nothing is deducted.
    Unlimited,
}

/// There is no stock key, and the operator has configured that as an error.
#[derive(Debug, PartialEq, Eq)]
pub struct NoStock;

/// What the stock offers to a try for `units`: all of them or none.
pub fn offer(stock: Stock, units: Units, policy: Policy) -> Result<Offer, NoStock> {
    match stock {
        Stock::Missing if policy.missing_is_sold_out => Ok(Offer::SoldOut),
        Stock::Missing => Err(NoStock),
        Stock::Left(-1) if policy.minus_one_is_unlimited => Ok(Offer::Unlimited),
        Stock::Left(left) => match left.checked_sub(units.get()) {
            Some(left) if left >= 0 => Ok(Offer::Take { left }),
            _ => Ok(Offer::SoldOut),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{NoStock, Offer, Policy, Stock, TryOutcome, Units, offer};

    #[test]
    fn the_stock_decides_first() {
        let plain = Policy::default();
        let soft = Policy { missing_is_sold_out: true, ..plain };
        let endless = Policy { minus_one_is_unlimited: true, ..plain };
        let rows = [
            (Stock::Left(5), 1, plain, Ok(Offer::Take { left: 4 })),
            (Stock::Left(1), 1, plain, Ok(Offer::Take { left: 0 })),
            (Stock::Left(0), 1, plain, Ok(Offer::SoldOut)),
            (Stock::Left(-1), 1, plain, Ok(Offer::SoldOut)),
            (Stock::Left(-1), 1, endless, Ok(Offer::Unlimited)),
            (Stock::Left(-2), 1, endless, Ok(Offer::SoldOut)),
            (Stock::Left(5), 5, plain, Ok(Offer::Take { left: 0 })),
            (Stock::Left(5), 6, plain, Ok(Offer::SoldOut)),
            (Stock::Left(5), i64::MAX, plain, Ok(Offer::SoldOut)),
            (Stock::Left(i64::MAX), i64::MAX, plain, Ok(Offer::Take { left: 0 })),
            (Stock::Left(i64::MIN), i64::MAX, plain, Ok(Offer::SoldOut)),
            (Stock::Left(i64::MIN), 1, endless, Ok(Offer::SoldOut)),
            (Stock::Missing, 1, plain, Err(NoStock)),
            (Stock::Missing, 1, soft, Ok(Offer::SoldOut)),
            (Stock::Missing, 1, endless, Err(NoStock)),
        ];
        for (stock, units, policy, want) in rows {
            let units = Units::new(units).unwrap();
            assert_eq!(offer(stock, units, policy), want, "{stock:?} {units:?} {policy:?}");
        }
    }

    #[test]
    fn outcomes_are_numbered_from_0() {
        for (code, outcome) in (0..).zip(TryOutcome::ALL) {
            assert_eq!((outcome.code(), TryOutcome::of_code(code)), (code, Some(outcome)));
        }
        let words = TryOutcome::ALL.map(TryOutcome::words);
        assert_eq!(
            words.join(", "),
            "accepted, sold out, at the limit, not started, ended, released, waiting"
        );
        assert_eq!((TryOutcome::of_code(-1), TryOutcome::of_code(7)), (None, None));
    }

    #[test]
    fn units_are_positive() {
        assert_eq!(Units::new(0), None);
        assert_eq!(Units::new(-1), None);
        assert_eq!(Units::new(i64::MIN), None);
        assert_eq!(Units::new(i64::MAX).map(Units::get), Some(i64::MAX));
        assert_eq!(Units::ONE.get(), 1);
    }
}

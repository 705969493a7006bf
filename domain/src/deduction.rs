//! Deducts units from and restores them to a bare stock: a key with a number, without buyers or
//! orders.

use crate::plan::Change;
use crate::sale::{Stock, Units};

/// The value of a stock that is never used up and never changed.
const UNLIMITED: i64 = -1;

/// How a deduction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deduction {
    /// The key does not exist.
    Missing,
    /// The stock is unlimited: nothing is deducted.
    Unlimited,
    /// Fewer units are left than asked for.
    TooLittle,
    /// The units may be taken: the stock was `before` and becomes `left`.
    Take { before: i64, left: i64 },
}

impl Deduction {
    /// The number that clients see. 1 means unlimited, or that the last unit was taken.
    pub fn code(self) -> i64 {
        match self {
            Self::Missing => -1,
            Self::Unlimited => 1,
            Self::TooLittle => 0,
            Self::Take { before, .. } => before,
        }
    }
}

/// Why nothing can be taken or restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadStock {
    /// The stock is negative, and not -1, the only negative number with a meaning.
    Negative,
    /// The restored stock would exceed 64 bits.
    Overflow,
}

/// Takes units from a stock. All of them or none.
pub fn deduct(stock: Stock, units: Units) -> Result<Deduction, BadStock> {
    match stock {
        Stock::Missing => Ok(Deduction::Missing),
        Stock::Left(UNLIMITED) => Ok(Deduction::Unlimited),
        Stock::Left(left) if left < 0 => Err(BadStock::Negative),
        Stock::Left(before) => match before.checked_sub(units.get()) {
            Some(left) if left >= 0 => Ok(Deduction::Take { before, left }),
            _ => Ok(Deduction::TooLittle),
        },
    }
}

/// Returns units to a stock. None if there is no key or the stock is unlimited.
pub fn return_units(stock: Stock, units: Units) -> Result<Option<Change>, BadStock> {
    match stock {
        Stock::Missing | Stock::Left(UNLIMITED) => Ok(None),
        Stock::Left(left) if left < 0 => Err(BadStock::Negative),
        Stock::Left(before) => match before.checked_add(units.get()) {
            Some(after) => Ok(Some(Change { before, after })),
            None => Err(BadStock::Overflow),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{BadStock, Change, Deduction, Stock, Units, deduct, return_units};

    #[test]
    fn a_deduction_takes_all_or_nothing() {
        let take = |before, left| Ok(Deduction::Take { before, left });
        let rows = [
            (Stock::Missing, 1, Ok(Deduction::Missing), -1),
            (Stock::Left(-1), 1, Ok(Deduction::Unlimited), 1),
            (Stock::Left(-1), i64::MAX, Ok(Deduction::Unlimited), 1),
            (Stock::Left(0), 1, Ok(Deduction::TooLittle), 0),
            (Stock::Left(1), 1, take(1, 0), 1),
            (Stock::Left(5), 1, take(5, 4), 5),
            (Stock::Left(5), 5, take(5, 0), 5),
            (Stock::Left(5), 6, Ok(Deduction::TooLittle), 0),
            (Stock::Left(i64::MAX), i64::MAX, take(i64::MAX, 0), i64::MAX),
            (Stock::Left(0), i64::MAX, Ok(Deduction::TooLittle), 0),
        ];
        for (stock, units, want, code) in rows {
            let units = Units::new(units).unwrap();
            assert_eq!(deduct(stock, units), want, "{stock:?} {units:?}");
            assert_eq!(want.unwrap().code(), code, "{stock:?} {units:?}");
        }
        for stock in [-2, i64::MIN] {
            assert_eq!(deduct(Stock::Left(stock), Units::ONE), Err(BadStock::Negative));
        }
    }

    #[test]
    fn units_come_back_where_a_stock_is() {
        let restored = |before, after| Ok(Some(Change { before, after }));
        let rows = [
            (Stock::Missing, 1, Ok(None)),
            (Stock::Left(-1), 1, Ok(None)),
            (Stock::Left(0), 1, restored(0, 1)),
            (Stock::Left(0), i64::MAX, restored(0, i64::MAX)),
            (Stock::Left(1), i64::MAX, Err(BadStock::Overflow)),
            (Stock::Left(i64::MAX), 1, Err(BadStock::Overflow)),
            (Stock::Left(-2), 1, Err(BadStock::Negative)),
            (Stock::Left(i64::MIN), i64::MAX, Err(BadStock::Negative)),
        ];
        for (stock, units, want) in rows {
            let units = Units::new(units).unwrap();
            assert_eq!(return_units(stock, units), want, "{stock:?} {units:?}");
        }
    }
}

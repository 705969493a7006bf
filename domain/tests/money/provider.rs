//! The provider's books, kept apart from the server's and the shop's.

use crate::server::REFERENCES;
use domain::unit_set::UnitSet;

/// What is true at the provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Provider {
    /// Units by reference and order; None if it was not paid.
    pub paid: [Option<[i64; 2]>; REFERENCES],
    /// Units that the shop has refunded itself, by reference and order.
    pub own: [[UnitSet; 2]; REFERENCES],
    /// Units refunded for lines that a database has lost since: a line is paid once.
    pub lines: [[UnitSet; 2]; REFERENCES],
    /// Units refunded beyond, as somebody has acknowledged.
    pub acknowledged: [i64; REFERENCES],
    /// The shop says UNITS.
    pub is_stated: bool,
}

impl Provider {
    /// The shop refunds these units of an order's payment.
    pub fn refund(&mut self, reference: u8, slot: usize, units: &UnitSet) {
        let own = &mut self.own[usize::from(reference)][slot];
        *own = own.union(units);
    }

    pub fn units(&self, reference: u8) -> i64 {
        self.paid[usize::from(reference)].map_or(0, |paid| paid.iter().sum())
    }

    /// UNITS of a reference at an order.
    pub fn units_at(&self, reference: u8, slot: usize) -> i64 {
        let paid = self.paid[usize::from(reference)].unwrap_or_default();
        if paid[slot] > 0 { paid[slot] } else { paid[1 - slot] }
    }
}

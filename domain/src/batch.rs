//! The tries of one command, for one unit each: decided one after the other, as if each were
//! written before the next one is decided.

use crate::managed::Known;
use crate::sale::{NoStock, Offer, Outcome, Policy, Stock, Units, offer};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// The maximum of tries per command.
pub const TRIES_MAX: usize = 1024;

/// A short table of one command, with keys that clients choose: its hashes are seeded, but chosen
/// for speed.
type Table<'a, T> = HashMap<&'a [u8], T, RandomState>;

/// The accepted tries of a command that are not written to the voucher's keys yet.
#[derive(Debug, Default)]
pub struct Pending<'a> {
    /// User to units.
    units: Table<'a, i64>,
    /// Order id to user. Empty if order ids are not checked.
    orders: Table<'a, &'a [u8]>,
    /// Units to be deducted from the stock.
    taken: i64,
    /// The maximum of tries, to allocate memory for all at once.
    tries: usize,
}

impl<'a> Pending<'a> {
    /// For a command of this many tries.
    pub fn of(tries: usize) -> Self {
        Self { tries, ..Self::default() }
    }

    /// The stock once all tries are written; none if nothing is deducted. `left` is the key's
    /// value.
    pub fn after_all(&self, left: i64) -> Option<i64> {
        (self.taken > 0).then(|| left.saturating_sub(self.taken))
    }

    /// What a stock with this value in its key offers to the next try.
    pub fn offer(&self, stock: Stock, policy: Policy) -> Result<Offer, NoStock> {
        let stock = match stock {
            Stock::Left(left) => Stock::Left(left.saturating_sub(self.taken)),
            Stock::Missing => Stock::Missing,
        };
        offer(stock, Units::ONE, policy)
    }

    /// Accepts the next try on an unmanaged voucher, or returns its other outcome.
    pub fn admit(&mut self, user: &'a [u8], offer: Offer, has_bought: bool) -> Option<Outcome> {
        if offer == Offer::SoldOut {
            return Some(Outcome::SoldOut);
        }
        self.make_room_for_users();
        // A single lookup both checks the user and adds a new one.
        if has_bought || self.units.insert(user, 1).is_some() {
            return Some(Outcome::AlreadyBought);
        }
        self.taken = self.taken.saturating_add(i64::from(offer != Offer::Unlimited));
        None
    }

    /// Undoes the acceptance of the last try, whose entry the stream could not take.
    pub fn dismiss(&mut self, user: &[u8], offer: Offer) {
        self.units.remove(user);
        self.taken = self.taken.saturating_sub(i64::from(offer != Offer::Unlimited));
    }

    /// Answers a try on a managed voucher whose order id is that of an accepted try.
    pub fn known(&self, id: &[u8], user: &[u8]) -> Option<Known> {
        let owner = *self.orders.get(id)?;
        Some(if owner == user { Known::Repeated(Outcome::Accepted) } else { Known::Another })
    }

    /// Units of the user that are not in the book yet.
    pub fn units_of(&self, user: &[u8]) -> i64 {
        self.units.get(user).copied().unwrap_or(0)
    }

    /// The stock after the next try on a managed voucher; none if no unit is left for it. `left` is
    /// the key's value.
    pub fn after_next(&self, left: i64) -> Option<i64> {
        let after = left.checked_sub(self.taken)?.checked_sub(1)?;
        Some(after).filter(|after| *after >= 0)
    }

    /// Accepts a try on a managed voucher.
    pub fn enter(&mut self, user: &'a [u8], id: &'a [u8]) {
        self.make_room_for_users();
        if self.orders.capacity() == 0 {
            self.orders.reserve(self.tries);
        }
        self.orders.insert(id, user);
        let units = self.units.entry(user).or_default();
        *units = units.saturating_add(1);
        self.taken = self.taken.saturating_add(1);
    }

    fn make_room_for_users(&mut self) {
        if self.units.capacity() == 0 {
            self.units.reserve(self.tries);
        }
    }

    /// All tries are written.
    pub fn clear(&mut self) {
        self.units.clear();
        self.orders.clear();
        self.taken = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::{Known, NoStock, Offer, Outcome, Pending, Policy, Stock};

    const PLAIN: Policy = Policy { missing_is_sold_out: false, minus_one_is_unlimited: false };

    /// The outcomes of tries on an unmanaged voucher, by users of one letter.
    fn outcomes(stock: i64, policy: Policy, bought: &str, users: &'static str) -> String {
        let mut pending = Pending::default();
        let outcome = |user: &'static [u8]| {
            let offer = pending.offer(Stock::Left(stock), policy).unwrap();
            let has_bought = bought.as_bytes().contains(&user[0]);
            let refused = pending.admit(user, offer, has_bought);
            refused.unwrap_or(Outcome::Accepted).code().to_string()
        };
        users.as_bytes().chunks(1).map(outcome).collect()
    }

    #[test]
    fn unmanaged_tries_see_those_before_them() {
        let unlimited = Policy { minus_one_is_unlimited: true, ..PLAIN };
        let rows = [
            (5, PLAIN, "", "ab", "00"),
            (5, PLAIN, "", "aaba", "0202"),
            (5, PLAIN, "a", "ab", "20"),
            // Sold out has precedence, as for a single try.
            (1, PLAIN, "b", "baabc", "20111"),
            (0, PLAIN, "a", "ab", "11"),
            (-1, PLAIN, "", "a", "1"),
            (-1, unlimited, "c", "abac", "0022"),
        ];
        for (stock, policy, bought, users, want) in rows {
            assert_eq!(outcomes(stock, policy, bought, users), want, "{stock} {bought} {users}");
        }
    }

    #[test]
    fn a_missing_stock_is_a_mistake_or_sold_out() {
        let soft = Policy { missing_is_sold_out: true, ..PLAIN };
        let pending = Pending::default();
        assert_eq!(pending.offer(Stock::Missing, PLAIN), Err(NoStock));
        assert_eq!(pending.offer(Stock::Missing, soft), Ok(Offer::SoldOut));
    }

    #[test]
    fn an_unlimited_stock_is_not_deducted() {
        let unlimited = Policy { minus_one_is_unlimited: true, ..PLAIN };
        let mut pending = Pending::default();
        for user in [b"a", b"b"] {
            let offer = pending.offer(Stock::Left(-1), unlimited).unwrap();
            assert_eq!(offer, Offer::Unlimited);
            assert_eq!(pending.admit(user, offer, false), None);
        }
        assert_eq!(pending.after_all(-1), None);
        pending.dismiss(b"a", Offer::Unlimited);
        assert_eq!(pending.after_all(-1), None);
    }

    #[test]
    fn an_acceptance_that_is_undone_leaves_nothing() {
        let mut pending = Pending::default();
        let offer = pending.offer(Stock::Left(1), PLAIN).unwrap();
        assert_eq!(pending.admit(b"a", offer, false), None);
        assert_eq!(pending.offer(Stock::Left(1), PLAIN), Ok(Offer::SoldOut));
        pending.dismiss(b"a", offer);
        assert_eq!(pending.after_all(1), None);
        assert_eq!(pending.offer(Stock::Left(1), PLAIN), Ok(offer));
        assert_eq!(pending.admit(b"a", offer, false), None);
        assert_eq!(pending.after_all(1), Some(0));
    }

    #[test]
    fn managed_tries_see_those_before_them() {
        let mut pending = Pending::default();
        assert_eq!(pending.known(b"o1", b"ann"), None);
        assert_eq!((pending.units_of(b"ann"), pending.after_next(2)), (0, Some(1)));
        pending.enter(b"ann", b"o1");
        assert_eq!(pending.known(b"o1", b"ann"), Some(Known::Repeated(Outcome::Accepted)));
        assert_eq!(pending.known(b"o1", b"bob"), Some(Known::Another));
        assert_eq!((pending.units_of(b"ann"), pending.units_of(b"bob")), (1, 0));
        assert_eq!(pending.after_next(2), Some(0));
        pending.enter(b"ann", b"o2");
        assert_eq!((pending.units_of(b"ann"), pending.after_all(2)), (2, Some(0)));
        assert_eq!(pending.after_next(2), None);
        pending.clear();
        assert_eq!((pending.units_of(b"ann"), pending.after_all(2)), (0, None));
        assert_eq!((pending.known(b"o1", b"ann"), pending.after_next(0)), (None, None));
        assert_eq!((pending.after_next(i64::MIN), pending.after_next(1)), (None, Some(0)));
    }
}

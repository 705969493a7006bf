//! The audit of a book in steps without state on the server: the sums so far are in the cursor,
//! which the client sends with the next step.
//!
//! Each entry is compared with the other keys in the step that reads it, so commands between steps
//! cause no difference. Sums over all entries are compared at the end, and only if nothing that
//! they cover has changed since the first step.

use super::{Report, count, extra_difference, total_difference};
use crate::book::{Entry, Garbled, State, UserUnits};
use crate::integer::{self, Decimal};
use std::hash::{DefaultHasher, Hasher};

/// Which key is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Book,
    Holdings,
    Holds,
    Buyers,
    Done,
}

/// The figures of a sale that can be read in constant time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    pub total: i64,
    /// None if there is no stock key.
    pub left: Option<i64>,
    /// Entries of the book, which no command removes.
    pub orders: i64,
    pub holds: i64,
    /// Units of held orders beyond the first of each; None if the key is not an integer.
    pub extra: Option<i64>,
}

impl Figures {
    /// Have no units been sold, released, added or removed since? An accepted order adds an entry
    /// that is never removed, and a release alone changes `left`.
    fn has_same_units(&self, since: &Self) -> bool {
        (self.total, self.left, self.orders) == (since.total, since.left, since.orders)
    }

    /// Has also no order been confirmed, which would remove a hold?
    fn has_same_holds(&self, since: &Self) -> bool {
        self.has_same_units(since) && (self.holds, self.extra) == (since.holds, since.extra)
    }
}

/// The position of an audit, and what it has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    stage: Stage,
    scan: u64,
    first: Figures,
    sums: Sums,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sums {
    held: i64,
    sold: i64,
    extra: i64,
    orders: i64,
    buyers: i64,
    /// Prints of the units by user, from live orders and from the users' own records; equal if
    /// these are.
    order_print: i64,
    holding_print: i64,
    bad_orders: i64,
    no_hold: i64,
    other_deadline: i64,
    no_record: i64,
    bad_holdings: i64,
    no_buyer: i64,
    no_order: i64,
    stray_buyers: i64,
}

impl Sums {
    /// All numbers, in the order of the cursor.
    fn numbers(&mut self) -> [&mut i64; 15] {
        [
            &mut self.held,
            &mut self.sold,
            &mut self.extra,
            &mut self.orders,
            &mut self.buyers,
            &mut self.order_print,
            &mut self.holding_print,
            &mut self.bad_orders,
            &mut self.no_hold,
            &mut self.other_deadline,
            &mut self.no_record,
            &mut self.bad_holdings,
            &mut self.no_buyer,
            &mut self.no_order,
            &mut self.stray_buyers,
        ]
    }
}

/// The longest text of a cursor.
const CURSOR_LEN_MAX: usize = 512;

/// The text for a number that does not exist.
const NONE: &[u8] = b"-";

impl Progress {
    /// An audit that begins with these figures.
    pub fn begin(first: Figures) -> Self {
        Self { stage: Stage::Book, scan: 0, first, sums: Sums::default() }
    }

    /// Reads a cursor; none if it can't be from [`Progress::cursor`]. A client that makes up a
    /// cursor only deceives itself.
    pub fn parse(cursor: &[u8]) -> Option<Self> {
        if cursor.len() > CURSOR_LEN_MAX {
            return None;
        }
        let mut words = cursor.split(|byte| *byte == b':');
        let stage = match words.next()? {
            b"1" => Stage::Book,
            b"2" => Stage::Holdings,
            b"3" => Stage::Holds,
            b"4" => Stage::Buyers,
            _ => return None,
        };
        let scan = integer::parse_digits(words.next()?)?;
        let mut number = || integer::parse(words.next()?);
        let (total, orders, holds) = (number()?, number()?, number()?);
        let mut sums = Sums::default();
        for sum in sums.numbers() {
            *sum = number()?;
        }
        let mut optional = || match words.next()? {
            NONE => Some(None),
            word => integer::parse(word).map(Some),
        };
        let (left, extra) = (optional()?, optional()?);
        let first = Figures { total, left, orders, holds, extra };
        words.next().is_none().then_some(Self { stage, scan, first, sums })
    }

    /// The cursor for the next step; `0` if there is no next step.
    pub fn cursor(&self) -> Vec<u8> {
        let stage = match self.stage {
            Stage::Done => return b"0".to_vec(),
            Stage::Book => 1,
            Stage::Holdings => 2,
            Stage::Holds => 3,
            Stage::Buyers => 4,
        };
        let Figures { total, left, orders, holds, extra } = self.first;
        let mut text = Decimal::new(stage).bytes().to_vec();
        let mut add = |word: &[u8]| {
            text.push(b':');
            text.extend_from_slice(word);
        };
        add(Decimal::unsigned(self.scan).bytes());
        let mut sums = self.sums.clone();
        let sums = sums.numbers().map(|sum| *sum);
        for number in [total, orders, holds].into_iter().chain(sums) {
            add(Decimal::new(number).bytes());
        }
        for number in [left, extra] {
            let decimal = number.map(Decimal::new);
            add(decimal.as_ref().map_or(NONE, Decimal::bytes));
        }
        text
    }

    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Where the server's scan of the stage's key continues.
    pub fn scan(&self) -> u64 {
        self.scan
    }

    /// Notes how far the scan of the stage's key is; 0 means that the next key follows.
    pub fn went_on(&mut self, scan: u64) {
        self.scan = scan;
        if scan == 0 {
            self.stage = match self.stage {
                Stage::Book => Stage::Holdings,
                Stage::Holdings => Stage::Holds,
                Stage::Holds => Stage::Buyers,
                Stage::Buyers | Stage::Done => Stage::Done,
            };
        }
    }

    /// Adds an entry of the book. `hold` reads the order's deadline from the holds, if it is held;
    /// `has_record` reads whether its user has units on record, if it is live.
    pub fn order<E>(
        &mut self,
        text: &[u8],
        hold: impl FnOnce() -> Result<Option<i64>, E>,
        has_record: impl FnOnce(&[u8]) -> Result<bool, E>,
    ) -> Result<(), E> {
        let sums = &mut self.sums;
        add(&mut sums.orders, 1);
        let Ok(entry) = Entry::parse(text) else {
            add(&mut sums.bad_orders, 1);
            return Ok(());
        };
        let units = entry.units.get();
        match entry.state {
            State::Held => {
                match hold()? {
                    None => add(&mut sums.no_hold, 1),
                    Some(deadline) if deadline == entry.deadline => {}
                    Some(_) => add(&mut sums.other_deadline, 1),
                }
                add(&mut sums.held, units);
                add(&mut sums.extra, units.saturating_sub(1));
            }
            State::Sold => add(&mut sums.sold, units),
            State::Released(_) => return Ok(()),
        }
        sums.order_print = with_print(sums.order_print, entry.user, units);
        if !has_record(entry.user)? {
            add(&mut sums.no_record, 1);
        }
        Ok(())
    }

    /// Adds a user's own record of units.
    pub fn holding(&mut self, user: &[u8], text: &[u8], is_buyer: bool) {
        let sums = &mut self.sums;
        match UserUnits::parse(text) {
            Ok(holding) => {
                sums.holding_print = with_print(sums.holding_print, user, holding.units.get());
            }
            Err(Garbled) => add(&mut sums.bad_holdings, 1),
        }
        add(&mut sums.buyers, 1);
        if !is_buyer {
            add(&mut sums.no_buyer, 1);
        }
    }

    /// Adds a hold. `text` is its order's entry in the book.
    pub fn hold(&mut self, text: Option<&[u8]>) {
        let entry = text.and_then(|text| Entry::parse(text).ok());
        if entry.is_none_or(|entry| entry.state != State::Held) {
            add(&mut self.sums.no_order, 1);
        }
    }

    /// Adds a member of the set of buyers.
    pub fn buyer(&mut self, has_record: bool) {
        if !has_record {
            add(&mut self.sums.stray_buyers, 1);
        }
    }

    /// Have units been sold, released, added or removed since the first step?
    pub fn is_changed(&self, now: &Figures) -> bool {
        !now.has_same_units(&self.first)
    }

    /// The findings so far. Findings about sums are only added in the last step.
    pub fn report(&self, now: &Figures) -> Report {
        let sums = &self.sums;
        let mut differences = Vec::new();
        let mut found = |number: i64, what: &str| {
            count(&mut differences, usize::try_from(number).unwrap_or(0), what);
        };
        found(sums.bad_orders, "orders of the book can't be read");
        found(sums.bad_holdings, "users' units can't be read");
        found(sums.no_record, "live orders are of users who have no units on record");
        found(sums.other_deadline, "holds have a different deadline from their order");
        found(sums.no_order, "holds have no held order");
        found(sums.no_hold, "held orders have no hold");
        found(sums.no_buyer, "users with units on record are not among the buyers");
        found(sums.stray_buyers, "buyers have no units on record");
        if self.stage == Stage::Done {
            self.compare_sums(now, &mut differences);
        }
        Report {
            held: sums.held,
            sold: sums.sold,
            orders: sums.orders,
            buyers: sums.buyers,
            differences,
        }
    }

    fn compare_sums(&self, now: &Figures, differences: &mut Vec<String>) {
        let sums = &self.sums;
        let Some(left) = now.left else {
            return differences.push("there is no stock key".to_owned());
        };
        if self.is_changed(now) {
            return;
        }
        differences.extend(total_difference(now.total, left, sums.held, sums.sold));
        // An unreadable record is in none of the sums, and is already reported.
        if sums.order_print != sums.holding_print && sums.bad_holdings == 0 {
            differences.push("users' units differ from those of their live orders".to_owned());
        }
        if now.has_same_holds(&self.first) {
            differences.extend(extra_difference(sums.extra, now.extra));
        }
    }
}

fn add(sum: &mut i64, number: i64) {
    *sum = sum.saturating_add(number);
}

/// Adds to a sum that is equal for two sets of users and units if every user has the same units in
/// both, in any order and division. Other sets have equal sums only by chance, once in 2^64.
fn with_print(print: i64, user: &[u8], units: i64) -> i64 {
    // Without random keys, so that it is equal in the next step and on another server.
    let mut hasher = DefaultHasher::new();
    hasher.write(user);
    print.wrapping_add(units.wrapping_mul(hasher.finish().cast_signed()))
}

#[cfg(test)]
mod tests;

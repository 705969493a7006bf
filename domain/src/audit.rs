//! Does the book of a managed voucher agree with its other keys? The audit works in steps without
//! state on the server: the sums so far are in the cursor, which the client sends with the next.
//!
//! Each entry is compared with the other keys in the step that reads it, so commands between steps
//! cause no difference. Sums over all entries are compared at the end, and only if nothing that
//! they cover has changed since the first step.

mod differences;
mod maps;

pub use maps::Maps;

use crate::book::{Entry, Has, State, UserUnits};
use crate::integer::{self, Decimal};

/// The key whose elements a step reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditPart {
    Book,
    Units,
    Holds,
    Queue,
    Buyers,
}

/// The parts in the order in which they are read; in a cursor the first is 1.
const PARTS: [AuditPart; 5] =
    [AuditPart::Book, AuditPart::Units, AuditPart::Holds, AuditPart::Queue, AuditPart::Buyers];

/// What an audit asks of the keys of a voucher. No error but the server's.
pub trait Keys {
    type Error;

    /// Reads the next elements of a part, from the position of the last call or from 0: names, and
    /// values where there are any. Gives the next position, too, 0 at the end.
    fn scan(&self, part: AuditPart, position: u64) -> Result<(Vec<Pair>, u64), Self::Error>;

    /// The text of an order's entry in the book.
    fn entry(&self, id: &[u8]) -> Result<Option<Vec<u8>>, Self::Error>;

    /// The deadline of an order among the holds.
    fn deadline(&self, id: &[u8]) -> Result<Option<i64>, Self::Error>;

    /// Is the order in the queue?
    fn is_in_queue(&self, id: &[u8]) -> Result<bool, Self::Error>;

    /// The text of what the user has.
    fn units(&self, user: &[u8]) -> Result<Option<Vec<u8>>, Self::Error>;

    fn is_buyer(&self, user: &[u8]) -> Result<bool, Self::Error>;
}

/// A name and its value.
pub type Pair = (Vec<u8>, Vec<u8>);

/// The figures of a sale that can be read in constant time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    pub total: i64,
    /// None if there is no stock key.
    pub left: Option<i64>,
    /// Entries of the book, which no command removes.
    pub orders: i64,
    pub holds: i64,
    /// Orders in the queue.
    pub waiting: i64,
    /// Units of held orders beyond the first of each; None if the key can't be read.
    pub extra: Option<i64>,
    /// Held and sold units beyond one for each user on record, and one for each order in the queue;
    /// None as above.
    pub beyond_one: Option<i64>,
}

impl Figures {
    /// In the order of the cursor. If the first four are equal, no units were sold, released,
    /// added or removed: an accepted order, or one that joins the queue, adds an entry that is
    /// never removed; without these the queue only gets shorter; and a release alone changes
    /// `left`. If all are equal, no order was confirmed either.
    fn numbers(&self) -> [i64; FIGURES] {
        let numbers = [self.left, self.extra, self.beyond_one];
        let [left, extra, beyond_one] = numbers.map(|number| number.unwrap_or(i64::MIN));
        [self.total, left, self.orders, self.waiting, self.holds, extra, beyond_one]
    }
}

/// The figures in a cursor.
const FIGURES: usize = 7;

/// What is counted, in the order of the cursor.
#[derive(Clone, Copy)]
enum Sum {
    Held,
    Sold,
    Waiting,
    Extra,
    BeyondOne,
    Orders,
    Buyers,
    /// Prints of the units by user, from live orders and from the users' own records; equal if
    /// these are.
    OrderPrint,
    UnitsPrint,
    BadOrder,
    BadUnits,
    NoUnits,
    NoBuyer,
    OtherDeadline,
    NoHold,
    NoOrder,
    NoPlace,
    NoWaiter,
    StrayBuyer,
}

const SUMS: usize = Sum::StrayBuyer as usize + 1;

/// The position of an audit, and what it has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The part being read, by its place in [`PARTS`]; behind the last when the audit is done.
    part: usize,
    position: u64,
    first: [i64; FIGURES],
    sums: [i64; SUMS],
}

/// The sums, and where other keys disagree with the book.
#[derive(Debug, PartialEq, Eq)]
pub struct AuditReport {
    pub held: i64,
    pub sold: i64,
    /// Orders that wait.
    pub waiting: i64,
    /// Orders in the book, live or not.
    pub orders: i64,
    /// Users with units on record, but for those who only wait.
    pub buyers: i64,
    /// Units were sold, released, added or removed since the first step.
    pub is_changed: bool,
    /// One sentence per difference, without bytes of users; empty if all keys agree.
    pub differences: Vec<String>,
}

/// The longest text of a cursor.
const CURSOR_LEN_MAX: usize = 640;

/// The cursor with which an audit begins, and which its last step returns.
const START: &[u8] = b"0";

impl Progress {
    /// An audit that begins with these figures.
    pub fn begin(first: &Figures) -> Self {
        Self { part: 0, position: 0, first: first.numbers(), sums: [0; SUMS] }
    }

    /// Goes on from a cursor; none if it can't be from [`Progress::cursor`]. A client that makes up
    /// a cursor only deceives itself.
    pub fn at(cursor: &[u8], now: &Figures) -> Option<Self> {
        if cursor == START {
            return Some(Self::begin(now));
        }
        if cursor.len() > CURSOR_LEN_MAX {
            return None;
        }
        let mut words = cursor.split(|byte| *byte == b':');
        let part = integer::parse(words.next()?)?.checked_sub(1)?;
        let part = usize::try_from(part).ok().filter(|part| *part < PARTS.len())?;
        let position = integer::parse_digits(words.next()?)?;
        let mut progress = Self { part, position, first: [0; FIGURES], sums: [0; SUMS] };
        for number in progress.first.iter_mut().chain(&mut progress.sums) {
            *number = integer::parse(words.next()?)?;
        }
        words.next().is_none().then_some(progress)
    }

    /// The cursor for the next step; `0` if there is no next step.
    pub fn cursor(&self) -> Vec<u8> {
        if self.is_done() {
            return START.to_vec();
        }
        let part = i64::try_from(self.part).unwrap_or(i64::MAX).saturating_add(1);
        let mut words = vec![Decimal::new(part), Decimal::unsigned(self.position)];
        words.extend(self.first.iter().chain(&self.sums).copied().map(Decimal::new));
        words.iter().map(Decimal::bytes).collect::<Vec<_>>().join(&b':')
    }

    pub fn is_done(&self) -> bool {
        self.part >= PARTS.len()
    }

    /// Reads the next elements, and compares each of them with the other keys. Gives how many.
    pub fn step<K: Keys>(&mut self, keys: &K) -> Result<usize, K::Error> {
        let Some(part) = PARTS.get(self.part) else { return Ok(0) };
        let (elements, next) = keys.scan(*part, self.position)?;
        for (name, value) in &elements {
            match part {
                AuditPart::Book => self.order(keys, name, value)?,
                AuditPart::Units => self.user_units(name, value),
                AuditPart::Holds => self.place(keys, name, State::Held, Sum::NoOrder)?,
                AuditPart::Queue => self.place(keys, name, State::Waiting, Sum::NoWaiter)?,
                AuditPart::Buyers => {
                    // Units that can't be read are reported already.
                    let is_buyer = keys.units(name)?.is_some_and(|text| {
                        UserUnits::parse(&text).map_or(true, |has| has.has().is_buyer())
                    });
                    self.count(Sum::StrayBuyer, !is_buyer);
                }
            }
        }
        self.position = next;
        if next == 0 {
            self.part = self.part.saturating_add(1);
        }
        Ok(elements.len())
    }

    /// Counts a place among the holds or in the queue without an order in this state.
    fn place<K: Keys>(
        &mut self,
        keys: &K,
        id: &[u8],
        state: State,
        none: Sum,
    ) -> Result<(), K::Error> {
        let text = keys.entry(id)?;
        let entry = text.as_deref().and_then(|text| Entry::parse(text).ok());
        self.count(none, entry.is_none_or(|entry| entry.state != state));
        Ok(())
    }

    fn order<K: Keys>(&mut self, keys: &K, id: &[u8], text: &[u8]) -> Result<(), K::Error> {
        self.add(Sum::Orders, 1);
        let Ok(entry) = Entry::parse(text) else {
            self.add(Sum::BadOrder, 1);
            return Ok(());
        };
        let units = entry.units.get();
        match entry.state {
            State::Held => {
                let deadline = keys.deadline(id)?;
                let is_other = deadline.is_some_and(|deadline| deadline != entry.deadline);
                self.count(Sum::NoHold, deadline.is_none());
                self.count(Sum::OtherDeadline, is_other);
                self.add(Sum::Held, units);
                self.add(Sum::Extra, units.saturating_sub(1));
            }
            State::Sold => self.add(Sum::Sold, units),
            State::Waiting => {
                self.add(Sum::Waiting, 1);
                self.count(Sum::NoPlace, !keys.is_in_queue(id)?);
            }
            State::Released(_) => return Ok(()),
        }
        let waits = entry.state == State::Waiting;
        let has = Has { units, waiting: if waits { units } else { 0 } };
        self.add_print(Sum::OrderPrint, entry.user, has);
        self.count(Sum::NoUnits, keys.units(entry.user)?.is_none());
        self.count(Sum::NoBuyer, !waits && !keys.is_buyer(entry.user)?);
        Ok(())
    }

    fn user_units(&mut self, user: &[u8], text: &[u8]) {
        match UserUnits::parse(text) {
            Ok(has) => {
                self.add(Sum::BeyondOne, has.has().beyond_one());
                self.count(Sum::Buyers, has.has().is_buyer());
                self.add_print(Sum::UnitsPrint, user, has.has());
            }
            Err(_) => {
                self.add(Sum::Buyers, 1);
                self.add(Sum::BadUnits, 1);
            }
        }
    }

    /// The findings so far. Findings about sums are only added when the audit is done.
    pub fn report(&self, now: &Figures) -> AuditReport {
        let is_changed = now.numbers().get(..4) != self.first.get(..4);
        let [held, sold, waiting, orders, buyers] =
            [Sum::Held, Sum::Sold, Sum::Waiting, Sum::Orders, Sum::Buyers].map(|it| self.sum(it));
        let differences = match self.is_done().then(|| self.no_book(now)).flatten() {
            Some(only) => vec![only],
            None => self.differences(now, is_changed),
        };
        AuditReport { held, sold, waiting, orders, buyers, is_changed, differences }
    }

    fn sum(&self, sum: Sum) -> i64 {
        self.sums.get(sum as usize).copied().unwrap_or(0)
    }

    fn add(&mut self, sum: Sum, number: i64) {
        if let Some(sum) = self.sums.get_mut(sum as usize) {
            *sum = sum.saturating_add(number);
        }
    }

    fn count(&mut self, sum: Sum, is_one: bool) {
        self.add(sum, i64::from(is_one));
    }

    /// Adds to a sum that is equal for two sets of users and units if every user has the same units
    /// in both, in any order and division. Other sets have equal sums only by chance, once in 2^64.
    fn add_print(&mut self, sum: Sum, user: &[u8], has: Has) {
        /// Tells units that are waited for from others.
        const WAITING: i64 = 0x1_0000_0001;
        let units = has.units.wrapping_add(has.waiting.wrapping_mul(WAITING));
        if let Some(sum) = self.sums.get_mut(sum as usize) {
            *sum = sum.wrapping_add(units.wrapping_mul(print(user).cast_signed()));
        }
    }
}

/// FNV-1a of 64 bits, then the finalizer of SplitMix64: equal in the next step, on another server
/// and in a later version. FNV-1a alone is nearly linear in the last bytes, and what changes the
/// units of `user-1` and `user-2` by opposite numbers could be the same of two other users.
fn print(bytes: &[u8]) -> u64 {
    let fnv = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = (fnv ^ (fnv >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests;

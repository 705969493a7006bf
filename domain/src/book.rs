//! The entries of a managed voucher's book and of its buyers, as written to and read from the
//! fields of a hash.

mod units;

pub use units::{Has, UserUnits};

use crate::integer::{self, Decimal};
use crate::rules::{MILLIS_MAX, Millis, Rules, Window};
use crate::sale::Units;

/// Why an order was released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    Cancelled,
    Expired,
    Rejected,
}

/// The state of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// In line for its units.
    Waiting,
    /// Reserved until the deadline, for the user to confirm.
    Held,
    Sold,
    Released(Reason),
}

impl Reason {
    /// The reason that a word names, if any.
    pub fn parse(word: &[u8]) -> Option<Self> {
        match State::parse(word) {
            Some(State::Released(reason)) => Some(reason),
            _ => None,
        }
    }

    /// The word, in the book and on the wire.
    pub fn word(self) -> &'static str {
        State::Released(self).word()
    }
}

impl State {
    pub const ALL: [Self; 6] = [
        Self::Waiting,
        Self::Held,
        Self::Sold,
        Self::Released(Reason::Cancelled),
        Self::Released(Reason::Expired),
        Self::Released(Reason::Rejected),
    ];

    /// The state that a word names, if any.
    pub fn parse(word: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word().as_bytes() == word)
    }

    /// The word, in the book and on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Held => "held",
            Self::Sold => "sold",
            Self::Released(Reason::Cancelled) => "cancelled",
            Self::Released(Reason::Expired) => "expired",
            Self::Released(Reason::Rejected) => "rejected",
        }
    }

    /// Does the order have its units?
    pub fn is_live(self) -> bool {
        matches!(self, Self::Held | Self::Sold)
    }

    /// Is the order over?
    pub fn is_released(self) -> bool {
        matches!(self, Self::Released(_))
    }
}

/// An order in the book: `state:units:deadline:user`.
///
/// The deadline is 0 unless the order is held, or waits: then it is the moment since when it does.
/// What few orders have follows it, in this order, each part after a comma: `sold` or `waiting` of
/// a released order that was, `asked` and the units that were asked for, if some of them were
/// released; `ref` and the length of the payment's reference, which then stands before the user:
/// `cancelled:1:0,sold,asked3,ref5:pay:1:ann`.
///
/// The user is last, so it may be any bytes. An order that is not paid has no reference. A sold
/// order keeps it when it is released, since the payment must be refunded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Entry<N> {
    pub state: State,
    /// What the order has, or had when it was released.
    pub units: Units,
    /// What the try asked for: as much, or more.
    pub asked: Units,
    /// Until when the order is held, or since when it waits.
    pub deadline: Millis,
    /// The state from which the order was released.
    pub was: Option<State>,
    /// The payment's reference; never empty.
    pub reference: Option<N>,
    pub user: N,
}

/// What the parts behind the deadline begin with.
const ASKED: &[u8] = b"asked";
const REFERENCE: &[u8] = b"ref";

/// Bytes that are not an entry: another client wrote them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Garbled;

impl<N> Entry<N> {
    /// An order as it is made.
    pub fn made(state: State, units: Units, deadline: Millis, user: N) -> Self {
        let was = state.is_released().then_some(State::Held);
        Self { state, units, asked: units, deadline, was, reference: None, user }
    }

    /// Does the order have its units, or did it before it was released? It neither waits nor ended
    /// in line.
    pub fn has_had_units(&self) -> bool {
        ![Some(self.state), self.was].contains(&Some(State::Waiting))
    }

    /// Is the order held, and its deadline over? Then it counts as released, even if the timer has
    /// not processed it yet: what is answered must not depend on how busy the server is.
    pub fn is_overdue(&self, now: Millis) -> bool {
        self.state == State::Held && now >= self.deadline
    }

    /// Is the order held and overdue, or does it wait although the sale has ended? Then it counts
    /// as expired, too.
    pub fn is_over(&self, rules: &Rules, now: Millis) -> bool {
        let has_waited = self.state == State::Waiting && rules.window(now) == Window::Ended;
        self.is_overdue(now) || has_waited
    }

    /// The order as it is to be shown: one that waits beyond the end of the sale is expired, though
    /// the timer may not have processed it yet.
    pub fn seen(self, rules: &Rules, now: Millis) -> Self {
        let waits = self.state == State::Waiting;
        if waits && self.is_over(rules, now) { self.released(Reason::Expired) } else { self }
    }

    /// The order once it is released.
    pub fn released(self, reason: Reason) -> Self {
        Self { was: Some(self.state), state: State::Released(reason), deadline: 0, ..self }
    }

    /// The same with other names.
    pub fn map<M>(self, name: impl Fn(N) -> M) -> Entry<M> {
        let Self { state, units, asked, deadline, was, reference, user } = self;
        let reference = reference.map(&name);
        Entry { state, units, asked, deadline, was, reference, user: name(user) }
    }
}

impl<'a> Entry<&'a [u8]> {
    pub fn parse(text: &'a [u8]) -> Result<Self, Garbled> {
        let mut parts = text.splitn(4, |byte| *byte == b':');
        let mut next = || parts.next().ok_or(Garbled);
        let (word, units, more, user) = (next()?, next()?, next()?, next()?);
        let state = State::parse(word).ok_or(Garbled)?;
        let units = integer::parse(units).and_then(Units::new).ok_or(Garbled)?;
        let mut more = more.split(|byte| *byte == b',');
        let deadline = more.next().and_then(integer::parse).ok_or(Garbled)?;
        let is_sound = match state {
            State::Held | State::Waiting => (1..=2 * MILLIS_MAX).contains(&deadline),
            _ => deadline == 0,
        };
        let entry = Self::made(state, units, deadline, user);
        let entry = more.try_fold(entry, Self::with)?;
        if is_sound { Ok(entry) } else { Err(Garbled) }
    }

    /// The entry with one of the parts behind the deadline.
    fn with(self, part: &'a [u8]) -> Result<Self, Garbled> {
        let number = |prefix| part.strip_prefix(prefix).and_then(integer::parse);
        let has_asked = self.asked != self.units;
        let was = State::parse(part).filter(|_| self.state.is_released());
        if let Some(State::Sold | State::Waiting) = was {
            let is_next = self.was == Some(State::Held) && !has_asked && self.reference.is_none();
            return if is_next { Ok(Self { was, ..self }) } else { Err(Garbled) };
        }
        if let Some(asked) = number(ASKED) {
            let asked = Units::new(asked).filter(|asked| *asked > self.units).ok_or(Garbled)?;
            let is_next = !has_asked && self.reference.is_none();
            return if is_next { Ok(Self { asked, ..self }) } else { Err(Garbled) };
        }
        let is_paid = self.state == State::Sold || self.state.is_released();
        let len = number(REFERENCE).filter(|len| *len > 0 && is_paid);
        let len = len.filter(|_| self.reference.is_none()).and_then(|len| len.try_into().ok());
        let (reference, rest) = self.user.split_at_checked(len.ok_or(Garbled)?).ok_or(Garbled)?;
        let user = rest.strip_prefix(b":").ok_or(Garbled)?;
        Ok(Self { reference: Some(reference), user, ..self })
    }
}

impl<N: AsRef<[u8]>> Entry<N> {
    pub fn write(&self) -> Vec<u8> {
        let (units, deadline) = (Decimal::new(self.units.get()), Decimal::new(self.deadline));
        // Enough for most orders, so that it grows once.
        let mut text = Vec::with_capacity(96);
        for part in [self.state.word().as_bytes(), b":", units.bytes(), b":", deadline.bytes()] {
            text.extend(part);
        }
        let mut more = |prefix: &[u8], number: Option<i64>| {
            text.push(b',');
            text.extend(prefix);
            text.extend(number.map(Decimal::new).iter().flat_map(Decimal::bytes));
        };
        if let Some(was) = self.was.filter(|was| *was != State::Held) {
            more(was.word().as_bytes(), None);
        }
        if self.asked != self.units {
            more(ASKED, Some(self.asked.get()));
        }
        let reference = self.reference.as_ref().map(N::as_ref);
        if let Some(reference) = reference {
            more(REFERENCE, Some(i64::try_from(reference.len()).unwrap_or(i64::MAX)));
        }
        for name in reference.into_iter().chain([self.user.as_ref()]) {
            text.push(b':');
            text.extend(name);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, Garbled, Reason, State};
    use crate::rules::{MILLIS_MAX, Rules, SaleId};
    use crate::sale::Units;

    fn units(units: i64) -> Units {
        Units::new(units).unwrap()
    }

    #[test]
    fn entries_are_read_as_written() {
        let made =
            |state, count, deadline| Entry::made(state, units(count), deadline, &b"a:b\0:"[..]);
        assert_eq!(made(State::Held, 2, 99).write(), b"held:2:99:a:b\0:");
        for state in State::ALL {
            let is_unpaid = matches!(state, State::Held | State::Waiting);
            for (was, asked, user) in [
                (State::Held, 1, &b""[..]),
                (State::Sold, 1, b"alice"),
                (State::Waiting, 1, b"alice"),
                (State::Held, 2, b":"),
                (State::Sold, i64::MAX, b"\xff\0"),
            ] {
                let entry = Entry { user, ..made(state, 1, if is_unpaid { 7 } else { 0 }) };
                let is_told = was != State::Held;
                let was = Some(was).filter(|_| is_told || state.is_released());
                let entry = Entry { was, asked: units(asked), ..entry };
                let is_sound = !is_told || state.is_released();
                let wanted = if is_sound { Ok(entry) } else { Err(Garbled) };
                assert_eq!(Entry::parse(&entry.write()), wanted);
                for reference in [&b"p"[..], b"pay:1", b":", b"12:", b"\xff\0"] {
                    let paid = Entry { reference: Some(reference), ..entry };
                    let wanted = wanted.map(|_| paid).ok().filter(|_| !is_unpaid).ok_or(Garbled);
                    assert_eq!(Entry::parse(&paid.write()), wanted);
                }
            }
        }
        let paid = Entry { reference: Some(&b"pay:1"[..]), ..made(State::Sold, 2, 0) };
        let paid = Entry { user: &b"ann"[..], ..paid };
        assert_eq!(paid.write(), b"sold:2:0,ref5:pay:1:ann");
        let part = Entry { units: units(1), asked: units(3), ..paid }.released(Reason::Cancelled);
        assert_eq!(part.write(), b"cancelled:1:0,sold,asked3,ref5:pay:1:ann");
        assert_eq!((part.was, paid.was), (Some(State::Sold), None));
        let waits = made(State::Waiting, 2, 99);
        assert_eq!(waits.write(), b"waiting:2:99:a:b\0:");
        assert_eq!(waits.released(Reason::Expired).write(), b"expired:2:0,waiting:a:b\0:");
        assert_eq!(made(State::Held, 2, 9).released(Reason::Expired).was, Some(State::Held));
    }

    #[test]
    fn states_and_reasons_have_words() {
        let words = ["waiting", "held", "sold", "cancelled", "expired", "rejected"];
        assert_eq!(State::ALL.map(State::word), words);
        for (state, word) in State::ALL.into_iter().zip(words) {
            assert_eq!(State::parse(word.as_bytes()), Some(state));
            let reason = match state {
                State::Released(reason) => Some(reason),
                _ => None,
            };
            assert_eq!(Reason::parse(word.as_bytes()), reason);
            assert_eq!(reason.map_or(word, Reason::word), word);
        }
        for word in ["", "Held", "lost", "cancelled "] {
            assert_eq!(
                (State::parse(word.as_bytes()), Reason::parse(word.as_bytes())),
                (None, None)
            );
        }
    }

    #[test]
    fn only_held_orders_are_overdue_from_their_deadline_on() {
        for state in State::ALL {
            let entry = Entry::made(state, Units::ONE, 7, b"ann");
            let overdue = [6, 7, 8].map(|now| entry.is_overdue(now));
            assert_eq!(overdue, [false, state == State::Held, state == State::Held], "{state:?}");
        }
    }

    #[test]
    fn waits_end_with_the_sale_and_are_shown_so() {
        let rules = Rules {
            total: 1,
            begin: None,
            end: Some(7),
            limit: 1,
            hold: Some(1),
            sale: SaleId::created_at(1),
        };
        for state in State::ALL {
            let entry = Entry::made(state, Units::ONE, 5, b"ann");
            let (held, waits) = (state == State::Held, state == State::Waiting);
            let over = [4, 5, 6, 7].map(|now| entry.is_over(&rules, now));
            assert_eq!(over, [false, held, held, held || waits], "{state:?}");
            let shown = [6, 7].map(|now| entry.seen(&rules, now));
            let expired = if waits { State::Released(Reason::Expired) } else { state };
            assert_eq!(shown.map(|entry| entry.state), [state, expired], "{state:?}");
            assert_eq!(shown.map(|entry| entry.has_had_units()), [!waits; 2], "{state:?}");
        }
    }

    #[test]
    fn a_deadline_is_at_most_the_last_moment_and_the_longest_hold() {
        let last = Entry::made(State::Held, Units::ONE, 2 * MILLIS_MAX, &b"ann"[..]);
        assert_eq!(Entry::parse(&last.write()), Ok(last));
        let later = Entry { deadline: 2 * MILLIS_MAX + 1, ..last };
        assert_eq!(Entry::parse(&later.write()), Err(Garbled));
    }

    #[test]
    fn garbled_bytes_are_refused() {
        for text in [
            "",
            "held",
            "held:1",
            "held:1:5",
            "lost:1:0:u",
            "held:0:5:u",
            "held:-1:5:u",
            "held:x:5:u",
            "held:1:0:u",
            "held:1:-5:u",
            "sold:1:5:u",
            "sold:1::u",
            "Sold:1:0:u",
            "sold:1:0,",
            "sold:1:0,ref",
            "sold:1:0,ref:u",
            "sold:1:0,ref0::u",
            "sold:1:0,ref1:u",
            "sold:1:0,ref1:pu",
            "sold:1:0,ref01:p:u",
            "sold:1:0,ref-1:p:u",
            "sold:1:0,ref9223372036854775807:p:u",
            "sold:1:0,ref1,ref1:p:u",
            "sold:1:0,ref1,asked2:p:u",
            "sold:1:ref1:p:u",
            "sold:1:0,sold:u",
            "sold:1:0,asked1:u",
            "sold:2:0,asked1:u",
            "sold:1:0,asked0:u",
            "sold:1:0,asked2,asked3:u",
            "expired:1:0,sold,sold:u",
            "expired:1:0,asked2,sold:u",
            "expired:1:0,ref1,sold:p:u",
            "held:1:7,sold:u",
            "held:1:7,ref1:p:u",
            "waiting:1:0:u",
            "waiting:1:7,ref1:p:u",
            "waiting:1:7,waiting:u",
            "sold:1:0,waiting:u",
            "expired:1:0,held:u",
            "expired:1:0,expired:u",
            "expired:1:0,waiting,sold:u",
        ] {
            assert_eq!(Entry::parse(text.as_bytes()), Err(Garbled), "{text}");
        }
    }
}

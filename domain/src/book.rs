//! The entries of a managed voucher's book and of its buyers, as written to and read from the
//! fields of a hash.

use crate::integer::{self, Decimal};
use crate::rules::{MILLIS_MAX, Millis};
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
    const ALL: [Self; 5] = [
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
            Self::Held => "held",
            Self::Sold => "sold",
            Self::Released(Reason::Cancelled) => "cancelled",
            Self::Released(Reason::Expired) => "expired",
            Self::Released(Reason::Rejected) => "rejected",
        }
    }

    /// Does the order still have its units?
    pub fn is_live(self) -> bool {
        matches!(self, Self::Held | Self::Sold)
    }
}

/// An order in the book: `state:units:deadline:user`.
///
/// The deadline is 0 unless the order is held. What few orders have follows it, in this order, each
/// part after a comma: `sold` of a released order that was, `asked` and the units that were asked
/// for, if some of them were released; `ref` and the length of the payment's reference, which then
/// stands before the user: `cancelled:1:0,sold,asked3,ref5:pay:1:ann`.
///
/// The user is last, so it may be any bytes. A held order has no reference. A sold order keeps it
/// when it is released, since the payment must be refunded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Entry<N> {
    pub state: State,
    /// What the order has, or had when it was released.
    pub units: Units,
    /// What the try asked for: as much, or more.
    pub asked: Units,
    pub deadline: Millis,
    /// The order was released, and was sold before.
    pub was_sold: bool,
    /// The payment's reference; never empty.
    pub reference: Option<N>,
    pub user: N,
}

/// What the parts behind the deadline begin with.
const SOLD: &[u8] = b"sold";
const ASKED: &[u8] = b"asked";
const REFERENCE: &[u8] = b"ref";

/// Bytes that are not an entry: another client wrote them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Garbled;

impl<N> Entry<N> {
    /// An order as it is made.
    pub fn made(state: State, units: Units, deadline: Millis, user: N) -> Self {
        Self { state, units, asked: units, deadline, was_sold: false, reference: None, user }
    }

    /// Is the order held, and its deadline over? Then it counts as released, even if the timer has
    /// not processed it yet: what is answered must not depend on how busy the server is.
    pub fn is_overdue(&self, now: Millis) -> bool {
        self.state == State::Held && now >= self.deadline
    }

    /// The state that a released order was in; none while it is live.
    pub fn was(&self) -> Option<State> {
        (!self.state.is_live()).then_some(if self.was_sold { State::Sold } else { State::Held })
    }

    /// The same with other names.
    pub fn map<M>(self, name: impl Fn(N) -> M) -> Entry<M> {
        let Self { state, units, asked, deadline, was_sold, reference, user } = self;
        let reference = reference.map(&name);
        Entry { state, units, asked, deadline, was_sold, reference, user: name(user) }
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
            State::Held => (1..=2 * MILLIS_MAX).contains(&deadline),
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
        if part == SOLD && !self.state.is_live() {
            let is_next = !self.was_sold && !has_asked && self.reference.is_none();
            return if is_next { Ok(Self { was_sold: true, ..self }) } else { Err(Garbled) };
        }
        if let Some(asked) = number(ASKED) {
            let asked = Units::new(asked).filter(|asked| *asked > self.units).ok_or(Garbled)?;
            let is_next = !has_asked && self.reference.is_none();
            return if is_next { Ok(Self { asked, ..self }) } else { Err(Garbled) };
        }
        let len = number(REFERENCE).filter(|len| *len > 0 && self.state != State::Held);
        let len = len.filter(|_| self.reference.is_none()).and_then(|len| len.try_into().ok());
        let (reference, rest) = self.user.split_at_checked(len.ok_or(Garbled)?).ok_or(Garbled)?;
        let user = rest.strip_prefix(b":").ok_or(Garbled)?;
        Ok(Self { reference: Some(reference), user, ..self })
    }
}

impl<N: AsRef<[u8]>> Entry<N> {
    pub fn write(&self) -> Vec<u8> {
        let (units, deadline) = (Decimal::new(self.units.get()), Decimal::new(self.deadline));
        let mut text = [self.state.word().as_bytes(), units.bytes(), deadline.bytes()].join(&b':');
        let mut more = |prefix: &[u8], number: Option<i64>| {
            text.push(b',');
            text.extend(prefix);
            text.extend(number.map(Decimal::new).iter().flat_map(Decimal::bytes));
        };
        if self.was_sold {
            more(SOLD, None);
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

/// What a user has of a voucher: `units:orderid`, with the latest order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserUnits<N> {
    pub units: Units,
    pub latest: N,
}

impl<'a> UserUnits<&'a [u8]> {
    pub fn parse(text: &'a [u8]) -> Result<Self, Garbled> {
        let colon = text.iter().position(|byte| *byte == b':').ok_or(Garbled)?;
        let (units, rest) = text.split_at(colon);
        let units = integer::parse(units).and_then(Units::new).ok_or(Garbled)?;
        Ok(Self { units, latest: rest.split_first().ok_or(Garbled)?.1 })
    }
}

impl<N: AsRef<[u8]>> UserUnits<N> {
    pub fn write(&self) -> Vec<u8> {
        [Decimal::new(self.units.get()).bytes(), self.latest.as_ref()].join(&b':')
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, Garbled, Reason, State, UserUnits};
    use crate::rules::MILLIS_MAX;
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
            let (is_held, is_live) = (state == State::Held, state.is_live());
            for (was_sold, asked, user) in [
                (false, 1, &b""[..]),
                (true, 1, b"alice"),
                (false, 2, b":"),
                (true, i64::MAX, b"\xff\0"),
            ] {
                let entry = Entry { user, ..made(state, 1, if is_held { 7 } else { 0 }) };
                let entry = Entry { was_sold, asked: units(asked), ..entry };
                let wanted = if was_sold && is_live { Err(Garbled) } else { Ok(entry) };
                assert_eq!(Entry::parse(&entry.write()), wanted);
                for reference in [&b"p"[..], b"pay:1", b":", b"12:", b"\xff\0"] {
                    let paid = Entry { reference: Some(reference), ..entry };
                    let wanted = wanted.map(|_| paid).ok().filter(|_| !is_held).ok_or(Garbled);
                    assert_eq!(Entry::parse(&paid.write()), wanted);
                }
            }
        }
        let paid = Entry { reference: Some(&b"pay:1"[..]), ..made(State::Sold, 2, 0) };
        let paid = Entry { user: &b"ann"[..], ..paid };
        assert_eq!(paid.write(), b"sold:2:0,ref5:pay:1:ann");
        let state = State::Released(Reason::Cancelled);
        let part = Entry { state, was_sold: true, units: units(1), asked: units(3), ..paid };
        assert_eq!(part.write(), b"cancelled:1:0,sold,asked3,ref5:pay:1:ann");
        assert_eq!((part.was(), paid.was()), (Some(State::Sold), None));
        assert_eq!(Entry { was_sold: false, ..part }.was(), Some(State::Held));
    }

    #[test]
    fn states_and_reasons_have_words() {
        let words = ["held", "sold", "cancelled", "expired", "rejected"];
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
    fn a_deadline_is_at_most_the_last_moment_and_the_longest_hold() {
        let last = Entry::made(State::Held, Units::ONE, 2 * MILLIS_MAX, &b"ann"[..]);
        assert_eq!(Entry::parse(&last.write()), Ok(last));
        let later = Entry { deadline: 2 * MILLIS_MAX + 1, ..last };
        assert_eq!(Entry::parse(&later.write()), Err(Garbled));
    }

    #[test]
    fn units_are_read_as_written() {
        for latest in [&b""[..], b"o1", b"a:b", b"\xff\0"] {
            let has = UserUnits { units: units(3), latest };
            assert_eq!(UserUnits::parse(&has.write()), Ok(has));
        }
        assert_eq!(UserUnits { units: units(3), latest: b"o1" }.write(), b"3:o1");
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
        ] {
            assert_eq!(Entry::parse(text.as_bytes()), Err(Garbled), "{text}");
        }
        for text in ["", "1", "0:o", "-1:o", "x:o", ":o", "01:o"] {
            assert_eq!(UserUnits::parse(text.as_bytes()), Err(Garbled), "{text}");
        }
    }
}

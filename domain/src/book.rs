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

/// An order in the book: `state:units:deadline:user`, or `state:units:ref<n>:reference:user` if its
/// payment has a reference, of `n` bytes.
///
/// The user is last, so it may be any bytes. The deadline is 0 unless the order is held. A held
/// order has no reference. A sold order keeps it when it is released, since the payment must be
/// refunded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Entry<N> {
    pub state: State,
    pub units: Units,
    pub deadline: Millis,
    /// The payment's reference; never empty.
    pub reference: Option<N>,
    pub user: N,
}

/// Precedes the length of a reference.
const REFERENCE: &[u8] = b"ref";

/// Bytes that are not an entry: another client wrote them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Garbled;

impl<N> Entry<N> {
    /// Is the order held, and its deadline over? Then it counts as released, even if the timer has
    /// not processed it yet: what is answered must not depend on how busy the server is.
    pub fn is_overdue(&self, now: Millis) -> bool {
        self.state == State::Held && now >= self.deadline
    }

    /// The same with other names.
    pub fn map<M>(self, name: impl Fn(N) -> M) -> Entry<M> {
        let Self { state, units, deadline, reference, user } = self;
        Entry { state, units, deadline, reference: reference.map(&name), user: name(user) }
    }
}

impl<'a> Entry<&'a [u8]> {
    pub fn parse(text: &'a [u8]) -> Result<Self, Garbled> {
        let mut parts = text.splitn(4, |byte| *byte == b':');
        let mut next = || parts.next().ok_or(Garbled);
        let (word, units, deadline, rest) = (next()?, next()?, next()?, next()?);
        let state = State::parse(word).ok_or(Garbled)?;
        let units = integer::parse(units).and_then(Units::new).ok_or(Garbled)?;
        if let Some(len) = deadline.strip_prefix(REFERENCE) {
            let len = integer::parse(len).filter(|len| *len > 0 && state != State::Held);
            let len = len.and_then(|len| usize::try_from(len).ok()).ok_or(Garbled)?;
            let (reference, rest) = rest.split_at_checked(len).ok_or(Garbled)?;
            let user = rest.strip_prefix(b":").ok_or(Garbled)?;
            return Ok(Self { state, units, deadline: 0, reference: Some(reference), user });
        }
        let deadline = integer::parse(deadline).ok_or(Garbled)?;
        let is_sound = match state {
            State::Held => (1..=2 * MILLIS_MAX).contains(&deadline),
            _ => deadline == 0,
        };
        let entry = Self { state, units, deadline, reference: None, user: rest };
        if is_sound { Ok(entry) } else { Err(Garbled) }
    }
}

impl<N: AsRef<[u8]>> Entry<N> {
    pub fn write(&self) -> Vec<u8> {
        let (units, deadline) = (Decimal::new(self.units.get()), Decimal::new(self.deadline));
        let (word, user) = (self.state.word().as_bytes(), self.user.as_ref());
        if let Some(reference) = self.reference.as_ref().map(N::as_ref) {
            let len = Decimal::new(i64::try_from(reference.len()).unwrap_or(i64::MAX));
            let len = [REFERENCE, len.bytes()].concat();
            return [word, units.bytes(), &len, reference, user].join(&b':');
        }
        [word, units.bytes(), deadline.bytes(), user].join(&b':')
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
    use super::{Entry, Garbled, State, UserUnits};
    use crate::sale::Units;

    fn units(units: i64) -> Units {
        Units::new(units).unwrap()
    }

    #[test]
    fn entries_are_read_as_written() {
        let user: &[u8] = b"a:b\0:";
        let entry =
            Entry { state: State::Held, units: units(2), deadline: 99, reference: None, user };
        assert_eq!(entry.write(), b"held:2:99:a:b\0:");
        for state in State::ALL {
            let deadline = if state == State::Held { 7 } else { 0 };
            for user in [&b""[..], b"alice", b":", b"\xff\0"] {
                let units = units(i64::MAX);
                let entry = Entry { state, units, deadline, reference: None, user };
                assert_eq!(Entry::parse(&entry.write()), Ok(entry));
                for reference in [&b"p"[..], b"pay:1", b":", b"12:", b"\xff\0"] {
                    let paid = Entry { reference: Some(reference), deadline: 0, ..entry };
                    let wanted = if state == State::Held { Err(Garbled) } else { Ok(paid) };
                    assert_eq!(Entry::parse(&paid.write()), wanted);
                }
            }
        }
        let user: &[u8] = b"ann";
        let paid =
            Entry { state: State::Sold, units: units(2), deadline: 0, reference: None, user };
        let paid = Entry { reference: Some(&b"pay:1"[..]), ..paid };
        assert_eq!(paid.write(), b"sold:2:ref5:pay:1:ann");
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
            "sold:1:ref",
            "sold:1:ref:u",
            "sold:1:ref0::u",
            "sold:1:ref1:u",
            "sold:1:ref1:pu",
            "sold:1:ref01:p:u",
            "sold:1:ref-1:p:u",
            "sold:1:ref9223372036854775807:p:u",
            "held:1:ref1:p:u",
        ] {
            assert_eq!(Entry::parse(text.as_bytes()), Err(Garbled), "{text}");
        }
        for text in ["", "1", "0:o", "-1:o", "x:o", ":o", "01:o"] {
            assert_eq!(UserUnits::parse(text.as_bytes()), Err(Garbled), "{text}");
        }
    }
}

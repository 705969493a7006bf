//! The entries of a managed voucher's book and of its buyers: how a fact is written into the
//! field of a hash, and read back.

use crate::integer::{self, Decimal};
use crate::sale::Units;
use crate::terms::{MILLIS_MAX, Millis};

/// The state of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Set aside until the deadline, for the user to confirm.
    Held,
    Sold,
    Cancelled,
    Expired,
    Rejected,
}

impl State {
    const ALL: [Self; 5] = [Self::Held, Self::Sold, Self::Cancelled, Self::Expired, Self::Rejected];

    /// The state of a word, if it is one.
    pub fn parse(word: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word().as_bytes() == word)
    }

    /// The word, in the book and on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Sold => "sold",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Rejected => "rejected",
        }
    }

    /// Does the order still have its units?
    pub fn is_live(self) -> bool {
        matches!(self, Self::Held | Self::Sold)
    }
}

/// An order in the book: `state:units:deadline:user`.
///
/// The user is last, so it may be any bytes. The deadline is 0 unless the order is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    pub state: State,
    pub units: Units,
    pub deadline: Millis,
    pub user: &'a [u8],
}

/// Bytes that are no entry: somebody else wrote them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Garbled;

impl<'a> Entry<'a> {
    pub fn parse(text: &'a [u8]) -> Result<Self, Garbled> {
        let mut parts = text.splitn(4, |byte| *byte == b':');
        let mut next = || parts.next().ok_or(Garbled);
        let (word, units, deadline, user) = (next()?, next()?, next()?, next()?);
        let state = State::parse(word).ok_or(Garbled)?;
        let units = integer::parse(units).and_then(Units::new).ok_or(Garbled)?;
        let deadline = integer::parse(deadline).ok_or(Garbled)?;
        let is_sound = match state {
            State::Held => (1..=2 * MILLIS_MAX).contains(&deadline),
            _ => deadline == 0,
        };
        if is_sound { Ok(Self { state, units, deadline, user }) } else { Err(Garbled) }
    }

    pub fn write(&self) -> Vec<u8> {
        let (units, deadline) = (Decimal::new(self.units.get()), Decimal::new(self.deadline));
        [self.state.word().as_bytes(), units.bytes(), deadline.bytes(), self.user].join(&b':')
    }
}

/// What a user has of a voucher: `units:orderid`, the order being the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding<'a> {
    pub units: Units,
    pub order: &'a [u8],
}

impl<'a> Holding<'a> {
    pub fn parse(text: &'a [u8]) -> Result<Self, Garbled> {
        let colon = text.iter().position(|byte| *byte == b':').ok_or(Garbled)?;
        let (units, rest) = text.split_at(colon);
        let units = integer::parse(units).and_then(Units::new).ok_or(Garbled)?;
        Ok(Self { units, order: rest.split_first().ok_or(Garbled)?.1 })
    }

    pub fn write(&self) -> Vec<u8> {
        [Decimal::new(self.units.get()).bytes(), self.order].join(&b':')
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, Garbled, Holding, State};
    use crate::sale::Units;

    fn units(units: i64) -> Units {
        Units::new(units).unwrap()
    }

    #[test]
    fn entries_are_read_as_written() {
        let entry = Entry { state: State::Held, units: units(2), deadline: 99, user: b"a:b\0:" };
        assert_eq!(entry.write(), b"held:2:99:a:b\0:");
        for state in State::ALL {
            let deadline = if state == State::Held { 7 } else { 0 };
            for user in [&b""[..], b"alice", b":", b"\xff\0"] {
                let entry = Entry { state, units: units(i64::MAX), deadline, user };
                assert_eq!(Entry::parse(&entry.write()), Ok(entry));
            }
        }
    }

    #[test]
    fn holdings_are_read_as_written() {
        for order in [&b""[..], b"o1", b"a:b", b"\xff\0"] {
            let holding = Holding { units: units(3), order };
            assert_eq!(Holding::parse(&holding.write()), Ok(holding));
        }
        assert_eq!(Holding { units: units(3), order: b"o1" }.write(), b"3:o1");
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
        ] {
            assert_eq!(Entry::parse(text.as_bytes()), Err(Garbled), "{text}");
        }
        for text in ["", "1", "0:o", "-1:o", "x:o", ":o", "01:o"] {
            assert_eq!(Holding::parse(text.as_bytes()), Err(Garbled), "{text}");
        }
    }
}

//! What a user has of a voucher.

use super::Garbled;
use crate::integer::{self, Decimal};
use crate::sale::Units;

/// What a user has of a voucher: `units:orderid`, with the latest order. If some of the units are
/// yet waited for, it says how many: `3,waiting1:orderid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserUnits<N> {
    pub units: Units,
    /// How many of these are waited for, from 0 to all.
    pub waiting: i64,
    pub latest: N,
}

/// How many units a user has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Has {
    /// With those that are waited for.
    pub units: i64,
    pub waiting: i64,
}

impl Has {
    /// Is the user among the buyers?
    pub fn is_buyer(self) -> bool {
        self.units > self.waiting
    }

    /// Held and sold units beyond one: what a user on record is counted as. For a user who only
    /// waits, one less than nothing.
    pub fn beyond_one(self) -> i64 {
        let is_on_record = self.units > 0;
        self.units.saturating_sub(self.waiting).saturating_sub(i64::from(is_on_record))
    }
}

/// What the part behind a user's units begins with.
const WAITING: &[u8] = b"waiting";

impl<N> UserUnits<N> {
    pub fn has(&self) -> Has {
        Has { units: self.units.get(), waiting: self.waiting }
    }
}

impl<N: Clone> UserUnits<N> {
    /// What is left without all units that are waited for.
    pub fn without_waiting(self) -> Option<Self> {
        let units = Units::new(self.units.get().saturating_sub(self.waiting))?;
        Some(Self { units, waiting: 0, latest: self.latest })
    }

    /// What is left without the units of an order, which may have waited for them.
    pub fn without(&self, units: Units, waited: bool) -> Option<Self> {
        let waiting = if waited { self.waiting.saturating_sub(units.get()) } else { self.waiting };
        let units = Units::new(self.units.get().saturating_sub(units.get()))?;
        let waiting = waiting.clamp(0, units.get());
        Some(Self { units, waiting, latest: self.latest.clone() })
    }
}

impl<'a> UserUnits<&'a [u8]> {
    pub fn parse(text: &'a [u8]) -> Result<Self, Garbled> {
        let colon = text.iter().position(|byte| *byte == b':').ok_or(Garbled)?;
        let (units, rest) = text.split_at(colon);
        let mut parts = units.splitn(2, |byte| *byte == b',');
        let units = parts.next().and_then(integer::parse).and_then(Units::new).ok_or(Garbled)?;
        let number = |part: &[u8]| part.strip_prefix(WAITING).and_then(integer::parse);
        let waiting = match parts.next().map(number) {
            None => 0,
            Some(Some(waiting @ 1..)) if waiting <= units.get() => waiting,
            Some(_) => return Err(Garbled),
        };
        Ok(Self { units, waiting, latest: rest.split_first().ok_or(Garbled)?.1 })
    }
}

impl<N: AsRef<[u8]>> UserUnits<N> {
    pub fn write(&self) -> Vec<u8> {
        let units = Decimal::new(self.units.get());
        if self.waiting == 0 {
            return [units.bytes(), self.latest.as_ref()].join(&b':');
        }
        let waiting = Decimal::new(self.waiting);
        [units.bytes(), b",", WAITING, waiting.bytes(), b":", self.latest.as_ref()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::{Garbled, UserUnits};
    use crate::sale::Units;

    fn units(units: i64) -> Units {
        Units::new(units).unwrap()
    }

    #[test]
    fn units_are_read_as_written() {
        for latest in [&b""[..], b"o1", b"a:b", b"\xff\0"] {
            for waiting in [0, 1, 3] {
                let has = UserUnits { units: units(3), waiting, latest };
                assert_eq!(UserUnits::parse(&has.write()), Ok(has));
            }
        }
        let has = UserUnits { units: units(3), waiting: 0, latest: b"o1" };
        assert_eq!(has.write(), b"3:o1");
        assert_eq!(UserUnits { waiting: 2, ..has }.write(), b"3,waiting2:o1");
        let left = |waiting, without, waited| {
            let left = UserUnits { waiting, ..has }.without(units(without), waited);
            left.map(|left| (left.units.get(), left.waiting))
        };
        assert_eq!(left(2, 1, true), Some((2, 1)));
        assert_eq!(left(2, 1, false), Some((2, 2)));
        assert_eq!(left(3, 1, false), Some((2, 2)));
        assert_eq!((left(2, 3, true), left(2, 4, true)), (None, None));
    }

    #[test]
    fn garbled_units_are_refused() {
        for text in [
            "", "1", "0:o", "-1:o", "x:o", ":o", "01:o", "1,:o", "1,waiting:o", "1,waiting0:o",
            "1,waiting2:o", "1,waiting01:o", "2,waiting1,waiting1:o",
        ] {
            assert_eq!(UserUnits::parse(text.as_bytes()), Err(Garbled), "{text}");
        }
    }
}

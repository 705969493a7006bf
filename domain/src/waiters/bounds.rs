//! How many clients may wait for locks.

use crate::integer;

/// The maximum of a bound.
const MAX: i64 = 1_000_000;

/// How many clients may be in line, from a setting such as `1000 5000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// For one lock.
    pub per_lock: usize,
    /// For all locks together.
    pub in_all: usize,
}

/// Which bound is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    Line { max: usize },
    AllLines { max: usize },
}

impl Bounds {
    /// Reads two integers with one space between; the first must not be greater than the second.
    pub fn parse(text: &[u8]) -> Result<Self, &'static str> {
        let wrong = "must be two integers from 0 to 1000000, for one lock and for all";
        let mut words = text.split(|byte| *byte == b' ');
        let mut next = || {
            let number = integer::parse(words.next().ok_or(wrong)?).ok_or(wrong)?;
            if number > MAX { Err(wrong) } else { usize::try_from(number).map_err(|_| wrong) }
        };
        let (per_lock, in_all) = (next()?, next()?);
        if words.next().is_some() {
            return Err(wrong);
        }
        if per_lock > in_all {
            return Err("must not allow more clients for one lock than for all");
        }
        Ok(Self { per_lock, in_all })
    }

    /// Whether one more client may wait when this many already do.
    pub fn check(self, for_this_lock: usize, for_all: usize) -> Result<(), Full> {
        if for_this_lock >= self.per_lock {
            return Err(Full::Line { max: self.per_lock });
        }
        if for_all >= self.in_all { Err(Full::AllLines { max: self.in_all }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bounds, Full};

    #[test]
    fn bounds_are_read_from_two_integers() {
        for (text, per_lock, in_all) in [("1 2", 1, 2), ("0 0", 0, 0), ("7 1000000", 7, 1_000_000)]
        {
            assert_eq!(Bounds::parse(text.as_bytes()), Ok(Bounds { per_lock, in_all }));
        }
        let wrong = ["", "1", "1 ", " 1", "1  2", "1 2 3", "-1 2", "1 x", "01 2", "1 1000001"];
        for text in wrong {
            assert!(Bounds::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(Bounds::parse(b"3 2").unwrap_err().contains("not allow more"));
    }

    #[test]
    fn the_bound_of_the_lock_comes_first() {
        let bounds = Bounds { per_lock: 2, in_all: 3 };
        assert_eq!(bounds.check(1, 2), Ok(()));
        assert_eq!(bounds.check(2, 3), Err(Full::Line { max: 2 }));
        assert_eq!(bounds.check(0, 3), Err(Full::AllLines { max: 3 }));
        let nobody = Bounds { per_lock: 0, in_all: 0 };
        assert_eq!(nobody.check(0, 0), Err(Full::Line { max: 0 }));
    }
}

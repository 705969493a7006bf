//! Fencing tokens: numbers that grow with every acquisition of a lock, so that the protected
//! resource can distinguish an owner whose lease has ended from its successor.

use crate::integer::{self, Decimal};

/// The greatest possible number was already used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

/// The last fencing token of a lock, as seen by a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    pub last: Option<i64>,
    /// Was it issued to this client's token?
    pub is_own: bool,
}

impl Fence {
    /// There was none yet.
    pub const NONE: Self = Self { last: None, is_own: false };

    /// Reads a fence key's value: the number and, after a space, the token that it was issued to.
    /// None for any other text. A number alone was issued to nobody.
    pub fn parse(value: &[u8], token: &[u8]) -> Option<Self> {
        let space = value.iter().position(|byte| *byte == b' ');
        let (number, owner) = match space.and_then(|at| value.split_at_checked(at)) {
            Some((number, owner)) => (number, owner.get(1..)),
            None => (value, None),
        };
        Some(Self { last: Some(integer::parse(number)?), is_own: owner == Some(token) })
    }

    /// The value of a fence key.
    pub fn text(number: i64, token: &[u8]) -> Vec<u8> {
        [Decimal::new(number).bytes(), b" ", token].concat()
    }

    /// The fencing token of the next acquisition.
    ///
    /// It follows the time, so it grows even if the last one was lost because its key expired, or
    /// because a replica was promoted before it received the key.
    pub fn next(self, now_ms: i64) -> Result<i64, Exhausted> {
        let Some(last) = self.last else { return Ok(now_ms) };
        last.checked_add(1).map(|after| after.max(now_ms)).ok_or(Exhausted)
    }
}

#[cfg(test)]
mod tests {
    use super::{Exhausted, Fence};

    fn next(last: Option<i64>, now_ms: i64) -> Result<i64, Exhausted> {
        Fence { last, is_own: false }.next(now_ms)
    }

    #[test]
    fn a_fencing_token_is_one_more_or_the_time() {
        let rows = [
            (None, 1_000, Ok(1_000)),
            (Some(10), 1_000, Ok(1_000)),
            (Some(999), 1_000, Ok(1_000)),
            (Some(1_000), 1_000, Ok(1_001)),
            (Some(5_000), 1_000, Ok(5_001)),
            (Some(-7), 1_000, Ok(1_000)),
            (Some(i64::MAX - 1), 1_000, Ok(i64::MAX)),
            (Some(i64::MAX), 1_000, Err(Exhausted)),
        ];
        for (last, now_ms, want) in rows {
            assert_eq!(next(last, now_ms), want, "{last:?} at {now_ms}");
        }
        assert_eq!(Fence::NONE.next(7), Ok(7));
    }

    #[test]
    fn they_grow_whatever_the_clock_does() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut last = None;
        for _ in 0..10_000 {
            let token = next(last, random.i64(0..1_000_000)).unwrap();
            assert!(last.is_none_or(|last| last < token));
            last = Some(token);
        }
    }

    #[test]
    fn a_fence_key_says_to_whom_the_number_was_issued() {
        for (value, token, want) in [
            ("7 ann", "ann", Some((7, true))),
            ("7 ann", "bob", Some((7, false))),
            ("7 ann", "", Some((7, false))),
            ("7 ", "", Some((7, true))),
            ("7", "", Some((7, false))),
            ("-7 a b ", "a b ", Some((-7, true))),
            ("", "", None),
            (" 7", "7", None),
            ("x ann", "ann", None),
            ("07 ann", "ann", None),
            ("7ann", "ann", None),
        ] {
            let want = want.map(|(last, is_own)| Fence { last: Some(last), is_own });
            assert_eq!(Fence::parse(value.as_bytes(), token.as_bytes()), want, "{value}");
        }
        for token in [&b""[..], b" ", b"\xff 8", b"ann"] {
            let own = Fence { last: Some(i64::MIN), is_own: true };
            assert_eq!(Fence::parse(&Fence::text(i64::MIN, token), token), Some(own));
        }
    }
}

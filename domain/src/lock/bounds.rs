//! How many clients may wait for locks, and how many locks may be tied to connections.

use crate::counts::Counts;
use crate::integer;
use std::fmt;

/// The maximum of a bound.
const MAX: i64 = 1_000_000;

/// How many clients may be in the queue, and how many locks may be tied to connections, from a
/// setting such as `1000 5000 5000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// For one lock.
    pub per_lock: usize,
    /// For one user.
    pub per_user: usize,
    /// For all together.
    pub in_all: usize,
}

/// Which bound is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    Queue { max: usize },
    QueuesOfUser { max: usize },
    AllQueues { max: usize },
    TiesOfUser { max: usize },
    AllTies { max: usize },
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (max, what) = match self {
            Self::Queue { max } => (max, "clients already wait for this lock"),
            Self::QueuesOfUser { max } => (max, "clients of this user already wait for locks"),
            Self::AllQueues { max } => (max, "clients already wait for locks"),
            Self::TiesOfUser { max } => (max, "locks of this user already have a SESSION"),
            Self::AllTies { max } => (max, "locks already have a SESSION"),
        };
        write!(f, "{max} {what}, and no more may")
    }
}

impl Bounds {
    /// Reads three integers with one space between, none greater than the next.
    pub fn parse(text: &[u8]) -> Result<Self, &'static str> {
        let wrong = "must be three integers from 0 to 1000000, for one lock, one user and all";
        let mut words = text.split(|byte| *byte == b' ');
        let mut next = || {
            let number = integer::parse(words.next().ok_or(wrong)?).ok_or(wrong)?;
            if number > MAX { Err(wrong) } else { usize::try_from(number).map_err(|_| wrong) }
        };
        let (per_lock, per_user, in_all) = (next()?, next()?, next()?);
        if words.next().is_some() {
            return Err(wrong);
        }
        if per_lock > per_user || per_user > in_all {
            return Err("must not allow more for one lock than for one user, or than for all");
        }
        Ok(Self { per_lock, per_user, in_all })
    }

    /// Whether one more client of this user may wait when so many wait for this lock.
    pub fn check_queue(self, for_lock: usize, user: &[u8], queues: &Counts) -> Result<(), Full> {
        if for_lock >= self.per_lock {
            return Err(Full::Queue { max: self.per_lock });
        }
        if queues.all() >= self.in_all {
            return Err(Full::AllQueues { max: self.in_all });
        }
        if queues.of(user) >= self.per_user {
            return Err(Full::QueuesOfUser { max: self.per_user });
        }
        Ok(())
    }

    /// Whether one more lock of this user may be tied to a connection.
    pub fn check_tie(self, user: &[u8], ties: &Counts) -> Result<(), Full> {
        if ties.all() >= self.in_all {
            return Err(Full::AllTies { max: self.in_all });
        }
        if ties.of(user) >= self.per_user {
            return Err(Full::TiesOfUser { max: self.per_user });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Bounds, Counts, Full};

    #[test]
    fn bounds_are_read_from_three_integers() {
        for (text, per_lock, per_user, in_all) in
            [("1 2 3", 1, 2, 3), ("0 0 0", 0, 0, 0), ("7 7 1000000", 7, 7, 1_000_000)]
        {
            let bounds = Bounds { per_lock, per_user, in_all };
            assert_eq!(Bounds::parse(text.as_bytes()), Ok(bounds));
        }
        let wrong = "1;1 2;1 2 ; 1 2 3;1  2 3;1 2 3 4;-1 2 3;1 x 3;01 2 3;1 1 1000001";
        for text in wrong.split(';').chain([""]) {
            let error = Bounds::parse(text.as_bytes()).unwrap_err();
            assert!(error.contains("three integers"), "{text}");
        }
        for text in ["3 2 4", "1 3 2"] {
            assert!(Bounds::parse(text.as_bytes()).unwrap_err().contains("not allow more"));
        }
    }

    /// Counts of two for ann and one for bob.
    fn counts() -> Counts {
        let mut counts = Counts::default();
        for user in [b"ann", b"bob", b"ann"] {
            counts.add(&user.as_slice().into());
        }
        counts
    }

    #[test]
    fn the_bound_of_the_lock_comes_first_then_that_of_all() {
        let check = |per_lock, per_user, in_all, for_lock, user: &str| {
            let bounds = Bounds { per_lock, per_user, in_all };
            bounds.check_queue(for_lock, user.as_bytes(), &counts())
        };
        assert_eq!(check(2, 3, 4, 1, "ann"), Ok(()));
        assert_eq!(check(2, 2, 3, 2, "ann"), Err(Full::Queue { max: 2 }));
        assert_eq!(check(2, 2, 3, 1, "ann"), Err(Full::AllQueues { max: 3 }));
        assert_eq!(check(2, 3, 3, 1, "bob"), Err(Full::AllQueues { max: 3 }));
        assert_eq!(check(2, 2, 4, 1, "ann"), Err(Full::QueuesOfUser { max: 2 }));
        assert_eq!(check(2, 2, 4, 1, "bob"), Ok(()));
        assert_eq!(check(0, 0, 0, 0, "cid"), Err(Full::Queue { max: 0 }));
    }

    #[test]
    fn ties_are_bounded_by_user_and_in_all() {
        let check = |per_user, in_all, user: &str| {
            Bounds { per_lock: 0, per_user, in_all }.check_tie(user.as_bytes(), &counts())
        };
        assert_eq!(check(3, 4, "ann"), Ok(()));
        assert_eq!(check(2, 4, "ann"), Err(Full::TiesOfUser { max: 2 }));
        assert_eq!(check(2, 4, "bob"), Ok(()));
        assert_eq!(check(3, 3, "bob"), Err(Full::AllTies { max: 3 }));
        assert_eq!(check(2, 3, "ann"), Err(Full::AllTies { max: 3 }));
        let text = check(3, 3, "bob").unwrap_err().to_string();
        assert_eq!(text, "3 locks already have a SESSION, and no more may");
    }
}

//! What contradicts in an order's account.

use serde::{Deserialize, Serialize};

/// What contradicts in what entries say, as a set. No entry ever takes a conflict back. Without a
/// loss, and without misuse of ids, there is none.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct Conflicts(u16);

impl Conflicts {
    pub const NONE: Self = Self(0);
    /// (a) More units were sold than the order had been reduced to while it was held.
    pub const SOLD_BEYOND_HOLD: Self = Self(1);
    /// (b) Two references paid the order.
    pub const TWO_REFERENCES: Self = Self(2);
    /// (c) The reference is another order's, too, or it pays and is late or a duplicate.
    pub const REFERENCE: Self = Self(4);
    /// (d) The order was accepted again, though it had gone on.
    pub const ACCEPTED_AGAIN: Self = Self(8);
    /// (e) The order was paid again by the same payment, though it had gone on.
    pub const PAID_AGAIN: Self = Self(16);
    /// (f) The order was asked with other units.
    pub const ASKED_OTHERWISE: Self = Self(32);
    /// (f) The payment was said to be of other units.
    pub const PAID_OTHERWISE: Self = Self(64);
    /// (g) A unit is due, and refunded elsewhere.
    pub const TWO_HOMES: Self = Self(128);
    /// (h) Fewer units were paid than the order keeps.
    pub const PAID_TOO_FEW: Self = Self(256);
    /// (i) The order id is another user's, too.
    pub const TWO_USERS: Self = Self(512);

    /// From these on no line is written until a ruling.
    pub const HARD: Self = Self(
        Self::TWO_REFERENCES.0
            | Self::REFERENCE.0
            | Self::PAID_OTHERWISE.0
            | Self::TWO_HOMES.0
            | Self::PAID_TOO_FEW.0,
    );

    /// The letters of MONEY's list, in its order.
    const LETTERS: [(Self, char); 10] = [
        (Self::SOLD_BEYOND_HOLD, 'a'),
        (Self::TWO_REFERENCES, 'b'),
        (Self::REFERENCE, 'c'),
        (Self::ACCEPTED_AGAIN, 'd'),
        (Self::PAID_AGAIN, 'e'),
        (Self::ASKED_OTHERWISE, 'f'),
        (Self::PAID_OTHERWISE, 'f'),
        (Self::TWO_HOMES, 'g'),
        (Self::PAID_TOO_FEW, 'h'),
        (Self::TWO_USERS, 'i'),
    ];

    #[must_use]
    pub fn with(self, other: Self, is_so: bool) -> Self {
        if is_so { Self(self.0 | other.0) } else { self }
    }

    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Is one of these among them?
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub fn is_none(self) -> bool {
        self == Self::NONE
    }

    pub fn letters(self) -> String {
        let mut letters: Vec<char> =
            Self::LETTERS.iter().filter(|(one, _)| self.has(*one)).map(|(_, it)| *it).collect();
        letters.dedup();
        letters.into_iter().collect()
    }
}

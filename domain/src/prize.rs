//! The outcomes of a draw.

/// How a draw ends. The numbers are what clients see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// The code is the user's from now on.
    Drawn = 0,
    /// No code is left.
    Empty = 1,
    /// The user has a code of this pool already, which is repeated.
    Again = 2,
}

impl Draw {
    pub fn code(self) -> i64 {
        self as i64
    }
}

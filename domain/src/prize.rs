//! The outcomes of a draw.

/// How a draw ends. The numbers are what clients see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// The code now belongs to the user.
    Drawn = 0,
    /// No code is left.
    Empty = 1,
    /// The user already has a code of this pool, which is returned again.
    Again = 2,
}

impl Draw {
    pub fn code(self) -> i64 {
        self as i64
    }
}

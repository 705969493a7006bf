//! What happens to an order when a consumer gives its entry up.

/// What happens to the order of a rejected entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is released.
    Rejected,
    /// It was released before.
    Released,
    /// No live order with this id and user is on record.
    Unknown,
}

impl Fate {
    /// The word in the dead letter.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Released => "released",
            Self::Unknown => "unknown",
        }
    }
}

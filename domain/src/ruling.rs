//! A ruling: what an operator, or a check by itself, has decided of an order.

use crate::conflicts::Conflicts;

/// What was ruled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Word {
    Keep,
    Release,
    /// The payment was refunded without a line.
    Refunded,
    /// Server and row agree, whatever contradicts in between. By a check.
    Agreed,
    /// A held order that the server has lost. By a check.
    Lost,
}

impl Word {
    pub const ALL: [Self; 5] =
        [Self::Keep, Self::Release, Self::Refunded, Self::Agreed, Self::Lost];

    pub fn word(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Release => "release",
            Self::Refunded => "refunded",
            Self::Agreed => "agreed",
            Self::Lost => "lost",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.word() == word)
    }
}

/// The numbers that a ruling is made on: it stands while the join gives them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Basis<R> {
    pub asked: i64,
    pub sold: i64,
    pub held_to: Option<i64>,
    pub sold_to: Option<i64>,
    /// Each payment of the order and its units.
    pub payments: Vec<(R, Option<i64>)>,
}

/// A ruling about an order: it keeps so many units, paid with this reference, or none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ruling<R> {
    pub word: Word,
    pub kept: i64,
    pub reference: Option<R>,
    /// The units were not to be had on the server, or the sale was over: none were taken for it.
    pub is_without_units: bool,
    /// The conflicts that it has answered.
    pub conflicts: Conflicts,
    pub basis: Basis<R>,
}

//! A ruling: what an operator, or a check by itself, has decided of an order.

use serde::{Deserialize, Serialize};

use crate::conflicts::Conflicts;

/// What was ruled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
    pub fn word(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Release => "release",
            Self::Refunded => "refunded",
            Self::Agreed => "agreed",
            Self::Lost => "lost",
        }
    }
}

/// The numbers that a ruling is made on: it stands while the join gives them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Basis<R> {
    pub asked: i64,
    pub sold: i64,
    pub held_to: Option<i64>,
    pub sold_to: Option<i64>,
    /// Each payment of the order and its units.
    pub payments: Vec<(R, Option<i64>)>,
}

/// A ruling about an order: it keeps so many units, paid with this reference, or none.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ruling<R> {
    #[serde(rename = "ruled")]
    pub word: Word,
    pub kept: i64,
    #[serde(rename = "ref")]
    pub reference: Option<R>,
    /// The units were not to be had on the server, or the sale was over: none were taken for it.
    #[serde(rename = "without_units")]
    pub is_without_units: bool,
    /// The conflicts that it has answered.
    pub conflicts: Conflicts,
    #[serde(flatten)]
    pub basis: Basis<R>,
}

//! What is said of a script: its faults with their grades, and what its replies mean.

use std::collections::BTreeMap;

use crate::history::Ran;
use crate::reply::Reply;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Weight {
    /// It does not do what it is for.
    Broken,
    /// It does, until something around it goes wrong.
    Weak,
}

/// How it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grade {
    /// By replies and by keys, in every way in which the script was called.
    Proved,
    /// It happened, or the script's text says so; there may be a reason for it.
    Seen,
}

#[derive(Clone, Debug)]
pub struct Finding {
    pub weight: Weight,
    pub grade: Grade,
    /// A word for programs, never changed.
    pub code: &'static str,
    pub text: String,
}

impl Finding {
    pub fn broken(code: &'static str, text: impl Into<String>) -> Self {
        Self { weight: Weight::Broken, grade: Grade::Proved, code, text: text.into() }
    }

    /// The same, where something around it may explain it.
    pub fn weakened(mut self) -> Self {
        (self.weight, self.grade) = (Weight::Weak, Grade::Seen);
        self
    }

    pub fn weak(code: &'static str, text: impl Into<String>) -> Self {
        Self { weight: Weight::Weak, grade: Grade::Seen, code, text: text.into() }
    }
}

/// What a try that failed has left in the keys.
pub fn left_behind(took: bool, remembered: bool, wants_order: bool) -> String {
    let parts = [
        (took, "the unit is gone"),
        (remembered, "the user is remembered as a buyer and can't try again"),
        (wants_order, "there is no order"),
    ];
    let parts: Vec<&str> = parts.iter().filter(|(is, _)| *is).map(|(_, text)| *text).collect();
    let text = parts.join(", ");
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}

/// All scenarios of one script under one reading, by their names.
pub type Runs = BTreeMap<&'static str, Ran>;

/// What a script says for what; nothing where it never said it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Codes {
    pub accepted: Accepted,
    pub sold_out: Option<Reply>,
    pub bought: Option<Reply>,
    /// To a user who has bought, when all is sold.
    pub bought_and_out: Option<Reply>,
    /// Without a stock key, unless that is an error.
    pub missing: Option<Reply>,
    /// To a user who has bought, without a stock key.
    pub bought_and_missing: Option<Reply>,
    /// A stock of -1 stays -1, and is sold from.
    pub unlimited: bool,
}

impl Codes {
    /// Whether buyers are asked before the stock is.
    pub fn asks_buyers(&self) -> bool {
        self.bought.is_some() && self.bought_and_missing == self.bought
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Accepted {
    Code(Reply),
    /// The units that are left.
    Left,
    /// The units before the sale.
    Before,
    Varies,
}

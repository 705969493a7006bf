//! The findings about a script: its faults with their grades, and the meaning of its replies.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::history::Ran;
use crate::reply::Reply;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// It does not do what it is written for.
    Broken,
    /// It works until something around it fails.
    Weak,
}

/// How the fault is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// The replies and the keys show it, in every way in which the script was called.
    Proved,
    /// It happened, or the script's text shows it; there may be a reason for it.
    Seen,
}

#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    pub weight: Weight,
    pub grade: Grade,
    /// A word for programs, which never changes.
    pub code: &'static str,
    pub text: String,
}

impl Finding {
    pub fn broken(code: &'static str, text: impl Into<String>) -> Self {
        Self { weight: Weight::Broken, grade: Grade::Proved, code, text: text.into() }
    }

    pub fn weak(code: &'static str, text: impl Into<String>) -> Self {
        Self { weight: Weight::Weak, grade: Grade::Seen, code, text: text.into() }
    }
}

/// What a failed try has left in the keys, as a sentence.
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

/// All scenarios of one script under one reading, by name.
pub type Runs = BTreeMap<&'static str, Ran>;

/// The script's reply for each outcome; none if that outcome never had one.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Codes {
    pub accepted: Accepted,
    pub sold_out: Option<Reply>,
    pub bought: Option<Reply>,
    /// To a user who has bought, when sold out.
    pub bought_and_out: Option<Reply>,
    /// Without a stock key, unless that is an error.
    pub missing: Option<Reply>,
    /// To a user who has bought, without a stock key.
    pub bought_and_missing: Option<Reply>,
    /// A stock of -1 sells and stays -1.
    pub unlimited: bool,
}

impl Codes {
    /// Whether the script checks the buyers before the stock.
    pub fn asks_buyers(&self) -> bool {
        self.bought.is_some() && self.bought_and_missing == self.bought
    }
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub enum Accepted {
    Code(Reply),
    /// The units that are left.
    Left,
    /// The units before the sale.
    Before,
    #[default]
    Varies,
}

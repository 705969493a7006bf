//! The block: runs the statements for many orders inside the database, one order after the other.
//! The database then replies once per batch, not once per order and statement. Pure.

mod postgres;
mod sqlite;

use std::collections::BTreeMap;

use super::{ShopStatement, Statements};
use crate::batch::Step;
use crate::store::statement::{Arg, Dialect};

/// SQL to run, one part after the other.
pub type Block = Vec<Part>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub sql: String,
    /// Whether its only value is the text of `told`; otherwise it has no value.
    pub takes_steps: bool,
}

/// The block, if the database supports one and every statement can be in it.
pub fn block(statements: &Statements, dialect: Dialect) -> Option<Block> {
    match dialect {
        Dialect::Postgres => postgres::block(statements),
        Dialect::Sqlite => sqlite::block(statements),
        Dialect::MySql => None,
    }
}

/// The name of a change's value in a statement of the block.
pub fn value(dialect: Dialect, word: &str) -> String {
    match dialect {
        Dialect::Postgres => postgres::value(word),
        Dialect::Sqlite | Dialect::MySql => sqlite::value(word),
    }
}

/// The changes as JSON, which the block reads, with the values that statements name: a value costs
/// the database as much to read as a statement to run.
pub fn told(steps: &[Step], statements: &Statements) -> String {
    let named = statements.values();
    let fields = |(number, step): (i64, &'_ Step)| -> String {
        let values = named.iter().map(|(word, _, of)| (*word, of(step)));
        let place = [("number", Arg::Int(number)), ("change", Arg::Text(step.change.word()))];
        let fields: BTreeMap<&str, Arg<'_>> = values.chain(place).collect();
        serde_json::to_string(&fields).unwrap_or_default()
    };
    format!("[{}]", (0..).zip(steps).map(fields).collect::<Vec<_>>().join(","))
}

/// A statement in the form for the block, if it begins with one of these words.
fn inside<'s>(statement: &'s ShopStatement, words: &[&str]) -> Option<&'s str> {
    let text = statement.in_block.trim().trim_end_matches(';');
    let word = text.split_whitespace().next()?.to_ascii_uppercase();
    words.contains(&&*word).then_some(text)
}

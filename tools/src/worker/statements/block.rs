//! The block: runs the statements for many orders inside the database, one order after the other.
//! The database then replies once per batch, not once per order and statement. Pure.

mod postgres;
mod sqlite;

use serde_json::{Value, json};

use super::{NAMES, ShopStatement, Statements};
use crate::batch::Step;
use crate::store::Dialect;

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

/// The changes as JSON, which the block reads.
pub fn told(steps: &[Step]) -> String {
    let fields = |(number, step): (usize, &Step)| -> Value {
        let values = NAMES.iter().map(|(word, name)| (*word, json!(name.of(step))));
        let place = [("number", number.into()), ("change", step.change.word().into())];
        values.chain(place).collect()
    };
    steps.iter().enumerate().map(fields).collect::<Value>().to_string()
}

/// A statement in the form for the block, if it begins with one of these words.
fn inside<'s>(statement: &'s ShopStatement, words: &[&str]) -> Option<&'s str> {
    let text = statement.in_block.trim().trim_end_matches(';');
    let word = text.split_whitespace().next()?.to_ascii_uppercase();
    words.contains(&&*word).then_some(text)
}

//! The statements of many changes in one: what runs them for each order in turn inside the
//! database. It answers once per batch then, not once per order and statement. Pure.

mod postgres;
mod sqlite;

use serde_json::{Value, json};

use super::{NAMES, ShopStatement, Statements};
use crate::batch::Step;
use crate::store::Dialect;

/// What is to be run in turn.
pub type Block = Vec<Part>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub sql: String,
    /// Whether its one value is what `told` says of the changes; it has none otherwise.
    pub takes_steps: bool,
}

/// The block, where the database has one and every statement can be in it.
pub fn block(statements: &Statements, dialect: Dialect) -> Option<Block> {
    match dialect {
        Dialect::Postgres => postgres::block(statements),
        Dialect::Sqlite => sqlite::block(statements),
        Dialect::MySql => None,
    }
}

/// A value of a change as a statement names it in the block.
pub fn value(dialect: Dialect, word: &str) -> String {
    match dialect {
        Dialect::Postgres => postgres::value(word),
        Dialect::Sqlite | Dialect::MySql => sqlite::value(word),
    }
}

/// The changes as the block reads them.
pub fn told(steps: &[Step]) -> String {
    let fields = |(number, step): (usize, &Step)| -> Value {
        let values = NAMES.iter().map(|(word, name)| (*word, json!(name.of(step))));
        let place = [("number", number.into()), ("change", step.change.word().into())];
        values.chain(place).collect()
    };
    steps.iter().enumerate().map(fields).collect::<Value>().to_string()
}

/// A statement as it is in the block, if it begins with one of these words.
fn inside<'s>(statement: &'s ShopStatement, words: &[&str]) -> Option<&'s str> {
    let text = statement.in_block.trim().trim_end_matches(';');
    let word = text.split_whitespace().next()?.to_ascii_uppercase();
    words.contains(&&*word).then_some(text)
}

//! The block: runs the statements for many orders inside the database, one order after the other.
//! The database then replies once per batch, not once per order and statement. Pure.

mod postgres;
mod sqlite;

use std::collections::BTreeMap;

use super::{ShopStatement, Statements};
use crate::sql::{Arg, Dialect};
use crate::steps::Step;

/// SQL to run, one part after the other.
pub type Block = Vec<BlockPart>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockPart {
    pub sql: String,
    /// Whether its only value is the text of `steps_text`; otherwise it has no value.
    pub takes_steps: bool,
}

/// Runs the statements of a batch, if the database has no other way to and all can be in it.
pub fn block(statements: &Statements, dialect: Dialect) -> Option<Block> {
    if statements.all().any(|statement| statement.alone.is_some()) {
        return None;
    }
    match dialect {
        Dialect::Postgres => Some(postgres::block(statements)),
        Dialect::Sqlite => Some(sqlite::block(statements)),
        Dialect::MySql => None,
    }
}

/// Why a statement is sent alone, for each order. Others do the same together as alone, and the
/// rows that they change are counted.
pub fn alone(sql: &str, dialect: Dialect) -> Option<&'static str> {
    let text = sql.trim().trim_end_matches(';');
    let word = text.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
    let is_one_of = |words: &[&str]| words.contains(&&*word);
    match dialect {
        Dialect::Postgres if !is_one_of(&["INSERT", "UPDATE", "DELETE", "MERGE", "WITH"]) => {
            Some("it does not begin with INSERT, UPDATE, DELETE, MERGE or WITH")
        }
        Dialect::Postgres => {
            text.contains(postgres::QUOTE).then_some("it quotes as the worker does")
        }
        Dialect::Sqlite | Dialect::MySql
            if !is_one_of(&["INSERT", "REPLACE", "UPDATE", "DELETE"]) =>
        {
            Some("it does not begin with INSERT, REPLACE, UPDATE or DELETE")
        }
        // Alone, several statements in one text count their changed rows together; `changes()` does
        // not.
        Dialect::Sqlite => text.contains(';').then_some("it has several parts"),
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
pub fn steps_text(steps: &[Step], statements: &Statements) -> String {
    let named = statements.values();
    let fields = |(number, step): (i64, &'_ Step)| -> String {
        let values = named.iter().map(|(word, _, of)| (*word, of(step)));
        let place = [("number", Arg::Int(number)), ("change", Arg::Text(step.change.word()))];
        let fields: BTreeMap<&str, Arg<'_>> = values.chain(place).collect();
        serde_json::to_string(&fields).unwrap_or_default()
    };
    format!("[{}]", (0..).zip(steps).map(fields).collect::<Vec<_>>().join(","))
}

/// A statement in the form for the block.
fn inside(statement: &ShopStatement) -> &str {
    statement.in_block.trim().trim_end_matches(';')
}

#[cfg(test)]
mod tests {
    use super::*;
    use Dialect::{Postgres, Sqlite};

    #[test]
    fn what_a_block_might_understand_otherwise_is_in_none() {
        for (sql, of) in [
            ("SELECT f(:order_id)", &[Postgres, Sqlite][..]),
            ("CALL p(:order_id)", &[Postgres]),
            ("DELETE FROM t -- $seckill_worker$", &[Postgres]),
            ("PRAGMA user_version = 1", &[Sqlite]),
            ("DELETE FROM t; DELETE FROM u", &[Sqlite]),
        ] {
            for dialect in of {
                let block = |sql: &str| {
                    let text = format!("on_sold = [\"DELETE FROM t\"]\non_held = [\"{sql}\"]");
                    Statements::parse(&text, *dialect).unwrap().block
                };
                assert!(block("DELETE FROM t -- of :user_id").is_some());
                assert_eq!(block(sql), None, "{sql}");
            }
        }
    }
}

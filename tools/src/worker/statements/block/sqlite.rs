//! The block of SQLite: temporary triggers that run the statements for each row inserted into a
//! view, which stores no rows. Only this connection sees them.

use super::{Block, BlockPart, Statements, inside};
use crate::steps::Change;

/// The view. Triggers of a view get values as they are, without conversion to a column's type.
const STEPS: &str = "seckill_worker_steps";

/// A value in a trigger. In a comparison with a column it must behave like a plain value, as it
/// does outside a trigger, so that the column's type and collation decide.
pub fn value(word: &str) -> String {
    format!("ifnull(NEW.{word}, NULL)")
}

/// The block. A trigger is part of the statement that fires it:
/// either all of the changes are made, or none.
pub fn block(statements: &Statements) -> Block {
    let part = |sql| BlockPart { sql, takes_steps: false };
    let words =
        || std::iter::once("change").chain(statements.values().into_iter().map(|one| one.0));
    let listed = |column: fn(&str) -> String| words().map(column).collect::<Vec<_>>().join(", ");
    let empty = listed(|word| format!("NULL AS {word}"));
    let view = format!("CREATE TEMP VIEW IF NOT EXISTS {STEPS} AS SELECT {empty}");
    let mut block = vec![part(view)];
    for change in Change::ALL {
        if !statements.of(change).is_empty() {
            block.push(part(trigger(statements, change)));
        }
    }
    let values = listed(|word| format!("value ->> '{word}'"));
    let sql = format!("INSERT INTO {STEPS} SELECT {values} FROM json_each(?) ORDER BY key");
    block.push(BlockPart { sql, takes_steps: true });
    block
}

fn trigger(statements: &Statements, change: Change) -> String {
    let word = change.word();
    let mut text = format!(
        "CREATE TEMP TRIGGER IF NOT EXISTS seckill_worker_{word} INSTEAD OF INSERT ON {STEPS} \
         WHEN NEW.change = '{word}'\nBEGIN\n"
    );
    for statement in statements.of(change) {
        // On a new line, since the statement may end in a comment.
        text.push_str(&format!("{}\n;\n", inside(statement)));
        if !statement.may_change_nothing {
            text.push_str("SELECT RAISE(ABORT, 'no row was changed') WHERE changes() = 0;\n");
        }
    }
    format!("{text}END")
}

//! The block of PostgreSQL, in PL/pgSQL. A statement is planned once per batch, not once per order.

use super::{Block, BlockPart, Statements, inside};
use crate::steps::Change;

/// Quotes the block; no statement may contain it.
pub(super) const QUOTE: &str = "$seckill_worker$";

/// Stores the changes where the block reads them. Plans may be cached for the orders of a batch:
/// they end with the block, so none dates from when the tables were empty.
const SET_STEPS: &str = "SELECT set_config('seckill_worker.steps', $1, true), \
                             set_config('plan_cache_mode', 'auto', true)";

pub fn value(word: &str) -> String {
    format!("seckill_worker.step.{word}")
}

/// The block. A name that is both a column's and one of the
/// block's variables means the column.
pub fn block(statements: &Statements) -> Block {
    let kind = |is_number| if is_number { "bigint" } else { "text" };
    let values = statements.values().into_iter();
    let columns: String =
        values.map(|(word, is_number, _)| format!(", {word} {}", kind(is_number))).collect();
    let mut text = format!(
        "DO {QUOTE}
#variable_conflict use_column
<<seckill_worker>>
DECLARE
    step record;
    changed bigint;
BEGIN
FOR step IN SELECT * FROM json_to_recordset(current_setting('seckill_worker.steps')::json)
    AS steps (number bigint, change text{columns}) ORDER BY number
LOOP
"
    );
    for change in Change::ALL {
        if statements.of(change).is_empty() {
            continue;
        }
        text.push_str(&format!("IF step.change = '{}' THEN\n", change.word()));
        for statement in statements.of(change) {
            // On a new line, since the statement may end in a comment.
            text.push_str(&format!("{}\n;\n", inside(statement)));
            if !statement.may_change_nothing {
                text.push_str("GET DIAGNOSTICS changed = ROW_COUNT;\n");
                text.push_str("IF changed = 0 THEN RAISE 'no row was changed'; END IF;\n");
            }
        }
        text.push_str("END IF;\n");
    }
    let sql = format!("{text}END LOOP;\nEND\n{QUOTE}");
    let set_steps = BlockPart { sql: SET_STEPS.to_owned(), takes_steps: true };
    vec![set_steps, BlockPart { sql, takes_steps: false }]
}

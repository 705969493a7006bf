//! The statements of many changes in one: a block of PL/pgSQL that runs them for each order in
//! turn. PostgreSQL answers once per batch then, and plans a statement once per batch, not once per
//! order. Pure.

use serde_json::{Value, json};

use super::{NAMES, ShopStatement, Statements};
use crate::batch::{Change, Step};

/// What the name of a value begins with in the block.
pub const ROW: &str = "seckill_worker.step.";

/// Around the block; no statement may have it.
const QUOTE: &str = "$seckill_worker$";

/// Puts the changes where the block finds them. A plan lives as long as the block does, so it may
/// be kept for the orders of a batch: it is not one of when the tables were empty.
pub const SET_STEPS: &str = "SELECT set_config('seckill_worker.steps', $1, true), \
                             set_config('plan_cache_mode', 'auto', true)";

/// The block, where every statement can be in one. Where a column has the name of one of its
/// variables, the column is meant.
pub fn block(statements: &Statements) -> Option<String> {
    let kind = |is_number| if is_number { "bigint" } else { "text" };
    let columns = NAMES.map(|(word, name)| format!("{word} {}", kind(name.is_number()))).join(", ");
    let mut text = format!(
        "DO {QUOTE}
#variable_conflict use_column
<<seckill_worker>>
DECLARE
    step record;
    changed bigint;
BEGIN
FOR step IN SELECT * FROM json_to_recordset(current_setting('seckill_worker.steps')::json)
    AS steps (number bigint, change text, {columns}) ORDER BY number
LOOP
"
    );
    for change in Change::ALL {
        if statements.of(change).is_empty() {
            continue;
        }
        text.push_str(&format!("IF step.change = '{}' THEN\n", change.word()));
        for statement in statements.of(change) {
            // On a line of its own: a comment may be the statement's end.
            text.push_str(&format!("{}\n;\n", inside(statement)?));
            if !statement.may_change_nothing {
                text.push_str("GET DIAGNOSTICS changed = ROW_COUNT;\n");
                text.push_str("IF changed = 0 THEN RAISE 'no row was changed'; END IF;\n");
            }
        }
        text.push_str("END IF;\n");
    }
    Some(format!("{text}END LOOP;\nEND\n{QUOTE}"))
}

/// A statement as it is in the block. Those that begin with these words do there what they do
/// alone, and the rows that they changed are counted.
fn inside(statement: &ShopStatement) -> Option<&str> {
    let text = statement.in_block.trim().trim_end_matches(';');
    let word = text.split_whitespace().next()?.to_ascii_uppercase();
    let is_known = matches!(&*word, "INSERT" | "UPDATE" | "DELETE" | "MERGE" | "WITH");
    (is_known && !text.contains(QUOTE)).then_some(text)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Dialect;

    fn block_of(text: &str) -> Option<String> {
        Statements::parse(text, Dialect::Postgres).unwrap().block
    }

    #[test]
    fn values_are_fields_of_the_row() {
        let text = "on_sold = [\"INSERT INTO o VALUES (:order_id::bigint, ':units', :units); \", \
                    { sql = \"DELETE FROM cart -- of :user_id\", may_change_nothing = true }]";
        let block = block_of(text).unwrap();
        assert!(block.contains(
            "IF step.change = 'on_sold' THEN\nINSERT INTO o VALUES \
             (seckill_worker.step.order_id::bigint, ':units', seckill_worker.step.units)\n;\nGET"
        ));
        assert!(block.contains("DELETE FROM cart -- of :user_id\n;\nEND IF;\nEND LOOP"), "{block}");
        assert!(block.contains("sale_id text, units bigint, state text"), "{block}");
        assert!(!block.contains("on_held"));
    }

    #[test]
    fn what_a_block_might_understand_otherwise_is_in_none() {
        for sql in ["SELECT f(:order_id)", "CALL p(:order_id)", "DELETE FROM t -- $seckill_worker$"]
        {
            let both = format!("on_sold = [\"DELETE FROM t\"]\non_held = [\"{sql}\"]");
            assert_eq!(block_of(&both), None, "{sql}");
        }
        let other = Statements::parse("on_sold = [\"DELETE FROM t\"]", Dialect::MySql).unwrap();
        assert_eq!(other.block, None);
    }
}

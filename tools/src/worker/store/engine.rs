//! What MySQL and MariaDB tell of a shop's tables; no other database tells anything here.

use super::transaction::Open;
use crate::statements::text::{Column, IdForm, KnownTable};

/// The tables of the database whose engine has no transactions, with the engine.
pub async fn without_transactions(open: &mut Open) -> sqlx::Result<Vec<[String; 2]>> {
    let tables = "SELECT t.table_name, t.engine \
                  FROM information_schema.tables t JOIN information_schema.engines e \
                  ON e.engine = t.engine WHERE t.table_schema = DATABASE() AND \
                  COALESCE(e.transactions, 'NO') <> 'YES'";
    let results = open.results(tables).await.map_err(|(_, error)| error)?;
    let rows = results.into_iter().flat_map(|result| result.rows);
    Ok(rows.filter_map(|row| <[String; 2]>::try_from(row).ok()).collect())
}

/// Those of some tables, whose names are plain, of which nothing is unknown: they have rows of
/// transactions, no changes of other tables by foreign keys, and their triggers are shown to
/// this user.
pub async fn known_tables(open: &mut Open, tables: &[String]) -> sqlx::Result<Vec<KnownTable>> {
    if tables.is_empty() {
        return Ok(Vec::new());
    }
    let tables = tables.join("', '");
    let user = "CONCAT('''', SUBSTRING_INDEX(CURRENT_USER(), '@', 1), '''@''', \
                SUBSTRING_INDEX(CURRENT_USER(), '@', -1), '''')";
    let unique = "EXISTS (SELECT 1 FROM information_schema.statistics s \
                  WHERE s.table_schema = c.table_schema AND s.table_name = c.table_name \
                  AND s.column_name = c.column_name AND s.non_unique = 0 \
                  AND s.sub_part IS NULL AND NOT EXISTS (SELECT 1 \
                  FROM information_schema.statistics o WHERE o.table_schema = s.table_schema \
                  AND o.table_name = s.table_name AND o.index_name = s.index_name \
                  AND o.seq_in_index > 1))";
    let sql = format!(
        "SELECT t.table_name, c.column_name, c.data_type, {unique} \
         FROM information_schema.tables t \
         JOIN information_schema.engines e ON e.engine = t.engine \
         JOIN information_schema.columns c \
         ON c.table_schema = t.table_schema AND c.table_name = t.table_name \
         WHERE t.table_schema = DATABASE() AND t.table_name IN ('{tables}') \
         AND t.table_type = 'BASE TABLE' AND e.transactions = 'YES' \
         AND (EXISTS (SELECT 1 FROM information_schema.user_privileges \
         WHERE privilege_type = 'TRIGGER' AND grantee = {user}) \
         OR EXISTS (SELECT 1 FROM information_schema.schema_privileges \
         WHERE privilege_type = 'TRIGGER' AND grantee = {user} \
         AND DATABASE() LIKE table_schema)) \
         AND NOT EXISTS (SELECT 1 FROM information_schema.referential_constraints r \
         WHERE r.unique_constraint_schema = DATABASE() \
         AND r.referenced_table_name = t.table_name \
         AND r.update_rule NOT IN ('RESTRICT', 'NO ACTION')) \
         ORDER BY t.table_name, c.ordinal_position"
    );
    let results = open.results(&sql).await.map_err(|(_, error)| error)?;
    let mut known: Vec<KnownTable> = Vec::new();
    for row in results.into_iter().flat_map(|result| result.rows) {
        let [table, column, kind, is_unique] = &row[..] else { continue };
        if known.last().is_none_or(|last| last.table != *table) {
            known.push(KnownTable { table: table.clone(), columns: Vec::new() });
        }
        let written = match kind.as_str() {
            "int" | "bigint" => Some(IdForm::Number),
            "char" | "varchar" => Some(IdForm::Text),
            _ => None,
        };
        let unique = written.filter(|_| is_unique == "1");
        let name = column.to_ascii_lowercase();
        if let Some(known) = known.last_mut() {
            known.columns.push(Column { name, unique });
        }
    }
    Ok(known)
}

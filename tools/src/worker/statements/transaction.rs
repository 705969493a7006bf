//! Which statements may end the transaction that writes the rows: what was written before would be
//! committed without what follows. Pure.

use super::is_of_word;
use crate::sql::Dialect;

/// What begins and ends transactions.
const CONTROL: [&str; 9] =
    ["ABORT", "BEGIN", "COMMIT", "END", "PREPARE", "RELEASE", "ROLLBACK", "SAVEPOINT", "START"];
/// What MySQL and MariaDB never commit by. A definition commits, and a procedure may; functions
/// and triggers can't.
const OF_MYSQL: [&str; 7] = ["DELETE", "DO", "INSERT", "REPLACE", "SELECT", "UPDATE", "WITH"];

/// Why a statement may end the transaction, if it may. PostgreSQL lets neither procedures nor
/// blocks end one that they have not begun.
pub fn may_end(sql: &str, dialect: Dialect) -> Option<String> {
    if dialect == Dialect::MySql {
        let words = OF_MYSQL.join(", ");
        let why = format!("it begins with none of {words}, and may end the row's transaction");
        return (!OF_MYSQL.contains(&&*first_word(sql, dialect))).then_some(why);
    }
    // SQLite takes several statements in one text.
    let parts = sql.split(|letter| dialect == Dialect::Sqlite && letter == ';');
    let word = parts.map(|part| first_word(part, dialect)).find(|it| CONTROL.contains(&&**it))?;
    Some(format!("{word} may end the row's transaction"))
}

/// In capitals, behind comments.
fn first_word(sql: &str, dialect: Dialect) -> String {
    let is_mysql = dialect == Dialect::MySql;
    let mut rest = sql;
    loop {
        rest =
            rest.trim_start_matches(|letter: char| letter.is_whitespace() || "(;".contains(letter));
        let is_run = is_mysql && (rest.starts_with("/*!") || rest.starts_with("/*M!"));
        let end = if rest.starts_with("--") || (is_mysql && rest.starts_with('#')) {
            rest.find('\n')
        } else if rest.starts_with("/*") && !is_run {
            rest.find("*/").map(|end| end + 2)
        } else {
            let word = rest.split(|letter| !is_of_word(letter)).next().unwrap_or_default();
            return word.to_ascii_uppercase();
        };
        rest = &rest[end.unwrap_or(rest.len())..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Dialect::{MySql, Postgres, Sqlite};

    #[test]
    fn what_may_end_the_transaction_is_found() {
        let all = [MySql, Postgres, Sqlite];
        for sql in ["COMMIT", " /* a */ -- b\n(begin", "; Rollback TO x", "START TRANSACTION"] {
            assert!(all.iter().all(|dialect| may_end(sql, *dialect).is_some()), "{sql}");
        }
        for sql in
            ["CALL place(:order_id)", "# INSERT\nTRUNCATE t", "/*!COMMIT*/", "SET autocommit = 1"]
        {
            assert!(may_end(sql, MySql).is_some(), "{sql}");
        }
        let why = may_end("INSERT INTO t VALUES (1); Commit", Sqlite);
        assert_eq!(why.as_deref(), Some("COMMIT may end the row's transaction"));
        for sql in ["INSERT INTO t VALUES (1)", "/* COMMIT */ update t SET begin = 1", "(SELECT 1)"]
        {
            assert!(all.iter().all(|dialect| may_end(sql, *dialect).is_none()), "{sql}");
        }
        for sql in ["CALL place($1)", "DO $$ BEGIN PERFORM 1; END $$"] {
            assert_eq!(may_end(sql, Postgres), None, "{sql}");
        }
    }
}

//! Brings the tables up to date. The list of applied migrations is in a table of the worker's own,
//! so it can't conflict with an application's migrations.
//!
//! Two workers may start at once: one creates the tables, the other waits for it. Each migration
//! creates only what is missing, so an interrupted one is simply repeated.

use super::columns::probes;
use super::fault::Fault;
use super::transaction::Open;
use crate::sql::{Arg, Dialect, Tables, number};

const MIGRATIONS: [(i64, &str); 1] = [(1, include_str!("../../../migrations/1_tables.sql"))];

const LAST_MADE: &str = "SELECT [COALESCE(MAX(version), 0)] FROM {migrations}";
/// The lock of MySQL and MariaDB, whose transactions don't cover definitions. Its name has at most
/// 64 characters; newer MySQL has neither MD5 nor SHA1.
const MYSQL_LOCK: &str = "CONCAT('seckill-', LEFT(SHA2(DATABASE(), 256), 40))";

/// Applies the missing migrations; no other worker does so meanwhile. After an error the connection
/// is not to be used again.
pub async fn migrate(open: &mut Open, tables: &Tables) -> Result<(), Fault> {
    match tables.dialect() {
        Dialect::Sqlite => {}
        Dialect::Postgres => {
            let lock = "SELECT pg_advisory_xact_lock(hashtext('seckill-worker'), hashtext($1))";
            open.run(lock, &[Arg::Text(tables.prefix())]).await?;
        }
        Dialect::MySql => {
            let lock = format!("SELECT [COALESCE(GET_LOCK({MYSQL_LOCK}, 30), 0)]");
            let is_locked: Vec<[String; 1]> = open.texts(&tables.sql(&lock, [])).await?;
            if is_locked != [["1"]] {
                return Err(Fault::Failed("another worker is making the tables".to_owned()));
            }
            meet_tables_of_others(open, tables).await?;
        }
    }
    open.plain(&table_of_migrations(tables)).await?;
    let made: Vec<[String; 1]> = open.texts(&tables.sql(LAST_MADE, [])).await?;
    let made: i64 = made.first().map_or(Ok(0), |[version]| number(version))?;
    for (version, sql) in MIGRATIONS.into_iter().filter(|(version, _)| *version > made) {
        for statement in statements(tables, version, sql) {
            open.plain(&statement).await?;
        }
    }
    // Tables with these names may have been there, and be another program's.
    for probe in probes(tables) {
        open.plain(&probe).await?;
    }
    if tables.dialect() == Dialect::MySql {
        open.plain(&format!("DO RELEASE_LOCK({MYSQL_LOCK})")).await?;
    }
    Ok(())
}

/// An error if tables with our names are there, with other columns. MySQL can't undo a definition,
/// so a worker that was never here looks before it makes any.
async fn meet_tables_of_others(open: &mut Open, tables: &Tables) -> Result<(), Fault> {
    if open.plain(&tables.sql(LAST_MADE, []).sql).await.is_ok() {
        return Ok(());
    }
    // The state of a statement that names a table that is not there.
    let is_missing = |error: &sqlx::Error| {
        error.as_database_error().and_then(|error| error.code()).as_deref() == Some("42S02")
    };
    for probe in probes(tables) {
        if let Err(error) = open.plain(&probe).await
            && !is_missing(&error)
        {
            return Err(error.into());
        }
    }
    Ok(())
}

/// What a word in braces is.
fn kind(tables: &Tables, word: &str) -> String {
    let dialect = tables.dialect();
    let (name, size) = word.split_once(' ').unwrap_or((word, ""));
    match (name, dialect) {
        ("prefix", _) => return tables.prefix().to_owned(),
        // Compared byte by byte, which no collation that MySQL and MariaDB share does: so these
        // are binary, and hold UTF-8.
        ("id", Dialect::MySql) => return format!("VARBINARY({size})"),
        ("word", Dialect::MySql) => return format!("VARCHAR({size}) CHARACTER SET ascii"),
        ("id", Dialect::Postgres) => "TEXT COLLATE \"C\"",
        ("ref", Dialect::MySql) => "MEDIUMBLOB",
        ("text", Dialect::MySql) => "MEDIUMTEXT CHARACTER SET utf8mb4",
        ("number", Dialect::Sqlite) => "INTEGER",
        ("number", _) => "BIGINT",
        ("end", Dialect::Sqlite) => " STRICT, WITHOUT ROWID",
        ("end", Dialect::Postgres) => "",
        ("end", Dialect::MySql) => " ENGINE = InnoDB ROW_FORMAT = DYNAMIC",
        ("id" | "word" | "ref" | "text", _) => "TEXT",
        // Which no database accepts.
        _ => "?",
    }
    .to_owned()
}

/// The statements that apply a migration and record it.
fn statements(tables: &Tables, version: i64, template: &str) -> Vec<String> {
    let name = match tables.dialect() {
        Dialect::Sqlite => "sqlite",
        Dialect::Postgres => "postgres",
        Dialect::MySql => "mysql",
    };
    let is_its = |of: &str| of == name || (of == "others" && name != "mysql");
    let mut sql = String::new();
    for line in template.lines() {
        match line.split_once(':') {
            Some((of, its)) if is_its(of) => sql.push_str(its),
            Some(("sqlite" | "postgres" | "mysql" | "others", _)) => continue,
            _ => sql.push_str(line),
        }
        sql.push('\n');
    }
    while let Some((before, (word, after))) =
        sql.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        sql = [before, &kind(tables, word), after].concat();
    }
    let parts = sql.split(";\n").map(str::trim).filter(|part| !part.is_empty());
    let mut statements: Vec<String> = parts.map(str::to_owned).collect();
    statements
        .push(format!("INSERT INTO {} (version) VALUES ({version})", tables.named("migrations")));
    statements
}

fn table_of_migrations(tables: &Tables) -> String {
    let table = tables.named("migrations");
    let end = if tables.dialect() == Dialect::MySql { " ENGINE = InnoDB" } else { "" };
    format!("CREATE TABLE IF NOT EXISTS {table} (version BIGINT NOT NULL PRIMARY KEY){end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_the_prefix() {
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql] {
            let tables = Tables::new(dialect, "shop_");
            for (version, sql) in MIGRATIONS {
                let made = statements(&tables, version, sql);
                assert!(made.len() >= 3, "{made:?}");
                for statement in made {
                    let of_ours = [
                        "shop_orders", "shop_payments", "shop_payment_refs", "shop_refunds",
                        "shop_order_changes", "shop_rulings", "shop_voucher_sales", "shop_groups",
                        "shop_settings", "shop_migrations",
                    ];
                    assert!(of_ours.iter().any(|name| statement.contains(name)), "{statement}");
                    assert!(!statement.contains('{'), "{statement}");
                }
            }
        }
    }
}

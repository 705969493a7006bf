//! Brings the tables up to date. The list of applied migrations is in a table of the worker's own,
//! so it can't conflict with an application's migrations.
//!
//! Two workers may start at once: one creates the tables, the other waits for it. Each migration
//! creates only what is missing, so an interrupted one is simply repeated.

#[cfg(feature = "databases")]
use sqlx::mysql::MySqlConnectOptions;
#[cfg(feature = "databases")]
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Executor};

use super::columns::probes;
use super::fault::Fault;
use super::open::Place;
#[cfg(feature = "databases")]
use super::open::SET_UP_MYSQL;
#[cfg(feature = "databases")]
use super::transaction::BEGIN_POSTGRES;
use crate::sql::{Dialect, Tables};

const MIGRATIONS: [(i64, &str); 1] = [(1, include_str!("../../../migrations/1_tables.sql"))];

impl Place {
    /// Brings the schema up to date, over a separate connection.
    pub async fn migrate(&self, tables: &Tables) -> Result<(), Fault> {
        match self {
            Self::Sqlite(options) => migrate_sqlite(options, tables).await,
            #[cfg(feature = "databases")]
            Self::Postgres(options) => migrate_postgres(options, tables).await,
            #[cfg(feature = "databases")]
            Self::MySql(options) => migrate_mysql(options, tables).await,
        }
    }
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

fn last_made(tables: &Tables) -> String {
    format!("SELECT COALESCE(MAX(version), 0) FROM {}", tables.named("migrations"))
}

/// Applies the missing migrations on a connection; no other worker may migrate meanwhile.
macro_rules! make {
    ($connection:expr, $tables:expr) => {{
        $connection.execute(&*table_of_migrations($tables)).await?;
        let made: i64 = sqlx::query_scalar(&last_made($tables))
            .persistent(false)
            .fetch_one(&mut *$connection)
            .await?;
        for (version, sql) in MIGRATIONS {
            if version > made {
                for statement in statements($tables, version, sql) {
                    $connection.execute(&*statement).await?;
                }
            }
        }
        // Tables with these names may have been there, and be another program's.
        for probe in probes($tables) {
            $connection.execute(&*probe).await?;
        }
    }};
}

async fn migrate_sqlite(options: &SqliteConnectOptions, tables: &Tables) -> Result<(), Fault> {
    let mut connection = options.connect().await?;
    let mut open = connection.begin_with("BEGIN IMMEDIATE").await?;
    make!(&mut *open, tables);
    open.commit().await?;
    Ok(connection.close().await?)
}

#[cfg(feature = "databases")]
async fn migrate_postgres(options: &PgConnectOptions, tables: &Tables) -> Result<(), Fault> {
    let mut connection = options.connect().await?;
    // At a stricter level, what another worker made before it gave the lock away is not seen.
    let mut open = connection.begin_with(BEGIN_POSTGRES).await?;
    let lock = "SELECT pg_advisory_xact_lock(hashtext('seckill-worker'), hashtext($1))";
    sqlx::query(lock).bind(tables.prefix()).persistent(false).execute(&mut *open).await?;
    make!(&mut *open, tables);
    open.commit().await?;
    Ok(connection.close().await?)
}

/// MySQL's transactions don't cover definitions, hence a lock. It ends with the connection.
#[cfg(feature = "databases")]
async fn migrate_mysql(options: &MySqlConnectOptions, tables: &Tables) -> Result<(), Fault> {
    let mut connection = options.connect().await?;
    connection.execute(SET_UP_MYSQL).await?;
    // The name of a lock has at most 64 characters. Newer MySQL has neither MD5 nor SHA1.
    let lock = "SELECT GET_LOCK(CONCAT('seckill-', LEFT(SHA2(DATABASE(), 256), 40)), 30)";
    let is_locked: Option<i64> = sqlx::query_scalar(lock).fetch_one(&mut connection).await?;
    if is_locked != Some(1) {
        return Err(Fault::Failed("another worker is making the tables".to_owned()));
    }
    meet_tables_of_others(&mut connection, tables).await?;
    make!(&mut connection, tables);
    Ok(connection.close().await?)
}

/// An error if tables with our names are there, with other columns. MySQL can't undo a definition,
/// so a worker that was never here looks before it makes any.
#[cfg(feature = "databases")]
async fn meet_tables_of_others(
    connection: &mut sqlx::MySqlConnection,
    tables: &Tables,
) -> Result<(), Fault> {
    if connection.execute(&*last_made(tables)).await.is_ok() {
        return Ok(());
    }
    for probe in probes(tables) {
        if let Err(error) = connection.execute(&*probe).await
            && !is_missing_table(&error)
        {
            return Err(error.into());
        }
    }
    Ok(())
}

/// MySQL's state of a statement that names a table that is not there.
#[cfg(feature = "databases")]
fn is_missing_table(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).as_deref() == Some("42S02")
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

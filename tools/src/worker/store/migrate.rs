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

use super::fault::Fault;
use super::open::Place;
use super::statement::{Dialect, Tables};

fn migrations(dialect: Dialect) -> [(i64, &'static str); 1] {
    match dialect {
        Dialect::Sqlite => [(1, include_str!("../../../migrations/sqlite/1_orders.sql"))],
        Dialect::Postgres => [(1, include_str!("../../../migrations/postgres/1_orders.sql"))],
        Dialect::MySql => [(1, include_str!("../../../migrations/mysql/1_orders.sql"))],
    }
}

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

/// The statements that apply a migration and record it.
fn statements(tables: &Tables, version: i64, sql: &str) -> Vec<String> {
    let sql = sql.replace("{prefix}", tables.prefix());
    let parts = sql.split(";\n").map(str::trim).filter(|part| !part.is_empty());
    let mut statements: Vec<String> = parts.map(str::to_owned).collect();
    statements.push(format!("INSERT INTO {} (version) VALUES ({version})", tables.migrations()));
    statements
}

fn table_of_migrations(tables: &Tables) -> String {
    let table = tables.migrations();
    format!("CREATE TABLE IF NOT EXISTS {table} (version BIGINT NOT NULL PRIMARY KEY)")
}

fn last_made(tables: &Tables) -> String {
    format!("SELECT COALESCE(MAX(version), 0) FROM {}", tables.migrations())
}

/// Applies the missing migrations on a connection; no other worker may migrate meanwhile.
macro_rules! make {
    ($connection:expr, $tables:expr) => {{
        $connection.execute(&*table_of_migrations($tables)).await?;
        let made: i64 = sqlx::query_scalar(&last_made($tables))
            .persistent(false)
            .fetch_one(&mut *$connection)
            .await?;
        for (version, sql) in migrations($tables.dialect()) {
            if version > made {
                for statement in statements($tables, version, sql) {
                    $connection.execute(&*statement).await?;
                }
            }
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
    let mut open = connection.begin().await?;
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
    // The name of a lock has at most 64 characters. Newer MySQL has neither MD5 nor SHA1.
    let lock = "SELECT GET_LOCK(CONCAT('seckill-', LEFT(SHA2(DATABASE(), 256), 40)), 30)";
    let is_locked: Option<i64> = sqlx::query_scalar(lock).fetch_one(&mut connection).await?;
    if is_locked != Some(1) {
        return Err(Fault::Failed("another worker is making the tables".to_owned()));
    }
    make!(&mut connection, tables);
    Ok(connection.close().await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_the_prefix() {
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql] {
            let tables = Tables::new(dialect, "shop_");
            for (version, sql) in migrations(dialect) {
                let made = statements(&tables, version, sql);
                assert!(made.len() >= 3, "{made:?}");
                for statement in made {
                    let of_ours = [
                        "shop_orders",
                        "shop_voucher_sales",
                        "shop_order_changes",
                        "shop_lost_entries",
                        "shop_positions",
                        "shop_migrations",
                        "shop_marks",
                        "shop_closed_sales",
                    ];
                    assert!(of_ours.iter().any(|name| statement.contains(name)), "{statement}");
                    assert!(!statement.contains('{'), "{statement}");
                }
            }
        }
    }
}

//! Opens a database: by its URL, made and brought up to date where it is not.

use std::borrow::Cow;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use sqlx::ConnectOptions;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

use super::statement::Dialect;
use super::transaction::Pool;

/// How long a connection is waited for, and SQLite's one writer.
const CONNECT_WAIT: Duration = Duration::from_secs(10);
const BUSY_WAIT: Duration = Duration::from_secs(5);

/// Where the database is, and how to talk to it.
#[derive(Clone, Debug)]
pub enum Place {
    Sqlite(SqliteConnectOptions),
    Postgres(PgConnectOptions),
    MySql(MySqlConnectOptions),
}

impl Place {
    pub fn parse(url: &str) -> Result<Self> {
        let scheme = url.split(':').next().unwrap_or_default();
        let place = match scheme {
            "sqlite" => {
                let options = SqliteConnectOptions::from_str(url).context("--database")?;
                Self::Sqlite(
                    options
                        .create_if_missing(true)
                        .journal_mode(SqliteJournalMode::Wal)
                        // An entry is acknowledged when its row is on the disk, not earlier.
                        .synchronous(SqliteSynchronous::Full)
                        .busy_timeout(BUSY_WAIT)
                        .disable_statement_logging(),
                )
            }
            "postgres" | "postgresql" => {
                let options = PgConnectOptions::from_str(url).context("--database")?;
                Self::Postgres(
                    options.application_name("seckill-worker").disable_statement_logging(),
                )
            }
            "mysql" | "mariadb" => {
                let url = format!("mysql:{}", url.split_once(':').unwrap_or_default().1);
                let options = MySqlConnectOptions::from_str(&url).context("--database")?;
                Self::MySql(options.disable_statement_logging())
            }
            _ => bail!("--database must begin with sqlite:, postgres: or mysql:"),
        };
        Ok(place)
    }

    /// A pool that connects when it is first asked.
    pub fn pool(&self, connections: u32) -> Pool {
        match self.clone() {
            // There is one writer at a time anyway.
            Self::Sqlite(options) => Pool::Sqlite(
                SqlitePoolOptions::new()
                    .max_connections(1)
                    .acquire_timeout(CONNECT_WAIT)
                    .connect_lazy_with(options),
            ),
            Self::Postgres(options) => Pool::Postgres(
                PgPoolOptions::new()
                    .max_connections(connections)
                    .acquire_timeout(CONNECT_WAIT)
                    .connect_lazy_with(options),
            ),
            Self::MySql(options) => Pool::MySql(
                MySqlPoolOptions::new()
                    .max_connections(connections)
                    .acquire_timeout(CONNECT_WAIT)
                    .after_connect(|connection, _| {
                        // Gaps between rows needn't be locked, and workers would wait for them.
                        let level = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
                        Box::pin(async move {
                            sqlx::Executor::execute(connection, level).await.map(|_| ())
                        })
                    })
                    .connect_lazy_with(options),
            ),
        }
    }
}

/// Brings the schema up to date.
pub async fn migrate(pool: &Pool) -> Result<(), MigrateError> {
    let migrator = migrator(pool.dialect());
    match pool {
        Pool::Sqlite(pool) => migrator.run(pool).await,
        Pool::Postgres(pool) => migrator.run(pool).await,
        Pool::MySql(pool) => match migrator.run(pool).await {
            // Definitions are no part of a transaction there: a worker was killed while it made
            // the tables. Ours are made only where they are missing, so they can be made again.
            Err(MigrateError::Dirty(_)) => {
                let unfinished = "DELETE FROM _sqlx_migrations WHERE success = FALSE";
                sqlx::query(unfinished).execute(pool).await?;
                migrator.run(pool).await
            }
            other => other,
        },
    }
}

fn migrator(dialect: Dialect) -> Migrator {
    let sql = match dialect {
        Dialect::Sqlite => include_str!("../../../migrations/sqlite/20260101000001_orders.sql"),
        Dialect::Postgres => include_str!("../../../migrations/postgres/20260101000001_orders.sql"),
        Dialect::MySql => include_str!("../../../migrations/mysql/20260101000001_orders.sql"),
    };
    let first = Migration::new(
        20_260_101_000_001,
        Cow::Borrowed("orders"),
        MigrationType::Simple,
        Cow::Borrowed(sql),
        false,
    );
    // The database may be an application's, with migrations of its own.
    Migrator { migrations: Cow::Owned(vec![first]), ignore_missing: true, ..Migrator::DEFAULT }
}

//! Opens a database: by its URL, made and brought up to date where it is not.

use std::borrow::Cow;
use std::os::unix::fs::MetadataExt;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection};

use super::fault::Fault;
use super::statement::Dialect;
use super::transaction::Pool;

/// How long a connection is waited for, and SQLite's one writer.
const CONNECT_WAIT: Duration = Duration::from_secs(10);
const BUSY_WAIT: Duration = Duration::from_secs(5);

/// How often a worker that comes second in making the tables looks again.
const MIGRATE_TRIES: u32 = 20;
/// The version of the first migration.
const FIRST: i64 = 20_260_101_000_001;

/// Tells whether a file is still the one that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    inode: u64,
}

/// Where the database is, and how to talk to it.
#[derive(Clone, Debug)]
pub enum Place {
    Sqlite(SqliteConnectOptions),
    Postgres(PgConnectOptions),
    MySql(MySqlConnectOptions),
}

impl Place {
    pub fn parse(url: &str) -> anyhow::Result<Self> {
        let scheme = url.split(':').next().unwrap_or_default();
        let place = match scheme {
            "sqlite" => {
                let options = SqliteConnectOptions::from_str(url).context("--database")?;
                // What is in memory is gone with the worker, and its orders are acknowledged.
                let name = options.get_filename().to_string_lossy();
                let is_file = !name.contains(":memory:") && !name.contains("sqlx-in-memory");
                ensure!(is_file, "--database must be a file");
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

    /// The file that the database is in now, if it is in one.
    pub fn file(&self) -> Option<FileId> {
        let Self::Sqlite(options) = self else { return None };
        let file = std::fs::metadata(options.get_filename()).ok()?;
        Some(FileId { device: file.dev(), inode: file.ino() })
    }

    /// Brings the schema up to date, by a connection of its own.
    pub async fn migrate(&self) -> Result<(), Fault> {
        match self {
            Self::Sqlite(options) => migrate_sqlite(options).await,
            Self::Postgres(options) => {
                let mut connection = options.connect().await?;
                let migrated = migrator(Dialect::Postgres).run(&mut connection).await;
                migrated.map_err(unmigrated)?;
                Ok(connection.close().await?)
            }
            Self::MySql(options) => migrate_mysql(options).await,
        }
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
                    .after_connect(|connection, _| {
                        // A plan that was made when the tables were empty would be kept for long.
                        let plans = "SET plan_cache_mode = force_custom_plan";
                        Box::pin(async move {
                            sqlx::Executor::execute(connection, plans).await.map(|_| ())
                        })
                    })
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

/// Two workers that start at once make the tables at once, and SQLite has no lock for that: who
/// comes second fails, and finds them made.
async fn migrate_sqlite(options: &SqliteConnectOptions) -> Result<(), Fault> {
    let mut tries = 1;
    loop {
        let mut connection = options.connect().await?;
        match migrator(Dialect::Sqlite).run(&mut connection).await {
            Ok(()) => return Ok(connection.close().await?),
            Err(error) if tries == MIGRATE_TRIES => return Err(unmigrated(error)),
            Err(_) => tries += 1,
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The lock that sqlx takes there is none on MariaDB, which knows no endless wait, so there is one
/// of ours around it; it ends with the connection.
///
/// Definitions are no part of a transaction there, so a worker may have been killed while it made
/// the tables. Ours are made only where they are missing: then they are made again.
async fn migrate_mysql(options: &MySqlConnectOptions) -> Result<(), Fault> {
    let mut connection = options.connect().await?;
    let lock = "SELECT GET_LOCK(CONCAT('seckill-', MD5(DATABASE())), 30)";
    let is_locked: Option<i64> = sqlx::query_scalar(lock).fetch_one(&mut connection).await?;
    if is_locked != Some(1) {
        return Err(Fault::Clash("another worker is making the tables".to_owned()));
    }
    let mut migrated = migrator(Dialect::MySql).run(&mut connection).await;
    if let Err(MigrateError::Dirty(_)) = migrated {
        let unfinished = "DELETE FROM _sqlx_migrations WHERE success = FALSE AND version = ?";
        sqlx::query(unfinished).bind(FIRST).execute(&mut connection).await?;
        migrated = migrator(Dialect::MySql).run(&mut connection).await;
    }
    migrated.map_err(unmigrated)?;
    Ok(connection.close().await?)
}

fn unmigrated(error: MigrateError) -> Fault {
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
        error => Fault::Away(error.to_string()),
    }
}

fn migrator(dialect: Dialect) -> Migrator {
    let sql = match dialect {
        Dialect::Sqlite => include_str!("../../../migrations/sqlite/20260101000001_orders.sql"),
        Dialect::Postgres => include_str!("../../../migrations/postgres/20260101000001_orders.sql"),
        Dialect::MySql => include_str!("../../../migrations/mysql/20260101000001_orders.sql"),
    };
    let first = Migration::new(
        FIRST,
        Cow::Borrowed("orders"),
        MigrationType::Simple,
        Cow::Borrowed(sql),
        false,
    );
    // The database may be an application's, with migrations of its own.
    Migrator { migrations: Cow::Owned(vec![first]), ignore_missing: true, ..Migrator::DEFAULT }
}

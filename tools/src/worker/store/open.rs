//! Opens a database by its URL.

use std::os::unix::fs::MetadataExt;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use sqlx::ConnectOptions;
#[cfg(feature = "databases")]
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions, MySqlSslMode};
#[cfg(feature = "databases")]
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

use super::statement::Dialect;
use super::transaction::Pool;

/// How long to wait for a connection, and for SQLite's only writer.
const CONNECT_WAIT: Duration = Duration::from_secs(10);
const BUSY_WAIT: Duration = Duration::from_secs(5);

/// Identifies a file, to see whether it is still the one that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    inode: u64,
}

/// Where the database is, and how to connect to it.
#[derive(Clone, Debug)]
pub enum Place {
    Sqlite(SqliteConnectOptions),
    #[cfg(feature = "databases")]
    Postgres(PgConnectOptions),
    #[cfg(feature = "databases")]
    MySql(MySqlConnectOptions),
}

impl Place {
    pub fn parse(url: &str, password: Option<String>) -> anyhow::Result<Self> {
        let has_password = password_in(url);
        let password = password.filter(|_| !has_password);
        let scheme = url.split(':').next().unwrap_or_default();
        let place = match scheme {
            "sqlite" => {
                let options = SqliteConnectOptions::from_str(url).context("--database")?;
                // A database in memory is lost with the worker, though its orders are acknowledged.
                let name = options.get_filename().to_string_lossy();
                let is_file = !name.contains(":memory:") && !name.contains("sqlx-in-memory");
                ensure!(is_file, "--database must be a file");
                Self::Sqlite(
                    options
                        .create_if_missing(true)
                        .journal_mode(SqliteJournalMode::Wal)
                        // An entry is only acknowledged when its row is on the disk.
                        .synchronous(SqliteSynchronous::Full)
                        .busy_timeout(BUSY_WAIT)
                        .disable_statement_logging(),
                )
            }
            #[cfg(feature = "databases")]
            "postgres" | "postgresql" => {
                let mut options = PgConnectOptions::from_str(url).context("--database")?;
                if let Some(password) = &password {
                    options = options.password(password);
                }
                Self::Postgres(
                    options.application_name("seckill-worker").disable_statement_logging(),
                )
            }
            #[cfg(feature = "databases")]
            "mysql" | "mariadb" => {
                let url = format!("mysql:{}", url.split_once(':').unwrap_or_default().1);
                let mut options = MySqlConnectOptions::from_str(&url).context("--database")?;
                if let Some(password) = &password {
                    options = options.password(password);
                }
                // The library has no TLS over a unix socket, where nobody can eavesdrop.
                if url.contains("socket=") && !url.contains("ssl-mode=") {
                    options = options.ssl_mode(MySqlSslMode::Disabled);
                }
                Self::MySql(options.disable_statement_logging())
            }
            #[cfg(not(feature = "databases"))]
            "postgres" | "postgresql" | "mysql" | "mariadb" => {
                bail!("--database: this program was built for SQLite alone")
            }
            _ => bail!("--database must begin with sqlite:, postgres: or mysql:"),
        };
        Ok(place)
    }

    pub fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            #[cfg(feature = "databases")]
            Self::Postgres(_) => Dialect::Postgres,
            #[cfg(feature = "databases")]
            Self::MySql(_) => Dialect::MySql,
        }
    }

    /// The database's current file, if it has one.
    pub fn file(&self) -> Option<FileId> {
        let Self::Sqlite(options) = self else { return None };
        let file = std::fs::metadata(options.get_filename()).ok()?;
        Some(FileId { device: file.dev(), inode: file.ino() })
    }

    /// A pool that connects on first use.
    pub fn pool(&self, connections: u32) -> Pool {
        match self.clone() {
            // There is one writer at a time anyway.
            Self::Sqlite(options) => Pool::Sqlite(
                SqlitePoolOptions::new()
                    .max_connections(1)
                    .acquire_timeout(CONNECT_WAIT)
                    .connect_lazy_with(options),
            ),
            #[cfg(feature = "databases")]
            Self::Postgres(options) => Pool::Postgres(
                PgPoolOptions::new()
                    .max_connections(connections)
                    .acquire_timeout(CONNECT_WAIT)
                    .after_connect(|connection, _| {
                        // Otherwise a plan made while the tables were empty would be cached for
                        // long.
                        let plans = "SET plan_cache_mode = force_custom_plan";
                        Box::pin(async move {
                            sqlx::Executor::execute(connection, plans).await.map(|_| ())
                        })
                    })
                    .connect_lazy_with(options),
            ),
            #[cfg(feature = "databases")]
            Self::MySql(options) => Pool::MySql(
                MySqlPoolOptions::new()
                    .max_connections(connections)
                    .acquire_timeout(CONNECT_WAIT)
                    .after_connect(|connection, _| {
                        // A stricter level locks gaps between rows, which is not needed, and
                        // workers would wait.
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

/// Whether a URL contains a password.
fn password_in(url: &str) -> bool {
    let rest = url.split_once("://").unwrap_or_default().1;
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').unwrap_or_default().0;
    user.contains(':') || url.contains("password=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_found_in_a_url() {
        assert!(password_in("postgres://ann:secret@host/shop"));
        assert!(password_in("postgres://host/shop?password=secret"));
        for url in ["postgres://ann@host:5432/shop", "mysql://host:3306/a@b:c", "sqlite:x.db"] {
            assert!(!password_in(url), "{url}");
        }
    }
}

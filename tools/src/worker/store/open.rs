//! Opens a database by its URL.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use sqlx::ConnectOptions;
#[cfg(feature = "databases")]
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions, MySqlSslMode};
#[cfg(feature = "databases")]
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
#[cfg(feature = "databases")]
use sqlx::{Connection, Executor, PgConnection, Row};

#[cfg(feature = "databases")]
use super::prepared::lends_connections;
use super::transaction::Pool;
#[cfg(feature = "databases")]
use super::transaction::{MARK, begin_postgres};
use crate::sql::{Dialect, ROWS_MAX};

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
                        // Each full buffer is a switch between two threads.
                        .row_buffer_size(ROWS_MAX)
                        .disable_statement_logging(),
                )
            }
            #[cfg(feature = "databases")]
            "postgres" | "postgresql" => {
                let mut options = PgConnectOptions::from_str(url).context("--database")?;
                if let Some(password) = &password {
                    options = options.password(password);
                }
                // Poolers such as PgBouncer refuse the library's own parameter, which is for
                // numbers with a point.
                options = options.extra_float_digits(None);
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
                // The library's own modes would change what a shop's SQL means, and its own zone
                // what NOW() is.
                options = options.pipes_as_concat(false).no_engine_substitution(false);
                if !url.contains("timezone=") && !url.contains("time-zone=") {
                    options = options.timezone(None);
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

    /// Connects once, so that the next connection shows whether a pooler lends them.
    pub async fn meet_pooler(&self) -> sqlx::Result<()> {
        #[cfg(feature = "databases")]
        if let Self::Postgres(options) = self {
            let mut connection = options.connect().await?;
            set_up_postgres(&mut connection, &set_up(options)).await?;
            connection.close().await?;
        }
        Ok(())
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
                    .after_connect({
                        let set_up = set_up(&options);
                        move |connection, _| {
                            let set_up = set_up.clone();
                            Box::pin(async move { set_up_postgres(connection, &set_up).await })
                        }
                    })
                    .connect_lazy_with(options),
                begin_postgres(),
            ),
            #[cfg(feature = "databases")]
            Self::MySql(options) => Pool::MySql(
                MySqlPoolOptions::new()
                    .max_connections(connections)
                    .acquire_timeout(CONNECT_WAIT)
                    .after_connect(|connection, _| {
                        Box::pin(async move {
                            Executor::execute(connection, SET_UP_MYSQL).await.map(|_| ())
                        })
                    })
                    .connect_lazy_with(options),
            ),
        }
    }
}

/// A stricter level locks gaps between rows, which is not needed, and workers would wait. And
/// defaults that an administrator may have set for people: of more rows than the limit the others
/// would not be there, what is written outside of a transaction would be undone, and a text
/// without letters would be null. Keys of more rows than the limit of dives are looked up by old
/// statistics: those of a table that was empty read, and lock, all of its rows for each batch.
#[cfg(feature = "databases")]
const SET_UP_MYSQL: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; \
    SET SESSION autocommit = 1, sql_big_selects = 1, sql_select_limit = 18446744073709551615, \
    eq_range_index_dive_limit = 0, sql_mode = REPLACE(@@sql_mode, 'EMPTY_STRING_IS_NULL', ',')";

/// Sets the time zone: that of the URL, else that of the role or of the database, else that of the
/// server's log, which a new server has in common with its sessions. The library asks for UTC,
/// after which the server doesn't tell any more what it would have been.
#[cfg(feature = "databases")]
fn set_up(options: &PgConnectOptions) -> String {
    let zone = zone_of(options.get_options().unwrap_or_default());
    let zone =
        zone.map_or_else(|| "NULL".to_owned(), |zone| format!("'{}'", zone.replace('\'', "''")));
    format!(
        "SELECT set_config('TimeZone', COALESCE({zone},
        (SELECT split_part(setting, '=', 2)
         FROM pg_db_role_setting AS set, unnest(set.setconfig) AS setting
         WHERE lower(setting) LIKE 'timezone=%'
           AND setrole IN (0, (SELECT oid FROM pg_roles WHERE rolname = current_user))
           AND setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
         ORDER BY setrole <> 0 DESC, setdatabase <> 0 DESC LIMIT 1),
        current_setting('log_timezone')), false),
        COALESCE(current_setting('{MARK}', true), '')"
    )
}

/// Sets up a new session, and names it: the name of the application goes along when a pooler lends
/// another session, and the mark stays with the session, so each transaction can compare the two.
/// Where a worker's mark is already, a pooler lends its connections to many. One statement without
/// parameters, which a pooler never divides.
#[cfg(feature = "databases")]
pub async fn set_up_postgres(connection: &mut PgConnection, set_up: &str) -> sqlx::Result<()> {
    let name = format!("seckill-worker {:016x}", fastrand::u64(..));
    let names = ["application_name", MARK].map(|it| format!("set_config('{it}', '{name}', false)"));
    let set_up = format!("{set_up}, {}", names.join(", "));
    let row = Executor::fetch_one(connection, &*set_up).await?;
    if !row.try_get::<String, _>(1)?.is_empty() {
        lends_connections();
    }
    Ok(())
}

/// The time zone in options such as `-c TimeZone=Asia/Shanghai`.
#[cfg(feature = "databases")]
fn zone_of(options: &str) -> Option<String> {
    let lower = options.to_ascii_lowercase();
    let start = lower.find("timezone=")? + "timezone=".len();
    options.get(start..)?.split_whitespace().next().map(str::to_owned)
}

/// Creates a file that only its owner can read, if there is none. True if there was none. An error
/// if its folder is missing, or may not be written to.
pub fn make_file(place: &Place) -> std::io::Result<bool> {
    #[cfg_attr(not(feature = "databases"), allow(irrefutable_let_patterns))]
    let Place::Sqlite(options) = place else { return Ok(false) };
    let mut file = OpenOptions::new();
    match file.write(true).create_new(true).mode(0o600).open(options.get_filename()) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
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

    #[cfg(feature = "databases")]
    #[test]
    fn a_zone_is_found_in_options() {
        assert_eq!(zone_of("-c TimeZone=Asia/Shanghai -c a=b").as_deref(), Some("Asia/Shanghai"));
        assert_eq!(zone_of("-c timezone=UTC").as_deref(), Some("UTC"));
        assert_eq!(zone_of("-c search_path=shop"), None);
    }

    #[test]
    fn a_password_is_found_in_a_url() {
        assert!(password_in("postgres://ann:secret@host/shop"));
        assert!(password_in("postgres://host/shop?password=secret"));
        for url in ["postgres://ann@host:5432/shop", "mysql://host:3306/a@b:c", "sqlite:x.db"] {
            assert!(!password_in(url), "{url}");
        }
    }
}

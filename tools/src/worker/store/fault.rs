//! What went wrong with the database. Whether a batch or the database is at fault is not read from
//! the error, which every database, trigger and function words in its own way: a probe shows it.
//! An order's values are at fault only if the error is of a kind that is about values.

use redis::RedisError;
use seckill_tools::sanitize::sanitize;
use seckill_tools::server_errors::is_untrusted;
use sqlx::Error;
#[cfg(feature = "databases")]
use sqlx::mysql::MySqlDatabaseError;
#[cfg(feature = "databases")]
use sqlx::postgres::PgDatabaseError;
use sqlx::sqlite::SqliteError;

#[cfg(feature = "databases")]
use super::prepared::are_stale;
use super::prepared::lends_connections;

#[derive(Debug)]
pub enum Fault {
    /// The database refuses these values.
    Refused(String),
    /// Nobody knows why.
    Failed(String),
    /// Only an operator can fix it. Only at the start does that make a difference.
    Wrong(String),
    /// A statement of the shop changed no row.
    Unchanged(String),
    /// The file of statements lacks an event that the tables remember, or a ruling needs.
    Lacks(String),
    /// What a ruling was made on has changed meanwhile.
    Changed,
    /// The connection, a pooler, the whole database, or another transaction: never the data.
    Elsewhere(String),
    /// Not the database: the server of the streams did not answer.
    Server(RedisError),
}

impl Fault {
    pub fn text(&self) -> String {
        match self {
            Self::Refused(text)
            | Self::Failed(text)
            | Self::Wrong(text)
            | Self::Unchanged(text)
            | Self::Lacks(text)
            | Self::Elsewhere(text) => text.clone(),
            Self::Changed => "the order has changed meanwhile: look again".to_owned(),
            Self::Server(error) => seckill_tools::server_errors::message(error),
        }
    }

    /// The fault with what it happened at in its text.
    pub fn about(self, what: &str) -> Self {
        match self {
            Self::Refused(text) => Self::Refused(format!("{what}: {text}")),
            Self::Failed(text) => Self::Failed(format!("{what}: {text}")),
            Self::Wrong(text) => Self::Wrong(format!("{what}: {text}")),
            Self::Elsewhere(text) => Self::Elsewhere(format!("{what}: {text}")),
            other => other,
        }
    }
}

impl From<RedisError> for Fault {
    fn from(error: RedisError) -> Self {
        Self::Server(error)
    }
}

/// For the commands of an operator.
impl From<Fault> for anyhow::Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Server(error) => error.into(),
            fault @ (Fault::Lacks(_) | Fault::Changed) => Self::msg(fault.text()),
            fault => Self::msg(format!("--database: {}", sanitize(&fault.text()))),
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let text = one_line(&error);
        if is_elsewhere(&error) {
            Self::Elsewhere(text)
        } else if is_of_values(&error) {
            Self::Refused(text)
        } else if needs_an_operator(&error, &text) {
            Self::Wrong(text)
        } else {
            Self::Failed(text)
        }
    }
}

/// Whether an error says nothing of the statement or its values. Connections end for many reasons,
/// so errors of no kind that a database words are among them.
fn is_elsewhere(error: &Error) -> bool {
    let Error::Database(database) = error else {
        let is_ours = matches!(error, Error::Tls(_) | Error::Configuration(_) | Error::Decode(_));
        return !is_ours && !matches!(error, Error::Io(_) if is_untrusted(&one_line(error)));
    };
    let code = database.code().unwrap_or_default();
    #[cfg(feature = "databases")]
    if let Some(mysql) = database.try_downcast_ref::<MySqlDatabaseError>() {
        // In turn: space, memory, connections, other transactions, ended statements, a server that
        // ends or only reads, prepared statements that a pooler lost.
        return [
            1021, 1037, 1041, 1114, 1040, 1203, 1226, 1020, 1205, 1213, 1317, 1927, 1969, 3024,
            1053, 1290, 1792, 1836, 1243, 1461,
        ]
        .contains(&mysql.number());
    }
    if database.try_downcast_ref::<SqliteError>().is_some() {
        // Busy, locked, memory, read only, an error of the disk, full.
        return [5, 6, 7, 8, 10, 13].contains(&(code.parse().unwrap_or(0) & 0xff));
    }
    if ["42P05", "26000"].contains(&&*code) {
        lends_connections();
    }
    #[cfg(feature = "databases")]
    if let Some(postgres) = database.try_downcast_ref::<PgDatabaseError>()
        && postgres.routine() == Some("RevalidateCachedQuery")
    {
        are_stale();
        return true;
    }
    // In turn: the connection, other transactions, resources, an operator, the system; then
    // prepared statements that a pooler mixed up, a server that only reads, transactions that last
    // longer than a limit, a lock that is awaited.
    ["08", "40", "53", "57", "58"].iter().any(|class| code.starts_with(class))
        || ["42P05", "26000", "25006", "25P03", "25P04", "55P03"].contains(&&*code)
}

/// Whether an error is about values: those of a wrong kind or size, constraints, and what triggers
/// refuse.
fn is_of_values(error: &Error) -> bool {
    let Error::Database(database) = error else { return false };
    let code = database.code().unwrap_or_default();
    #[cfg(feature = "databases")]
    if let Some(mysql) = database.try_downcast_ref::<MySqlDatabaseError>()
        && [1265, 1364, 1366, 3819].contains(&mysql.number())
    {
        return true;
    }
    if database.try_downcast_ref::<SqliteError>().is_some() {
        // Too big, a constraint, a mismatch.
        return [18, 19, 20].contains(&(code.parse().unwrap_or(0) & 0xff));
    }
    // 45 is what triggers of MySQL and MariaDB raise.
    ["22", "23", "44", "45"].iter().any(|class| code.starts_with(class)) || code == "P0001"
}

/// Whether waiting won't help a program that starts: a wrong password, a missing table, a mistake
/// in a statement, a certificate that is not trusted.
fn needs_an_operator(error: &Error, text: &str) -> bool {
    let Error::Database(database) = error else {
        return match error {
            Error::Tls(_) | Error::Configuration(_) => true,
            Error::Io(_) => is_untrusted(text),
            _ => false,
        };
    };
    let code = database.code().unwrap_or_default();
    #[cfg(feature = "databases")]
    if let Some(mysql) = database.try_downcast_ref::<MySqlDatabaseError>() {
        return [1044, 1045, 1049, 1054, 1064, 1142, 1143, 1146, 1370, 1698]
            .contains(&mysql.number());
    }
    if database.try_downcast_ref::<SqliteError>().is_some() {
        // An error in a statement, a file that can't be written, opened or is no database.
        return [1, 8, 14, 26].contains(&(code.parse().unwrap_or(0) & 0xff));
    }
    code.starts_with("28") || code.starts_with("42") || ["3D000", "3F000"].contains(&&*code)
}

/// Whether SQLite says this of a file that it can't open or write, rather than of tables.
pub fn is_of_file(text: &str) -> bool {
    ["unable to open database file", "readonly database", "file is not a database"]
        .iter()
        .any(|words| text.contains(words))
}

/// The text of an error, in one line.
pub fn one_line(error: &Error) -> String {
    let text = match error {
        Error::Database(error) => error.message().to_owned(),
        error => error.to_string(),
    };
    sanitize(&text)
}

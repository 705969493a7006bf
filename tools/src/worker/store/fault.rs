//! What went wrong with the database. Whether a batch or the database is at fault is not read from
//! the error, which every database, trigger and function words in its own way: a probe shows it.

use redis::RedisError;
use seckill_tools::sanitize::sanitize;
use seckill_tools::server::is_untrusted;
use sqlx::Error;
#[cfg(feature = "databases")]
use sqlx::mysql::MySqlDatabaseError;
use sqlx::sqlite::SqliteError;

#[derive(Debug)]
pub enum Fault {
    Failed(String),
    /// Only a person can fix it. Only at the start does that make a difference.
    Wrong(String),
    /// A statement of the shop changed no row.
    Unchanged(String),
    /// Not the database: the server of the streams did not answer.
    Server(RedisError),
}

impl Fault {
    pub fn text(&self) -> String {
        match self {
            Self::Failed(text) | Self::Wrong(text) | Self::Unchanged(text) => text.clone(),
            Self::Server(error) => seckill_tools::server_errors::told(error),
        }
    }

    /// The fault with what it happened at in its text.
    pub fn about(self, what: &str) -> Self {
        match self {
            Self::Failed(text) => Self::Failed(format!("{what}: {text}")),
            Self::Wrong(text) => Self::Wrong(format!("{what}: {text}")),
            other => other,
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let text = one_line(&error);
        if needs_a_person(&error, &text) { Self::Wrong(text) } else { Self::Failed(text) }
    }
}

/// Whether waiting won't help a program that starts: a wrong password, a missing table, a mistake
/// in a statement, a certificate that is not trusted.
fn needs_a_person(error: &Error, text: &str) -> bool {
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
    code.starts_with("28") || code.starts_with("42") || code == "3D000"
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

//! Classifies an error of the database: is the data at fault, or the database?

use sqlx::Error;
#[cfg(feature = "databases")]
use sqlx::mysql::MySqlDatabaseError;
use sqlx::sqlite::SqliteError;

use seckill_tools::server::is_untrusted;

use seckill_tools::sanitize::sanitize;

#[derive(Debug)]
pub enum Fault {
    /// A unique index: another worker was faster, or the data is wrong.
    Duplicate(String),
    /// The data is at fault: every try would fail.
    Data(String),
    /// A statement of the shop changed no row.
    Unchanged(String),
    /// A conflict with another transaction: try again.
    Clash(String),
    /// The database as a whole: down, locked, full.
    Away(String),
    /// The database as a whole, and only a person can fix it: waiting won't help.
    Wrong(String),
}

impl Fault {
    pub fn text(&self) -> &str {
        let (Self::Duplicate(text)
        | Self::Data(text)
        | Self::Unchanged(text)
        | Self::Clash(text)
        | Self::Away(text)
        | Self::Wrong(text)) = self;
        text
    }

    /// The fault with what it happened at in its text.
    pub fn about(self, what: &str) -> Self {
        let text = format!("{what}: {}", self.text());
        match self {
            // The unique index may be the shop's: reading our rows again doesn't help.
            Self::Duplicate(_) | Self::Data(_) => Self::Data(text),
            Self::Unchanged(_) => Self::Unchanged(text),
            Self::Clash(_) => Self::Clash(text),
            Self::Away(_) => Self::Away(text),
            Self::Wrong(_) => Self::Wrong(text),
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let text = one_line(&error);
        let Error::Database(database) = &error else {
            return match error {
                Error::Encode(_) | Error::ColumnDecode { .. } | Error::Decode(_) => {
                    Self::Data(text)
                }
                // The certificate is not trusted, or TLS is required and missing.
                Error::Tls(_) | Error::Configuration(_) => Self::Wrong(text),
                Error::Io(_) if is_untrusted(&text) => Self::Wrong(text),
                _ => Self::Away(text),
            };
        };
        if database.is_unique_violation() {
            return Self::Duplicate(text);
        }
        let code = database.code().unwrap_or_default();
        #[cfg(feature = "databases")]
        if let Some(mysql) = database.try_downcast_ref::<MySqlDatabaseError>() {
            return of_mysql(mysql.number(), text);
        }
        if database.try_downcast_ref::<SqliteError>().is_some() {
            return of_sqlite(code.parse().unwrap_or(0), text);
        }
        of_sql_state(&code, text)
    }
}

/// PostgreSQL: by the class of the code. 22 data exception, 23 integrity constraint, P0 raised by a
/// function, 40 rolled back.
fn of_sql_state(code: &str, text: String) -> Fault {
    match (code.get(..2).unwrap_or_default(), code) {
        (_, "23505") => Fault::Duplicate(text),
        ("22" | "23" | "P0", _) => Fault::Data(text),
        ("40", _) | (_, "55P03") => Fault::Clash(text),
        // Also: no such table or column, or no permission for them.
        ("28" | "42", _) | (_, "3D000") => Fault::Wrong(text),
        _ => Fault::Away(text),
    }
}

/// SQLite: by extended code, whose lowest byte is the primary code.
fn of_sqlite(code: i32, text: String) -> Fault {
    /// No such table or column, or any other error in a statement.
    const ERROR: i32 = 1;
    const BUSY: i32 = 5;
    const LOCKED: i32 = 6;
    const CAN_NOT_OPEN: i32 = 14;
    const NOT_A_DATABASE: i32 = 26;
    const TOO_BIG: i32 = 18;
    const CONSTRAINT: i32 = 19;
    const MISMATCH: i32 = 20;
    match code & 0xff {
        BUSY | LOCKED => Fault::Clash(text),
        ERROR | CAN_NOT_OPEN | NOT_A_DATABASE => Fault::Wrong(text),
        TOO_BIG | CONSTRAINT | MISMATCH => Fault::Data(text),
        _ => Fault::Away(text),
    }
}

/// MySQL and MariaDB: by number.
fn of_mysql(number: u16, text: String) -> Fault {
    match number {
        1022 | 1062 | 1586 => Fault::Duplicate(text),
        // Lock wait time-out, deadlock, changed since it was read.
        1205 | 1213 | 1020 => Fault::Clash(text),
        // Access denied, no such database, table or column, no permission, syntax error.
        1044 | 1045 | 1049 | 1054 | 1064 | 1142 | 1143 | 1146 | 1370 | 1698 => Fault::Wrong(text),
        // Null, out of range, not converted, truncated, no default, foreign keys, checks, signals.
        1048 | 1216 | 1217 | 1264 | 1265 | 1292 | 1364 | 1366 | 1406 | 1451 | 1452 | 1644
        | 1690 | 3819 | 3854 | 4025 | 1977 | 3988 => Fault::Data(text),
        _ => Fault::Away(text),
    }
}

/// The text of an error, in one line.
pub fn one_line(error: &Error) -> String {
    let text = match error {
        Error::Database(error) => error.message().to_owned(),
        error => error.to_string(),
    };
    sanitize(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_data_is_not_to_blame_for_is_never_held_against_it() {
        for state in ["08006", "57P01", "57P03", "53100", "53300", "25006", "XX000", ""] {
            assert!(matches!(of_sql_state(state, String::new()), Fault::Away(_)), "{state}");
        }
        // Full, read-only, input or output, corrupt.
        for code in [13, 8, 10, 266, 11] {
            assert!(matches!(of_sqlite(code, String::new()), Fault::Away(_)), "{code}");
        }
        for number in [1021, 1040, 1053, 1290, 1317, 1836, 2006, 2013] {
            assert!(matches!(of_mysql(number, String::new()), Fault::Away(_)), "{number}");
        }
    }

    #[test]
    fn what_waiting_does_not_help_is_wrong() {
        assert!(matches!(of_sql_state("42P01", String::new()), Fault::Wrong(_)));
        assert!(matches!(of_sql_state("42703", String::new()), Fault::Wrong(_)));
        assert!(matches!(of_sqlite(1, String::new()), Fault::Wrong(_)));
        assert!(matches!(of_mysql(1146, String::new()), Fault::Wrong(_)));
    }

    #[test]
    fn what_the_data_is_to_blame_for_is() {
        for state in ["22001", "22021", "23502", "23514", "P0001"] {
            assert!(matches!(of_sql_state(state, String::new()), Fault::Data(_)), "{state}");
        }
        for code in [18, 275, 787, 1811, 3091] {
            assert!(matches!(of_sqlite(code, String::new()), Fault::Data(_)), "{code}");
        }
        for number in [1406, 1366, 1644, 3819, 4025] {
            assert!(matches!(of_mysql(number, String::new()), Fault::Data(_)), "{number}");
        }
    }

    #[test]
    fn who_was_in_the_way_will_be_gone() {
        assert!(matches!(of_sql_state("40P01", String::new()), Fault::Clash(_)));
        assert!(matches!(of_sqlite(5, String::new()), Fault::Clash(_)));
        assert!(matches!(of_sqlite(517, String::new()), Fault::Clash(_)));
        assert!(matches!(of_mysql(1213, String::new()), Fault::Clash(_)));
        assert!(matches!(of_sql_state("23505", String::new()), Fault::Duplicate(_)));
        assert!(matches!(of_mysql(1062, String::new()), Fault::Duplicate(_)));
    }
}

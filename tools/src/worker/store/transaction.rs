//! A transaction in any of the databases.

use futures_util::StreamExt;
use sqlx::database::HasStatementCache;
#[cfg(feature = "databases")]
use sqlx::mysql::MySqlPool;
#[cfg(feature = "databases")]
use sqlx::postgres::PgPool;
use sqlx::query::Query;
use sqlx::sqlite::SqlitePool;
use sqlx::{
    ColumnIndex, Connection, Database, Decode, Either, Encode, Executor, Sqlite, Transaction, Type,
};
#[cfg(feature = "databases")]
use sqlx::{MySql, Postgres};

use super::prepared::are_lent;
#[cfg(feature = "databases")]
use super::prepared::lends_connections;
use crate::sql::{Arg, Cells, Statement, Values, odd};
use crate::statements::ShopStatement;
use crate::statements::text::SAVEPOINT;

#[derive(Clone, Debug)]
pub enum Pool {
    Sqlite(SqlitePool),
    /// With the statements that begin a transaction.
    #[cfg(feature = "databases")]
    Postgres(PgPool, String),
    #[cfg(feature = "databases")]
    MySql(MySqlPool),
}

pub enum Open {
    Sqlite(Transaction<'static, Sqlite>),
    #[cfg(feature = "databases")]
    Postgres(Transaction<'static, Postgres>),
    #[cfg(feature = "databases")]
    MySql(Transaction<'static, MySql>),
}

/// What a statement of a text has answered: how many rows it changed, and the rows it returned.
#[derive(Debug)]
pub struct Answered {
    pub changed: u64,
    pub rows: Vec<Vec<String>>,
}

/// The same expression for each kind of database.
macro_rules! each {
    ($kind:ident, $of:expr, $inner:ident => $do:expr) => {
        match $of {
            $kind::Sqlite($inner) => $do,
            #[cfg(feature = "databases")]
            $kind::Postgres($inner, ..) => $do,
            #[cfg(feature = "databases")]
            $kind::MySql($inner) => $do,
        }
    };
}

/// At a stricter level, which a shop may have set for all, a payment that another worker has just
/// written would not be seen. Without the second, a plan made while the tables were empty would be
/// cached for long. Without the third, a session that waits for a lock outlives the worker's
/// patience and its connection, and with each further try there is one more. For the transaction
/// alone: a pooler's connection is another client's then.
#[cfg(feature = "databases")]
const BEGIN_POSTGRES: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; \
     SET LOCAL plan_cache_mode = force_custom_plan; \
     SELECT set_config('lock_timeout', '60s', true) WHERE current_setting('lock_timeout') = '0'";

/// In MariaDB's mode ORACLE, `BEGIN` alone is the start of a block of statements.
#[cfg(feature = "databases")]
const BEGIN_MYSQL: &str = "START TRANSACTION";

/// The setting of a session that says which connection of a worker has set it up.
#[cfg(feature = "databases")]
pub const MARK: &str = "seckill_worker.seen";

/// PostgreSQL's errors at the beginning of a transaction in a session that is another connection's,
/// and on a connection whose last transaction has ended so.
const LENT: [&str; 2] = ["22P02", "25P02"];

/// What begins a transaction. As long as statements stay prepared it fails in a session that is not
/// the one where this connection has prepared them.
#[cfg(feature = "databases")]
pub fn begin_postgres() -> String {
    if are_lent() {
        return BEGIN_POSTGRES.to_owned();
    }
    format!(
        "{BEGIN_POSTGRES}; SELECT CAST(CASE current_setting('{MARK}', true)
         WHEN current_setting('application_name') THEN '1' ELSE 'lent' END AS int)"
    )
}

/// Has a transaction not begun because a pooler has lent another session? New connections will do.
pub fn is_lent(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| LENT.contains(&&*code))
}

impl Pool {
    pub async fn begin(&self) -> sqlx::Result<Open> {
        Ok(match self {
            // A transaction that reads first and can't write afterwards would have to start again.
            Self::Sqlite(pool) => Open::Sqlite(pool.begin_with("BEGIN IMMEDIATE").await?),
            #[cfg(feature = "databases")]
            Self::Postgres(pool, begin) => {
                let begun = pool.begin_with(begin.clone()).await;
                if begun.as_ref().is_err_and(is_lent) {
                    lends_connections();
                }
                Open::Postgres(begun?)
            }
            #[cfg(feature = "databases")]
            Self::MySql(pool) => Open::MySql(pool.begin_with(BEGIN_MYSQL).await?),
        })
    }

    /// A transaction that only reads, and takes no lock of writers.
    pub async fn begin_reading(&self) -> sqlx::Result<Open> {
        match self {
            Self::Sqlite(pool) => Ok(Open::Sqlite(pool.begin().await?)),
            #[cfg(feature = "databases")]
            _ => self.begin().await,
        }
    }

    pub async fn close(&self) {
        each!(Self, self, pool => pool.close().await);
    }
}

impl Open {
    /// Returns how many rows it has changed.
    pub async fn execute(&mut self, statement: &Statement<'_>) -> sqlx::Result<u64> {
        each!(Self, self, open => {
            whole(statement).execute(&mut **open).await.map(|done| done.rows_affected())
        })
    }

    /// Has the database check a statement, with the types of its values.
    pub async fn prepare(&mut self, statement: &ShopStatement) -> sqlx::Result<()> {
        match self {
            Self::Sqlite(open) => open.prepare(&statement.sql).await.map(|_| ()),
            #[cfg(feature = "databases")]
            Self::MySql(open) => open.prepare(&statement.sql).await.map(|_| ()),
            #[cfg(feature = "databases")]
            Self::Postgres(open) => {
                let kind = |is_number| match is_number {
                    true => <i64 as Type<Postgres>>::type_info(),
                    false => <str as Type<Postgres>>::type_info(),
                };
                if are_lent() {
                    let kinds =
                        statement.numbers().map(|number| if number { "bigint" } else { "text" });
                    let kinds: Vec<_> = kinds.collect();
                    let kinds = match kinds.is_empty() {
                        true => String::new(),
                        false => format!("({})", kinds.join(", ")),
                    };
                    let name = "seckill_worker_statement";
                    let sql = format!("PREPARE {name} {kinds} AS {}", statement.sql);
                    open.execute(&*sql).await?;
                    return open.execute(&*format!("DEALLOCATE {name}")).await.map(|_| ());
                }
                let kinds: Vec<_> = statement.numbers().map(kind).collect();
                open.prepare_with(&statement.sql, &kinds).await.map(|_| ())
            }
        }
    }

    /// Runs a statement. Returns how many rows it changed, or matched with the new values already
    /// set, or returned.
    pub async fn run(&mut self, sql: &str, args: &[Arg<'_>]) -> sqlx::Result<u64> {
        each!(Self, self, open => {
            let (mut changed, mut returned) = (0, 0);
            let mut answers = Executor::fetch_many(&mut **open, bound(sql, args));
            while let Some(answer) = answers.next().await {
                match answer? {
                    Either::Left(done) => changed += done.rows_affected(),
                    Either::Right(_) => returned += 1,
                }
            }
            Ok(changed.max(returned))
        })
    }

    /// Runs all statements, or none if one is refused. The transaction continues either way.
    pub async fn try_all(
        &mut self,
        statements: &[(&str, &[Arg<'_>])],
    ) -> sqlx::Result<sqlx::Result<()>> {
        each!(Self, self, open => {
            let mut part = open.begin().await?;
            for (sql, args) in statements {
                if let Err(error) = bound(sql, args).execute(&mut *part).await {
                    // If the rollback fails too, nothing can continue: the statement's error is the
                    // reason.
                    return match part.rollback().await {
                        Ok(()) => Ok(Err(error)),
                        Err(_) => Err(error),
                    };
                }
            }
            part.commit().await.map(Ok)
        })
    }

    /// What is read of each row of a [selection](crate::sql::Dialect::selected).
    pub async fn rows<T>(
        &mut self,
        statement: &Statement<'_>,
        mut read: impl FnMut(&mut Values<'_>) -> sqlx::Result<T>,
    ) -> sqlx::Result<Vec<T>> {
        if let Self::Sqlite(_) = self {
            let mut all = Vec::new();
            for [lines] in self.texts(statement).await? {
                let lines: Vec<Line> = serde_json::from_str(&lines).map_err(|_| odd("a text"))?;
                for line in &lines {
                    all.push(read(&mut Values::of(line))?);
                }
            }
            return Ok(all);
        }
        each!(Self, self, open => {
            let rows = whole(statement).fetch_all(&mut **open).await?;
            rows.into_iter().map(|row| read(&mut Values::of(&row))).collect()
        })
    }

    /// Rows of `N` text columns.
    pub async fn texts<const N: usize>(
        &mut self,
        statement: &Statement<'_>,
    ) -> sqlx::Result<Vec<[String; N]>> {
        each!(Self, self, open => {
            let rows = whole(statement).fetch_all(&mut **open).await?;
            let mut texts = Vec::with_capacity(rows.len());
            for row in &rows {
                let (mut values, mut columns) = (Values::of(row), [const { String::new() }; N]);
                for column in &mut columns {
                    values.text()?.clone_into(column);
                }
                texts.push(columns);
            }
            Ok(texts)
        })
    }

    /// The warnings about the last statement, with their numbers; only MySQL and MariaDB tell them.
    pub async fn warnings(&mut self) -> sqlx::Result<Vec<Vec<String>>> {
        match self.results("SHOW WARNINGS").await {
            Ok(mut results) => Ok(results.pop().map(|result| result.rows).unwrap_or_default()),
            Err((_, error)) => Err(error),
        }
    }

    /// Runs the statements of a text, for MySQL and MariaDB. Returns a result for each; or the
    /// error of one and how many were accepted before it.
    pub async fn results(&mut self, text: &str) -> Result<Vec<Answered>, (usize, sqlx::Error)> {
        #[cfg(feature = "databases")]
        if let Self::MySql(open) = self {
            let (mut results, mut rows) = (Vec::new(), Vec::new());
            let mut stream = sqlx::raw_sql(text).fetch_many(&mut **open);
            while let Some(next) = stream.next().await {
                match next {
                    Ok(Either::Left(done)) => {
                        let rows: Vec<_> = std::mem::take(&mut rows);
                        // With RETURNING, MariaDB returns what it changed instead of a count.
                        let changed = done.rows_affected().max(rows.len() as u64);
                        results.push(Answered { changed, rows });
                    }
                    Ok(Either::Right(row)) => rows.push(words(&row)),
                    Err(error) => return Err((results.len(), error)),
                }
            }
            return Ok(results);
        }
        _ = text;
        Ok(Vec::new())
    }

    /// Runs a statement without values, as it stands.
    pub async fn plain(&mut self, sql: &str) -> sqlx::Result<()> {
        each!(Self, self, open => open.execute(sql).await.map(|_| ()))
    }

    /// Marks where `back` goes.
    pub async fn mark(&mut self) -> sqlx::Result<()> {
        self.plain(&format!("SAVEPOINT {SAVEPOINT}")).await
    }

    /// Undoes what was done since the mark.
    pub async fn back(&mut self) -> sqlx::Result<()> {
        self.plain(&format!("ROLLBACK TO SAVEPOINT {SAVEPOINT}")).await
    }

    pub async fn commit(self) -> sqlx::Result<()> {
        each!(Self, self, open => open.commit().await)
    }
}

/// A database, and how it takes the arrays of a statement: only PostgreSQL's have some.
trait Lists: Database + HasStatementCache {
    fn bind<'q>(
        query: Query<'q, Self, Self::Arguments<'q>>,
        _lists: &[Vec<Arg<'q>>],
    ) -> Query<'q, Self, Self::Arguments<'q>> {
        query
    }
}

impl Lists for Sqlite {}

#[cfg(feature = "databases")]
impl Lists for MySql {}

#[cfg(feature = "databases")]
impl Lists for Postgres {
    fn bind<'q>(
        query: Query<'q, Self, Self::Arguments<'q>>,
        lists: &[Vec<Arg<'q>>],
    ) -> Query<'q, Self, Self::Arguments<'q>> {
        lists.iter().fold(query, |query, list| match list.first().is_some_and(Arg::is_number) {
            true => query.bind(list.iter().map(Arg::number).collect::<Vec<_>>()),
            false => query.bind(list.iter().map(Arg::text).collect::<Vec<_>>()),
        })
    }
}

/// A statement with all that it takes.
fn whole<'q, DB: Lists>(statement: &'q Statement<'q>) -> Query<'q, DB, DB::Arguments<'q>>
where
    &'q str: Encode<'q, DB> + Type<DB>,
    Option<&'q str>: Encode<'q, DB> + Type<DB>,
    i64: Encode<'q, DB> + Type<DB>,
    Option<i64>: Encode<'q, DB> + Type<DB>,
{
    DB::bind(bound(&statement.sql, &statement.args), &statement.lists)
}

fn bound<'q, DB: Database + HasStatementCache>(
    sql: &'q str,
    args: &[Arg<'q>],
) -> Query<'q, DB, <DB as Database>::Arguments<'q>>
where
    &'q str: Encode<'q, DB> + Type<DB>,
    Option<&'q str>: Encode<'q, DB> + Type<DB>,
    i64: Encode<'q, DB> + Type<DB>,
    Option<i64>: Encode<'q, DB> + Type<DB>,
{
    let query = sqlx::query(sql).persistent(!are_lent());
    args.iter().fold(query, |query, arg| match *arg {
        Arg::Text(text) => query.bind(text),
        Arg::MaybeText(text) => query.bind(text),
        Arg::Int(number) => query.bind(number),
        Arg::MaybeInt(number) => query.bind(number),
        Arg::Word(word) => query.bind(word),
    })
}

/// MySQL's texts are binary, so all three databases are read as unchecked bytes.
impl<R: sqlx::Row> Cells for R
where
    usize: ColumnIndex<R>,
    for<'r> &'r [u8]: Decode<'r, R::Database>,
{
    fn cell(&self, column: usize) -> sqlx::Result<Option<&str>> {
        let bytes: Option<&[u8]> = self.try_get_unchecked(column)?;
        bytes.map(str::from_utf8).transpose().map_err(|_| odd("a text"))
    }
}

/// A row of SQLite, in the text of all.
#[derive(serde::Deserialize)]
struct Line(Vec<Option<String>>);

impl Cells for Line {
    fn cell(&self, column: usize) -> sqlx::Result<Option<&str>> {
        Ok(self.0.get(column).ok_or_else(|| odd("there"))?.as_deref())
    }
}

/// The columns of a row of a text's result.
#[cfg(feature = "databases")]
fn words(row: &sqlx::mysql::MySqlRow) -> Vec<String> {
    use sqlx::Row;
    let word = |column| row.try_get_unchecked::<Vec<u8>, usize>(column).unwrap_or_default();
    (0..row.len()).map(|column| String::from_utf8_lossy(&word(column)).into_owned()).collect()
}

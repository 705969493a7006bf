//! A transaction in any of the databases.

use crate::order_events::{OrderKey, as_text};
use crate::seen_entries::SeenEntries;
use domain::book::State;
use domain::projection::Known;
#[cfg(feature = "databases")]
use sqlx::mysql::MySqlPool;
#[cfg(feature = "databases")]
use sqlx::postgres::PgPool;
use sqlx::query::Query;
use sqlx::sqlite::SqlitePool;
use sqlx::{
    ColumnIndex, Connection, Database, Decode, Encode, Executor, Sqlite, Transaction, Type,
};
#[cfg(feature = "databases")]
use sqlx::{MySql, Postgres};

use super::statement::{Arg, Statement};
use crate::batch::{Row, Sole};
use crate::statements::ShopStatement;
#[cfg(feature = "databases")]
use seckill_tools::sanitize::sanitize;

#[derive(Clone, Debug)]
pub enum Pool {
    Sqlite(SqlitePool),
    #[cfg(feature = "databases")]
    Postgres(PgPool),
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

/// The same expression for each kind of database.
macro_rules! each {
    ($kind:ident, $of:expr, $inner:ident => $do:expr) => {
        match $of {
            $kind::Sqlite($inner) => $do,
            #[cfg(feature = "databases")]
            $kind::Postgres($inner) => $do,
            #[cfg(feature = "databases")]
            $kind::MySql($inner) => $do,
        }
    };
}

impl Pool {
    pub async fn begin(&self) -> sqlx::Result<Open> {
        Ok(match self {
            // A transaction that reads first and can't write afterwards would have to start again.
            Self::Sqlite(pool) => Open::Sqlite(pool.begin_with("BEGIN IMMEDIATE").await?),
            #[cfg(feature = "databases")]
            Self::Postgres(pool) => Open::Postgres(pool.begin().await?),
            #[cfg(feature = "databases")]
            Self::MySql(pool) => Open::MySql(pool.begin().await?),
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
    pub async fn execute(&mut self, statement: &Statement<'_>) -> sqlx::Result<()> {
        self.run(&statement.sql, &statement.args).await.map(|_| ())
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
                let kinds: Vec<_> = statement.numbers().map(kind).collect();
                open.prepare_with(&statement.sql, &kinds).await.map(|_| ())
            }
        }
    }

    /// Runs a statement. Returns how many rows it changed, or matched with the new values already
    /// set.
    pub async fn run(&mut self, sql: &str, args: &[Arg<'_>]) -> sqlx::Result<u64> {
        each!(Self, self, open => {
            bound(sql, args).execute(&mut **open).await.map(|done| done.rows_affected())
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

    /// The rows of `select_rows`.
    pub async fn rows(&mut self, statement: &Statement<'_>) -> sqlx::Result<Vec<Row>> {
        each!(Self, self, open => {
            let rows = bound(&statement.sql, &statement.args).fetch_all(&mut **open).await?;
            rows.iter().map(read_row).collect()
        })
    }

    /// Rows of `N` text columns.
    pub async fn texts<const N: usize>(
        &mut self,
        statement: &Statement<'_>,
    ) -> sqlx::Result<Vec<[String; N]>> {
        each!(Self, self, open => {
            let rows = bound(&statement.sql, &statement.args).fetch_all(&mut **open).await?;
            let mut texts = Vec::with_capacity(rows.len());
            for row in &rows {
                let mut columns = [const { String::new() }; N];
                for (number, column) in columns.iter_mut().enumerate() {
                    *column = text(row, number)?;
                }
                texts.push(columns);
            }
            Ok(texts)
        })
    }

    /// The tables of the database whose engine has no transactions, with the engine.
    pub async fn without_transactions(&mut self) -> sqlx::Result<Vec<[String; 2]>> {
        match self {
            #[cfg(feature = "databases")]
            Self::MySql(open) => {
                let tables = "SELECT CAST(t.table_name AS BINARY), CAST(t.engine AS BINARY) \
                              FROM information_schema.tables t JOIN information_schema.engines e \
                              ON e.engine = t.engine WHERE t.table_schema = DATABASE() AND \
                              COALESCE(e.transactions, 'NO') <> 'YES'";
                let rows = sqlx::raw_sql(tables).fetch_all(&mut **open).await?;
                rows.iter().map(|row| Ok([text(row, 0)?, text(row, 1)?])).collect()
            }
            _ => Ok(Vec::new()),
        }
    }

    /// What the database says if the last statement has stored another value than it was given.
    pub async fn other_value(&mut self) -> sqlx::Result<Option<String>> {
        match self {
            #[cfg(feature = "databases")]
            Self::MySql(open) => {
                // Out of range, truncated, not converted.
                const OTHER: [&str; 4] = ["1264", "1265", "1292", "1366"];
                let rows = sqlx::raw_sql("SHOW WARNINGS").fetch_all(&mut **open).await?;
                for row in &rows {
                    if OTHER.contains(&&*text(row, 1)?) {
                        return text(row, 2).map(|warning| Some(sanitize(&warning)));
                    }
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    pub async fn commit(self) -> sqlx::Result<()> {
        each!(Self, self, open => open.commit().await)
    }
}

fn bound<'q, DB: Database>(
    sql: &'q str,
    args: &[Arg<'q>],
) -> Query<'q, DB, <DB as Database>::Arguments<'q>>
where
    &'q str: Encode<'q, DB> + Type<DB>,
    Option<&'q str>: Encode<'q, DB> + Type<DB>,
    i64: Encode<'q, DB> + Type<DB>,
    Option<i64>: Encode<'q, DB> + Type<DB>,
{
    let query = sqlx::query(sql);
    args.iter().fold(query, |query, arg| match *arg {
        Arg::Text(text) => query.bind(text),
        Arg::MaybeText(text) => query.bind(text),
        Arg::Int(number) => query.bind(number),
        Arg::MaybeInt(number) => query.bind(number),
    })
}

fn read_row<R: sqlx::Row>(row: &R) -> sqlx::Result<Row>
where
    usize: ColumnIndex<R>,
    for<'r> Vec<u8>: Decode<'r, R::Database>,
    for<'r> Option<Vec<u8>>: Decode<'r, R::Database>,
    for<'r> i64: Decode<'r, R::Database>,
    for<'r> Option<i64>: Decode<'r, R::Database>,
{
    let [only_user, reference] = [7, 11].map(|column| row.try_get_unchecked(column));
    let (only_user, reference): (Option<Vec<u8>>, Option<Vec<u8>>) = (only_user?, reference?);
    // Any other word counts as sold.
    let state = State::parse(text(row, 5)?.as_bytes()).unwrap_or(State::Sold);
    let reference = reference.map(|bytes| as_text(&bytes));
    let mut known = Known::new(state, None, row.try_get_unchecked(4)?, reference);
    let deadline_ms: Option<i64> = row.try_get_unchecked(6)?;
    let (seen, confirmed_id) = (SeenEntries::parse(&text(row, 8)?, &text(row, 9)?), text(row, 10)?);
    let is_order = seen.last_order().is_some();
    if !state.is_live() && !confirmed_id.is_empty() {
        known.was_sold = Some(true);
    } else if !state.is_live() && is_order {
        known.was_sold = Some(deadline_ms.is_none());
    }
    let disputed: Option<Vec<u8>> = row.try_get_unchecked(14)?;
    let disputed = disputed.map(|said| as_text(&said)).unwrap_or_default();
    let disputed_ms: Option<i64> = row.try_get_unchecked(15)?;
    Ok(Row {
        key: OrderKey { voucher: text(row, 0)?, sale: text(row, 1)?, order: text(row, 2)? },
        user: text(row, 3)?,
        known,
        deadline_ms,
        sole: if only_user.is_some() { Sole::Yes } else { Sole::No },
        seen,
        confirmed_id,
        is_settled: !disputed.is_empty() && disputed_ms.is_none(),
        disputed,
    })
}

/// A text column. MySQL's are binary, so all three databases are read as unchecked bytes.
fn text<R: sqlx::Row>(row: &R, column: usize) -> sqlx::Result<String>
where
    usize: ColumnIndex<R>,
    for<'r> Vec<u8>: Decode<'r, R::Database>,
{
    let bytes: Vec<u8> = row.try_get_unchecked(column)?;
    String::from_utf8(bytes).map_err(|error| sqlx::Error::Decode(error.into()))
}

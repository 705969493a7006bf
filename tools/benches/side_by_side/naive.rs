//! The usual consumer of the scripts: one entry at a time, one transaction per entry.
//!
//! The steps of most consumers of `stream.orders`: read one entry, check that the user has no
//! order, deduct a unit from the stock in the table unless it is 0, insert the order, commit,
//! acknowledge. Without the lock per user that many of them also take.

use std::time::{Duration, Instant};

use sqlx::{AnyConnection, Connection, Executor};

use crate::Result;
use crate::databases::{Database, Kind};
use crate::stand::Stand;

const GROUP: &str = "g1";

const TABLES: [&str; 3] = [
    "CREATE TABLE tb_seckill_voucher (voucher_id VARCHAR(64) PRIMARY KEY, stock BIGINT NOT NULL, \
     total BIGINT NOT NULL)",
    "CREATE TABLE tb_voucher_order (id VARCHAR(64) PRIMARY KEY, user_id VARCHAR(64) NOT NULL, \
     voucher_id VARCHAR(64) NOT NULL, status INT NOT NULL)",
    "CREATE INDEX tb_voucher_order_user ON tb_voucher_order (user_id, voucher_id)",
];

async fn connect(database: &Database) -> Result<AnyConnection> {
    let mut connection = AnyConnection::connect(&database.url_to_make()).await?;
    // As durable as the worker: a commit is on the disk. PostgreSQL does that by default.
    if database.kind == Kind::Sqlite {
        connection.execute("PRAGMA journal_mode = WAL").await?;
        connection.execute("PRAGMA synchronous = FULL").await?;
    }
    Ok(connection)
}

pub fn make_tables(database: &Database, voucher: &str, units: usize) {
    let stocked = format!("INSERT INTO tb_seckill_voucher VALUES ('{voucher}', {units}, {units})");
    // The first connection creates a missing file.
    database.held(TABLES[0]).end(TABLES[1]);
    [TABLES[2], &stocked].iter().for_each(|statement| _ = database.rows(statement));
}

/// Reads the stream from its start to its end; how long that takes.
pub fn drain(stand: &Stand, database: &Database) -> Result<Duration> {
    let mut redis = redis::Client::open(stand.server.address())?.get_connection()?;
    let mut group = redis::cmd("XGROUP");
    group.arg("CREATE").arg("stream.orders").arg(GROUP).arg("0").query::<()>(&mut redis)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut connection = connect(database).await?;
        let started = Instant::now();
        work(&mut redis, &mut connection).await?;
        Ok(started.elapsed())
    })
}

/// A statement with the placeholders of the database.
fn placed(database: &AnyConnection, sql: &str) -> String {
    match database.backend_name() {
        "MySQL" => ["$1", "$2", "$3"].iter().fold(sql.to_owned(), |sql, one| sql.replace(one, "?")),
        _ => sql.to_owned(),
    }
}

async fn work(redis: &mut redis::Connection, database: &mut AnyConnection) -> Result<()> {
    let [ordered, taken, insert] = [
        "SELECT COUNT(*) FROM tb_voucher_order WHERE user_id = $1 AND voucher_id = $2",
        "UPDATE tb_seckill_voucher SET stock = stock - 1 WHERE voucher_id = $1 AND stock > 0",
        "INSERT INTO tb_voucher_order VALUES ($1, $2, $3, 1)",
    ]
    .map(|sql| placed(database, sql));
    while let Some((entry, [user, voucher, order])) = next(redis)? {
        let mut transaction = database.begin().await?;
        let ordered = sqlx::query_scalar::<_, i64>(&ordered).bind(&user).bind(&voucher);
        let ordered = ordered.fetch_one(&mut *transaction).await?;
        if ordered == 0 {
            let taken = sqlx::query(&taken).bind(&voucher).execute(&mut *transaction).await?;
            if taken.rows_affected() == 1 {
                let inserted = sqlx::query(&insert).bind(order).bind(user).bind(voucher);
                inserted.execute(&mut *transaction).await?;
            }
        }
        transaction.commit().await?;
        redis::cmd("XACK").arg("stream.orders").arg(GROUP).arg(entry).query::<()>(redis)?;
    }
    Ok(())
}

/// The next entry's id with user, voucher and order id, none at the end of the stream.
fn next(redis: &mut redis::Connection) -> Result<Option<(String, [String; 3])>> {
    let mut read = redis::cmd("XREADGROUP");
    read.arg("GROUP").arg(GROUP).arg("c1").arg("COUNT").arg(1);
    let read = read.arg("STREAMS").arg("stream.orders").arg(">");
    let reply: redis::streams::StreamReadReply = read.query(redis)?;
    let Some(entry) = reply.keys.into_iter().flat_map(|key| key.ids).next() else {
        return Ok(None);
    };
    let field = |name: &str| entry.get::<String>(name).ok_or("an entry that is no order");
    Ok(Some((entry.id.clone(), [field("userId")?, field("voucherId")?, field("id")?])))
}

//! One turn of a consumer: writes orders into a stream, and counts and times the resulting rows.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sqlx::Row;
use tokio::runtime::Runtime;

use crate::databases::{Database, Kind};
use crate::harness::Server;
use crate::{Result, naive};

const VOUCHER: &str = "phone";
/// Tries that are sent before their replies are read.
const PIPELINE: usize = 1_000;

/// Orders of one turn.
#[derive(Clone, Copy)]
pub struct Size {
    pub naive: usize,
    pub worker: usize,
}

pub const WHOLE: Size = Size { naive: 5_000, worker: 100_000 };
pub const SMOKE: Size = Size { naive: 300, worker: 3_000 };

/// The results with one database.
pub struct Line {
    pub database: String,
    /// The medians of the other consumer, of the worker, and of the worker with the statements of
    /// the other consumer in addition to its own.
    pub orders_per_second: [f64; 3],
}

/// None, and reported as left out, if the database is not to be had.
pub fn measure(kind: Kind, rounds: u32, size: Size) -> Result<Option<Line>> {
    let mut values = [const { Vec::new() }; 3];
    // Its server runs for all turns; each turn has its own database.
    let Some(first) = Database::durable(kind) else { return Ok(None) };
    let name = name_of(&first)?;
    for _ in 0..rounds {
        for (place, values) in values.iter_mut().enumerate() {
            let Some(database) = Database::durable(kind) else { return Ok(None) };
            let (orders, spent) = match place {
                0 => (size.naive, naive_turn(&database, size.naive)?),
                _ => (size.worker, worker_turn(&database, size.worker, place == 2)?),
            };
            values.push(orders as f64 / spent.as_secs_f64());
        }
    }
    Ok(Some(Line { database: name, orders_per_second: values.map(median) }))
}

/// The first consumer's work for each order. The condition on the stock must match a row.
const STATEMENTS: &str = r#"on_sold = [
    "INSERT INTO tb_voucher_order VALUES (:order_id, :user_id, :voucher_id)",
    """UPDATE tb_seckill_voucher SET stock = stock - :units
       WHERE voucher_id = :voucher_id AND stock >= :units""",
]
"#;

/// A new server, and a connection to it.
fn server() -> Result<(Server, redis::Connection)> {
    let server = Server::with().config("appendonly yes").config("appendfsync everysec").start();
    let redis = redis::Client::open(server.address())?.get_connection()?;
    Ok((server, redis))
}

fn naive_turn(to: &Database, orders: usize) -> Result<Duration> {
    let (_server, mut redis) = server()?;
    let redis = &mut redis;
    fill(redis, orders)?;
    let mut group = redis::cmd("XGROUP");
    group.arg("CREATE").arg("stream.orders").arg(naive::GROUP).arg("0").query::<()>(redis)?;
    let runtime = runtime()?;
    runtime.block_on(async {
        let mut connection = naive::connect(&to.url_to_make()).await?;
        naive::make_tables(&mut connection, VOUCHER, orders as i64).await?;
        let started = Instant::now();
        naive::drain(redis, &mut connection).await?;
        let spent = started.elapsed();
        naive::check(&mut connection, orders as i64).await?;
        Ok(spent)
    })
}

/// Measures the worker's process, from its start to its end.
fn worker_turn(database: &Database, orders: usize, has_statements: bool) -> Result<Duration> {
    let (server, mut redis) = server()?;
    let runtime = runtime()?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_seckill-worker"));
    command.arg("--redis").arg(format!("redis+unix://{}", server.dir().join("socket").display()));
    command.args(["--database", &database.url, "--once", "--quiet"]);
    if has_statements {
        let file = server.dir().join("statements.toml");
        std::fs::write(&file, STATEMENTS)?;
        command.arg("--statements").arg(file);
        runtime.block_on(async {
            let mut connection = naive::connect(&database.url_to_make()).await?;
            naive::make_tables(&mut connection, VOUCHER, orders as i64).await
        })?;
    }
    let mut run = || -> Result<Duration> {
        let started = Instant::now();
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
        let spent = started.elapsed();
        if status.success() { Ok(spent) } else { Err(format!("seckill-worker: {status}").into()) }
    };
    run()?; // makes the tables
    fill(&mut redis, orders)?;
    let spent = run()?;
    runtime.block_on(async {
        let mut connection = naive::connect(&database.url).await?;
        let rows = naive::count(&mut connection, "SELECT COUNT(*) FROM seckill_orders").await?;
        let units = "SELECT units FROM seckill_voucher_sales";
        let units = naive::count(&mut connection, units).await?;
        if (rows, units) != (orders as i64, orders as i64) {
            return Err(format!("{rows} rows, {units} units of {orders} orders").into());
        }
        if has_statements {
            naive::check(&mut connection, orders as i64).await?;
        }
        Ok(spent)
    })
}

/// Sells to this many users.
fn fill(redis: &mut redis::Connection, orders: usize) -> Result<()> {
    redis::cmd("SET").arg("seckill:stock:phone").arg(orders).query::<()>(redis)?;
    let numbers: Vec<usize> = (0..orders).collect();
    for numbers in numbers.chunks(PIPELINE) {
        let mut pipeline = redis::pipe();
        for number in numbers {
            let (user, id) = (format!("user{number}"), format!("{}", 1_000_000 + number));
            pipeline.cmd("SECKILL.TRY").arg(VOUCHER).arg(user).arg(id);
        }
        let outcomes: Vec<i64> = pipeline.query(redis)?;
        if outcomes.iter().any(|outcome| *outcome != 0) {
            return Err("a try was not accepted".into());
        }
    }
    Ok(())
}

fn name_of(database: &Database) -> Result<String> {
    let (name, query) = match database.kind {
        Kind::Sqlite => ("SQLite", "SELECT sqlite_version()"),
        Kind::Postgres => ("PostgreSQL", "SHOW server_version"),
        Kind::MariaDb => ("MariaDB", "SELECT VERSION()"),
        Kind::MySql => ("MySQL", "SELECT VERSION()"),
    };
    let version: String = runtime()?.block_on(async {
        let mut connection = naive::connect(&database.url_to_make()).await?;
        let row = sqlx::query(query).fetch_one(&mut connection).await?;
        Ok::<_, Box<dyn std::error::Error>>(row.get(0))
    })?;
    // The name of the distribution follows the number.
    Ok(format!("{name} {}", version.split([' ', '-']).next().unwrap_or_default()))
}

fn runtime() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
}

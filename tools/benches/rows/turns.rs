//! One turn of a consumer: writes orders into a stream, and counts and times the resulting rows.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sqlx::Row;
use tokio::runtime::Runtime;

use crate::databases::{Database, Kind};
use crate::harness::Server;
use crate::{Result, naive, network};

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

/// One way of working through the orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    Naive,
    Worker,
    /// With the statements of the first consumer in addition to the worker's own.
    Statements,
    /// The same for a managed voucher: orders are held and then confirmed.
    Managed,
    /// `Statements` by two workers.
    Two,
    /// `Statements` and `Managed` with a network between worker and database.
    Network,
    ManagedNetwork,
}

impl Turn {
    pub const ALL: [Self; 7] = [
        Self::Naive,
        Self::Worker,
        Self::Statements,
        Self::Managed,
        Self::Two,
        Self::Network,
        Self::ManagedNetwork,
    ];

    fn has_network(self) -> bool {
        matches!(self, Self::Network | Self::ManagedNetwork)
    }

    fn is_managed(self) -> bool {
        matches!(self, Self::Managed | Self::ManagedNetwork)
    }

    /// A file has one writer, and no network.
    fn is_of(self, kind: Kind) -> bool {
        kind != Kind::Sqlite || !(self.has_network() || self == Self::Two)
    }
}

/// The results with one database.
pub struct Line {
    pub database: String,
    orders_per_second: Vec<(Turn, f64)>,
}

impl Line {
    /// The median, none if the database doesn't take this turn.
    pub fn median(&self, turn: Turn) -> Option<f64> {
        self.orders_per_second.iter().find(|(of, _)| *of == turn).map(|(_, median)| *median)
    }
}

/// None, and reported as left out, if the database is not to be had.
pub fn measure(kind: Kind, rounds: u32, size: Size, worker: &Path) -> Result<Option<Line>> {
    let turns: Vec<Turn> = Turn::ALL.into_iter().filter(|turn| turn.is_of(kind)).collect();
    let mut values = vec![Vec::new(); turns.len()];
    // Its server runs for all turns; each turn has its own database.
    let Some(first) = Database::durable(kind) else { return Ok(None) };
    let name = name_of(&first)?;
    for _ in 0..rounds {
        for (turn, values) in turns.iter().zip(&mut values) {
            let Some(database) = Database::durable(kind) else { return Ok(None) };
            let (orders, spent) = match turn {
                Turn::Naive => (size.naive, naive_turn(&database, size.naive)?),
                _ => (size.worker, worker_turn(worker, &database, size.worker, *turn)?),
            };
            values.push(orders as f64 / spent.as_secs_f64());
        }
    }
    let orders_per_second = turns.into_iter().zip(values.into_iter().map(median)).collect();
    Ok(Some(Line { database: name, orders_per_second }))
}

/// The first consumer's work for each order. The condition on the stock must match a row.
const STATEMENTS: &str = r#"[
    "INSERT INTO tb_voucher_order VALUES (:order_id, :user_id, :voucher_id, 1)",
    """UPDATE tb_seckill_voucher SET stock = stock - :units
       WHERE voucher_id = :voucher_id AND stock >= :units""",
]"#;
const CONFIRMED: &str = r#"["UPDATE tb_voucher_order SET status = 2 WHERE id = :order_id"]"#;

/// A new server, and a connection to it.
fn server() -> Result<(Server, redis::Connection)> {
    let server = Server::with().config("appendonly yes").config("appendfsync everysec").start();
    let redis = redis::Client::open(server.address())?.get_connection()?;
    Ok((server, redis))
}

fn naive_turn(to: &Database, orders: usize) -> Result<Duration> {
    let (_server, mut redis) = server()?;
    let redis = &mut redis;
    fill(redis, orders, false)?;
    let mut group = redis::cmd("XGROUP");
    group.arg("CREATE").arg("stream.orders").arg(naive::GROUP).arg("0").query::<()>(redis)?;
    let runtime = runtime()?;
    runtime.block_on(async {
        let mut connection = naive::connect(&to.url_to_make()).await?;
        naive::make_tables(&mut connection, VOUCHER, orders as i64).await?;
        let started = Instant::now();
        naive::drain(redis, &mut connection).await?;
        let spent = started.elapsed();
        naive::check(&mut connection, orders as i64, 1).await?;
        Ok(spent)
    })
}

/// Measures the processes of the workers, from their start to their end.
fn worker_turn(worker: &Path, database: &Database, orders: usize, turn: Turn) -> Result<Duration> {
    let (server, mut redis) = server()?;
    let runtime = runtime()?;
    let has_statements = turn != Turn::Worker;
    let url = if turn.has_network() { over_network(database)? } else { database.url.clone() };
    let mut command = Command::new(worker);
    command.arg("--redis").arg(format!("redis+unix://{}", server.dir().join("socket").display()));
    command.args(["--database", &url, "--once", "--quiet"]);
    if has_statements {
        let file = server.dir().join("statements.toml");
        let statements =
            format!("on_sold = {STATEMENTS}\non_held = {STATEMENTS}\non_confirmed = {CONFIRMED}\n");
        std::fs::write(&file, statements)?;
        command.arg("--statements").arg(file);
        runtime.block_on(async {
            let mut connection = naive::connect(&database.url_to_make()).await?;
            naive::make_tables(&mut connection, VOUCHER, orders as i64).await
        })?;
    }
    let mut run = |workers: usize| -> Result<Duration> {
        let started = Instant::now();
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let children: Vec<Child> =
            (0..workers).map(|_| command.spawn()).collect::<std::io::Result<_>>()?;
        for mut child in children {
            let status = child.wait()?;
            if !status.success() {
                return Err(format!("seckill-worker: {status}").into());
            }
        }
        Ok(started.elapsed())
    };
    run(1)?; // makes the tables
    fill(&mut redis, orders, turn.is_managed())?;
    let spent = run(if turn == Turn::Two { 2 } else { 1 })?;
    runtime.block_on(async {
        let mut connection = naive::connect(&database.url).await?;
        let rows = "SELECT COUNT(*) FROM seckill_orders WHERE state = 'sold'";
        let rows = naive::count(&mut connection, rows).await?;
        let units = "SELECT units FROM seckill_voucher_sales";
        let units = naive::count(&mut connection, units).await?;
        if (rows, units) != (orders as i64, orders as i64) {
            return Err(format!("{rows} rows, {units} units of {orders} orders").into());
        }
        if has_statements {
            let status = if turn.is_managed() { 2 } else { 1 };
            naive::check(&mut connection, orders as i64, status).await?;
        }
        Ok(spent)
    })
}

/// The URL of a database behind a proxy.
fn over_network(database: &Database) -> Result<String> {
    let server = database.server.as_ref().ok_or("a file has no network")?;
    let port = network::to(server.socket())?;
    let (start, rest) = database.url.split_once("localhost").ok_or("a URL without a host")?;
    let name = rest.split_once('?').map_or(rest, |(name, _)| name);
    let options = if database.kind.is_mysql() { "?ssl-mode=DISABLED" } else { "" };
    Ok(format!("{start}127.0.0.1:{port}{name}{options}"))
}

/// Sells to this many users, who pay if the voucher is managed.
fn fill(redis: &mut redis::Connection, orders: usize, is_managed: bool) -> Result<()> {
    let commands: &[&str] = match is_managed {
        true => {
            let mut create = redis::cmd("SECKILL.CREATE");
            create.arg(VOUCHER).arg(orders).arg("HOLD").arg(600_000).query::<()>(redis)?;
            &["SECKILL.TRY", "SECKILL.CONFIRM"]
        }
        false => {
            redis::cmd("SET").arg("seckill:stock:phone").arg(orders).query::<()>(redis)?;
            &["SECKILL.TRY"]
        }
    };
    for command in commands {
        run_for_all(redis, command, orders)?;
    }
    Ok(())
}

fn run_for_all(redis: &mut redis::Connection, command: &str, orders: usize) -> Result<()> {
    let numbers: Vec<usize> = (0..orders).collect();
    for numbers in numbers.chunks(PIPELINE) {
        let mut pipeline = redis::pipe();
        for number in numbers {
            let (user, id) = (format!("user{number}"), format!("{}", 1_000_000 + number));
            pipeline.cmd(command).arg(VOUCHER).arg(user).arg(id);
        }
        let outcomes: Vec<i64> = pipeline.query(redis)?;
        let wanted = i64::from(command == "SECKILL.CONFIRM");
        if outcomes.iter().any(|outcome| *outcome != wanted) {
            return Err(format!("a {command} was not accepted").into());
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

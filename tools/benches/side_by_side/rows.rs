//! Orders per second from the stream to committed rows, compared with a consumer that handles one
//! entry per transaction, as consumers of seckill.lua do. Each turn has a new server and an empty
//! database, and the resulting rows are counted.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::databases::{Database, Kind};
use crate::managed::{self, Sale};
use crate::options::Options;
use crate::stand::Stand;
use crate::table::{Table, median};
use crate::{Result, naive};

const NAIVE: &str = "one entry per transaction";
const WORKER: &str = "seckill-worker";
const STATEMENTS: &str = "with statements";
const CONFIRMED: &str = "confirmed";

/// A way of working through the orders: its column, and whether the voucher is managed.
const TURNS: [(&str, bool); 4] =
    [(NAIVE, false), (WORKER, false), (STATEMENTS, false), (CONFIRMED, true)];

pub fn measure(options: &Options) -> Result<Vec<Table>> {
    let mut table = Table::new("Orders per second", "", &[(WORKER, NAIVE), (STATEMENTS, NAIVE)]);
    for kind in [Kind::Sqlite, Kind::Postgres, Kind::MariaDb, Kind::MySql] {
        // Its server runs for all turns; each turn has its own database. What can't be had is
        // reported as left out.
        let Some(_first) = Database::durable(kind) else { continue };
        let (mut name, mut values) = (String::new(), vec![Vec::new(); TURNS.len()]);
        for _ in 0..options.rounds_of_databases() {
            for (turn, values) in TURNS.iter().zip(&mut values) {
                let database = Database::durable(kind).ok_or("the database is gone")?;
                let orders = if turn.0 == NAIVE {
                    options.of(5_000, 300)
                } else {
                    options.of(100_000, 3_000)
                };
                values.push(orders as f64 / take(turn, &database, orders, options)?.as_secs_f64());
                name = name_of(&database);
            }
        }
        let columns = TURNS.iter().map(|turn| turn.0);
        table.push(name, columns.zip(values.into_iter().map(median)).collect());
    }
    Ok(vec![table])
}

/// The first consumer's work for each order. The condition on the stock must match a row.
const STATEMENTS_EACH: &str = r#"[
    "INSERT INTO tb_voucher_order VALUES (:order_id, :user_id, :voucher_id, 1)",
    """UPDATE tb_seckill_voucher SET stock = stock - :units
       WHERE voucher_id = :voucher_id AND stock >= :units""",
]"#;
const PAID: &str = r#"["UPDATE tb_voucher_order SET status = 2 WHERE id = :order_id"]"#;

/// One turn: how long the consumer takes, or the process of the worker from its start to its end.
fn take(
    &(column, is_managed): &(&str, bool),
    database: &Database,
    orders: usize,
    options: &Options,
) -> Result<Duration> {
    let kind = if is_managed { managed::Kind::Held } else { managed::Kind::Unmanaged };
    let sale = Sale { voucher: 8, kind };
    let mut stand = Stand::new(true)?;
    sale.open(&mut stand, orders)?;
    let has_shop = column != WORKER;
    if has_shop {
        naive::make_tables(database, &sale.voucher.to_string(), orders);
    }
    if column == NAIVE {
        sale.sell(&mut stand, orders)?;
        let spent = naive::drain(&stand, database)?;
        check(database, orders, "tb_voucher_order WHERE status = 1", LEFT)?;
        return Ok(spent);
    }
    let mut command = Command::new(&options.worker);
    command.arg("--redis").arg(format!("redis+unix://{}", stand.socket.display()));
    command.args(["--database", &database.url, "--once", "--quiet"]);
    if has_shop {
        let file = stand.socket.with_file_name("statements.toml");
        let lists = [("sold", STATEMENTS_EACH), ("held", STATEMENTS_EACH), ("confirmed", PAID)];
        let lists = lists.map(|(when, list)| format!("on_{when} = {list}\n"));
        std::fs::write(&file, lists.concat())?;
        command.arg("--statements").arg(file);
    }
    run(&mut command)?; // makes the tables
    sale.sell(&mut stand, orders)?;
    if is_managed {
        stand.send(&sale.load(&["SECKILL.CONFIRM".to_owned()], 0..orders, ":1\r\n"))?;
    }
    let spent = run(&mut command)?;
    let (sold, units) = ("seckill_orders WHERE state = 'sold'", "units FROM seckill_voucher_sales");
    check(database, orders, sold, units)?;
    if has_shop {
        let status = if is_managed { 2 } else { 1 };
        check(database, orders, &format!("tb_voucher_order WHERE status = {status}"), LEFT)?;
    }
    Ok(spent)
}

/// What the shop has sold, as its table of stocks says.
const LEFT: &str = "total - stock FROM tb_seckill_voucher";

/// Checks that there are so many rows, and so many units.
fn check(database: &Database, orders: usize, rows: &str, units: &str) -> Result<()> {
    let (column, rest) = units.split_once(" FROM ").ok_or("a column FROM a table")?;
    let rows = database.numbers(["COUNT(*)"], &format!("FROM {rows}"));
    let units = database.numbers([column], &format!("FROM {rest}"));
    let wanted = [[orders as i64]];
    match rows == wanted && units == wanted {
        true => Ok(()),
        false => Err(format!("{rows:?} rows, {units:?} units of {orders} orders").into()),
    }
}

fn run(command: &mut Command) -> Result<Duration> {
    let started = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    match status.success() {
        true => Ok(started.elapsed()),
        false => Err(format!("seckill-worker: {status}").into()),
    }
}

fn name_of(database: &Database) -> String {
    let (name, version) = match database.kind {
        Kind::Sqlite => ("SQLite", "sqlite_version()"),
        Kind::Postgres => ("PostgreSQL", "current_setting('server_version')"),
        Kind::MariaDb => ("MariaDB", "VERSION()"),
        Kind::MySql => ("MySQL", "VERSION()"),
    };
    let version = &database.texts([version], "")[0][0];
    // The name of the distribution follows the number.
    format!("{name} {}", version.split([' ', '-']).next().unwrap_or_default())
}

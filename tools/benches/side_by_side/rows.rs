//! Orders per second from the stream to committed rows, compared with a consumer that handles one
//! entry per transaction, as consumers of seckill.lua do. Each turn has a new server and an empty
//! database, and the resulting rows are counted.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::databases::{Database, Kind};
use crate::managed::{self, Sale};
use crate::options::Size;
use crate::stand::Stand;
use crate::table::{Table, median};
use crate::{Result, naive, network};

pub const TITLE: &str = "Orders per second";
pub const NAIVE: &str = "one entry per transaction";
pub const WORKER: &str = "seckill-worker";
pub const STATEMENTS: &str = "with statements";
pub const CONFIRMED: &str = "confirmed";
pub const NETWORK: &str = "network";
pub const NETWORK_CONFIRMED: &str = "network, confirmed";
const TWO: &str = "two workers";

/// A way of working through the orders: its column, how many workers, whether the voucher is
/// managed, and whether there is a network in between. A file has one writer, and no network: the
/// last ones are not for SQLite.
const TURNS: [(&str, usize, bool, bool); 7] = [
    (NAIVE, 0, false, false),
    (WORKER, 1, false, false),
    (STATEMENTS, 1, false, false),
    (CONFIRMED, 1, true, false),
    (TWO, 2, false, false),
    (NETWORK, 1, false, true),
    (NETWORK_CONFIRMED, 1, true, true),
];
const OF_SQLITE: usize = 4;

pub fn measure(size: &Size) -> Result<Vec<Table>> {
    let ratios = &[
        (WORKER, NAIVE),
        (STATEMENTS, NAIVE),
        (NETWORK, STATEMENTS),
        (NETWORK_CONFIRMED, CONFIRMED),
    ];
    let mut table = Table::new(TITLE, "", ratios);
    for kind in [Kind::Sqlite, Kind::Postgres, Kind::MariaDb, Kind::MySql] {
        // Its server runs for all turns; each turn has its own database. What can't be had is
        // reported as left out.
        let Some(_first) = Database::durable(kind) else { continue };
        let turns = &TURNS[..if kind == Kind::Sqlite { OF_SQLITE } else { TURNS.len() }];
        let (mut name, mut values) = (String::new(), vec![Vec::new(); turns.len()]);
        for _ in 0..size.long_rounds {
            for (turn, values) in turns.iter().zip(&mut values) {
                let database = Database::durable(kind).ok_or("the database is gone")?;
                let orders = size.rows[usize::from(turn.0 != NAIVE)];
                values.push(orders as f64 / take(turn, &database, orders, size)?.as_secs_f64());
                name = name_of(&database);
            }
        }
        let columns = turns.iter().map(|turn| turn.0);
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

/// One turn: how long the consumer takes, or the processes of the workers from their start to their
/// end.
fn take(
    &(column, workers, is_managed, has_network): &(&str, usize, bool, bool),
    database: &Database,
    orders: usize,
    size: &Size,
) -> Result<Duration> {
    let kind = if is_managed { managed::Kind::Held } else { managed::Kind::Unmanaged };
    let sale = Sale { voucher: 8, kind };
    let mut stand = Stand::new(true)?;
    sale.open(&mut stand, orders)?;
    let has_shop = column != WORKER;
    if has_shop {
        naive::make_tables(database, &sale.voucher.to_string(), orders)?;
    }
    if column == NAIVE {
        sale.sell(&mut stand, orders)?;
        let spent = naive::drain(&stand, database)?;
        check(database, orders, "tb_voucher_order WHERE status = 1", LEFT)?;
        return Ok(spent);
    }
    let url = if has_network { over_network(database)? } else { database.url.clone() };
    let mut command = Command::new(size.worker.as_ref().ok_or("no worker")?);
    command.arg("--redis").arg(format!("redis+unix://{}", stand.socket.display()));
    command.args(["--database", &url, "--once", "--quiet"]);
    if has_shop {
        let file = stand.socket.with_file_name("statements.toml");
        let lists = [("sold", STATEMENTS_EACH), ("held", STATEMENTS_EACH), ("confirmed", PAID)];
        let lists = lists.map(|(when, list)| format!("on_{when} = {list}\n"));
        std::fs::write(&file, lists.concat())?;
        command.arg("--statements").arg(file);
    }
    run(&mut command, 1)?; // makes the tables
    sale.sell(&mut stand, orders)?;
    if is_managed {
        stand.send(&sale.load(&["SECKILL.CONFIRM".to_owned()], 0..orders, ":1\r\n"))?;
    }
    let spent = run(&mut command, workers)?;
    check(
        database,
        orders,
        "seckill_orders WHERE state = 'sold'",
        "units FROM seckill_voucher_sales",
    )?;
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

fn run(command: &mut Command, workers: usize) -> Result<Duration> {
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

//! `seckill-rows`: compares what a server sold of a voucher with the rows that `seckill-worker` has
//! made of it.
//!
//! Exit code: 0 they agree, 1 they differ, 2 they could not be compared.

use std::collections::HashMap;
use std::fmt::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use domain::book::State;
use redis::Value;
use sqlx::{AnyConnection, Connection, Row};

/// Compares what a server sold of a voucher with the rows in a database.
///
/// Reads both and changes nothing. They agree when the worker has read everything and no order is
/// being placed or given back: in the middle of a sale the rows are behind.
#[derive(Parser, Debug)]
#[command(name = "seckill-rows", version)]
struct Options {
    /// The server: `redis://user:password@host:port/db` or `redis+unix:///path`
    #[arg(long, default_value = "redis://127.0.0.1:6379/")]
    redis: String,

    /// The database: `sqlite:file`, `postgres://user@host/name` or `mysql://user@host/name`
    #[arg(long, default_value = "sqlite:seckill.db")]
    database: String,

    /// What the names of the worker's tables begin with
    #[arg(long, value_name = "PREFIX", default_value = "seckill_", value_parser = table_prefix)]
    table_prefix: String,

    /// The voucher to compare
    #[arg(long)]
    voucher: String,

    /// Units that were on sale at the beginning; a managed voucher knows it by itself
    #[arg(long)]
    stock: Option<i64>,
}

/// What the server says of a voucher.
struct Sold {
    /// The id of the sale, where the server tells it.
    sale: Option<String>,
    units: i64,
    buyers: i64,
    limit: i64,
    managed: bool,
}

/// What the rows of live orders say of it.
#[derive(Default)]
struct Rows {
    orders: i64,
    units: i64,
    users: i64,
    /// Of the table of sums.
    sum: i64,
    /// Users with more than they may have.
    beyond_limit: i64,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match compare(&options) {
        Ok((table, agree)) => {
            print!("{table}");
            ExitCode::from(u8::from(!agree))
        }
        Err(error) => {
            eprintln!("seckill-rows: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn compare(options: &Options) -> Result<(String, bool)> {
    let sold = ask_server(options)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let rows = runtime.block_on(ask_database(options, &sold)).context("--database")?;
    Ok(table(&sold, &rows, database_name(&options.database)))
}

fn ask_server(options: &Options) -> Result<Sold> {
    let client = redis::Client::open(options.redis.as_str()).context("--redis")?;
    let mut connection = client.get_connection().context("--redis")?;
    let info: HashMap<String, Value> = redis::cmd("SECKILL.INFO")
        .arg(&options.voucher)
        .query(&mut connection)
        .with_context(|| format!("SECKILL.INFO {}", options.voucher))?;
    let number = |name: &str| match info.get(name) {
        Some(Value::Int(number)) => Some(*number),
        _ => None,
    };
    let Some(total) = number("total").or(options.stock) else {
        bail!("voucher {} is unmanaged: give its first stock by --stock", options.voucher);
    };
    let left = number("left").context("there is no stock key")?;
    let [buyers, limit, managed] =
        ["buyers", "limit", "managed"].map(|name| number(name).unwrap_or(0));
    let sale = match info.get("sale") {
        Some(Value::Int(sale)) => Some(sale.to_string()),
        Some(Value::BulkString(sale)) => Some(String::from_utf8_lossy(sale).into_owned()),
        _ => None,
    };
    // It becomes part of a statement.
    let is_id = |sale: &String| !sale.is_empty() && sale.bytes().all(|byte| byte.is_ascii_digit());
    let sale = sale.filter(is_id);
    Ok(Sold { sale, units: total - left, buyers, limit, managed: managed == 1 })
}

async fn ask_database(options: &Options, sold: &Sold) -> Result<Rows> {
    sqlx::any::install_default_drivers();
    let mysql = options.database.starts_with("mysql:") || options.database.starts_with("mariadb:");
    let (integer, parameter) = if mysql { ("SIGNED", "?") } else { ("BIGINT", "$1") };
    let mut connection = AnyConnection::connect(&options.database).await?;
    let mut numbers = async |select: &str| -> Result<Vec<i64>> {
        let query = format!("{select} voucher_id = {parameter}");
        let query = sqlx::query(&query).bind(options.voucher.as_str());
        let Some(row) = query.fetch_optional(&mut connection).await? else { return Ok(vec![]) };
        Ok((0..row.len()).map(|column| row.try_get(column)).collect::<Result<_, _>>()?)
    };
    let words = [State::Held, State::Sold].map(State::word);
    let prefix = &options.table_prefix;
    let sale = sold.sale.as_ref().map(|sale| format!("sale_id = '{sale}' AND"));
    let sale = sale.unwrap_or_default();
    let live =
        format!("FROM {prefix}orders WHERE state IN ('{}', '{}') AND {sale}", words[0], words[1]);
    let sum = format!("CAST(COALESCE(SUM(units), 0) AS {integer})");
    let counts = format!("SELECT COUNT(*), {sum}, COUNT(DISTINCT user_id) {live}");
    let counts = numbers(&counts).await?;
    // The limit of an unmanaged voucher is one order, of a managed one units.
    let measure = if sold.managed { "SUM(units)" } else { "COUNT(*)" };
    let all = format!("SELECT COUNT(*) FROM (SELECT user_id, {measure} AS bought {live}");
    let beyond =
        format!("{all} voucher_id = {parameter} GROUP BY user_id) AS users WHERE bought >");
    let beyond = format!("{beyond} {}", sold.limit);
    let sales = format!("SELECT {sum} FROM {prefix}voucher_sales WHERE {sale}");
    let sales = numbers(&sales).await?;
    let beyond = sqlx::query(&beyond).bind(options.voucher.as_str());
    let beyond_limit = beyond.fetch_one(&mut connection).await?.try_get(0)?;
    Ok(Rows {
        orders: counts.first().copied().unwrap_or(0),
        units: counts.get(1).copied().unwrap_or(0),
        users: counts.get(2).copied().unwrap_or(0),
        sum: sales.first().copied().unwrap_or(0),
        beyond_limit,
    })
}

fn table_prefix(text: &str) -> std::result::Result<String, String> {
    match text
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    {
        true => Ok(text.to_owned()),
        false => Err("lowercase letters, digits and _".to_owned()),
    }
}

fn database_name(url: &str) -> &'static str {
    match url.split(':').next() {
        Some("sqlite") => "SQLite",
        Some("postgres" | "postgresql") => "PostgreSQL",
        _ => "MySQL",
    }
}

/// The comparison, and whether everything agrees.
fn table(sold: &Sold, rows: &Rows, database: &str) -> (String, bool) {
    let mut checks = vec![
        ("units sold", sold.units, rows.units),
        ("units in the sums", sold.units, rows.sum),
        ("users who bought", sold.buyers, rows.users),
        ("users beyond the limit", 0, rows.beyond_limit),
    ];
    if sold.limit == 1 {
        checks.insert(1, ("orders", sold.buyers, rows.orders));
    }
    let mut text = String::new();
    // Writing to a String can't fail.
    let _ = writeln!(text, "{:<26}{:>10} {:>10}", "from server to rows", "in Redis", database);
    for (what, server, row) in &checks {
        let mark = if server == row { "ok" } else { "DIFFERS" };
        let _ = writeln!(text, "{what:<26}{server:>10} {row:>10}  {mark}");
    }
    let differing: Vec<&str> =
        checks.iter().filter(|check| check.1 != check.2).map(|check| check.0).collect();
    if differing.is_empty() {
        let _ = writeln!(
            text,
            "PROVED: {} units sold in Redis, {} orders in {database}, nobody beyond the limit",
            sold.units, rows.orders
        );
    } else {
        let _ = writeln!(text, "NOT PROVED: {}", differing.join(", "));
    }
    (text, differing.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOLD: Sold = Sold { sale: None, units: 1_000, buyers: 1_000, limit: 1, managed: false };

    fn rows(orders: i64) -> Rows {
        Rows { orders, units: orders, users: orders, sum: orders, beyond_limit: 0 }
    }

    #[test]
    fn rows_that_agree_prove_it() {
        let (text, agree) = table(&SOLD, &rows(1_000), "SQLite");
        assert!(agree && !text.contains("DIFFERS"), "{text}");
        assert!(text.contains("orders                          1000       1000  ok\n"), "{text}");
    }

    #[test]
    fn a_row_too_few_is_named() {
        let (text, agree) = table(&SOLD, &rows(999), "SQLite");
        assert!(!agree, "{text}");
        let end = "NOT PROVED: units sold, orders, units in the sums, users who bought\n";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn a_user_with_two_orders_is_found() {
        let (text, agree) = table(&SOLD, &Rows { beyond_limit: 1, ..rows(1_000) }, "SQLite");
        assert!(!agree, "{text}");
        assert!(text.ends_with("NOT PROVED: users beyond the limit\n"), "{text}");
    }
}

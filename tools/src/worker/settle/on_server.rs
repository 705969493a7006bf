//! What settling does on the server. Each command is safe to repeat.

use anyhow::{Result, anyhow, bail};
use domain::key_names::OUTSIDE_PREFIX;
use redis::{RedisError, cmd};
use seckill_tools::sanitize::sanitize;
use seckill_tools::server_errors::told;

use crate::batch::Row;
use crate::order_events::OrderKey;
use crate::source::Source;

/// What became of the stock.
pub enum Stock {
    Untouched,
    /// Units were taken off the sale; so many are left.
    Moved(i64),
    /// There are too few.
    Short,
}

/// Takes units off the sale for an order, once.
pub async fn take(source: &mut Source, key: &OrderKey, units: i64) -> Result<Stock> {
    match restock(source, key, -units).await {
        Ok(left) => Ok(Stock::Moved(left)),
        Err(error) if error.code() == Some("STOCK") => Ok(Stock::Short),
        Err(error) => Err(refused("SECKILL.RESTOCK", &error)),
    }
}

/// Puts units that were taken off the sale for an order on sale again.
pub async fn undo(source: &mut Source, key: &OrderKey) -> Result<()> {
    let Ok(naming) = source.naming(key.voucher.as_bytes()) else {
        bail!("the voucher has stray braces")
    };
    let outside = naming.key(OUTSIDE_PREFIX);
    let asked = cmd("HGET").arg(outside).arg(&key.order).query_async(source.connection()).await;
    let units: Option<i64> = asked.map_err(|error| refused("HGET", &error))?;
    if let Some(units) = units {
        let left = restock(source, key, units).await;
        let left = left.map_err(|error| refused("SECKILL.RESTOCK", &error))?;
        let voucher = sanitize(&key.voucher);
        println!("{units} units of voucher {voucher} are on sale again, {left} are left");
    }
    Ok(())
}

async fn restock(source: &mut Source, key: &OrderKey, units: i64) -> Result<i64, RedisError> {
    let mut restock = cmd("SECKILL.RESTOCK");
    restock.arg(&key.voucher).arg(units).arg("FOR").arg(&key.order).arg("SALE").arg(&key.sale);
    restock.query_async(source.connection()).await
}

/// Cancels the order of a row, or what is above some units, under a condition: `IF` it is still in
/// a state, or `KEEP` so many.
pub async fn cancel(source: &mut Source, row: &Row, word: &str, value: &str) -> Result<()> {
    let Row { key, user, .. } = row;
    let mut cancel = cmd("SECKILL.CANCEL");
    cancel.arg(&key.voucher).arg(user).arg(&key.order).arg(word).arg(value);
    cancel.arg("SALE").arg(&key.sale);
    match cancel.query_async::<i64>(source.connection()).await {
        Ok(1) => Ok(()),
        Ok(answer) => bail!(
            "nothing was settled: the server has changed, SECKILL.CANCEL was answered {answer}: \
             look again"
        ),
        Err(error) => Err(refused("SECKILL.CANCEL", &error)),
    }
}

pub fn refused(command: &str, error: &RedisError) -> anyhow::Error {
    match error.code() {
        Some("NOPERM") => anyhow!(
            "nothing was settled: the server refuses {command} to this user: give by --redis one \
             who may call it"
        ),
        _ => anyhow!("nothing was settled: {command}: {}", sanitize(&told(error))),
    }
}

//! The sale that a command is about, and what is said against it.

use anyhow::{Context, Result};
use seckill_tools::connection::Connection;
use seckill_tools::sharded_sale::Sale;

/// The sale of this voucher, which must have been opened.
pub async fn find(link: Connection, voucher: &str) -> Result<Sale> {
    let sale = Sale::find(link, voucher).await?;
    let none =
        || format!("no sale of {voucher} over shards was opened here: see seckill-shards open");
    sale.with_context(none)
}

/// Prints what is wrong; false if anything is.
pub fn is_silent(wrong: &[String]) -> bool {
    wrong.iter().for_each(|line| eprintln!("seckill-shards: {line}"));
    wrong.is_empty()
}

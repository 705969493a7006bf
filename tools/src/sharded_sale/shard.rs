//! One shard: the keys that the functions work on.

use crate::connection::Connection;
use crate::sharding::{journal_key, shard_voucher};
use crate::voucher_keys::VoucherKeys;
use anyhow::Result;

/// The keys of a shard that the functions work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    pub voucher: String,
    pub stock: String,
    pub buyers: String,
    pub journal: String,
    pub rules: String,
    pub book: String,
}

/// The keys of the first `count` shards of a sale, as this server names them.
pub async fn shards_of(link: &Connection, sale: &str, count: u32) -> Result<Vec<Shard>> {
    let vouchers: Vec<String> = (0..count).map(|shard| shard_voucher(sale, shard)).collect();
    let names = VoucherKeys::of_module(&mut link.clone(), &vouchers).await?;
    let shards = (0..count).zip(names).map(|(shard, names)| Shard {
        voucher: names.voucher,
        stock: names.stock,
        buyers: names.buyers,
        journal: journal_key(sale, shard),
        rules: names.rules,
        book: names.book,
    });
    Ok(shards.collect())
}

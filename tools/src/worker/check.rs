//! `seckill-worker check`: compares the orders of a voucher, or of all shards of a sale, with the
//! rows, says which differ, and writes what is missing if asked to. It deletes nothing, and
//! releases nothing that was sold.
//!
//! `facts` reads the server, `compare` finds the differences, `repair` writes the missing rows.

mod compare;
mod facts;
mod repair;

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use redis::cmd;
use seckill_tools::connection::{Connection, Target};
use seckill_tools::nodes::Nodes;
use seckill_tools::sanitize::sanitize;
use seckill_tools::sharding::{journal_key, shard_voucher};
use seckill_tools::voucher_keys::VoucherKeys;

use crate::options::{Check, Options};
use crate::settings::{self, Differ};
use crate::source::{Source, Which};
use crate::store::{Fault, Store};
use compare::{Comparison, Difference, compare};
use facts::Sold;

/// The time between two looks, in which workers write what they have read: only what both looks
/// find is reported.
const SECOND_LOOK: Duration = Duration::from_secs(1);

/// True when everything agrees.
pub async fn check(options: &Options, wanted: &Check) -> Result<bool> {
    let place = options.server.place()?;
    let mut connection = Nodes::new(place.clone()).connect(&wanted.voucher).await?;
    if let Err(Differ(text)) = settings::compare(&mut connection, options).await? {
        bail!("{}: {text}", options.server.without_password());
    }
    let store = Store::to_look_at(options)?;
    let target = Target::find(place).await?;
    let mut link = target.connect().await?;
    let vouchers = vouchers_of(&mut link, &wanted.voucher).await?;
    let keys = VoucherKeys::of_module(&mut link, &vouchers).await?;
    let mut comparison = look_twice(&mut link, &store, &keys, options, wanted).await?;
    let mut behind = behind(options, &keys).await?;
    if wanted.repair && !comparison.differences.is_empty() {
        let told = repair::repair(&mut link, &store, &keys, options, &comparison).await?;
        told.iter().for_each(|line| println!("{line}"));
        comparison = look_twice(&mut link, &store, &keys, options, wanted).await?;
        behind = self::behind(options, &keys).await?;
    }
    store.close().await;
    if options.json {
        println!("{}", comparison.json());
    } else {
        print!("{}", comparison.text(store.database()));
        if !comparison.agrees() && behind > 0 {
            println!(
                "group {} has not read or not acknowledged {behind} entries: rows that are missing \
                 may be among them",
                options.group
            );
        }
    }
    Ok(comparison.agrees())
}

/// The voucher, or the vouchers of the sale's shards.
async fn vouchers_of(link: &mut Connection, voucher: &str) -> Result<Vec<String>> {
    let first = journal_key(voucher, 0);
    let told: Option<String> = cmd("HGET").arg(first).arg("sale").query_async(link).await?;
    let shards = told.as_deref().and_then(|told| told.split(':').next()?.parse::<u32>().ok());
    Ok(match shards {
        Some(shards) => (0..shards).map(|shard| shard_voucher(voucher, shard)).collect(),
        None => vec![voucher.to_owned()],
    })
}

/// The differences that two looks find; one look if the first finds none.
async fn look_twice(
    link: &mut Connection,
    store: &Store,
    keys: &[VoucherKeys],
    options: &Options,
    wanted: &Check,
) -> Result<Comparison> {
    let first = look(link, store, keys, options, wanted).await?;
    if first.agrees() {
        return Ok(first);
    }
    tokio::time::sleep(SECOND_LOOK).await;
    let second = look(link, store, keys, options, wanted).await?;
    let before: BTreeSet<&Difference> = first.differences.iter().collect();
    let differences =
        second.differences.iter().filter(|one| before.contains(one)).cloned().collect();
    Ok(Comparison { differences, ..second })
}

async fn look(
    link: &mut Connection,
    store: &Store,
    keys: &[VoucherKeys],
    options: &Options,
    wanted: &Check,
) -> Result<Comparison> {
    let mut all = Vec::new();
    for keys in keys {
        let sold = Sold::read(link, keys, options.order_fields.names()).await?;
        all.push(sold);
    }
    let vouchers: Vec<&str> = keys.iter().map(|keys| keys.voucher.as_str()).collect();
    let found = store.rows_of(&vouchers).await.map_err(unread)?;
    let is_one = keys.len() == 1;
    ensure!(is_one || wanted.stock.is_none(), "--stock is for a voucher without shards");
    Ok(compare(&all, &found, wanted.stock))
}

fn unread(fault: Fault) -> anyhow::Error {
    anyhow::anyhow!("--database: {}", sanitize(fault.text()))
}

/// Entries that the group has not read, or not acknowledged.
async fn behind(options: &Options, keys: &[VoucherKeys]) -> Result<u64> {
    let streams: BTreeSet<&String> = keys.iter().filter_map(|keys| keys.stream.as_ref()).collect();
    let mut entries = 0;
    for orders in streams {
        let tag = orders
            .strip_prefix(options.stream.as_str())
            .and_then(|rest| rest.strip_prefix(":{").and_then(|rest| rest.strip_suffix('}')));
        let streams = options.streams_of(tag);
        let mut nodes = Nodes::new(options.server.place()?);
        let connection = nodes.connect(orders).await.context("the streams")?;
        let mut source = Source::new(connection, streams, &options.group, "");
        for which in [Which::Orders, Which::Released] {
            // A stream that doesn't exist has nothing to read.
            let standing = source.standing(which).await.unwrap_or_default();
            entries += standing.lag.unwrap_or(0) + standing.pending;
        }
    }
    Ok(entries)
}

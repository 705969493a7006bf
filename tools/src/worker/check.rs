//! `seckill-worker check`: compares the orders of a voucher, or of all shards of a sale, with the
//! rows, says which differ, and writes what is missing if asked to. It deletes nothing, and
//! releases nothing that was sold.
//!
//! `facts` reads the server, `compare` finds the differences, `repair` writes the missing rows.

mod compare;
mod facts;
mod references;
mod repair;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use redis::cmd;
use seckill_tools::connection::{Connection, Target};
use seckill_tools::nodes::Nodes;
use seckill_tools::sanitize::sanitize;
use seckill_tools::sharding::{journal_key, parse_opening, shard_voucher};
use seckill_tools::voucher_keys::VoucherKeys;

use crate::options::{Check, Options, OrderFields};
use crate::settings;
use crate::source::Source;
use crate::store::{Fault, NEEDS_STATEMENTS, Store};
use crate::stream_entry::Which;
use compare::{Comparison, Difference, compare};
use facts::Sold;

/// The time between two looks, in which workers write what they have read: only what both looks
/// find is reported.
const SECOND_LOOK: Duration = Duration::from_secs(1);

/// Everything that is compared.
struct Checker<'c> {
    link: Connection,
    store: Store,
    keys: Vec<VoucherKeys>,
    fields: Vec<OrderFields>,
    options: &'c Options,
    wanted: &'c Check,
}

/// True when everything agrees.
pub async fn check(options: &Options, wanted: &Check) -> Result<bool> {
    let place = options.server.place()?;
    let mut connection = Nodes::new(place.clone()).connect(&wanted.voucher).await?;
    let settings = settings::compare(&mut connection, options).await;
    let fields = settings.map_err(|halt| halt.told(options))?.fields;
    let store = Store::to_look_at(options)?;
    let target = Target::find(place).await?;
    let mut link = target.connect().await?;
    let vouchers = vouchers_of(&mut link, &wanted.voucher).await?;
    let keys = VoucherKeys::of_module(&mut link, &vouchers).await?;
    let mut checker = Checker { link, store, keys, fields, options, wanted };
    let mut comparison = checker.look_twice().await?;
    let mut behind = checker.behind().await?;
    if wanted.repair && !comparison.differences.is_empty() {
        checker.repair(&comparison).await?;
        comparison = checker.look_twice().await?;
        behind = checker.behind().await?;
    }
    let database = checker.store.database();
    checker.store.close().await;
    if options.json {
        println!("{}", comparison.json());
        return Ok(comparison.agrees());
    }
    print!("{}", comparison.text(database));
    if !comparison.agrees() && behind > 0 {
        let group = &options.group;
        println!(
            "group {group} has not read or not acknowledged {behind} entries: rows that are \
             missing may be among them"
        );
    }
    Ok(comparison.agrees())
}

/// The voucher, or the vouchers of the sale's shards.
async fn vouchers_of(link: &mut Connection, voucher: &str) -> Result<Vec<String>> {
    let first = journal_key(voucher, 0);
    let told: Option<String> = cmd("HGET").arg(first).arg("sale").query_async(link).await?;
    Ok(match told.as_deref().and_then(parse_opening) {
        Some((shards, _)) => (0..shards).map(|shard| shard_voucher(voucher, shard)).collect(),
        None => vec![voucher.to_owned()],
    })
}

impl Checker<'_> {
    /// The differences that two looks find; one look if the first finds none.
    async fn look_twice(&mut self) -> Result<Comparison> {
        let first = self.look().await?;
        if first.agrees() {
            return Ok(first);
        }
        tokio::time::sleep(SECOND_LOOK).await;
        let second = self.look().await?;
        let before: BTreeSet<&Difference> = first.differences.iter().collect();
        let differences =
            second.differences.iter().filter(|one| before.contains(one)).cloned().collect();
        let mut references = second.references;
        references.retain(|one| first.references.contains(one));
        Ok(Comparison { differences, references, ..second })
    }

    async fn look(&mut self) -> Result<Comparison> {
        let is_one = self.keys.len() == 1;
        ensure!(is_one || self.wanted.stock.is_none(), "--stock is for a voucher without shards");
        let mut all = Vec::new();
        for keys in &self.keys {
            all.extend(Sold::read(&mut self.link, keys, &self.fields).await?);
        }
        let mut ledger = self.store.ledger(&self.vouchers()).await.map_err(unread)?;
        let is_known = !all.is_empty() || !ledger.rows.is_empty();
        ensure!(is_known, "NOVOUCHER neither the server nor the rows have this voucher");
        let mut comparison = compare(&all, &ledger, self.wanted.stock);
        if let Some(path) = &self.wanted.refs {
            let mut ours: BTreeMap<String, String> = std::mem::take(&mut ledger.payments);
            for row in &ledger.rows {
                let reference = row.known.reference.clone();
                ours.extend(reference.map(|reference| (reference, row.key.order.clone())));
            }
            comparison.references = references::compare(&references::read(path)?, &ours);
        }
        Ok(comparison)
    }

    fn vouchers(&self) -> Vec<&str> {
        self.keys.iter().map(|keys| keys.voucher.as_str()).collect()
    }

    async fn repair(&mut self, comparison: &Comparison) -> Result<()> {
        let has_statements = self.options.statements.is_some();
        let were_run = self.store.ran_statements(&self.vouchers()).await.map_err(unread)?;
        ensure!(has_statements || !were_run, NEEDS_STATEMENTS);
        let mut written = 0;
        for number in 0..self.keys.len() {
            let mut source = self.source(number).await?;
            let (keys, store) = (&self.keys[number], &self.store);
            let link = &mut self.link;
            let (lines, orders) =
                repair::repair(link, &mut source, store, keys, &self.fields, comparison).await?;
            lines.iter().for_each(|line| println!("{line}"));
            written += orders;
        }
        println!("wrote {written} orders");
        Ok(())
    }

    /// The streams of a voucher, at the node that has its keys.
    async fn source(&self, number: usize) -> Result<Source> {
        let keys = &self.keys[number];
        let orders = keys.stream.as_deref().unwrap_or_default();
        let rest = orders.strip_prefix(self.options.stream.as_str());
        let tag = rest.and_then(|rest| rest.strip_prefix(":{")?.strip_suffix('}'));
        let streams = self.options.streams_of(tag);
        let mut nodes = Nodes::new(self.options.server.place()?);
        let connection = nodes.connect(&keys.book).await.context("the streams")?;
        Ok(Source::new(connection, streams, &self.options.group, ""))
    }

    /// Entries that the group has not read, or not acknowledged.
    async fn behind(&self) -> Result<u64> {
        let (mut entries, mut streams) = (0, BTreeSet::new());
        for (number, keys) in self.keys.iter().enumerate() {
            if keys.stream.is_none() || !streams.insert(&keys.stream) {
                continue;
            }
            let mut source = self.source(number).await?;
            for which in [Which::Orders, Which::Confirmed, Which::Released] {
                // A stream that doesn't exist has nothing to read.
                let standing = source.standing(which).await.unwrap_or_default();
                entries += standing.lag + standing.pending;
            }
        }
        Ok(entries)
    }
}

fn unread(fault: Fault) -> anyhow::Error {
    anyhow::anyhow!("--database: {}", sanitize(&fault.text()))
}

//! How far a group is in its streams: the entries that it has not read, or not acknowledged.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use domain::entry_id::EntryId;
use redis::RedisResult;

use crate::options::OrderFields;
use crate::order_events::{StreamEntry, Which, as_text};
use crate::source::Source;

/// How far a group has read the stream of orders.
#[derive(Debug, Default)]
pub struct Progress {
    /// The last entry that the group had read before the tables began.
    pub began: EntryId,
    /// Vouchers and order ids of the entries after `began` that are still there; empty where it
    /// began with the first.
    pub after: BTreeSet<(String, String)>,
    /// The last entry that was ever appended.
    pub last: EntryId,
}

/// Entries that are not done.
#[derive(Clone, Debug, Default)]
pub struct Undone {
    /// Ids of orders that they may be about.
    pub orders: BTreeSet<String>,
    pub entries: usize,
}

/// By the voucher that they name; None of those that name none, or were deleted: these may be any
/// voucher's.
pub type UndoneByVoucher = BTreeMap<Option<String>, Undone>;

/// Those of a voucher.
pub fn of_voucher(all: &UndoneByVoucher, voucher: &str) -> Undone {
    let mut its = all.get(&None).cloned().unwrap_or_default();
    if let Some(named) = all.get(&Some(voucher.to_owned())) {
        its.orders.extend(named.orders.iter().cloned());
        its.entries += named.entries;
    }
    its
}

/// Those of all streams of a source.
pub async fn undone(source: &mut Source, names: &[OrderFields]) -> Result<UndoneByVoucher> {
    let mut all = UndoneByVoucher::new();
    for which in source.all() {
        let add = |entry: Option<StreamEntry>| {
            let values = |part| entry.as_ref().map(|entry| values_of(entry, names, part));
            let named: BTreeSet<Vec<u8>> = values(1).unwrap_or_default();
            let vouchers = match named.is_empty() {
                true => vec![None],
                // No voucher of an order is anything else than UTF-8.
                false => named
                    .into_iter()
                    .filter_map(|it| String::from_utf8(it).ok())
                    .map(Some)
                    .collect(),
            };
            for voucher in vouchers {
                let undone = all.entry(voucher).or_default();
                undone.orders.extend(values(2).into_iter().flatten().map(|order| as_text(&order)));
                undone.entries += 1;
            }
        };
        let about = || format!("the entries of {which:?}");
        each(source, which, add).await.with_context(about)?;
    }
    Ok(all)
}

/// The values that an entry has for user, voucher or order id, by their place.
fn values_of(entry: &StreamEntry, names: &[OrderFields], part: usize) -> BTreeSet<Vec<u8>> {
    let value_in = |names: &OrderFields| {
        let name = names.all()[part].as_bytes();
        entry.fields.iter().find(|(other, _)| other == name).map(|(_, value)| value.to_vec())
    };
    names.iter().filter_map(value_in).collect()
}

/// Looks at each of them; None for one that was deleted. A stream that does not exist has none.
async fn each(
    source: &mut Source,
    which: Which,
    mut look: impl FnMut(Option<StreamEntry>),
) -> RedisResult<()> {
    let group = source.ours(which).await?.unwrap_or_default();
    // What is delivered from now on is after the last that was.
    if group.pending > 0 {
        let range = (EntryId::default(), group.last_delivered);
        for id in source.pending_ids(which, range, false).await? {
            look(source.entry(which, id).await?);
        }
    }
    source.each_after(which, group.last_delivered, |entry| look(Some(entry))).await
}

//! The entries that a group has not read, or not acknowledged.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use domain::entry_id::EntryId;

use crate::options::OrderFields;
use crate::order_events::{StreamEntry, Which};
use crate::source::{PIECE, Source, reply};

/// Each with the ids of the order that it may be about.
pub type Undone = BTreeMap<(Which, EntryId), Vec<Vec<u8>>>;

/// Those of a voucher, and those that name no voucher: one of these may be its.
pub async fn undone(source: &mut Source, names: &[OrderFields], voucher: &str) -> Result<Undone> {
    let mut all = Undone::new();
    let is_its = |entry: &StreamEntry| {
        let named = values_of(entry, names, 1);
        named.is_empty() || named.iter().any(|named| named == voucher.as_bytes())
    };
    let add = |which, id, entry: Option<&StreamEntry>| {
        // One that was deleted is not known.
        if entry.is_none_or(is_its) {
            let orders = entry.map(|entry| values_of(entry, names, 2));
            all.insert((which, id), orders.unwrap_or_default());
        }
    };
    each(source, add).await?;
    Ok(all)
}

/// The vouchers that they name.
pub async fn vouchers(source: &mut Source, names: &[OrderFields]) -> Result<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    let add = |_, _, entry: Option<&StreamEntry>| {
        let named = entry.map(|entry| values_of(entry, names, 1)).unwrap_or_default();
        all.extend(named.into_iter().filter_map(|voucher| String::from_utf8(voucher).ok()));
    };
    each(source, add).await?;
    Ok(all)
}

/// The values that an entry has for user, voucher or order id, by their place.
fn values_of(entry: &StreamEntry, names: &[OrderFields], part: usize) -> Vec<Vec<u8>> {
    let value_in = |names: &OrderFields| {
        let name = names.all()[part].as_bytes();
        entry.fields.iter().find(|(other, _)| other == name).map(|(_, value)| value.to_vec())
    };
    names.iter().filter_map(value_in).collect()
}

/// Looks at each of them; None for one that was deleted.
async fn each(
    source: &mut Source,
    mut look: impl FnMut(Which, EntryId, Option<&StreamEntry>),
) -> Result<()> {
    for which in source.all() {
        let about = || format!("the entries of {which:?}");
        // A stream that does not exist has no entries.
        if !source.is_there(which).await.with_context(about)? {
            continue;
        }
        let group = source.ours(which).await.with_context(about)?;
        let read = group.unwrap_or_default().last_delivered;
        for id in pending(source, which).await.with_context(about)? {
            let entry = source.entry(which, id).await?;
            look(which, id, entry.as_ref());
        }
        let mut from = format!("({read}");
        loop {
            let entries = source.range(which, &from, "+").await?;
            entries.iter().for_each(|entry| look(which, entry.id, Some(entry)));
            let Some(last) = entries.last() else { break };
            from = format!("({}", last.id);
        }
    }
    Ok(())
}

/// All that are pending, for whichever consumer; none without a group.
async fn pending(source: &mut Source, which: Which) -> Result<Vec<EntryId>> {
    let (mut all, mut from) = (Vec::new(), "-".to_owned());
    loop {
        let mut pending = source.pending(which, source.group().as_bytes());
        let page = match source.ask(pending.arg(&from).arg("+").arg(PIECE)).await {
            Err(error) if error.code() == Some("NOGROUP") => return Ok(all),
            reply => reply::pending(&reply?)?,
        };
        all.extend(page.iter().map(|pending| pending.id));
        match all.last() {
            Some(last) if page.len() == PIECE => from = format!("({last}"),
            _ => return Ok(all),
        }
    }
}

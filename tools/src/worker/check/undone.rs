//! The entries of a voucher that a group has not read, or not acknowledged.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use domain::entry_id::EntryId;
use redis::{RedisError, Value, cmd};

use crate::options::OrderFields;
use crate::source::{Source, reply};
use crate::stream_entry::{StreamEntry, Which};

const PIECE: usize = 1_000;

pub type Undone = BTreeSet<(Which, EntryId)>;

/// Those of a voucher, and those that name no voucher: one of these may be its.
pub async fn undone(source: &mut Source, names: &[OrderFields], voucher: &str) -> Result<Undone> {
    let mut all = Undone::new();
    let is_its = |entry: &StreamEntry| {
        let voucher_in = |names: &OrderFields| {
            let name = names.all()[1].as_bytes();
            entry.fields.iter().find(|(other, _)| other == name).map(|(_, value)| &**value)
        };
        let named: Vec<_> = names.iter().filter_map(voucher_in).collect();
        named.is_empty() || named.contains(&voucher.as_bytes())
    };
    for which in source.all() {
        let about = || format!("the entries of {which:?}");
        // A stream that does not exist has no entries.
        if !source.is_there(which).await.with_context(about)? {
            continue;
        }
        let read = source.last_delivered(which).await.with_context(about)?;
        for id in pending(source, which).await.with_context(about)? {
            let entry = entries(source, which, &id.to_string(), &id.to_string()).await?;
            // One that was deleted is not known.
            if entry.first().is_none_or(is_its) {
                all.insert((which, id));
            }
        }
        let mut from = format!("({read}");
        loop {
            let entries = entries(source, which, &from, "+").await?;
            all.extend(entries.iter().filter(|e| is_its(e)).map(|entry| (which, entry.id)));
            let Some(last) = entries.last() else { break };
            from = format!("({}", last.id);
        }
    }
    Ok(all)
}

async fn entries(
    source: &mut Source,
    which: Which,
    from: &str,
    to: &str,
) -> Result<Vec<StreamEntry>> {
    let mut range = cmd("XRANGE");
    range.arg(source.name(which)).arg(from).arg(to).arg("COUNT").arg(PIECE);
    let reply: Value = range.query_async(source.connection()).await?;
    Ok(reply::entries(&reply)?)
}

/// All that are pending, for whichever consumer; none without a group.
async fn pending(source: &mut Source, which: Which) -> Result<Vec<EntryId>> {
    let (mut all, mut from) = (Vec::new(), "-".to_owned());
    loop {
        let mut pending = cmd("XPENDING");
        let group = source.group().to_owned();
        pending.arg(source.name(which)).arg(group).arg(&from).arg("+").arg(PIECE);
        let reply: Value = match pending.query_async(source.connection()).await {
            Err(error) if RedisError::code(&error) == Some("NOGROUP") => return Ok(all),
            reply => reply?,
        };
        let page = reply::pending(&reply)?;
        all.extend(page.iter().map(|pending| pending.id));
        match all.last() {
            Some(last) if page.len() == PIECE => from = format!("({last}"),
            _ => return Ok(all),
        }
    }
}

//! Writes missing rows as the entries of the streams would have, brings rows to what the server
//! says, and marks those that it contradicts. An entry that is read later changes nothing then.

use std::collections::HashMap;

use anyhow::Result;
use domain::entry_id::EntryId;
use seckill_tools::connection::Connection;
use seckill_tools::sanitize::sanitize;
use seckill_tools::voucher_keys::VoucherKeys;

use super::compare::{Comparison, Kind as Differs};
use super::facts::{Sold, events_of};
use crate::batch::{Outcome, Sole};
use crate::book::Asker;
use crate::options::OrderFields;
use crate::order_events::{Event, Kind, OrderKey};
use crate::source::Source;
use crate::store::{Care, Store, now_ms};
use crate::stream_entry::Which;

/// The id for an entry that is no longer in its stream, and so is never read.
const GONE: EntryId = EntryId { ms: 0, seq: 1 };

/// Writes what differs of a voucher. Returns lines about what could not be written, and the number
/// of orders that were.
pub async fn repair(
    link: &mut Connection,
    source: &mut Source,
    store: &Store,
    keys: &VoucherKeys,
    names: &[OrderFields],
    comparison: &Comparison,
) -> Result<(Vec<String>, usize)> {
    let (mut lines, mut written) = (Vec::new(), 0);
    let its = comparison.differences.iter().filter(|one| one.voucher == keys.voucher);
    let its: Vec<_> = its.filter(|one| !one.order.is_empty()).collect();
    if its.is_empty() {
        return Ok((lines, written));
    }
    // Read again, since the orders may have changed; and before the streams, so that an order
    // without an entry there was trimmed and will not be read later.
    let sold = Sold::read(link, keys, names).await?.unwrap_or_default();
    let sole = if sold.limit == 1 && !sold.is_managed { Sole::Yes } else { Sole::No };
    let mut entries: HashMap<String, Vec<(Event, Sole)>> = HashMap::new();
    let streams: &[Which] = match sold.is_managed {
        true => &[Which::Orders],
        false => &[Which::Orders, Which::Released],
    };
    for which in streams {
        for event in events_of(link, keys, names, &sold.sale, *which).await? {
            entries.entry(event.key.order.clone()).or_default().push((event, sole));
        }
    }
    for one in its {
        let fact = sold.orders.get(&one.order);
        let key = OrderKey {
            voucher: keys.voucher.clone(),
            sale: one.sale.clone(),
            order: one.order.clone(),
        };
        let events = match (one.kind, fact) {
            (Differs::Missing, Some(fact)) if fact.known.state.is_live() => {
                let kind = Kind::Order { deadline_ms: fact.deadline_ms };
                let (user, units) = (fact.user.clone(), fact.known.units);
                let gone = Event { id: GONE, key, user, units, reference: None, kind };
                entries.remove(&one.order).unwrap_or_else(|| vec![(gone, sole)])
            }
            (Differs::Behind | Differs::Contradicts, _) if !one.sale.is_empty() => {
                let user = one.user.clone();
                let (id, kind) = (EntryId { ms: now_ms().unsigned_abs(), seq: 0 }, Kind::Look);
                vec![(Event { id, key, user, units: 1, reference: None, kind }, Sole::No)]
            }
            _ => continue,
        };
        let mut asker = Asker { source: &mut *source, are_entries: false, replicas: 0 };
        let failed = match store.apply(&events, Care::Full, &mut asker).await {
            Ok(applied) => applied.outcomes.into_iter().find_map(|outcome| match outcome {
                Outcome::Failed(why) => Some(why.text()),
                _ => None,
            }),
            Err(fault) => Some(format!("the database refuses it: {}", fault.text())),
        };
        match failed {
            None => written += usize::from(one.kind != Differs::Contradicts),
            Some(why) => lines.push(format!(
                "{} for voucher {}: {}",
                sanitize(&one.order),
                sanitize(&keys.voucher),
                sanitize(&why)
            )),
        }
    }
    Ok((lines, written))
}

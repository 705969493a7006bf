//! Writes missing rows as the entries of the streams would have: if such an entry was read before
//! or is read later, it changes nothing.

use std::collections::{BTreeMap, HashMap};

use crate::order_events::{Confirmation, Order, OrderKey, Release};
use anyhow::Result;
use domain::book::State;
use domain::entry_id::EntryId;
use seckill_tools::connection::Connection;
use seckill_tools::sanitize::sanitize;
use seckill_tools::voucher_keys::VoucherKeys;

use super::compare::{Comparison, Kind};
use super::facts::{Fact, Sold, orders_of, releases_of};
use crate::batch::{Event, Outcome, Sole, Why};
use crate::options::Options;
use crate::store::{Care, Store};

/// The id for an entry that is no longer in its stream, and so is never read.
const GONE: EntryId = EntryId { ms: 0, seq: 1 };

/// Writes the missing rows. Returns lines about those that could not be written, and the number of
/// those that were.
pub async fn repair(
    link: &mut Connection,
    store: &Store,
    keys: &[VoucherKeys],
    options: &Options,
    comparison: &Comparison,
) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    let mut written = 0;
    for keys in keys {
        let is_its = |kind: Kind| {
            let of = comparison.differences.iter().filter(move |one| one.kind == kind);
            of.filter(|one| one.voucher == keys.voucher).map(|one| one.order.clone())
        };
        let (missing, behind): (Vec<_>, Vec<_>) =
            (is_its(Kind::Missing).collect(), is_its(Kind::Behind).collect());
        if missing.is_empty() && behind.is_empty() {
            continue;
        }
        // Read again, since the orders may have changed; and before the streams, so that an order
        // without an entry there was trimmed and will not be read later.
        let names = options.order_fields.names();
        let sold = Sold::read(link, keys, names).await?;
        let mut entries: HashMap<String, Vec<Event>> = HashMap::new();
        let sole = if sold.limit == 1 { Sole::Yes } else { Sole::No };
        for order in orders_of(link, keys, names, &sold.sale).await? {
            let event = Event::Order(order.clone(), sole);
            entries.entry(order.key.order).or_default().push(event);
        }
        if !sold.is_managed {
            for release in releases_of(link, keys, names, &sold.sale).await? {
                entries.entry(release.key.order.clone()).or_default().push(Event::Release(release));
            }
        }
        let mut events: BTreeMap<&String, Vec<Event>> = BTreeMap::new();
        for order in &missing {
            let Some(fact) = sold.orders.get(order).filter(|fact| fact.state.is_live()) else {
                continue;
            };
            let key = key_of(&sold, order);
            let mut its = entries.remove(order).unwrap_or_else(|| vec![order_of(&key, fact, sole)]);
            if sold.is_managed {
                its.extend(change_of(&key, fact));
            }
            events.insert(order, its);
        }
        for order in &behind {
            let Some(fact) = sold.orders.get(order) else { continue };
            events.insert(order, change_of(&key_of(&sold, order), fact).into_iter().collect());
        }
        for (order, events) in events {
            match write(store, &events).await {
                Ok(()) => written += 1,
                Err(why) => lines.push(format!(
                    "{} for voucher {}: the database refuses it: {}",
                    sanitize(order),
                    sanitize(&keys.voucher),
                    sanitize(&why)
                )),
            }
        }
    }
    lines.push(format!("wrote {written} orders"));
    Ok(lines)
}

fn key_of(sold: &Sold, order: &str) -> OrderKey {
    OrderKey { voucher: sold.voucher.clone(), sale: sold.sale.clone(), order: order.to_owned() }
}

fn order_of(key: &OrderKey, fact: &Fact, sole: Sole) -> Event {
    let Fact { user, units, deadline_ms, .. } = fact.clone();
    Event::Order(Order { id: GONE, key: key.clone(), user, units, deadline_ms }, sole)
}

/// The event that brings a row to the order's state. A confirmation doesn't change a sold row.
fn change_of(key: &OrderKey, fact: &Fact) -> Option<Event> {
    let (id, key, user, units) = (GONE, key.clone(), fact.user.clone(), fact.units);
    let reason = match fact.state {
        State::Held => return None,
        State::Sold => return Some(Event::Confirmation(Confirmation { id, key, user, units })),
        State::Released(reason) => reason,
    };
    let was_sold = fact.was_sold;
    Some(Event::Release(Release { id, key, user, units, reason, was_sold }))
}

async fn write(store: &Store, events: &[Event]) -> Result<(), String> {
    let outcomes =
        store.apply(events, Care::Full).await.map_err(|fault| fault.text().to_owned())?;
    let failed = outcomes.into_iter().find_map(|outcome| match outcome {
        Outcome::Failed(why) => Some(why),
        _ => None,
    });
    match failed {
        None => Ok(()),
        Some(Why::OtherUser) => Err("the id belongs to another user's order".to_owned()),
        Some(Why::HasOther(other)) => Err(format!("its user has the live order {other}")),
        Some(Why::Refused(why) | Why::Unchanged(why)) => Err(why),
    }
}

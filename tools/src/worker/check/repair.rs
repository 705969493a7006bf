//! Writes missing rows as the entries of the streams would have, brings rows to what the server
//! says, and marks those that it contradicts. An entry that is read later changes nothing then.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::Result;
use domain::entry_id::EntryId;
use domain::judge::{Doubt, Finding, Judgement, Kind as Differs};
use domain::payments::Outcome as Paid;
use seckill_tools::connection::Connection;
use seckill_tools::sanitize::sanitize;
use seckill_tools::voucher_keys::VoucherKeys;

use super::books::Books;
use super::facts::{Sold, events_of};
use crate::batch::{Outcome, Sole};
use crate::book::Asker;
use crate::options::OrderFields;
use crate::order_events::{Event, Kind, OrderKey, Which};
use crate::source::Source;
use crate::store::{Care, Store};

/// The id for an entry that is no longer in its stream, and so is never read.
const GONE: EntryId = EntryId { ms: 0, seq: 1 };

/// Why an order is written.
type Why = BTreeSet<Differs>;
type Wanted = BTreeMap<OrderKey, (Finding, Why)>;
type Entries = HashMap<OrderKey, Vec<Event>>;

/// Repairs the rows of one voucher.
pub struct Repair<'r> {
    pub link: &'r mut Connection,
    pub source: &'r mut Source,
    pub store: &'r Store,
    pub keys: &'r VoucherKeys,
    pub names: &'r [OrderFields],
    /// Also what another consumer had acknowledged before the rows began.
    pub with_acknowledged: bool,
}

impl Repair<'_> {
    /// Writes what differs. Returns lines about what could not be written, and the number of orders
    /// that were.
    pub async fn run(&mut self, books: &Books, found: &Judgement) -> Result<(Vec<String>, usize)> {
        let (mut lines, mut written) = (Vec::new(), 0);
        // Read again, since the orders may have changed; and before the streams, so that an order
        // without an entry there was trimmed and will not be read later.
        let sold = Sold::read(self.link, self.keys, self.names).await?.unwrap_or_default();
        let its = self.orders(books, found, &sold);
        if its.is_empty() {
            return Ok((lines, written));
        }
        let entries = self.entries(&sold, &its).await?;
        for (key, (one, differs)) in its {
            if differs == Why::from([Differs::Owed]) {
                let paid = sold.orders.get(&key.order).and_then(|fact| fact.paid);
                let units = self.store.refund_rest(&key, paid).await?;
                written += usize::from(units > 0);
                continue;
            }
            let events = self.events(&one, &differs, books, (&sold, entries.get(&key)));
            if events.is_empty() {
                continue;
            }
            let mut asker = Asker::of_rows(self.source);
            let failed = match self.store.apply(&events, Care::Full, &mut asker).await {
                Ok(applied) => applied.outcomes.into_iter().find_map(|outcome| match outcome {
                    Outcome::Failed(why) => Some(why.text()),
                    _ => None,
                }),
                Err(fault) => Some(format!("the database refuses it: {}", fault.text())),
            };
            match failed {
                None => written += usize::from(!is_told_only(&differs)),
                Some(why) => lines.push(format!(
                    "{} for voucher {}: {}",
                    sanitize(&one.order),
                    sanitize(&one.voucher),
                    sanitize(&why)
                )),
            }
        }
        Ok((lines, written))
    }

    /// The orders to write, with why.
    fn orders(&self, books: &Books, found: &Judgement, sold: &Sold) -> Wanted {
        let voucher = &self.keys.voucher;
        let findings = found.findings.iter().filter(|one| one.voucher == *voucher);
        let of = |order: &str, user: &str, kind| Finding {
            voucher: voucher.clone(),
            sale: sold.sale.clone(),
            order: order.to_owned(),
            user: user.to_owned(),
            server: String::new(),
            row: String::new(),
            reference: String::new(),
            kind,
        };
        let mut its: Vec<_> = findings
            .filter(|one| !one.order.is_empty() && !is_for_a_person(one.kind))
            .map(|one| (one.clone(), one.kind))
            .collect();
        for doubt in &found.doubts {
            if let Doubt::Healed { voucher: of_voucher, order } = doubt
                && of_voucher == voucher
            {
                let row = books.ledger.rows.iter().find(|row| {
                    row.key.order == *order && row.key.voucher == *voucher && row.is_disputed()
                });
                if let Some(row) = row {
                    let one = of(order, &row.user, Differs::Behind);
                    its.push((Finding { sale: row.key.sale.clone(), ..one }, Differs::Behind));
                }
            }
        }
        if self.with_acknowledged {
            let has_row = |order: &str| {
                books.ledger.rows.iter().any(|row| {
                    row.key.order == order && row.key.voucher == *voucher && !row.is_note()
                })
            };
            for order in books.elsewhere(sold).into_iter().filter(|order| !has_row(order)) {
                let user = sold.orders.get(order).map_or("", |fact| &*fact.user);
                its.push((of(order, user, Differs::Missing), Differs::Missing));
            }
        }
        let mut wanted = Wanted::new();
        for (one, differs) in its {
            wanted.entry(key(&one)).or_insert((one, Why::new())).1.insert(differs);
        }
        wanted
    }

    /// The entries of these orders that are still in the streams.
    async fn entries(&mut self, sold: &Sold, its: &Wanted) -> Result<Entries> {
        let mut entries = Entries::new();
        for which in [Which::Orders, Which::Confirmed, Which::Released] {
            for event in events_of(self.link, self.keys, self.names, &sold.sale, which).await? {
                if its.contains_key(&event.key) {
                    entries.entry(event.key.clone()).or_default().push(event);
                }
            }
        }
        Ok(entries)
    }

    /// The order as its entries tell it, with their own figures, and what only the book or the
    /// record of payments has.
    fn events(
        &self,
        one: &Finding,
        differs: &Why,
        books: &Books,
        (sold, entries): (&Sold, Option<&Vec<Event>>),
    ) -> Vec<(Event, Sole)> {
        let is_missing = differs.contains(&Differs::Missing);
        // The look is first: what it finds is of no old entry, which only tells figures.
        let mut events: Vec<_> =
            (!is_missing).then(|| Event::look(key(one), one.user.clone())).into_iter().collect();
        if is_missing || (sold.is_managed && !is_told_only(differs)) {
            events.extend(entries.into_iter().flatten().cloned());
        }
        if is_missing && !events.iter().any(Event::is_order) {
            events.extend(Self::gone(one, sold));
        }
        if differs.contains(&Differs::Money) {
            let is_there = |event: &Event| {
                let its = |other: &Event| {
                    other.which() == Which::Confirmed && other.reference == event.reference
                };
                events.iter().any(its)
            };
            let payments = Self::payments(one, books).into_iter();
            let payments: Vec<_> = payments.filter(|event| !is_there(event)).collect();
            events.extend(payments);
        }
        let sole = if sold.limit == 1 && !sold.is_managed { Sole::Yes } else { Sole::No };
        events.into_iter().map(|event| (event, sole)).collect()
    }

    /// The order as the book has it, if it is live.
    fn gone(one: &Finding, sold: &Sold) -> Option<Event> {
        let fact = sold.orders.get(&one.order).filter(|fact| fact.known.state.is_live())?;
        let kind = Kind::Order { deadline_ms: fact.deadline_ms };
        let (user, units) = (fact.user.clone(), fact.known.units);
        Some(Event::made(GONE, key(one), user, units, kind))
    }

    /// The payments of an order that are on the server's record, as their entries would tell them.
    fn payments(one: &Finding, books: &Books) -> Vec<Event> {
        let row = books.ledger.rows.iter().find(|row| row.key == key(one));
        let its = books.payments.iter().filter(|paid| {
            paid.order == one.order && paid.voucher == one.voucher && paid.sale == one.sale
        });
        let event = |paid: &super::facts::Paid| {
            let kind = match (paid.outcome, row) {
                // Without a row nobody knows its units.
                (Paid::First | Paid::Released, None) => return None,
                (Paid::First | Paid::Released, Some(_)) => Kind::Confirmed,
                (outcome, _) => Kind::Payment(outcome.word().to_owned()),
            };
            let user = row.map_or(String::new(), |row| row.user.clone());
            let units = match kind {
                Kind::Payment(_) => paid.units,
                _ => None,
            };
            let units = units.or(row.map(|row| row.known.units)).unwrap_or(1);
            let reference = Some(paid.reference.clone());
            let id = EntryId { ms: 0, seq: super::books::digest(&paid.reference) };
            Some(Event { reference, ..Event::made(id, key(one), user, units, kind) })
        };
        its.filter_map(event).collect()
    }
}

/// The row is marked at most.
fn is_told_only(differs: &Why) -> bool {
    differs.iter().all(|kind| matches!(kind, Differs::Contradicts | Differs::Unheld))
}

/// What no look at the server changes.
fn is_for_a_person(kind: Differs) -> bool {
    use Differs::{Claimed, GoodsAndMoney, Outside, Oversold, Shared, Twice};
    matches!(kind, Oversold | Outside(_) | Shared | Claimed | GoodsAndMoney | Twice)
}

fn key(one: &Finding) -> OrderKey {
    OrderKey { voucher: one.voucher.clone(), sale: one.sale.clone(), order: one.order.clone() }
}

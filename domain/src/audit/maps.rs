//! The keys of a voucher as maps in memory, for tests and fuzzing.

use super::{AuditPart, AuditReport, Figures, Keys, Pair, Progress};
use crate::book::{Entry, State, UserUnits};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

type Bytes = Vec<u8>;

#[derive(Clone, Debug, Default)]
pub struct Maps {
    pub total: i64,
    pub left: Option<i64>,
    /// Order id to entry.
    pub orders: BTreeMap<Bytes, Bytes>,
    /// User to units.
    pub units: BTreeMap<Bytes, Bytes>,
    /// Order id to deadline.
    pub holds: BTreeMap<Bytes, i64>,
    /// Order ids in the queue.
    pub queue: BTreeSet<Bytes>,
    pub extra: Option<i64>,
    pub beyond_one: Option<i64>,
    pub buyers: BTreeSet<Bytes>,
}

impl Maps {
    /// The keys of a sale whose users have these orders, as the commands write them.
    pub fn of(
        total: i64,
        left: i64,
        orders: BTreeMap<Bytes, Bytes>,
        units: BTreeMap<Bytes, Bytes>,
    ) -> Self {
        let entries = orders.iter().filter_map(|(id, text)| Some((id, Entry::parse(text).ok()?)));
        let entries: Vec<_> = entries.collect();
        let waiting = entries.iter().filter(|(_, entry)| entry.state == State::Waiting);
        let queue: BTreeSet<_> = waiting.map(|(id, _)| (*id).clone()).collect();
        let held = entries.iter().filter(|(_, entry)| entry.state == State::Held);
        let held: Vec<_> =
            held.map(|(id, entry)| ((*id).clone(), entry.deadline, entry.units)).collect();
        let extra = held.iter().map(|(_, _, units)| units.get().saturating_sub(1)).sum();
        let holds = held.into_iter().map(|(id, deadline, _)| (id, deadline)).collect();
        let has = |text: &Bytes| UserUnits::parse(text).map(|has| has.has()).unwrap_or_default();
        let buyers = units.iter().filter(|(_, text)| has(text).is_buyer());
        let buyers = buyers.map(|(user, _)| user.clone()).collect();
        let beyond_one: i64 = units.values().map(|text| has(text).beyond_one()).sum();
        let beyond_one =
            i64::try_from(queue.len()).ok().map(|waiting| beyond_one.saturating_add(waiting));
        let (left, extra) = (Some(left), Some(extra));
        Self { total, left, orders, units, holds, queue, extra, beyond_one, buyers }
    }

    pub fn figures(&self) -> Figures {
        let [orders, holds, waiting] = [self.orders.len(), self.holds.len(), self.queue.len()]
            .map(|len| i64::try_from(len).unwrap_or(i64::MAX));
        let Self { total, left, extra, beyond_one, .. } = *self;
        Figures { total, left, orders, holds, waiting, extra, beyond_one }
    }

    /// All steps at once.
    pub fn audit(&self) -> AuditReport {
        let figures = self.figures();
        let mut progress = Progress::begin(&figures);
        while !progress.is_done() {
            let Ok(_) = progress.step(self);
        }
        progress.report(&figures)
    }
}

/// One element at a time, by its number.
impl Keys for Maps {
    type Error = Infallible;

    fn scan(&self, part: AuditPart, position: u64) -> Result<(Vec<Pair>, u64), Infallible> {
        let at = usize::try_from(position).unwrap_or(usize::MAX);
        let pair = |(name, value): (&Bytes, &Bytes)| (name.clone(), value.clone());
        let name = |name: &Bytes| (name.clone(), Bytes::new());
        let (element, len) = match part {
            AuditPart::Book => (self.orders.iter().nth(at).map(pair), self.orders.len()),
            AuditPart::Units => (self.units.iter().nth(at).map(pair), self.units.len()),
            AuditPart::Holds => (self.holds.keys().nth(at).map(name), self.holds.len()),
            AuditPart::Queue => (self.queue.iter().nth(at).map(name), self.queue.len()),
            AuditPart::Buyers => (self.buyers.iter().nth(at).map(name), self.buyers.len()),
        };
        let next = position.saturating_add(1);
        let is_last = at.saturating_add(1) >= len;
        Ok((element.into_iter().collect(), if is_last { 0 } else { next }))
    }

    fn entry(&self, id: &[u8]) -> Result<Option<Bytes>, Infallible> {
        Ok(self.orders.get(id).cloned())
    }

    fn deadline(&self, id: &[u8]) -> Result<Option<i64>, Infallible> {
        Ok(self.holds.get(id).copied())
    }

    fn is_in_queue(&self, id: &[u8]) -> Result<bool, Infallible> {
        Ok(self.queue.contains(id))
    }

    fn units(&self, user: &[u8]) -> Result<Option<Bytes>, Infallible> {
        Ok(self.units.get(user).cloned())
    }

    fn is_buyer(&self, user: &[u8]) -> Result<bool, Infallible> {
        Ok(self.buyers.contains(user))
    }
}

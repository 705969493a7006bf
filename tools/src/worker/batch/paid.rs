//! How many units payments were for, as the entries of a batch tell. Pure.

use std::cell::OnceCell;
use std::collections::HashMap;

use domain::book::State;

use super::Sole;
use super::draft::Draft;
use crate::order_events::{Event, Kind, OrderKey};

/// How many units the payments of held orders were for, as far as a batch tells. Few orders ask.
pub struct Payments<'e> {
    events: &'e [(Event, Sole)],
    by_order: OnceCell<HashMap<&'e OrderKey, i64>>,
}

impl<'e> Payments<'e> {
    pub fn of_batch(events: &'e [(Event, Sole)]) -> Self {
        Self { events, by_order: OnceCell::new() }
    }

    /// Of an order that may have had more units before it was paid.
    pub fn of(&self, draft: &Draft<'_>, event: &Event) -> Option<i64> {
        let (state, units) = match draft.before {
            Some(row) => (row.known.state, row.known.units.max(event.units)),
            None => (State::Held, event.units),
        };
        if units <= 1 || state != State::Held || !event.key.is_managed() {
            return None;
        }
        self.by_order.get_or_init(|| self.read()).get(&event.key).copied()
    }

    /// The confirmation tells; or what was kept of an order when it was held for the last time.
    fn read(&self) -> HashMap<&'e OrderKey, i64> {
        let mut paid: HashMap<&OrderKey, (bool, i64)> = HashMap::new();
        for (event, _) in self.events {
            let (is_told, units) = match event.kind {
                Kind::Confirmed => (true, event.units),
                Kind::Released { was: Some(State::Held), kept: Some(kept), .. } => (false, kept),
                _ => continue,
            };
            let of = paid.entry(&event.key).or_insert((is_told, units));
            *of = match (of.0, is_told) {
                (true, _) => *of,
                (false, true) => (true, units),
                (false, false) => (false, units.min(of.1)),
            };
        }
        paid.into_iter().map(|(key, (_, units))| (key, units)).collect()
    }
}

//! What was seen of a script, in words, and what is asked about it.

use anyhow::Result;
use itertools::Itertools;
use seckill_tools::sanitize::sanitize_bytes;

use super::Examination;
use crate::bench::{shown, shown_all};
use crate::call::{Call, Role, Slot};
use crate::learn::{Learned, Sale};
use crate::template::{Part, Template};

impl Examination<'_, '_, '_> {
    /// Keys that the script makes itself: in a cluster no client finds their node.
    pub(super) fn undeclared(&mut self, unknown: &Call, sale: &Sale) {
        let slots = unknown.values(&sale.run.values);
        let keys = sale.run.seen.calls.iter().flat_map(|called| &called.keys);
        let is_declared = |key: &Vec<u8>| {
            slots.iter().any(|(slot, value)| matches!(slot, Slot::Key(_)) && value == key)
        };
        let made = keys.map(|access| &access.key).filter(|key| !is_declared(key));
        let made = made.map(|key| self.shown(&Template::of(key, &slots)));
        let made = made.sorted().dedup().join(", ");
        if !made.is_empty() {
            self.said.saw(format!("It uses keys that are not among its KEYS: {made}."));
        }
    }

    pub(super) fn undecided(&mut self, learned: &Learned) -> Result<()> {
        if learned.sale.is_none() && self.said.seen.is_empty() {
            self.said.saw(match learned.best() {
                Some(run) => {
                    let before = match run.plants.is_empty() {
                        true => "On an empty server".to_owned(),
                        false => format!("After {}", shown_all(&run.setup())),
                    };
                    let calls = run.seen.calls.iter().take(8);
                    let calls = calls.map(|call| shown(&call.words)).join("; ");
                    format!("{before} it called {calls}, and replied {}.", run.seen.reply)
                }
                None => "No call that was tried changed any key.".to_owned(),
            });
        }
        let is_barred = match &learned.sale {
            Some(sale) => !sale.needs.is_empty(),
            None => learned.best().is_none(),
        };
        let stopped = if is_barred { self.stopped(learned)? } else { None };
        if let Some(run) = stopped {
            let (before, why) = (shown_all(&run.setup()), self.source.error(&run.seen.reply));
            self.said.saw(format!("After {before} a call failed: {why}."));
        }
        self.said.saw(if learned.sale.is_some() || !learned.locks().is_empty() {
            "No command was found that takes its place."
        } else {
            "No call that was tried did what a command does: none is known that takes its place."
        });
        if !self.call.is_told {
            self.ask();
        }
        Ok(())
    }

    /// The line to complete.
    pub(super) fn ask(&mut self) {
        let mut text = self.call.to_string();
        for (slot, word) in self.call.slots() {
            let is_unknown = matches!(word.only(), Some(Role::Other(_)));
            if is_unknown || matches!(slot, Slot::Key(_)) {
                text = text.replacen(&word.to_string(), "?", 1);
            }
        }
        self.said.asks.push(format!("seckill-doctor --call '{text}' {}", self.source.name));
    }

    pub(super) fn shown(&self, template: &Template) -> String {
        let of = |part: &Part<Slot>| match part {
            Part::Text(text) => sanitize_bytes(text),
            Part::Place(slot) | Part::Number(slot) => match self.call.word(*slot) {
                Some(word) if word.only().is_some() => word.to_string(),
                _ => slot.to_string(),
            },
        };
        template.0.iter().map(of).collect()
    }
}

/// Which argument is what, as the accepted call showed it.
pub(super) fn learn_roles(call: &mut Call, sale: &Sale) {
    if let Some((_, user)) = &sale.buyers {
        call.learn(Some(*user), Role::User);
    }
    call.learn(sale.units.ok(), Role::Units);
    if let Some(orders) = &sale.orders {
        call.learn(orders.values[1].only(), Role::Voucher);
        call.learn(orders.values[2].only(), Role::Order);
    }
    let names = sale.stock.places().filter(|slot| matches!(slot, Slot::Arg(_)));
    for slot in names {
        call.learn(Some(slot), Role::Voucher);
    }
}

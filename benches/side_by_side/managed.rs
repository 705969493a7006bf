//! Managed sales: the cost of their tries, confirmations and cancellations compared with scripts
//! that do the same work, the memory per order, and the release of holds that are due at once.
//!
//! `sold_out` and `deeds` are server CPU per command; `memory` and `expiry` have other units.

pub mod deeds;
mod expiry;
mod memory;
pub mod sale;
pub mod sold_out;

use serde::Serialize;

use crate::Result;
use crate::contender::Contender;
use crate::figures::cost_of;
use crate::options::{Options, Part};
use crate::stand::Lab;
use crate::target::Target;

use sold_out::SoldOut;

/// The sold-out sale that has targets: as large as the sale of `make run`, and with as many buyers
/// as the unmanaged sale that it is compared with.
const ORDERS_AIMED_AT: usize = 1_000;

/// The results; a part that was not requested is empty.
#[derive(Default, Serialize)]
pub struct Managed {
    pub sold_out: Vec<SoldOut>,
    pub deeds: Vec<deeds::Deed>,
    pub memory: Option<memory::Memory>,
    pub expiry: Vec<expiry::Expiry>,
}

impl Managed {
    pub fn measure(lab: &Lab, options: &Options) -> Result<Self> {
        let size = options.size();
        let mut managed = Self::default();
        if options.wants(Part::Managed) {
            eprintln!("managed, sold out ...");
            managed.sold_out = sold_out::measure(lab, size)?;
            managed.deeds = deeds::measure(lab, size)?;
        }
        if options.wants(Part::ManagedMemory) {
            eprintln!("managed, memory ...");
            managed.memory = Some(memory::measure(lab, size)?);
        }
        if options.wants(Part::ManagedExpiry) {
            for aof in [false, true] {
                let with = if aof { "with AOF everysec" } else { "without AOF" };
                eprintln!("managed, {} holds due at once, {with} ...", size.holds);
                managed.expiry.push(expiry::measure(lab, size, aof)?);
            }
        }
        Ok(managed)
    }

    /// The targets whose figures were measured.
    pub fn targets(&self) -> Vec<Target> {
        let sold_out = self.sold_out.iter().find(|sale| sale.orders == ORDERS_AIMED_AT);
        let cost = |who| sold_out.and_then(|sale| cost_of(&sale.costs, who));
        let managed = sold_out.and_then(SoldOut::dearer);
        let ratio = |above: Option<f64>, below: Option<f64>| Some(above? / below?);
        let cheaper = ratio(cost(Contender::Script), managed);
        let near = ratio(managed, cost(Contender::Seckill));
        let held = |aof| {
            let deed = self.deeds.iter().find(|deed| deed.is_held_try() && deed.aof == aof);
            deed.map(|deed| deed.script_to_seckill)
        };
        let confirmation = |is_listed| {
            let mut deeds = self.deeds.iter();
            let deed = deeds.find(|deed| deed.is_confirmation(is_listed) && !deed.aof)?;
            cost_of(&deed.costs, Contender::ManagedCommand)
        };
        let with_entry = ratio(confirmation(true), confirmation(false));
        // With AOF, the disk may stall the server regardless of its work.
        let stall = self.expiry.iter().find(|row| !row.aof).map(|row| row.due.p99_ms);
        [
            Target::at_least("managed, sold out: script / SECKILL.TRY, at least", 2.5, cheaper),
            Target::at_most("sold out: SECKILL.TRY managed / unmanaged, at most", 2.0, near),
            Target::at_least(
                "managed, accepted with HOLD: script of the same work / SECKILL.TRY, at least",
                2.0,
                held(false),
            ),
            Target::at_least(
                "managed, accepted with HOLD, AOF everysec: script / SECKILL.TRY, at least",
                2.0,
                held(true),
            ),
            Target::at_most("SECKILL.CONFIRM: with its entry / without, at most", 1.6, with_entry),
            Target::at_most("holds due at once: p99 of a PING, in ms, at most", 5.0, stall),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

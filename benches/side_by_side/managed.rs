//! Managed sales: what their tries, confirmations and cancellations cost beside scripts that do
//! the same work, what an order takes of memory, and how holds come back that are due at once.
//!
//! `sold_out` and `deeds` are server CPU a command; `memory` and `expiry` have units of their own;
//! `tables` shows all of it.

pub mod deeds;
mod expiry;
mod memory;
mod sale;
pub mod sold_out;
pub mod tables;

use redis::Connection;
use serde::Serialize;

use crate::Result;
use crate::contender::Contender;
use crate::options::{Options, Part};
use crate::results::Target;
use crate::stand::{Figure, Lab, load_script, median_of};

/// The scripts of the same work by their SHA1 on the server under test.
pub struct Scripts {
    buy: String,
    confirm: String,
    cancel: String,
}

impl Scripts {
    pub fn load(control: &mut Connection) -> Result<Self> {
        Ok(Self {
            buy: load_script(control, include_str!("managed/try.lua"))?,
            confirm: load_script(control, include_str!("managed/confirm.lua"))?,
            cancel: load_script(control, include_str!("managed/cancel.lua"))?,
        })
    }
}

/// What was measured; empty where a part was not asked for.
#[derive(Default, Serialize)]
pub struct Managed {
    pub sold_out: Vec<Figure>,
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
        // Of the two managed sales, with HOLD and without, the dearer one is held to the target.
        let dearer = [Contender::Managed, Contender::ManagedHold]
            .into_iter()
            .filter_map(|who| median_of(&self.sold_out, who))
            .reduce(f64::max);
        let sold_out = |who| median_of(&self.sold_out, who);
        let cheaper =
            dearer.zip(sold_out(Contender::Script)).map(|(managed, script)| script / managed);
        let near = dearer.zip(sold_out(Contender::Seckill)).map(|(managed, plain)| managed / plain);
        let held = |aof| {
            let deed = self.deeds.iter().find(|deed| deed.is_held_try() && deed.aof == aof);
            deed.map(|deed| deed.script_to_seckill)
        };
        let stall = self.expiry.iter().map(|row| row.due.p999_ms).reduce(f64::max);
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
            Target::at_most("holds due at once: p99.9 of a PING, in ms, at most", 5.0, stall),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

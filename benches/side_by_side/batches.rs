//! Many tries per command: a script for a batch and, if the module has it, SECKILL.MTRY, compared
//! with the same tries one by one.

use serde::Serialize;

use crate::Result;
use crate::contender::{Contender, Outcome, those_of};
use crate::figures::{Figure, in_rounds, ratio};
use crate::options::Size;
use crate::stand::Lab;
use crate::target::Target;
use crate::tries::Tries;

pub const CONTENDERS: &[Contender] =
    &[Contender::Script, Contender::Seckill, Contender::BatchScript, Contender::Mtry];
const TRIES_PER_COMMAND: [usize; 3] = [8, 32, 128];
/// The batch size that has targets.
const AIMED_AT: usize = 32;

#[derive(Serialize)]
pub struct Batch {
    pub outcome: Outcome,
    pub aof: bool,
    pub tries_per_command: usize,
    /// Per try, not per command.
    pub costs: Vec<Figure>,
}

impl Batch {
    pub fn name(&self) -> String {
        let aof = if self.aof { ", AOF everysec" } else { "" };
        format!("{}{aof}, {} per command", self.outcome.label(), self.tries_per_command)
    }
}

pub fn measure(lab: &Lab, size: Size) -> Result<Vec<Batch>> {
    let mut batches = Vec::new();
    for (outcome, aof) in
        [(Outcome::SoldOut, false), (Outcome::Accepted, false), (Outcome::Accepted, true)]
    {
        let mut stand = lab.stand(aof)?;
        let contenders = those_of(&mut stand, CONTENDERS)?;
        for tries_per_command in TRIES_PER_COMMAND {
            let tries = Tries::in_batches(&stand, size, outcome, &contenders, tries_per_command);
            let costs = in_rounds(size.rounds, &contenders, |place| tries.turn(&mut stand, place))?;
            batches.push(Batch { outcome, aof, tries_per_command, costs });
        }
    }
    Ok(batches)
}

/// The targets whose figures were measured: none if the module lacks the command.
pub fn targets(batches: &[Batch]) -> Vec<Target> {
    let of = |outcome, aof, above| {
        let batch = batches.iter().find(|batch| {
            batch.outcome == outcome && batch.aof == aof && batch.tries_per_command == AIMED_AT
        });
        batch.and_then(|batch| ratio(&batch.costs, above, Contender::Mtry).ok())
    };
    let (script, batch) = (Contender::Script, Contender::BatchScript);
    [
        Target::at_least(
            "SECKILL.MTRY of 32, sold out: script / a try of it, at least",
            9.0,
            of(Outcome::SoldOut, false, script),
        ),
        Target::at_least(
            "SECKILL.MTRY of 32, accepted: script / a try of it, at least",
            3.8,
            of(Outcome::Accepted, false, script),
        ),
        Target::at_least(
            "SECKILL.MTRY of 32, accepted, AOF everysec: script / a try of it, at least",
            3.2,
            of(Outcome::Accepted, true, script),
        ),
        Target::at_least(
            "SECKILL.MTRY of 32, accepted: batch script / SECKILL.MTRY, at least",
            2.0,
            of(Outcome::Accepted, false, batch),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

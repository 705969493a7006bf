//! Tries on a cluster node, where the script must declare its keys and the module's keys have hash
//! tags.

use serde::Serialize;

use crate::Result;
use crate::contender::{Contender, Outcome};
use crate::figures::{Figure, ratio};
use crate::options::Size;
use crate::stand::Lab;
use crate::target::Target;
use crate::tries;

pub const CONTENDERS: &[Contender] = &[
    Contender::DeclaredScript,
    Contender::Seckill,
    Contender::TryKeys,
    Contender::Get,
    Contender::Noop,
];

/// Commands in flight per connection: fewer than elsewhere, since the script's commands are longer
/// with their keys, and a batch of them must also fit into one read of the server.
pub const DEPTH: usize = 80;

#[derive(Serialize)]
pub struct ClusterTry {
    pub outcome: Outcome,
    pub costs: Vec<Figure>,
    pub script_to_seckill: f64,
    pub script_to_trykeys: f64,
    pub seckill_to_get: f64,
}

/// Measures each outcome on a separate node that has all slots.
pub fn measure(lab: &Lab, size: Size) -> Result<Vec<ClusterTry>> {
    [Outcome::SoldOut, Outcome::Accepted]
        .into_iter()
        .map(|outcome| {
            let costs = tries::costs(&mut lab.cluster_node()?, size, outcome, CONTENDERS, DEPTH)?;
            Ok(ClusterTry {
                outcome,
                script_to_seckill: ratio(&costs, Contender::DeclaredScript, Contender::Seckill)?,
                script_to_trykeys: ratio(&costs, Contender::DeclaredScript, Contender::TryKeys)?,
                seckill_to_get: ratio(&costs, Contender::Seckill, Contender::Get)?,
                costs,
            })
        })
        .collect()
}

/// The targets whose outcome was measured.
pub fn targets(tries: &[ClusterTry]) -> Vec<Target> {
    let of = |outcome| {
        let tries = tries.iter().find(|tries| tries.outcome == outcome);
        tries.map(|tries| tries.script_to_seckill)
    };
    let sold_out = "cluster, sold out: script, declared keys / SECKILL.TRY, at least";
    let accepted = "cluster, accepted: script, declared keys / SECKILL.TRY, at least";
    [
        Target::at_least(sold_out, 3.3, of(Outcome::SoldOut)),
        Target::at_least(accepted, 2.0, of(Outcome::Accepted)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

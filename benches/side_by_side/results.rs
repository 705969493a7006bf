//! All results of one run, as written to results.json, and its targets.

use std::thread::available_parallelism;

use serde::Serialize;

use crate::Result;
use crate::batches::Batch;
use crate::cluster::ClusterTry;
use crate::contender::Outcome;
use crate::decisions::{Decision, Ratios};
use crate::full_batches::FullBatch;
use crate::growth::Growth;
use crate::latency::{CONNECTIONS, Latency};
use crate::locks::Locks;
use crate::managed::Managed;
use crate::options::{Options, Part, Size};
use crate::pauses::Pauses;
use crate::stand::{Lab, Stand, clock_name};
use crate::stocks::Stock;
use crate::target::Target;
use crate::vouchers::Spread;
use crate::wire::{LANES, PIPELINE};
use crate::{
    batches, cluster, decisions, full_batches, growth, latency, locks, machine, pauses, stocks,
    vouchers,
};

#[derive(Serialize)]
pub struct Results {
    /// UTC, as year-month-day.
    pub date: String,
    pub server: String,
    pub cpu: String,
    pub cores: usize,
    pub method: Method,
    /// Server CPU per command, in microseconds, as in cluster, growth, vouchers and locks.
    pub decisions: Vec<Decision>,
    pub cluster: Vec<ClusterTry>,
    pub batches: Vec<Batch>,
    pub full_batches: Vec<FullBatch>,
    pub growth: Vec<Growth>,
    pub vouchers: Vec<Spread>,
    pub locks: Vec<Locks>,
    pub stocks: Vec<Stock>,
    pub latency: Vec<Latency>,
    pub managed: Managed,
    pub pauses: Pauses,
    pub targets: Vec<Target>,
}

#[derive(Serialize)]
pub struct Method {
    pub cpu_clock: &'static str,
    pub rounds: u32,
    pub pipeline: usize,
    pub pipelined_connections: usize,
    pub unpipelined_connections: usize,
}

impl Results {
    /// Runs every requested part, one after the other, and logs each on standard error.
    pub fn measure(lab: &Lab, options: &Options) -> Result<Self> {
        let size = options.size();
        let mut results = Self::of_this_machine(&mut lab.stand(false)?, size)?;
        for (part, outcome) in [
            (Part::SoldOut, Outcome::SoldOut),
            (Part::Duplicate, Outcome::Duplicate),
            (Part::Accepted, Outcome::Accepted),
        ] {
            for aof in [false, true] {
                if options.wants(part) {
                    let with = if aof { "with AOF everysec" } else { "without AOF" };
                    eprintln!("{}, {with} ...", outcome.label());
                    results.decisions.push(decisions::measure(lab, size, outcome, aof)?);
                }
            }
        }
        if options.wants(Part::Cluster) {
            eprintln!("a cluster ...");
            results.cluster = cluster::measure(lab, size)?;
        }
        if options.wants(Part::Batches) {
            eprintln!("batches ...");
            results.batches = batches::measure(lab, size)?;
            results.full_batches = full_batches::measure(lab, size)?;
        }
        if options.wants(Part::Stocks) {
            eprintln!("bare stocks ...");
            results.stocks = stocks::measure(lab, size)?;
        }
        if options.wants(Part::Locks) {
            eprintln!("locks ...");
            results.locks = locks::measure(lab, size)?;
        }
        if options.wants(Part::Vouchers) {
            eprintln!("many vouchers ...");
            results.vouchers = vouchers::measure(lab, size)?;
        }
        if options.wants(Part::Growth) {
            eprintln!("growing sets of buyers ...");
            results.growth = growth::measure(lab, size)?;
        }
        if options.wants(Part::Latency) {
            eprintln!("unpipelined, {CONNECTIONS} connections ...");
            results.latency = latency::measure(lab, size)?;
        }
        results.managed = Managed::measure(lab, options)?;
        if options.wants(Part::Pauses) {
            eprintln!("pauses, with {} other keys ...", size.other_keys);
            results.pauses = pauses::measure(lab, size)?;
        }
        results.targets = targets(&results.decisions);
        results.targets.extend(batches::targets(&results.batches));
        results.targets.extend(full_batches::targets(&results.full_batches));
        results.targets.extend(cluster::targets(&results.cluster));
        results.targets.extend(results.managed.targets());
        results.targets.extend(results.pauses.target());
        Ok(results)
    }

    fn of_this_machine(stand: &mut Stand, size: Size) -> Result<Self> {
        Ok(Self {
            date: machine::today()?,
            server: machine::server_name(&mut stand.control)?,
            cpu: machine::cpu_model(),
            cores: available_parallelism()?.get(),
            method: Method {
                cpu_clock: clock_name(&mut stand.control)?,
                rounds: size.rounds,
                pipeline: PIPELINE,
                pipelined_connections: LANES,
                unpipelined_connections: CONNECTIONS,
            },
            decisions: Vec::new(),
            cluster: Vec::new(),
            batches: Vec::new(),
            full_batches: Vec::new(),
            growth: Vec::new(),
            vouchers: Vec::new(),
            locks: Vec::new(),
            stocks: Vec::new(),
            latency: Vec::new(),
            managed: Managed::default(),
            pauses: Pauses::default(),
            targets: Vec::new(),
        })
    }
}

/// The targets whose outcome was measured, each as one ratio of this run.
fn targets(decisions: &[Decision]) -> Vec<Target> {
    let of = |outcome, aof| {
        decisions.iter().find(|d| d.outcome == outcome && d.aof == aof).map(|d| &d.ratios)
    };
    let at_least = |outcome, aof, what, wanted| {
        let measured = of(outcome, aof).map(|ratios| ratios.script_to_seckill);
        Target::at_least(what, wanted, measured)
    };
    let at_most = |outcome, what, wanted, ratio: fn(&Ratios) -> f64| {
        Target::at_most(what, wanted, of(outcome, false).map(ratio))
    };
    [
        at_least(Outcome::SoldOut, false, "sold out: script / SECKILL.TRY, at least", 4.0),
        at_most(Outcome::SoldOut, "sold out: SECKILL.TRY / GET, at most", 1.5, |ratios| {
            ratios.seckill_to_get
        }),
        at_most(
            Outcome::SoldOut,
            "sold out: EVALSHA answered natively / SECKILL.TRY, at most",
            1.3,
            |ratios| ratios.native_to_seckill,
        ),
        at_most(
            Outcome::Accepted,
            "accepted: EVALSHA answered natively / SECKILL.TRY, at most",
            1.15,
            |ratios| ratios.native_to_seckill,
        ),
        at_most(
            Outcome::SoldOut,
            "GET with seckill.scripts set / without, at most",
            1.05,
            |ratios| ratios.get_with_scripts_to_get,
        ),
        at_least(Outcome::Duplicate, false, "duplicate: script / SECKILL.TRY, at least", 2.3),
        at_least(Outcome::Accepted, false, "accepted: script / SECKILL.TRY, at least", 2.1),
        at_least(
            Outcome::Accepted,
            true,
            "accepted, AOF everysec: script / SECKILL.TRY, at least",
            1.75,
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

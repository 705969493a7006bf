//! The command line, and the size of the run that it asks for.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Measures the module side by side with the script, with RM_Call and with GET on a real server.
#[derive(Parser)]
#[command(name = "side_by_side")]
pub struct Options {
    /// Tiny counts: shows in under a minute that everything runs, measures nothing of worth
    #[arg(long)]
    pub smoke: bool,

    /// Where results.json, the page and the plots go; docs/bench by default for a whole run
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Only these parts, comma-separated; nothing is written unless --out is given too
    #[arg(long, value_delimiter = ',', value_name = "PARTS")]
    pub only: Vec<Part>,

    /// Rounds counted; a cost is the lower quartile of them
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: Option<u32>,

    /// The server to measure on; REDIS_SERVER, else redis-server, by default
    #[arg(long, value_name = "PATH")]
    pub server: Option<PathBuf>,

    /// Only the tries on each of these servers (programs, comma-separated) beside each other
    #[arg(long, value_delimiter = ',', value_name = "PROGRAMS")]
    #[arg(conflicts_with_all = ["only", "server"])]
    pub servers: Vec<String>,

    /// What cargo passes to every benchmark; means nothing here
    #[arg(long, hide = true)]
    pub bench: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    SoldOut,
    Duplicate,
    Accepted,
    Cluster,
    Batches,
    Stocks,
    Pauses,
    Locks,
    LockLine,
    Latency,
    Growth,
    Vouchers,
    Managed,
    ManagedMemory,
    ManagedExpiry,
}

impl Options {
    pub fn wants(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }

    /// The directory to write to, or none for a run that is not a whole measurement.
    pub fn out_dir(&self) -> Option<PathBuf> {
        if self.out.is_some() {
            return self.out.clone();
        }
        let whole = !self.smoke && self.only.is_empty();
        whole.then(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/bench"))
    }

    pub fn size(&self) -> Size {
        let mut size = if self.smoke { SMOKE } else { WHOLE };
        if let Some(rounds) = self.rounds {
            size.rounds = rounds;
        }
        size
    }
}

/// The counts of one run. `_each` counts are for one contender in one round.
#[derive(Clone, Copy)]
pub struct Size {
    pub rounds: u32,
    /// Tries that lose, GETs and no-ops.
    pub losing_each: usize,
    /// Tries that are accepted, and locks released.
    pub accepted_each: usize,
    /// Tries with one command in flight a connection.
    pub unpipelined_each: usize,
    /// Accepted tries into a buyers set of a given size: few, so that the size hardly changes.
    pub grown_each: usize,
    pub buyers: &'static [usize],
    pub vouchers: &'static [usize],
    /// Orders of managed sales that are sold out.
    pub orders_sold: &'static [usize],
    /// Orders whose memory is measured.
    pub orders_weighed: usize,
    /// Holds due at once.
    pub holds: usize,
    /// Locks acquired and released by a single client.
    pub pairs_each: usize,
    /// How long contenders keep asking for the lock, in one round.
    pub contended_ms: u64,
    /// Clients in line at once.
    pub in_line: usize,
    /// Keys that are not the module's, with which pauses of the server are measured.
    pub other_keys: usize,
    pub paused_rounds: u32,
    /// How long the server is watched after each event.
    pub watched_ms: u64,
}

const WHOLE: Size = Size {
    rounds: 15,
    losing_each: 200_000,
    accepted_each: 30_000,
    unpipelined_each: 60_000,
    grown_each: 10_000,
    buyers: &[1_000, 10_000, 100_000, 1_000_000],
    vouchers: &[1, 10_000],
    orders_sold: &[1_000, 10_000, 100_000],
    orders_weighed: 100_000,
    holds: 1_000_000,
    pairs_each: 60_000,
    contended_ms: 2_000,
    in_line: 10_000,
    other_keys: 1_000_000,
    paused_rounds: 5,
    watched_ms: 3_000,
};

const SMOKE: Size = Size {
    rounds: 2,
    losing_each: 5_000,
    accepted_each: 2_000,
    unpipelined_each: 2_000,
    grown_each: 1_000,
    buyers: &[1_000, 10_000],
    vouchers: &[1, 1_000],
    orders_sold: &[1_000, 10_000],
    orders_weighed: 2_000,
    holds: 50_000,
    pairs_each: 2_000,
    contended_ms: 200,
    in_line: 500,
    other_keys: 50_000,
    paused_rounds: 1,
    watched_ms: 200,
};

//! The command line, and the size of the run that it asks for.

use std::path::PathBuf;

use clap::Parser;

/// Measures the module side by side with seckill.lua, unlock.lua and GET on a real server.
#[derive(Parser)]
#[command(name = "side_by_side")]
pub struct Options {
    /// Tiny counts: shows in under a minute that everything runs, measures nothing of worth
    #[arg(long)]
    pub smoke: bool,

    /// Where the pages go; docs/bench by default for a whole run
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Only these parts, comma-separated; nothing is written
    #[arg(long, value_delimiter = ',', value_name = "PARTS", conflicts_with = "out")]
    pub only: Vec<String>,

    /// Only the tries on each of these servers (programs, comma-separated) beside each other
    #[arg(long, value_delimiter = ',', value_name = "PROGRAMS", conflicts_with = "only")]
    pub servers: Vec<String>,

    /// What cargo passes to every benchmark; means nothing here
    #[arg(long, hide = true)]
    pub bench: bool,
}

impl Options {
    /// The directory to write to, or none for a run that is not a whole measurement.
    pub fn out_dir(&self) -> Option<PathBuf> {
        let is_whole = !self.smoke && self.only.is_empty();
        let usual = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/bench");
        self.out.clone().or_else(|| is_whole.then(usual))
    }

    pub fn size(&self) -> Size {
        if self.smoke { SMOKE } else { WHOLE }
    }
}

/// The counts of one run, for one contender in one round.
pub struct Size {
    /// Rounds counted; a cost is the lower quartile of them.
    pub rounds: usize,
    /// Tries that lose, and GETs.
    pub losing: usize,
    /// Tries that are accepted.
    pub accepted: usize,
    /// Tries with one command in flight a connection, and locks acquired by a single client.
    pub unpipelined: usize,
    /// Orders of managed sales that are sold out.
    pub orders_sold: &'static [usize],
    /// Orders whose memory is measured.
    pub orders_weighed: usize,
    /// Holds due at once.
    pub holds: usize,
    /// Clients in the queue at once.
    pub in_queue: usize,
}

const WHOLE: Size = Size {
    rounds: 15,
    losing: 200_000,
    accepted: 30_000,
    unpipelined: 60_000,
    orders_sold: &[1_000, 10_000, 100_000],
    orders_weighed: 100_000,
    holds: 1_000_000,
    in_queue: 10_000,
};

const SMOKE: Size = Size {
    rounds: 2,
    losing: 5_000,
    accepted: 2_000,
    unpipelined: 2_000,
    orders_sold: &[1_000, 10_000],
    orders_weighed: 2_000,
    holds: 50_000,
    in_queue: 500,
};

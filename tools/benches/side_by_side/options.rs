//! The command line, and the size of the run that it asks for.

use std::path::PathBuf;

use clap::Parser;

/// Measures the module side by side with seckill.lua, unlock.lua and GET on a real server, and
/// seckill-worker with a consumer that handles one entry per transaction.
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

    /// Rounds of each measurement [default: 15, of contended locks and databases 5]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: Option<u32>,

    /// Another build of the worker, to compare the two
    #[arg(long, value_name = "PATH", default_value = env!("CARGO_BIN_EXE_seckill-worker"))]
    pub worker: PathBuf,

    /// What cargo passes to every benchmark; means nothing here
    #[arg(long, hide = true)]
    pub bench: bool,
}

impl Options {
    /// The directory to write to, or none for a run that is not a whole measurement.
    pub fn out_dir(&self) -> Option<PathBuf> {
        let is_whole = !self.smoke && self.only.is_empty();
        let usual = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/bench");
        self.out.clone().or_else(|| is_whole.then(usual))
    }

    pub fn size(&self) -> Size {
        let size = if self.smoke { SMOKE } else { WHOLE };
        let rounds = self.rounds.map(|rounds| rounds as usize);
        Size {
            rounds: rounds.unwrap_or(size.rounds),
            long_rounds: rounds.unwrap_or(size.long_rounds),
            worker: Some(self.worker.clone()),
            ..size
        }
    }
}

/// The counts of one run, for one contender in one round.
pub struct Size {
    /// Rounds counted; a cost is the lower quartile of them.
    pub rounds: usize,
    /// Of contended locks and of databases, of which the medians are shown.
    pub long_rounds: usize,
    /// Tries that lose, and GETs.
    pub losing: usize,
    /// Tries that are accepted.
    pub accepted: usize,
    /// Tries with one command in flight a connection, and locks acquired by a single client.
    pub unpipelined: usize,
    /// Orders of managed sales that are sold out.
    pub orders_sold: &'static [usize],
    /// Holds due at once.
    pub holds: usize,
    /// Clients in the queue at once.
    pub in_queue: usize,
    /// Orders in the database by one entry per transaction, and by the worker.
    pub rows: [usize; 2],
    /// The worker that is measured.
    pub worker: Option<PathBuf>,
}

const WHOLE: Size = Size {
    rounds: 15,
    long_rounds: 5,
    losing: 200_000,
    accepted: 30_000,
    unpipelined: 60_000,
    orders_sold: &[1_000, 10_000, 100_000],
    holds: 1_000_000,
    in_queue: 10_000,
    rows: [5_000, 100_000],
    worker: None,
};

const SMOKE: Size = Size {
    rounds: 2,
    long_rounds: 1,
    losing: 5_000,
    accepted: 2_000,
    unpipelined: 2_000,
    orders_sold: &[1_000, 10_000],
    holds: 50_000,
    in_queue: 500,
    rows: [300, 3_000],
    worker: None,
};

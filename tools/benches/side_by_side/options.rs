//! The command line, and the counts of the run that it asks for.

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

    /// Only these parts, comma-separated; nothing is written
    #[arg(long, value_delimiter = ',', value_name = "PARTS")]
    pub only: Vec<String>,

    /// Rounds of each measurement [default: 15, of databases 5]
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
    /// The one, or in a smoke run the other.
    pub fn of<T>(&self, whole: T, smoke: T) -> T {
        if self.smoke { smoke } else { whole }
    }

    /// Rounds counted; a cost is the lower quartile of them.
    pub fn rounds(&self) -> usize {
        self.rounds.map_or(self.of(15, 2), |rounds| rounds as usize)
    }

    /// Rounds of databases, of which the medians are shown.
    pub fn rounds_of_databases(&self) -> usize {
        self.rounds.map_or(self.of(5, 1), |rounds| rounds as usize)
    }

    /// Tries that lose, and GETs, of one contender in one round.
    pub fn losing(&self) -> usize {
        self.of(200_000, 5_000)
    }

    /// Likewise, tries that are accepted.
    pub fn accepted(&self) -> usize {
        self.of(30_000, 2_000)
    }

    /// Orders of managed sales that are sold out, or that wait.
    pub fn orders_sold(&self) -> &'static [usize] {
        self.of(&[1_000, 10_000, 100_000], &[1_000, 10_000])
    }
}

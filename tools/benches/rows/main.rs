//! The benchmark of the worker: orders per second from the stream to committed rows, compared with
//! a consumer that handles one entry per transaction, as consumers of seckill.lua do.
//!
//! `cargo bench --profile packaged --bench rows`, or `-- --help` for its options: the worker as
//! packages have it. Both take turns, each turn with a new Redis server and an empty database, and
//! the resulting rows are counted.
//!
//! In reading order: `harness`, `databases` (shared with the tests), `machine` (shared with the
//! benchmark of the module), `turns` (one turn of either), `naive` (the other consumer), `network`,
//! `report`.

use kit::harness;
#[path = "../../tests/worker/databases.rs"]
mod databases;
#[path = "../../../benches/side_by_side/machine.rs"]
mod machine;
mod naive;
mod network;
mod report;
mod turns;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use databases::Kind;
use report::Report;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Measures seckill-worker beside a consumer that handles one entry per transaction.
#[derive(Parser)]
#[command(name = "rows")]
struct Options {
    /// Few orders, one round: shows that everything runs, measures nothing of worth
    #[arg(long)]
    smoke: bool,

    /// Where rows.md goes; docs/bench by default for a whole run
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Rounds; a figure is the median of them
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Another build of the worker, to compare the two in turn
    #[arg(long, value_name = "PATH", default_value = env!("CARGO_BIN_EXE_seckill-worker"))]
    worker: PathBuf,

    /// What cargo passes to every benchmark; means nothing here
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rows: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A missed target is reported but is never an error, since times vary.
fn run(options: &Options) -> Result<()> {
    let (rounds, size) = match options.smoke {
        true => (1, turns::SMOKE),
        false => (options.rounds, turns::WHOLE),
    };
    let mut lines = Vec::new();
    for kind in [Kind::Sqlite, Kind::Postgres, Kind::MariaDb, Kind::MySql] {
        eprintln!("{kind:?} ...");
        lines.extend(turns::measure(kind, rounds, size, &options.worker)?);
    }
    let report = Report::new(lines)?;
    println!("{}", report.page());
    let whole = !options.smoke;
    let usual = whole.then(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/bench"));
    if let Some(dir) = options.out.clone().or(usual) {
        report.write(&dir)?;
        println!("Written to {}", dir.display());
    }
    Ok(())
}

//! The benchmark: the cost of a try on a real server, side by side with the script it replaces.
//!
//! `cargo bench --bench side_by_side`, or `-- --help` for its options. The main figure is the
//! server's CPU time per command, from INFO cpu before and after a pipelined load. All contenders
//! take turns on one server in one run, so their ratios are meaningful on any machine.
//!
//! In reading order: `options`, `artifacts` (the library with the baselines), `harness` (shared
//! with the tests: servers in new directories), `wire` (loads and pipelines), `scripts`, `keys`,
//! `stand` (a server and its clock), `contender` (what is measured), `figures` (turns and rounds),
//! `target`, `machine` (where and when), `grid`; then one file per part: `decisions`, `cluster`,
//! `batches` and `servers` with `tries`; `full_batches`; `stocks`; `locks`; `vouchers`; `growth`;
//! `latency`; `lock_line` with `lock_manner`, `lock_crowd` and `lock_killed`; `managed` with its
//! own folder; `pauses`; then `results`, `tables`, `lock_tables`, `managed_tables`, `plots`. There
//! is no cycle of imports.

use kit::harness;
mod artifacts;
mod batches;
mod cluster;
mod contender;
mod decisions;
mod figures;
mod full_batches;
mod grid;
mod growth;
mod keys;
mod latency;
mod lock_crowd;
mod lock_killed;
mod lock_line;
mod lock_manner;
mod lock_tables;
mod locks;
mod machine;
mod managed;
mod managed_tables;
mod options;
mod pauses;
mod plots;
mod results;
mod scripts;
mod servers;
mod stand;
mod stocks;
mod tables;
mod target;
mod tries;
mod vouchers;
mod wire;

use std::fs;
use std::process::ExitCode;

use clap::Parser;

use options::Options;
use results::Results;
use stand::Lab;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("side_by_side: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A missed target is reported but is never an error, since times vary.
fn run(options: &Options) -> Result<()> {
    if let Some(server) = &options.server {
        // SAFETY: this is still the only thread of the program.
        unsafe { std::env::set_var("REDIS_SERVER", server) };
    }
    eprintln!("building the modules, unless the environment names them ...");
    harness::module();
    let lab = Lab { baseline: artifacts::baseline()? };
    if !options.servers.is_empty() {
        let servers = servers::measure(&lab, &options.servers, options.size())?;
        println!("{}\n{}", servers.place, servers.grid().terminal());
        if let Some(dir) = options.out_dir() {
            fs::create_dir_all(&dir)?;
            servers.write(&dir)?;
        }
        return Ok(());
    }
    let mut results = Results::measure(&lab, options)?;
    let place = format!(
        "{}, {}, {} cores, {}. Medians of the rounds of one run.",
        results.server, results.cpu, results.cores, results.date
    );
    let line = lock_line::measure(&lab, options, place)?;
    results.targets.extend(line.as_ref().and_then(|line| line.killed.target()));
    tables::print(&results);
    if let Some(line) = &line {
        println!("{}", lock_tables::page(line));
    }
    if let Some(dir) = options.out_dir() {
        fs::create_dir_all(&dir)?;
        fs::write(dir.join("results.json"), serde_json::to_string_pretty(&results)? + "\n")?;
        fs::write(dir.join("README.md"), tables::page(&results))?;
        plots::write(&results, &dir)?;
        if let Some(line) = &line {
            lock_tables::write(line, &dir)?;
        }
        println!("\nWritten to {}", dir.display());
    }
    Ok(())
}

//! The benchmark: the cost of a try on a real server, side by side with the script it replaces, and
//! of the orders in a database, side by side with the consumers of that script.
//!
//! `cargo bench --profile packaged -p seckill-tools --bench side_by_side`, or `-- --help` for its
//! options. The main figure is the server's CPU time per command, from INFO cpu before and after a
//! pipelined load. All contenders take turns on one server in one run, so their ratios are
//! meaningful on any machine.
//!
//! In reading order: `options`, `harness` and `databases` (shared with the tests: servers in new
//! directories), `wire` (loads and connections), `stand` (a server, its scripts and its clock),
//! `table` (turns, rounds, figures); then what is measured: `tries`, `latency`, `managed`, `carts`,
//! `waiting`, `expiry`, `rows` with `naive`; then `page`.

use kit::{databases, harness};

mod carts;
mod expiry;
mod latency;
mod managed;
mod naive;
mod options;
mod page;
mod rows;
mod stand;
mod table;
mod tries;
mod waiting;
mod wire;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use options::Options;
use page::PAGES;

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

fn run(options: &Options) -> Result<()> {
    let known: Vec<&str> = PAGES.iter().flat_map(|page| page.parts).map(|part| part.0).collect();
    if let Some(wrong) = options.only.iter().find(|part| !known.contains(&part.as_str())) {
        return Err(format!("--only {wrong}: the parts are {}", known.join(", ")).into());
    }
    eprintln!("building the module, unless SECKILL_MODULE names it ...");
    harness::module();
    let place = page::place(options)?;
    let mut pages = PAGES;
    for page in &mut pages {
        for (name, measure) in page.parts {
            if options.only.is_empty() || options.only.iter().any(|part| part == name) {
                eprintln!("{name} ...");
                page.tables.extend(measure(options)?);
            }
        }
    }
    let measured = pages.iter().filter(|page| !page.tables.is_empty());
    measured.for_each(|page| println!("{}", page.text(&place)));
    if !options.smoke && options.only.is_empty() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/bench");
        for page in &pages {
            fs::write(dir.join(page.file), page.text(&place))?;
        }
        println!("\nWritten to {}", dir.display());
    }
    Ok(())
}

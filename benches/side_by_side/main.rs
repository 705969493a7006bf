//! The benchmark: the cost of a try on a real server, side by side with the script it replaces.
//!
//! `cargo bench --bench side_by_side`, or `-- --help` for its options. The main figure is the
//! server's CPU time per command, from INFO cpu before and after a pipelined load. All contenders
//! take turns on one server in one run, so their ratios are meaningful on any machine.
//!
//! In reading order: `options`, `harness` (shared with the tests: servers in new directories),
//! `wire` (loads and pipelines), `stand` (a server, its scripts and its clock), `table` (turns,
//! rounds, figures); then what is measured: `tries`, `latency`, `managed`, `carts`, `waiting`,
//! `expiry`, `line` with `crowd`; then `page`.

use kit::harness;

mod carts;
mod crowd;
mod expiry;
mod latency;
mod line;
mod machine;
mod managed;
mod options;
mod page;
mod stand;
mod table;
mod tries;
mod waiting;
mod wire;

use std::fs;
use std::process::ExitCode;

use clap::Parser;

use options::{Options, Size};
use page::Page;
use stand::Stand;
use table::Table;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
type Part = (&'static str, fn(&Size) -> Result<Vec<Table>>);

/// In the order of the pages.
const PARTS: [Part; 12] = [
    ("tries", tries::decided),
    ("batches", tries::in_batches),
    ("full-batches", managed::full_batches),
    ("latency", latency::measure),
    ("managed", managed::sold_out),
    ("managed-turns", managed::in_turn),
    ("managed-changes", managed::changes),
    ("managed-memory", managed::memory),
    ("carts", carts::measure),
    ("managed-lines", waiting::measure),
    ("managed-expiry", expiry::measure),
    (LINE, line::measure),
];
const LINE: &str = "lock-line";

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
    let known = PARTS.map(|(name, _)| name);
    if let Some(wrong) = options.only.iter().find(|part| !known.contains(&part.as_str())) {
        return Err(format!("--only {wrong}: the parts are {}", known.join(", ")).into());
    }
    let size = options.size();
    eprintln!("building the module, unless SECKILL_MODULE names it ...");
    harness::module();
    let mut pages = Vec::new();
    if options.servers.is_empty() {
        let place = place(&size)?;
        let [mut tries, mut locks] = [page::TRIES, page::LOCKS].map(|page| page.at(&place));
        for (name, measure) in PARTS {
            if options.only.is_empty() || options.only.iter().any(|part| part == name) {
                eprintln!("{name} ...");
                let page = if name == LINE { &mut locks } else { &mut tries };
                page.tables.extend(measure(&size)?);
            }
        }
        pages.extend([tries, locks]);
    } else {
        let mut page = page::SERVERS.at(&place(&size)?);
        page.tables = tries::on_servers(&size, &options.servers)?;
        pages.push(page);
    }
    pages.iter().for_each(Page::print);
    page::print_targets(&pages);
    if let Some(dir) = options.out_dir() {
        fs::create_dir_all(&dir)?;
        for page in &pages {
            fs::write(dir.join(page.file), page.text())?;
        }
        println!("\nWritten to {}", dir.display());
    }
    Ok(())
}

/// Where, when and how it was measured.
fn place(size: &Size) -> Result<String> {
    let server = machine::server_name(&mut Stand::new(false)?.control)?;
    Ok(format!(
        "{server}, {}, {} cores, {}. CPU time of the server's main thread, lower quartile of {} \
         rounds in one run, {} connections with {} commands in flight each.",
        machine::cpu_model(),
        std::thread::available_parallelism()?,
        machine::today()?,
        size.rounds,
        wire::LANES,
        wire::PIPELINE
    ))
}

//! `seckill-doctor`: runs a user's own scripts on throw-away servers, beside the module, and says
//! what it can show: a script is broken, which a session shows, or replaceable, which a comparison
//! shows, or undecided.
//!
//! Each file uses only those that are named before it. `reply` is what a server says, `client` a
//! connection, `server` starts servers, and `keyspace` is their data. `template` is a text with
//! arguments in it, `lua` what a script's text shows, and `call` how it is called. `options` is
//! the command line; `strings` finds scripts in other languages, and `source` reads all of them.
//! `bench` are the two servers that a script is run on, and an `examination` is a script on the
//! bench. `act` is what a call did, and `learn` finds a state in which it does something. A
//! `session` ends in a harm: `harm` and `sales` look for one. `answers` is how replies follow from
//! outcomes, `candidates` are lines that could take the script's place, `passed` and `history`
//! what they are compared in, and `compare` takes the first that never differs. `examine` does all
//! of it for one script, and `report` is what is said of it.
//!
//! Exit code: 0 all replaceable, 1 one is broken, 3 one is undecided, 2 it could not run.

mod act;
mod answers;
mod bench;
mod call;
mod candidates;
mod client;
mod compare;
mod examination;
mod examine;
mod harm;
mod history;
mod keyspace;
mod learn;
mod lua;
mod options;
mod passed;
mod reply;
mod report;
mod sales;
mod server;
mod session;
mod source;
mod strings;
mod template;

use std::io::{self, Write};
use std::process::ExitCode;
use std::thread;

use anyhow::{Result, anyhow, ensure};
use clap::Parser;
use itertools::Itertools;
use seckill_tools::server_errors::with_causes;

use bench::Bench;
use call::Call;
use examine::{Report, examine};
use lua::Lua;
use options::Options;
use report::{Block, printed, summary};
use server::Programs;
use source::Source;

const COULD_NOT_RUN: u8 = 2;

/// Each worker has two servers of its own.
const WORKERS_MAX: usize = 4;

fn main() -> ExitCode {
    ExitCode::from(run(&Options::parse()).unwrap_or_else(|error| {
        eprintln!("seckill-doctor: {}", with_causes(&error));
        COULD_NOT_RUN
    }))
}

/// Examines every script. The exit code is that of the gravest verdict.
fn run(options: &Options) -> Result<u8> {
    let told = options.call()?;
    let (mut sources, skipped) = Source::read_all(&options.scripts, options.from_java)?;
    if skipped > 0 {
        eprintln!("seckill-doctor: {skipped} links, pipes or devices were not followed or read");
    }
    ensure!(!sources.is_empty(), "no script was found in the given files, outside of comments");
    let all = sources.len();
    if let Some(call) = told.as_ref().filter(|_| all > 1) {
        let lua = |source: &Source| Lua::read(&String::from_utf8_lossy(&source.text));
        sources.retain(|source| lua(source).is_some_and(|lua| call.fits(&lua)));
        ensure!(!sources.is_empty(), "none of {all} scripts has as many KEYS and ARGV as the call");
        eprintln!("seckill-doctor: the call fits {} of {all} scripts", sources.len());
    }
    let all = examine_all(&options.programs()?, &sources, told.as_ref())?;
    let (mut out, block) = (io::stdout().lock(), Block::of(&all));
    for (number, report) in all.iter().enumerate() {
        let space = if number > 0 && !options.json { "\n" } else { "" };
        let text = match options.json {
            true => printed(&report.json()) + "\n",
            false => report.text(block.is_none()),
        };
        write!(out, "{space}{text}")?;
    }
    match block {
        Some(block) if options.json => writeln!(out, "{}", printed(&serde_json::json!(block)))?,
        _ if options.json || all.len() == 1 => {}
        block => {
            let block = block.map(|block| block.text()).unwrap_or_default();
            write!(out, "\n{}{block}", summary(&all))?;
        }
    }
    Ok(all.iter().map(Report::verdict).max().map_or(0, |gravest| gravest.exit_code()))
}

/// Examines all scripts in parallel, and returns the reports in their order.
fn examine_all(
    programs: &Programs,
    sources: &[Source],
    told: Option<&Call>,
) -> Result<Vec<Report>> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let workers = cores.min(WORKERS_MAX).min(sources.len().div_ceil(2));
    let work = |first: usize| -> Result<Vec<(usize, Report)>> {
        let (mut bench, mut done) = (Bench::new(programs)?, Vec::new());
        for (at, source) in sources.iter().enumerate().skip(first).step_by(workers) {
            let report = examine(&mut bench, source, told).or_else(|error| {
                // A script that does not end keeps its server busy.
                bench = Bench::new(programs)?;
                let seen = vec![format!("Examining it failed: {error:#}.")];
                anyhow::Ok(Report { seen, ..Report::new(source) })
            });
            done.push((at, report?));
        }
        Ok(done)
    };
    thread::scope(|scope| {
        let threads = (0..workers).map(|first| scope.spawn(move || work(first))).collect_vec();
        let ended = threads.into_iter().map(|thread| thread.join());
        let ended = ended.map(|done| done.map_err(|_| anyhow!("a thread of the doctor failed"))?);
        let all: Vec<Vec<_>> = ended.collect::<Result<_>>()?;
        Ok(all.into_iter().flatten().sorted_by_key(|(at, _)| *at).map(|(_, one)| one).collect())
    })
}

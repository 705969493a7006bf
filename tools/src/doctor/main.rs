//! `seckill-doctor`: runs a user's own scripts on throw-away servers, beside the module, and says
//! what it can show: a script is broken, which a session shows, or replaceable, which a comparison
//! shows, or undecided.
//!
//! Each file uses only those that are named before it. `reply` is what a server says, `client` a
//! connection, `server` starts servers, and `keyspace` is their data. `template` is a text with
//! arguments in it, `lua` what a script's text shows, and `call` how it is called. `options` is
//! the command line; `strings` finds scripts in Java and Kotlin, and `source` reads all of them.
//! `bench` are the two servers that a script is run on, and an `examination` is a script on the
//! bench. `act` is what a call did, and `learn` finds a state in which it does something. A
//! `session` ends in a harm: `harm` and `sales` look for one. `answers` is how replies follow from
//! outcomes, `candidates` are lines that could take the script's place, `passed` and `history`
//! what they are compared in, and `compare` takes the first that never differs. `report` is what is
//! said of a script, and `examine` does all of it for one.
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

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Parser;
use seckill_tools::server_errors::with_causes;

use bench::Bench;
use examine::examine;
use lua::Lua;
use options::Options;
use report::{Report, Verdict};
use source::Source;

const COULD_NOT_RUN: u8 = 2;

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
    let programs = options.programs()?;
    let (mut bench, mut gravest) = (Bench::new(&programs)?, Verdict::Replaceable);
    for (number, source) in sources.iter().enumerate() {
        let report = match examine(&mut bench, source, told.as_ref()) {
            Ok(report) => report,
            Err(error) => {
                // A script that does not end keeps its server busy.
                bench = Bench::new(&programs)?;
                let seen = vec![format!("Examining it failed: {error:#}.")];
                Report { seen, ..Report::new(source) }
            }
        };
        gravest = gravest.max(report.verdict());
        let space = if number > 0 && !options.json { "\n" } else { "" };
        let text = if options.json { report.json() } else { report.text() };
        write!(std::io::stdout(), "{space}{text}")?;
    }
    Ok(gravest.exit_code())
}

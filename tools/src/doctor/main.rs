//! `seckill-doctor`: runs a user's own scripts on throw-away servers, beside the module, and says
//! what it can show: a script is broken, which a session shows, or replaceable, which a comparison
//! shows, or undecided.
//!
//! `options` is the command line, `source` the scripts, also those in `strings` of other languages,
//! `lua` what their text shows, and `call` how they are called. `server` starts servers, `wire` is
//! the connection to them, `reply` their replies, `keyspace` their data, `bench` the two that a
//! script is run on, and `trial` the script there. `learn` finds a state in which a call does
//! something, as `template`s of its arguments. `harm` looks for a session with a harm. `candidates`
//! are lines that could take the script's place, `history` what they are compared in, `answers` how
//! replies follow, and `compare` takes the first that never differs. `examine` does all of it for
//! one script, `folder` for many; `report` prints, `conf` is for redis.conf. Each uses only those
//! that are named before it.
//!
//! Exit code: 0 all replaceable, 1 one is broken, 3 one is undecided, 2 it could not run.

mod answers;
mod bench;
mod call;
mod candidates;
mod compare;
mod conf;
mod examine;
mod folder;
mod harm;
mod history;
mod keyspace;
mod learn;
mod lua;
mod options;
mod reply;
mod report;
mod server;
mod source;
mod strings;
mod template;
mod trial;
mod wire;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use seckill_tools::sanitize::told;
use seckill_tools::signals::asked_to_end;
use tokio::signal::unix::{SignalKind, signal};

use examine::{Examined, Verdict};
use options::Options;
use source::Source;

const COULD_NOT_RUN: u8 = 2;

fn main() -> ExitCode {
    let options = Options::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = runtime.context("starting").and_then(|runtime| {
        let outcome = runtime.block_on(until_asked_to_end(options));
        // Threads that still examine a script lose their servers, and are not waited for.
        runtime.shutdown_background();
        outcome
    });
    server::end_all();
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("seckill-doctor: {}", told(&error));
            ExitCode::from(COULD_NOT_RUN)
        }
    }
}

async fn until_asked_to_end(options: Options) -> Result<u8> {
    let asked = asked_to_end()?;
    let mut hung_up = signal(SignalKind::hangup())?;
    tokio::select! {
        outcome = tokio::task::spawn_blocking(move || examine_all(&options)) => outcome?,
        () = asked => Ok(COULD_NOT_RUN),
        _ = hung_up.recv() => Ok(COULD_NOT_RUN),
    }
}

/// Examines every script. The exit code is that of the gravest verdict.
fn examine_all(options: &Options) -> Result<u8> {
    let told = options.call()?;
    let (mut sources, skipped) = Source::read_all(&options.scripts, options.from_java)?;
    if skipped > 0 {
        eprintln!("seckill-doctor: {skipped} links, pipes or devices were not followed or read");
    }
    ensure!(!sources.is_empty(), "no script was found in the given files, outside of comments");
    let all = sources.len();
    if let Some(call) = told.as_ref().filter(|_| all > 1) {
        sources.retain(|source| source.takes(call));
        ensure!(!sources.is_empty(), "none of {all} scripts has as many KEYS and ARGV as the call");
        eprintln!("seckill-doctor: the call fits {} of {all} scripts", sources.len());
    }
    let all = folder::examine_all(&options.programs()?, &sources, told.as_ref())?;
    let mut out = io::stdout().lock();
    let block = folder::block(&all);
    for (number, examined) in all.iter().enumerate() {
        if options.json {
            writeln!(out, "{}", report::printed(&examined.json()))?;
        } else {
            let space = if number > 0 { "\n" } else { "" };
            write!(out, "{space}{}", examined.text(block.is_none()))?;
        }
    }
    if options.json {
        if let Some(block) = &block {
            writeln!(out, "{}", report::printed(&serde_json::json!(block)))?;
        }
    } else if all.len() > 1 {
        write!(out, "\n{}", folder::summary(&all))?;
        write!(out, "{}", block.as_ref().map(folder::text).unwrap_or_default())?;
    }
    Ok(all.iter().map(Examined::verdict).max().map_or(0, Verdict::exit_code))
}

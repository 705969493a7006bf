//! `seckill-doctor`: runs a user's own scripts on throw-away servers, beside the module, and
//! reports their faults, what differs, and what can replace them.
//!
//! `options` is the command line, `roles` the user's words for arguments, `source` the scripts,
//! also those in the strings of `java`, `server` the throw-away servers, `wire` the connection to
//! them, `reply` their replies. `watch` observes a running script, `world` is the content of keys,
//! `template` the parts of names; `explore` plants values where the script reads until it sells,
//! and `trial` finds which of them matter. `sale` is the result, `reading` a way to call the
//! script, `readings` all of them, `history` the scenarios to run it in, `faults` and `limits` its
//! faults, each a `finding`. `cure` guesses replacements, `obstacles` says why there is none,
//! `prove` compares them with the script, `cluster` runs both in a cluster. `lock` does all this
//! for scripts that do a `deed` to a lock, `what` names scripts of other kinds, `part` recognizes
//! parts of scripts, `vain` questions whose answer does not matter. `examine` examines one script,
//! `folder` many; `report` and `json` print, `conf` is for redis.conf.
//!
//! Exit code: 0 drop-in or helper, 1 differs or broken, 2 not understood or not examined.

mod cluster;
mod conf;
mod cure;
mod deed;
mod examine;
mod explore;
mod faults;
mod finding;
mod folder;
mod history;
mod java;
mod json;
mod limits;
mod lock;
mod managed;
mod obstacles;
mod options;
mod part;
mod prove;
mod reading;
mod readings;
mod reply;
mod report;
mod roles;
mod sale;
mod server;
mod source;
mod template;
mod trial;
mod vain;
mod watch;
mod what;
mod wire;
mod world;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use seckill_tools::sanitize::told;
use seckill_tools::signals::asked_to_end;
use tokio::signal::unix::{SignalKind, signal};

use options::Options;
use source::Source;

const NOT_EXAMINED: u8 = 2;

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
            ExitCode::from(NOT_EXAMINED)
        }
    }
}

async fn until_asked_to_end(options: Options) -> Result<u8> {
    let asked = asked_to_end()?;
    let mut hung_up = signal(SignalKind::hangup())?;
    tokio::select! {
        outcome = tokio::task::spawn_blocking(move || examine_all(&options)) => outcome?,
        () = asked => Ok(NOT_EXAMINED),
        _ = hung_up.recv() => Ok(NOT_EXAMINED),
    }
}

/// Examines every script, and returns the worst of their exit codes.
fn examine_all(options: &Options) -> Result<u8> {
    server::bound_files()?;
    let roles = options.roles()?;
    let (mut sources, mut skipped) = (Vec::new(), 0);
    for path in &options.scripts {
        sources.extend(Source::read(path, options.from_java, &mut skipped)?);
    }
    if skipped > 0 {
        eprintln!("seckill-doctor: {skipped} links, pipes or devices were not followed or read");
    }
    ensure!(!sources.is_empty(), "no script was found in the given files");
    let said = options.keys.is_some() || options.argv.is_some();
    ensure!(!said || sources.len() == 1, "--keys and --argv are for one script at a time");
    let all = folder::examine_all(&options.programs()?, options.kind, &sources, &roles)?;
    let mut out = io::stdout().lock();
    let block = folder::block(&all);
    for (number, examined) in all.iter().enumerate() {
        if options.json {
            writeln!(out, "{}", json::printed(&examined.json()))?;
        } else {
            let space = if number > 0 { "\n" } else { "" };
            write!(out, "{space}{}", examined.text(block.is_none()))?;
        }
    }
    if options.json {
        if let Some(block) = &block {
            writeln!(out, "{}", json::printed(&serde_json::json!(block)))?;
        }
    } else if all.len() > 1 {
        write!(out, "\n{}", folder::summary(&all))?;
        write!(out, "{}", block.as_ref().map(folder::text).unwrap_or_default())?;
    }
    Ok(all.iter().map(|examined| examined.verdict.exit_code()).max().unwrap_or(0))
}

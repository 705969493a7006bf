//! `seckill-doctor`: runs somebody's own scripts on throw-away servers, beside the module, and
//! says what is wrong with them, what differs, and what to put in their place.
//!
//! `options` what can be asked for, `server` the throw-away servers, `source` a script's text,
//! `trace` and `watch` look at it at work, `template`, `roles` and `shape` make out which argument
//! and which key is what. `scenario` and `crowd` run it, `state` and `reply` hold what came of it,
//! `codes` says what its replies mean, `findings` what is wrong, `cure` what takes its place,
//! `cluster` how both fare there. `sale` and `unlock` go through all that for a script of their
//! kind, `report` prints.
//!
//! Exit code: 0 drop-in, 1 differs or broken, 2 could not be examined.

mod cluster;
mod codes;
mod crowd;
mod cure;
mod findings;
mod options;
mod reply;
mod report;
mod roles;
mod sale;
mod scenario;
mod server;
mod shape;
mod source;
mod state;
mod template;
mod trace;
mod unlock;
mod watch;

use std::env;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use options::{Kind, Options};
use report::{Examined, Paint, Verdict};
use roles::Roles;
use sale::Pair;
use server::{Programs, Server};
use source::Source;

const BAD: u8 = 1;
const NOT_EXAMINED: u8 = 2;

fn main() -> ExitCode {
    let options = Options::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = runtime.context("starting").and_then(|runtime| {
        let outcome = runtime.block_on(until_asked_to_end(options));
        // Whoever still examines loses the servers, and nobody waits for it.
        runtime.shutdown_background();
        outcome
    });
    server::end_all();
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("seckill-doctor: {error:#}");
            ExitCode::from(NOT_EXAMINED)
        }
    }
}

async fn until_asked_to_end(options: Options) -> Result<u8> {
    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut hung_up = signal(SignalKind::hangup())?;
    tokio::select! {
        outcome = tokio::task::spawn_blocking(move || examine_all(&options)) => outcome?,
        _ = interrupted.recv() => Ok(NOT_EXAMINED),
        _ = terminated.recv() => Ok(NOT_EXAMINED),
        _ = hung_up.recv() => Ok(NOT_EXAMINED),
    }
}

/// Examines every script, and gives the worst exit code of them.
fn examine_all(options: &Options) -> Result<u8> {
    let roles = options.roles()?;
    let sources: Vec<Source> =
        options.scripts.iter().map(|path| Source::read(path)).collect::<Result<_>>()?;
    let programs = options.programs()?;
    let pair = Pair { plain: Server::plain(&programs)?, module: Server::with_module(&programs)? };
    let colours = io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none();
    let mut code = 0;
    let mut out = io::stdout().lock();
    for (number, source) in sources.iter().enumerate() {
        let outcome = examine(options, &programs, &pair, source, &roles)
            .with_context(|| format!("examining {}", source.name))?;
        code = code.max(match &outcome {
            Ok(examined) if examined.verdict == Verdict::DropIn => 0,
            Ok(_) => BAD,
            Err(_) => NOT_EXAMINED,
        });
        let text = match outcome {
            Ok(examined) if options.json => format!("{}\n", examined.json()),
            Ok(examined) => {
                let space = if number > 0 { "\n" } else { "" };
                format!("{space}{}", examined.text(Paint(colours)))
            }
            Err(why) if options.json => {
                format!("{}\n", json!({ "file": source.name, "verdict": "unclear", "why": why }))
            }
            Err(why) => {
                eprintln!("seckill-doctor: {}: {why}", source.name);
                String::new()
            }
        };
        out.write_all(text.as_bytes())?;
    }
    Ok(code)
}

/// `Err` in the inner result says why a script is not understood, and what would help.
fn examine(
    options: &Options,
    programs: &Programs,
    pair: &Pair,
    source: &Source,
    roles: &Roles,
) -> Result<std::result::Result<Examined, String>> {
    let mut client = pair.plain.client()?;
    let loaded = client.call(&[&b"SCRIPT"[..], b"LOAD", &source.text])?;
    if loaded.is_error() {
        return Ok(Err(format!("the server can't load it: {loaded}")));
    }
    let kind = options.kind.or_else(|| source.kind());
    let outcome = match kind {
        Some(Kind::Sell) => sale::examine(programs, pair, source, roles)?,
        Some(Kind::Unlock) => unlock::examine(pair, source, roles)?,
        None => Err("it names no command that sells or releases a lock".into()),
    };
    Ok(outcome.map_err(|why| format!("not understood: {why}. {}", help(source, kind))))
}

fn help(source: &Source, kind: Option<Kind>) -> String {
    let (keys, argv) = match kind {
        Some(Kind::Unlock) => ("lock", "token"),
        _ => ("stock buyers", "voucher user order"),
    };
    let counted = format!("it seems to take {} KEYS and {} ARGV", source.keys, source.args);
    let reckons = if source.reckons { ", and more by reckoning" } else { "" };
    format!(
        "Say what it is called with: {counted}{reckons}. For instance --argv \"{argv}\", with \
         --keys \"{keys}\" if it takes KEYS, =text for what is always the same, and --kind sell \
         or unlock"
    )
}

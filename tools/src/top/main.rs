//! `seckill-top`: watches a flash sale while it runs, from the server's own answers.
//!
//! `options` the command line, `source` reads a server with the help of `key_names` (the names of
//! its keys), `finder` (which vouchers there are) and `replies` into a `reading`; `history` keeps
//! the last of these, `selling` when sales began and were sold out; `screen` and `panels` draw them
//! (`table`: which column gives way), `words` spells numbers, `dashboard` shows the frames;
//! `metrics` makes metrics of a reading, `feed` the figures of the page for browsers, and `serve`
//! serves them. In tests, `picture` draws the documentation's.
//!
//! Exit code: 0 when it has done what was asked, also on SIGTERM; 1 with a line that says why not;
//! 2 for wrong arguments.

#![cfg_attr(
    not(feature = "dashboard"),
    allow(dead_code, reason = "there is only the page and the metrics")
)]

#[cfg(feature = "dashboard")]
mod dashboard;
mod feed;
mod finder;
mod history;
mod key_names;
mod metrics;
mod options;
#[cfg(feature = "dashboard")]
mod panels;
#[cfg(all(test, feature = "dashboard"))]
mod picture;
mod reading;
mod replies;
#[cfg(feature = "dashboard")]
mod screen;
mod selling;
mod serve;
mod source;
#[cfg(feature = "dashboard")]
mod table;
#[cfg(all(test, feature = "dashboard"))]
mod tests;
mod words;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use seckill_tools::command_line::refused;
use seckill_tools::server_errors::with_causes;

use options::Options;

fn main() -> ExitCode {
    let options = Options::parse();
    if let Err(error) = options.server.place() {
        return refused("seckill-top", &error);
    }
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("seckill-top: {}", with_causes(&error));
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("starting")?;
    let done = runtime.block_on(async {
        match (options.metrics, options.health) {
            (Some(address), _) => serve::serve(options, address).await,
            (None, Some(address)) => serve::ask_health(address).await,
            #[cfg(feature = "dashboard")]
            (None, None) if options.once => dashboard::print_once(options).await,
            #[cfg(feature = "dashboard")]
            (None, None) => dashboard::watch(options).await,
            #[cfg(not(feature = "dashboard"))]
            (None, None) => anyhow::bail!("this build only has --metrics; make build has all"),
        }
    });
    // What a server hasn't answered yet is not waited for.
    runtime.shutdown_background();
    done
}

//! `seckill-worker`: turns each order of a flash sale into one row of a database, whatever fails in
//! between.
//!
//! The way of an entry: `consumers` runs `serve` for the streams of each hash tag that are named or
//! that `tag_finder` finds, once `pairing` says that server and database belong together; `intake`
//! reads by the commands of `source`; `in_flight` has what was read, as `order_events`, until
//! `store` has written it: by `accounts`, which join what entries say, and with `steps` for the
//! shop's own `statements`. What can't be written is `parked` or one of the `dead_letters`.
//!
//! `check` compares server and database, `resolve` answers its questions; `dead_letter` gives an
//! entry up. `options` is the command line, `settings` asks for the server's names, `outage` says
//! what is down, `gauges` measures the lag, `halt` says why a consumer ends, `totals` counts. Exit
//! codes are in the help.

#![cfg_attr(
    not(feature = "databases"),
    allow(dead_code, irrefutable_let_patterns, unused_variables, reason = "there is only SQLite")
)]

mod accounts;
mod check;
mod command_text;
mod consumers;
mod dead_letter;
mod dead_letters;
mod gauges;
mod halt;
mod in_flight;
mod intake;
mod options;
mod order_events;
mod outage;
mod pairing;
mod parked;
mod resolve;
mod serve;
mod settings;
mod source;
mod sql;
mod statements;
mod steps;
mod store;
mod tag_finder;
mod totals;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use seckill_tools::command_line::{command_first, refused};
use seckill_tools::http;
use seckill_tools::server_errors::with_causes;
use seckill_tools::signals::asked_to_end;
use tokio::sync::watch;
use tokio::task::LocalSet;
use tracing::info;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

use consumers::Consumers;
use halt::{Stop, rest};
use in_flight::Shared;
use options::{Command, Options, Site};
use outage::Outage;
use serve::PATIENCE;
use store::{Fault, Store};
use totals::{Component, Totals};

/// More consumers than this share connections to the database.
const CONNECTIONS_MAX: usize = 8;
const CLOSE_WAIT: Duration = Duration::from_secs(1);
/// How long a worker may run after it was asked to stop, whatever hangs.
const END_WITHIN: Duration = Duration::from_millis(3_500);
/// The exit code if orders that can't be written are pending.
const REFUSED: u8 = 3;
/// The exit code if orders have conflicts that nobody has resolved.
const CONFLICTS: u8 = 4;
/// The exit code if rows and server may differ.
const UNCHECKED: u8 = 5;
const OPEN_WAIT: Duration = Duration::from_secs(1);
/// How often conflicts are counted: an operator or another worker may have changed some.
const COUNT_EVERY: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let options: Options = command_first();
    let (site, statements) = options.site();
    let checked = options.check().and_then(|()| Store::new(site, statements, 1, false));
    if let Err(error) = checked {
        return refused("seckill-worker", &error);
    }
    log_to_stderr(site);
    let worked = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("starting")
        .and_then(|runtime| {
            // Consumers nearly always wait for servers, so one thread is enough for all.
            // They end before the runtime, which their connections need.
            let all = async { LocalSet::new().run_until(work(Arc::new(options))).await };
            let worked = runtime.block_on(all);
            runtime.shutdown_background();
            worked
        });
    worked.unwrap_or_else(|error| {
        eprintln!("seckill-worker: {}", with_causes(&error));
        ExitCode::FAILURE
    })
}

fn log_to_stderr(site: &Site) {
    let level = match (site.quiet, site.verbose) {
        (true, _) => LevelFilter::WARN,
        (false, 0) => LevelFilter::INFO,
        (false, 1) => LevelFilter::DEBUG,
        (false, _) => LevelFilter::TRACE,
    };
    let ours = Targets::new().with_target("seckill_worker", level);
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    let registry = tracing_subscriber::registry();
    if site.log_json {
        registry.with(layer.json().flatten_event(true).with_filter(ours)).init();
    } else {
        registry.with(layer.with_filter(ours)).init();
    }
}

async fn work(options: Arc<Options>) -> Result<ExitCode> {
    match &options.command {
        None => {}
        Some(Command::DeadLetter(wanted)) => {
            return dead_letter::make(wanted).await.map(|()| ExitCode::SUCCESS);
        }
        Some(Command::Resolve(wanted)) => {
            return resolve::resolve(wanted).await.map(|()| ExitCode::SUCCESS);
        }
        Some(Command::Check(wanted)) => {
            return Ok(match check::check(wanted, resolve::resolve).await {
                Ok(verdict) => ExitCode::from(verdict.code()),
                Err(error) => refused("seckill-worker", &error),
            });
        }
    }
    let (stopper, stop) = watch::channel(false);
    let waits = asked_to_end()?;
    let totals = Arc::new(Totals::new()?);
    if let Some(address) = options.metrics {
        serve_metrics(address, Arc::clone(&totals)).await?;
    }
    let works = run(Arc::clone(&options), Arc::clone(&totals), stop);
    tokio::pin!(waits, works);
    let worked = tokio::select! {
        worked = &mut works => worked,
        () = &mut waits => {
            info!("asked to stop, finishing the current batch");
            let _ = stopper.send(true);
            // After that, the rest is abandoned: its entries stay pending.
            tokio::time::timeout(END_WITHIN, works).await.unwrap_or(Ok(()))
        }
    };
    worked?;
    let summary = totals.summary();
    if options.json {
        println!("{}", summary.json());
    } else {
        println!("{}", summary.text());
    }
    let is_left = summary.parked > 0 || totals.has_left_some();
    let is_parked = totals.is_intake_stopped() || (options.once && is_left);
    let (code, text) = match is_parked {
        true => (REFUSED, "orders are not written; they are pending, see the log"),
        false if summary.conflicts > 0 => {
            (CONFLICTS, "orders have conflicts: see seckill-worker check")
        }
        false if options.once && summary.unchecked > 0 => {
            (UNCHECKED, "rows and server may differ: see seckill-worker check")
        }
        false => return Ok(ExitCode::SUCCESS),
    };
    eprintln!("seckill-worker: {text}");
    Ok(ExitCode::from(code))
}

/// Serves metrics from now on, in another thread.
async fn serve_metrics(address: SocketAddr, totals: Arc<Totals>) -> Result<()> {
    let (listener, _) = http::listen(address).await?;
    tokio::spawn(http::serve(listener, move |path| {
        let page = totals.page(&path);
        async move { page }
    }));
    Ok(())
}

/// Reads streams until all are done or one fails.
async fn run(options: Arc<Options>, totals: Arc<Totals>, mut stop: Stop) -> Result<()> {
    let streams = options.named_streams().map_or(CONNECTIONS_MAX, |streams| streams.len());
    let connections = u32::try_from(streams.min(CONNECTIONS_MAX))?;
    let (statements, migrates) = (options.shop.statements(), !options.no_migrate);
    let store = Arc::new(Store::new(&options.site, statements, connections, migrates)?);
    let (tell, opened) = watch::channel(false);
    let shared = Shared {
        options: options.clone(),
        totals: totals.clone(),
        store: store.clone(),
        stop: stop.clone(),
    };
    let consumers = Consumers::new(shared, opened)?;
    // The lag is measured even while the database is not reachable yet.
    let opening = async {
        if open(&store, &options, &totals, &mut stop).await? {
            tell.send_replace(true);
        }
        Ok(())
    };
    // No task of its own: the end of one may come when nothing runs any more that could give its
    // connection back.
    tokio::select! {
        ran = async { tokio::try_join!(opening, consumers.run()) } => ran?,
        never = count_conflicts(&store, &totals, tell.subscribe()) => never,
    };
    if let Ok(Ok(conflicts)) = tokio::time::timeout(CLOSE_WAIT, store.conflicts()).await {
        totals.conflicts(conflicts);
    }
    // Everything is committed, so a hanging connection is not waited for.
    let _ = tokio::time::timeout(CLOSE_WAIT, store.close()).await;
    Ok(())
}

/// Counts conflicts from time to time, once the database is open.
async fn count_conflicts(store: &Store, totals: &Totals, mut opened: watch::Receiver<bool>) -> ! {
    // It is not closed before this ends.
    let _ = opened.wait_for(|opened| *opened).await;
    loop {
        if let Ok(conflicts) = store.conflicts().await {
            totals.conflicts(conflicts);
        }
        tokio::time::sleep(COUNT_EVERY).await;
    }
}

/// Opens the database, and waits until it is up. False if asked to stop meanwhile.
async fn open(
    store: &Store,
    options: &Options,
    totals: &Arc<Totals>,
    stop: &mut Stop,
) -> Result<bool> {
    let started = Instant::now();
    let part = Component::Database("worker".to_owned());
    let mut outage = Outage::of("the database", store.name(), part, totals);
    loop {
        let opened = tokio::select! {
            opened = store.open() => opened,
            _ = stop.wait_for(|stop| *stop) => return Ok(false),
        };
        let text = match opened {
            Ok(()) => {
                outage.over();
                return settings::ensure_events(store, &options.shop).await.map(|()| true);
            }
            Err(Fault::Wrong(text)) => bail!("--database: {text}"),
            Err(fault) => fault.text(),
        };
        if options.once && started.elapsed() >= PATIENCE {
            bail!("--database: {text}");
        }
        outage.failed(&text);
        if rest(stop, OPEN_WAIT).await.is_err() {
            return Ok(false);
        }
    }
}

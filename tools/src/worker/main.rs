//! `seckill-worker`: turns the orders of a flash sale into rows of a database, each into one,
//! whatever fails in between.
//!
//! `options` what can be asked for, `batch` what entries do to rows, `store` writes that into a
//! database with the shop's own `statements`, `link` and `source` read the streams, `settings`
//! compares the server's names, `limits` asks what a user may buy, `commit` writes with retries,
//! `stream_consumer` and `deliver` serve the streams, `refuse`, `breaker` and `retry` what can't be
//! written, `trim` what is done with, `gauges` measures, `dead_letter` is for a person, `totals`
//! counts, `shown` makes texts fit for a log.
//!
//! Exit code: 0 when it has done what was asked, also on SIGTERM; 1 with a line that says why not;
//! 2 for wrong arguments; 3 when it ends while the database refuses what it should write.

mod batch;
mod breaker;
mod commit;
mod dead_letter;
mod deliver;
mod gauges;
mod limits;
mod link;
mod options;
mod refuse;
mod retry;
mod settings;
mod shown;
mod source;
mod statements;
mod store;
mod stream_consumer;
mod totals;
mod trim;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::{JoinSet, LocalSet};
use tracing::level_filters::LevelFilter;
use tracing::{info, warn};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

use commit::{Committer, Stop, rest};
use link::Link;
use options::{Command, Options};
use shown::shown;
use store::{Fault, Store};
use stream_consumer::{PATIENCE, StreamConsumer};
use totals::Totals;

/// More consumers than this share connections to the database.
const CONNECTIONS_MAX: usize = 8;
const CLOSE_WAIT: Duration = Duration::from_secs(1);
/// How long a worker that was asked to stop may take, whatever hangs.
const END_WITHIN: Duration = Duration::from_millis(3_500);
/// The exit code when orders are pending that the database refuses.
const REFUSED: u8 = 3;
const OPEN_WAIT: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let options = Options::of_command_line();
    log_to_stderr(&options);
    let worked = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("starting")
        .and_then(|runtime| {
            // Consumers wait for servers nearly all of the time: one thread is enough for them.
            let worked = runtime.block_on(LocalSet::new().run_until(work(Arc::new(options))));
            runtime.shutdown_background();
            worked
        });
    match worked {
        Ok(Ended::Well) => ExitCode::SUCCESS,
        Ok(Ended::Refused) => {
            eprintln!("seckill-worker: the database refuses orders; they are pending, see the log");
            ExitCode::from(REFUSED)
        }
        Err(error) => {
            eprintln!("seckill-worker: {}", shown(&format!("{error:#}")));
            ExitCode::FAILURE
        }
    }
}

fn log_to_stderr(options: &Options) {
    let level = match (options.quiet, options.verbose) {
        (true, _) => LevelFilter::WARN,
        (false, 0) => LevelFilter::INFO,
        (false, 1) => LevelFilter::DEBUG,
        (false, _) => LevelFilter::TRACE,
    };
    let ours = Targets::new().with_target("seckill_worker", level);
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    let registry = tracing_subscriber::registry();
    if options.log_json {
        registry.with(layer.json().flatten_event(true).with_filter(ours)).init();
    } else {
        registry.with(layer.with_filter(ours)).init();
    }
}

/// What was done, if nothing went wrong.
enum Ended {
    Well,
    /// Orders are pending that the database refuses.
    Refused,
}

async fn work(options: Arc<Options>) -> Result<Ended> {
    options.check()?;
    if let Some(Command::DeadLetter(wanted)) = &options.command {
        dead_letter::make(&options, wanted).await?;
        return Ok(Ended::Well);
    }
    let (stopper, stop) = watch::channel(false);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let waits = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    let totals = Arc::new(Totals::new(options.metrics())?);
    // An alert must not mistake a gauge that was never set for one that is fine.
    for streams in options.streams() {
        totals.intake(&streams.orders, true);
        totals.refused(&streams.orders, 0);
    }
    let works = run(Arc::clone(&options), Arc::clone(&totals), stop);
    tokio::pin!(waits, works);
    let worked = tokio::select! {
        worked = &mut works => worked,
        () = &mut waits => {
            info!("asked to stop, finishing the batch in hand");
            let _ = stopper.send(true);
            // Whatever hangs is left undone: what was in hand is pending.
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
    let is_refused = totals.is_intake_stopped() || (options.once && summary.refused > 0);
    Ok(if is_refused { Ended::Refused } else { Ended::Well })
}

/// One consumer a pair of streams, until all are done or one can't go on.
async fn run(options: Arc<Options>, totals: Arc<Totals>, mut stop: Stop) -> Result<()> {
    let streams = options.streams();
    let connections = u32::try_from(streams.len().min(CONNECTIONS_MAX))?;
    let store = Arc::new(Store::new(&options, connections)?);
    let mut measuring = JoinSet::new();
    for streams in streams.iter().filter(|_| options.metrics_port.is_some()) {
        let (link, stop) = (Link::new(&options.server, options.cluster)?, stop.clone());
        measuring.spawn_local(gauges::keep(Arc::clone(&options), streams.clone(), link, stop));
    }
    if !open(&store, &options, &mut stop).await? {
        return Ok(());
    }
    let consumer = options.consumer();
    info!("consumer {consumer} of group {}", options.group);
    let mut consumers = JoinSet::new();
    for streams in streams {
        let (store, its_totals) = (Arc::clone(&store), Arc::clone(&totals));
        let committer = Committer::new(store, its_totals, &streams.orders, stop.clone());
        let (options, totals) = (Arc::clone(&options), Arc::clone(&totals));
        let streams =
            StreamConsumer::new(options, streams, &consumer, committer, totals, stop.clone())?;
        consumers.spawn_local(streams.run());
    }
    while let Some(ended) = consumers.join_next().await {
        ended.context("a consumer has ended badly")??;
    }
    // Everything is committed: a connection that hangs is not waited for.
    let _ = tokio::time::timeout(CLOSE_WAIT, store.close()).await;
    Ok(())
}

/// Opens the database; waits for one that is not up yet. False when asked to stop meanwhile.
async fn open(store: &Store, options: &Options, stop: &mut Stop) -> Result<bool> {
    let started = Instant::now();
    let mut is_told = false;
    loop {
        let opened = tokio::select! {
            opened = store.open() => opened,
            _ = stop.wait_for(|stop| *stop) => return Ok(false),
        };
        let text = match opened {
            Ok(()) => return Ok(true),
            Err(Fault::Wrong(text) | Fault::Duplicate(text)) => bail!("--database: {text}"),
            Err(Fault::Data(text) | Fault::Unchanged(text)) => bail!("--database: {text}"),
            Err(Fault::Clash(text) | Fault::Away(text)) => text,
        };
        if options.once && started.elapsed() >= PATIENCE {
            bail!("--database: {text}");
        }
        if !is_told {
            is_told = true;
            warn!("the database is away, trying on: {}", shown(&text));
        }
        if rest(stop, OPEN_WAIT).await.is_err() {
            return Ok(false);
        }
    }
}

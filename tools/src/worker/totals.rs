//! Counts the work done, for the summary, the log and Prometheus.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use prometheus::core::{AtomicU64 as Number, Collector, GenericGauge, GenericGaugeVec};
use prometheus::{Histogram, HistogramOpts, IntCounter, Opts, Registry};
use seckill_tools::http::Page;
use serde::Serialize;

/// Something that is counted, in the order of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    Orders,
    Inserted,
    Repeated,
    Confirmed,
    Released,
    DeadLetters,
    Skipped,
    Deleted,
    Batches,
    Trimmed,
    Retries,
}

/// Of numbers that are never below 0.
type Gauge = GenericGauge<Number>;
type Gauges = GenericGaugeVec<Number>;

/// By `Count`: the name for Prometheus, and what it means.
const COUNTS: [(&str, &str); 11] = [
    (
        "seckill_worker_orders_total",
        "Orders that were processed: inserted, repeated or dead letters",
    ),
    ("seckill_worker_rows_inserted_total", "Orders that became rows"),
    ("seckill_worker_rows_repeated_total", "Orders that already had their row"),
    ("seckill_worker_confirmed_total", "Confirmations that were processed"),
    ("seckill_worker_released_total", "Releases that were processed"),
    ("seckill_worker_dead_letters_total", "Entries that became dead letters"),
    ("seckill_worker_skipped_total", "Entries that need no row, since their order is released"),
    ("seckill_worker_deleted_total", "Entries that were deleted before they became rows, at least"),
    ("seckill_worker_batches_total", "Transactions that were committed"),
    ("seckill_worker_trimmed_total", "Entries that were trimmed from the streams"),
    ("seckill_worker_retries_total", "Entries and batches that were tried again"),
];
/// The upper bounds of the buckets of the time of a commit, in seconds.
const COMMIT_TIMES: [f64; 12] =
    [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 60.0];

/// What can be unhealthy, for `/healthz`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// The reading of this stream of orders has stopped.
    Intake(String),
    /// The server, for the consumer of this stream or for the search for streams.
    Server(String),
    /// The database, for the consumer of this stream.
    Database(String),
    /// The server of this stream is not paired with the tables.
    Unpaired(String),
    /// There are more hash tags than one worker reads.
    Tags,
}

pub struct Totals {
    started: Instant,
    registry: Registry,
    /// By `Count`.
    counts: Vec<IntCounter>,
    lag: Gauges,
    pending: Gauges,
    stopped: Gauges,
    unchecked: Gauges,
    conflicts: Gauge,
    commit_time: Histogram,
    /// How many entries are parked, by stream of orders.
    parked: Mutex<BTreeMap<String, u64>>,
    parked_gauge: Gauges,
    /// Streams whose group is not checked.
    not_checked: Mutex<BTreeSet<String>>,
    troubles: Mutex<BTreeMap<Component, String>>,
    /// Entries that `--once` has left to other consumers.
    others: AtomicU64,
}

/// The work of a worker so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub orders: u64,
    pub rows_inserted: u64,
    pub rows_repeated: u64,
    pub confirmed: u64,
    pub released: u64,
    pub dead_letters: u64,
    /// Entries that need no row.
    pub skipped: u64,
    /// Entries that nobody can read any more.
    pub deleted: u64,
    pub batches: u64,
    pub trimmed: u64,
    pub retries: u64,
    /// Entries that can't be written, and that are pending.
    pub parked: u64,
    /// Orders in what is known of which something contradicts.
    pub conflicts: u64,
    /// Groups whose rows may differ from the server.
    pub unchecked: u64,
    pub seconds: f64,
}

impl Totals {
    pub fn new() -> Result<Self> {
        let registry = Registry::new();
        let of_streams = |name: &str, meaning: &str| {
            let gauge = Gauges::new(Opts::new(name, meaning), &["stream"]);
            registered(&registry, gauge)
        };
        let counts = COUNTS
            .into_iter()
            .map(|(name, meaning)| registered(&registry, IntCounter::new(name, meaning)));
        let conflicts = "Orders with a contradiction that nobody has resolved";
        let commit_time = HistogramOpts::new(
            "seckill_worker_commit_seconds",
            "Seconds that a transaction took, committed or refused",
        );
        Ok(Self {
            started: Instant::now(),
            counts: counts.collect::<Result<_>>()?,
            lag: of_streams("seckill_worker_lag", "Entries that no worker of the group has read")?,
            pending: of_streams(
                "seckill_worker_pending",
                "Entries that were read and are not acknowledged",
            )?,
            stopped: of_streams(
                "seckill_worker_intake_stopped",
                "1 while no more orders are read, until an operator has looked",
            )?,
            unchecked: of_streams(
                "seckill_worker_unchecked",
                "1 while rows and server may differ, until a check",
            )?,
            conflicts: registered(&registry, Gauge::new("seckill_worker_conflicts", conflicts))?,
            commit_time: registered(
                &registry,
                Histogram::with_opts(commit_time.buckets(COMMIT_TIMES.to_vec())),
            )?,
            parked: Mutex::default(),
            not_checked: Mutex::default(),
            parked_gauge: of_streams(
                "seckill_worker_parked",
                "Entries that can't be written, and that are pending",
            )?,
            troubles: Mutex::default(),
            others: AtomicU64::new(0),
            registry,
        })
    }

    /// The reply to GET.
    pub fn page(&self, path: &str) -> Page {
        match path {
            "/metrics" => Page::of_metrics(Ok(self.registry.gather())),
            "/healthz" => Page::of_health(self.trouble()),
            _ => Page::not_found(&["/metrics", "/healthz"]),
        }
    }

    /// Sets what is wrong with a part, or that it works. True if that was not known.
    pub fn report(&self, part: Component, trouble: Option<&str>) -> bool {
        let mut troubles = locked(&self.troubles);
        let known = match trouble {
            Some(trouble) => troubles.insert(part, trouble.to_owned()),
            None => troubles.remove(&part),
        };
        known.as_deref() != trouble
    }

    /// What is wrong, as a sentence; none if all parts work.
    fn trouble(&self) -> Option<String> {
        let troubles = locked(&self.troubles);
        let (part, text) = troubles.first_key_value()?;
        Some(match part {
            Component::Intake(stream) => {
                format!("orders can't be written, reading of {stream} has stopped")
            }
            Component::Server(stream) => format!("the server of {stream} {text}"),
            Component::Database(_) => format!("the database {text}"),
            Component::Tags | Component::Unpaired(_) => text.clone(),
        })
    }

    /// Records how long the database took for a transaction.
    pub fn took(&self, time: Duration) {
        self.commit_time.observe(time.as_secs_f64());
    }

    pub fn add(&self, count: Count, number: usize) {
        self.counts[count as usize].inc_by(u64::try_from(number).unwrap_or(u64::MAX));
    }

    /// Sets how many entries of a stream are parked.
    pub fn parked(&self, stream: &str, number: usize) {
        let number = u64::try_from(number).unwrap_or(u64::MAX);
        set(&self.parked_gauge, stream, number);
        locked(&self.parked).insert(stream.to_owned(), number);
    }

    /// Sets whether rows and server may differ.
    pub fn unchecked(&self, stream: &str, is_so: bool) {
        set(&self.unchecked, stream, u64::from(is_so));
        let mut streams = locked(&self.not_checked);
        match is_so {
            true => _ = streams.insert(stream.to_owned()),
            false => _ = streams.remove(stream),
        }
    }

    /// Entries of a stream are left to other consumers.
    pub fn left_to_others(&self, entries: u64) {
        self.others.fetch_add(entries, Relaxed);
    }

    pub fn has_left_some(&self) -> bool {
        self.others.load(Relaxed) > 0
    }

    /// Sets how many orders have a conflict.
    pub fn conflicts(&self, number: u64) {
        self.conflicts.set(number);
    }

    /// One more order has a conflict.
    pub fn another_conflict(&self) {
        self.conflicts.inc();
    }

    /// Sets whether new entries of a stream are read.
    pub fn intake(&self, stream: &str, is_open: bool) {
        set(&self.stopped, stream, u64::from(!is_open));
        self.report(Component::Intake(stream.to_owned()), (!is_open).then_some(""));
    }

    pub fn is_intake_stopped(&self) -> bool {
        locked(&self.troubles).keys().any(|part| matches!(part, Component::Intake(_)))
    }

    /// Sets the lag and the pending entries of a stream's group.
    pub fn stands(&self, stream: &str, lag: u64, pending: u64) {
        set(&self.lag, stream, lag);
        set(&self.pending, stream, pending);
    }

    pub fn summary(&self) -> Summary {
        let count = |count: Count| self.counts[count as usize].get();
        let seconds = self.started.elapsed().as_secs_f64();
        Summary {
            orders: count(Count::Orders),
            rows_inserted: count(Count::Inserted),
            rows_repeated: count(Count::Repeated),
            confirmed: count(Count::Confirmed),
            released: count(Count::Released),
            dead_letters: count(Count::DeadLetters),
            skipped: count(Count::Skipped),
            deleted: count(Count::Deleted),
            batches: count(Count::Batches),
            trimmed: count(Count::Trimmed),
            retries: count(Count::Retries),
            parked: locked(&self.parked).values().sum(),
            conflicts: self.conflicts.get(),
            unchecked: u64::try_from(locked(&self.not_checked).len()).unwrap_or(u64::MAX),
            seconds: (seconds * 1_000.0).round() / 1_000.0,
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn registered<C: Collector + Clone + 'static>(
    registry: &Registry,
    metric: prometheus::Result<C>,
) -> Result<C> {
    let metric = metric.context("metrics")?;
    registry.register(Box::new(metric.clone())).context("metrics")?;
    Ok(metric)
}

fn set(gauge: &Gauges, stream: &str, number: u64) {
    gauge.with_label_values(&[stream]).set(number);
}

impl Summary {
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub fn text(&self) -> String {
        let Self { orders, rows_inserted, rows_repeated, confirmed, released, .. } = self;
        let Self { dead_letters, skipped, deleted, batches, trimmed, retries, .. } = self;
        let Self { parked, conflicts, seconds, .. } = self;
        format!(
            "{orders} orders in {seconds} s: {rows_inserted} rows inserted, {rows_repeated} \
             repeated, {dead_letters} dead letters, {skipped} skipped, {deleted} deleted; \
             {confirmed} confirmed, {released} released, {batches} batches, {retries} retries, \
             {trimmed} entries trimmed; {parked} parked, {conflicts} conflicts"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_is_told_in_one_sentence() {
        let totals = Totals::new().unwrap();
        assert_eq!(totals.page("/healthz"), Page::found("ok\n".to_owned()));
        totals.report(Component::Database("s".to_owned()), Some("is down: no answer"));
        let page = totals.page("/healthz");
        assert_eq!((page.status, &*page.text), (503, "the database is down: no answer\n"));
        totals.report(Component::Database("s".to_owned()), None);
        totals.intake("s", false);
        assert!(totals.page("/healthz").text.contains("reading of s has stopped"));
        totals.intake("s", true);
        assert_eq!(totals.page("/healthz").status, 200);
        assert_eq!(totals.page("/").status, 404);
    }

    #[test]
    fn all_counts_are_in_the_summary() {
        let totals = Totals::new().unwrap();
        totals.add(Count::Orders, 6);
        totals.add(Count::Inserted, 3);
        totals.add(Count::Repeated, 2);
        totals.add(Count::DeadLetters, 1);
        totals.add(Count::Trimmed, 9);
        let summary = totals.summary();
        assert_eq!((summary.orders, summary.trimmed, summary.retries), (6, 9, 0));
        assert!(summary.json().starts_with("{\"orders\":6,\"rows_inserted\":3,"));
        assert!(summary.text().starts_with("6 orders in "));
    }
}

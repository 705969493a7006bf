//! Counts the work done, for the summary, the log and Prometheus.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use prometheus::core::{AtomicU64 as Number, Collector, GenericGauge, GenericGaugeVec};
use prometheus::{Histogram, HistogramOpts, IntCounter, Opts, Registry};
use seckill_tools::http::Page;
use serde_json::json;

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

/// By `Count`: the name in the summary, which Prometheus has with a prefix and `_total`, and what
/// it means.
const COUNTS: [(&str, &str); 11] = [
    ("orders", "Orders that were processed: inserted, repeated or dead letters"),
    ("rows_inserted", "Orders that became rows"),
    ("rows_repeated", "Orders that already had their row"),
    ("confirmed", "Confirmations that were processed"),
    ("released", "Releases that were processed"),
    ("dead_letters", "Entries that became dead letters"),
    ("skipped", "Entries that need no row, since their order is released"),
    ("deleted", "Entries that were deleted before they became rows, at least"),
    ("batches", "Transactions that were committed"),
    ("trimmed", "Entries that were trimmed from the streams"),
    ("retries", "Entries and batches that were tried again"),
];

/// What is measured of each stream, or of each stream of orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum OfStream {
    Lag,
    Pending,
    Stopped,
    Unchecked,
    Parked,
}

/// By `OfStream`: the name without its prefix, and what it means.
const GAUGES: [(&str, &str); 5] = [
    ("lag", "Entries that no worker of the group has read"),
    ("pending", "Entries that were read and are not acknowledged"),
    ("intake_stopped", "1 while no more orders are read, until an operator has looked"),
    ("unchecked", "1 while rows and server may differ, until a check"),
    ("parked", "Entries that can't be written, and that are pending"),
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
    /// By `OfStream`.
    gauges: Vec<Gauges>,
    /// What they are.
    numbers: Mutex<BTreeMap<(OfStream, String), u64>>,
    /// Orders in what is known of which something contradicts.
    conflicts: Gauge,
    commit_time: Histogram,
    troubles: Mutex<BTreeMap<Component, String>>,
    /// Entries that `--once` has left to other consumers.
    others: AtomicU64,
}

impl Totals {
    pub fn new() -> Result<Self> {
        let registry = Registry::new();
        let name = |name: &str| format!("seckill_worker_{name}");
        let counts = COUNTS.into_iter().map(|(of, meaning)| {
            registered(&registry, IntCounter::new(name(of) + "_total", meaning))
        });
        let gauges = GAUGES.into_iter().map(|(of, meaning)| {
            registered(&registry, Gauges::new(Opts::new(name(of), meaning), &["stream"]))
        });
        let conflicts = "Orders with a contradiction that nobody has resolved";
        let commit_time = "Seconds that a transaction took, committed or refused";
        let commit_time = HistogramOpts::new(name("commit_seconds"), commit_time);
        let commit_time = Histogram::with_opts(commit_time.buckets(COMMIT_TIMES.to_vec()));
        Ok(Self {
            started: Instant::now(),
            counts: counts.collect::<Result<_>>()?,
            gauges: gauges.collect::<Result<_>>()?,
            conflicts: registered(&registry, Gauge::new(name("conflicts"), conflicts))?,
            commit_time: registered(&registry, commit_time)?,
            numbers: Mutex::default(),
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

    fn set(&self, of: OfStream, stream: &str, number: u64) {
        self.gauges[of as usize].with_label_values(&[stream]).set(number);
        locked(&self.numbers).insert((of, stream.to_owned()), number);
    }

    /// Of all streams.
    fn sum(&self, of: OfStream) -> u64 {
        let numbers = locked(&self.numbers);
        numbers.iter().filter(|((its, _), _)| *its == of).map(|(_, number)| *number).sum()
    }

    /// Sets how many entries of a stream are parked.
    pub fn parked(&self, stream: &str, number: usize) {
        self.set(OfStream::Parked, stream, u64::try_from(number).unwrap_or(u64::MAX));
    }

    /// Sets whether rows and server may differ.
    pub fn unchecked(&self, stream: &str, is_so: bool) {
        self.set(OfStream::Unchecked, stream, u64::from(is_so));
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
        self.set(OfStream::Stopped, stream, u64::from(!is_open));
        self.report(Component::Intake(stream.to_owned()), (!is_open).then_some(""));
    }

    pub fn is_intake_stopped(&self) -> bool {
        locked(&self.troubles).keys().any(|part| matches!(part, Component::Intake(_)))
    }

    /// Sets the lag and the pending entries of a stream's group.
    pub fn stands(&self, stream: &str, lag: u64, pending: u64) {
        self.set(OfStream::Lag, stream, lag);
        self.set(OfStream::Pending, stream, pending);
    }

    pub fn summary(&self) -> Summary {
        let seconds = (self.started.elapsed().as_secs_f64() * 1_000.0).round() / 1_000.0;
        let [parked, unchecked] = [OfStream::Parked, OfStream::Unchecked].map(|of| self.sum(of));
        let counts = std::array::from_fn(|of| self.counts[of].get());
        Summary { counts, parked, conflicts: self.conflicts.get(), unchecked, seconds }
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

/// The work of a worker so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    counts: [u64; COUNTS.len()],
    /// Entries that can't be written, and that are pending.
    pub parked: u64,
    pub conflicts: u64,
    /// Groups whose rows may differ from the server.
    pub unchecked: u64,
    seconds: f64,
}

impl Summary {
    pub fn of(&self, count: Count) -> u64 {
        self.counts[count as usize]
    }

    pub fn json(&self) -> String {
        let Self { parked, conflicts, unchecked, seconds, .. } = *self;
        let counts = COUNTS.iter().zip(self.counts).map(|((name, _), count)| (*name, json!(count)));
        let others = [("parked", parked), ("conflicts", conflicts), ("unchecked", unchecked)];
        let others = others.map(|(name, number)| (name, json!(number)));
        let all = counts.chain(others).chain([("seconds", json!(seconds))]);
        json!(all.collect::<BTreeMap<_, _>>()).to_string()
    }

    pub fn text(&self) -> String {
        let Self { parked, conflicts, seconds, .. } = self;
        let [
            orders,
            inserted,
            repeated,
            confirmed,
            released,
            letters,
            skipped,
            deleted,
            batches,
            trimmed,
            retries,
        ] = self.counts;
        format!(
            "{orders} orders in {seconds} s: {inserted} rows inserted, {repeated} repeated, \
             {letters} dead letters, {skipped} skipped, {deleted} deleted; {confirmed} confirmed, \
             {released} released, {batches} batches, {retries} retries, {trimmed} entries trimmed; \
             {parked} parked, {conflicts} conflicts"
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
        totals.add(Count::Trimmed, 9);
        totals.parked("s", 2);
        totals.parked("t", 1);
        let summary = totals.summary();
        assert_eq!((summary.of(Count::Orders), summary.of(Count::Trimmed)), (6, 9));
        assert_eq!((summary.parked, summary.unchecked), (3, 0));
        assert!(summary.json().contains("\"rows_inserted\":0,"), "{}", summary.json());
        assert!(summary.text().starts_with("6 orders in "));
    }
}

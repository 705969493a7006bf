//! The streams of one hash tag, from reading to acknowledging, through all outages.

mod positions;

mod belonging;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use domain::entry_id::EntryId;
use redis::RedisError;
use seckill_tools::back_off::back_off;
use seckill_tools::nodes::Nodes;
use seckill_tools::server_errors::{Trouble, told, trouble};
use tracing::{debug, info, warn};

use crate::aside::Aside;
use crate::commit::Committer;
use crate::ending::Lost;
use crate::gauges::measure;
use crate::halt::{Halt, Stop, Stopped, rest};
use crate::hand::Hand;
use crate::limits::Limits;
use crate::options::{OnNoRow, Options, OrderFields, Streams};
use crate::outage::Outage;
use crate::source::gap::Positions;
use crate::source::{Delivered, Read, Source};
use crate::stream_entry::Which;
use crate::totals::{Count, Part, Totals};
use crate::trim::trim;

/// How long a read waits for entries, and so how long the worker may take to notice a stop.
const BLOCK: Duration = Duration::from_millis(500);
/// How often rows that wait for something else than an entry are looked at.
const TEND_EVERY: Duration = Duration::from_secs(30);
const REPORT_EVERY: Duration = Duration::from_secs(10);
/// How long `--once` waits for a server that has not answered yet.
pub const PATIENCE: Duration = Duration::from_secs(10);
const CONNECT_FIRST: Duration = Duration::from_millis(100);
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// How often `--once` looks whether other consumers have finished.
const OTHERS_EVERY: Duration = Duration::from_millis(50);
/// Consumers with nothing pending are removed when inactive for this many times the take-over time,
/// and longer than any worker that reads is.
const IDLE_TIMES: u32 = 10;
const IDLE_MIN: Duration = BLOCK.saturating_mul(4);

pub struct StreamConsumer {
    pub(crate) options: Arc<Options>,
    pub(crate) totals: Arc<Totals>,
    pub(crate) committer: Committer,
    pub(crate) limits: Limits,
    pub(crate) aside: Aside,
    /// The names of an entry's fields.
    pub(crate) fields: Vec<OrderFields>,
    /// How many entries are read at a time.
    pub(crate) count: u32,
    /// What was read and is not finished.
    pub(crate) hand: Hand,
    /// What is lost, and not recorded yet.
    pub(crate) lost: Vec<Lost>,
    seen: Positions,
    /// Those of `seen` that are in the worker's tables.
    saved: Positions,
    /// Since when `--once` waits for entries of other consumers.
    waits_since: Option<Instant>,
    pub(crate) streams: Streams,
    consumer: String,
    nodes: Nodes,
    stop: Stop,
    outage: Outage,
    has_served: bool,
    /// A group was missing, and none has been read since.
    lacks_group: bool,
    /// What was told last of a server that is not the one of the rows.
    foreign: String,
}

/// Says when a periodic action is due.
struct Every {
    interval: Duration,
    next: Instant,
}

impl Every {
    fn new(interval: Duration, first: Instant) -> Self {
        Self { interval, next: first }
    }

    fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let is_due = now >= self.next;
        if is_due {
            self.next = now + self.interval;
        }
        is_due
    }
}

impl StreamConsumer {
    pub fn new(
        options: Arc<Options>,
        streams: Streams,
        consumer: &str,
        committer: Committer,
        totals: Arc<Totals>,
        stop: Stop,
    ) -> Result<Self> {
        let server = format!("the server of {}", streams.orders);
        let place = options.site.server.without_password();
        let outage = Outage::of(&server, &place, Part::Server(streams.orders.clone()), &totals);
        Ok(Self {
            nodes: Nodes::new(options.site.server.place()?),
            totals,
            committer,
            limits: Limits::default(),
            aside: Aside::default(),
            hand: Hand::default(),
            lost: Vec::new(),
            seen: Positions::new(),
            saved: Positions::new(),
            waits_since: None,
            fields: Vec::new(),
            count: options.batch,
            options,
            streams,
            consumer: consumer.to_owned(),
            stop,
            outage,
            has_served: false,
            lacks_group: false,
            foreign: String::new(),
        })
    }

    /// Serves until asked to stop or, with `--once`, until nothing is left to do.
    pub async fn run(mut self) -> Result<()> {
        let started = Instant::now();
        loop {
            let error = match self.session().await {
                Ok(()) | Err(Halt::Stopped) => return Ok(()),
                Err(Halt::Redis(error)) => error,
                Err(Halt::Foreign(text)) if !self.options.once => {
                    if self.foreign(&text).await.is_err() {
                        return Ok(());
                    }
                    continue;
                }
                Err(halt) => return Err(halt.told(&self.options.site)),
            };
            let is_lasting = trouble(&error) == Trouble::Wrong;
            let is_patient = !self.options.once || started.elapsed() < PATIENCE;
            let gives_up = match self.has_served {
                false => is_lasting || !is_patient,
                true => is_lasting && self.options.once,
            };
            if gives_up {
                return Err(Halt::Redis(error).told(&self.options.site));
            }
            if self.pause(&error).await.is_err() {
                return Ok(());
            }
        }
    }

    async fn session(&mut self) -> Result<(), Halt> {
        let connection = tokio::select! {
            connection = self.nodes.connect(&self.streams.orders) => connection?,
            _ = self.stop.wait_for(|stop| *stop) => return Err(Halt::Stopped),
        };
        let (group, consumer) = (&self.options.site.group, &self.consumer);
        let mut source = Source::new(connection, self.streams.clone(), group, consumer);
        self.fields = self.options.compare(source.connection()).await?.fields;
        self.agree(&mut source).await?;
        self.join(&mut source).await?;
        self.finish(&mut source).await?;
        self.recover(&mut source).await?;
        self.serve(&mut source).await?;
        self.save_positions(&source).await;
        source.leave().await?;
        Ok(())
    }

    /// Waits before the next connection, longer and longer; not at all the first time if only the
    /// group is missing. Logs one line per outage, not per try.
    async fn pause(&mut self, error: &RedisError) -> Result<(), Stopped> {
        if trouble(error) == Trouble::NoGroup && !std::mem::replace(&mut self.lacks_group, true) {
            info!("{} or its group is missing and is created again", self.streams.orders);
            return Ok(());
        }
        let wait = back_off(CONNECT_FIRST, self.outage.failed(&told(error))).min(CONNECT_MAX);
        rest(&mut self.stop, wait.mul_f64(0.5 + fastrand::f64() / 2.0)).await
    }

    fn is_well(&mut self) {
        (self.has_served, self.lacks_group) = (true, false);
        self.outage.over();
    }

    /// Handles entries that are pending for this consumer but unknown to it: those of an earlier
    /// worker of this name, or delivered when a connection broke.
    async fn recover(&mut self, source: &mut Source) -> Result<(), Halt> {
        for which in source.all() {
            let mut after = EntryId::default();
            loop {
                let mut ids = source.own(which, after).await?;
                let Some(last) = ids.last().copied() else { break };
                after = last;
                ids.retain(|id| !self.aside.knows((which, *id)));
                for ids in ids.chunks(self.options.batch as usize) {
                    let claimed = source.claim(which, ids).await?;
                    for id in claimed.deleted {
                        self.deleted(source, (which, id)).await?;
                    }
                    self.handle(source, Delivered::from([(which, claimed.entries)])).await?;
                }
            }
        }
        Ok(())
    }

    async fn serve(&mut self, source: &mut Source) -> Result<(), Halt> {
        let now = Instant::now();
        let steal_every = self.options.claim_after / 2;
        let steal_every = steal_every.clamp(Duration::from_millis(50), Duration::from_secs(30));
        let mut steal = Every::new(steal_every, now);
        let mut tend = Every::new(TEND_EVERY, now + TEND_EVERY);
        let mut report = Every::new(REPORT_EVERY, now + REPORT_EVERY);
        let mut trims = self.options.trim_every().map(|every| Every::new(every, now + every));
        loop {
            if *self.stop.borrow() {
                break;
            }
            let mut has_worked = false;
            if steal.is_due() {
                has_worked |= self.steal(source).await?;
            }
            has_worked |= self.retry(source).await?;
            has_worked |= self.read(source).await?;
            if trims.as_mut().is_some_and(Every::is_due) {
                self.trim(source).await?;
            }
            self.totals.refused(&self.streams.orders, self.aside.len());
            self.save_lost().await;
            if tend.is_due() {
                self.tend(source).await?;
            }
            if report.is_due() {
                self.fields = self.options.compare(source.connection()).await?.fields;
                self.report(source).await?;
            }
            if self.options.once && !has_worked && self.is_done(source).await? {
                break;
            }
        }
        if self.options.once {
            self.tend(source).await?;
        }
        self.trim(source).await?;
        Ok(())
    }

    /// Reads and handles new entries. True if there were any; otherwise it has waited for some,
    /// unless the worker ends when there are none.
    async fn read(&mut self, source: &mut Source) -> Result<bool, Halt> {
        let of = self.intake(source);
        let Read { delivered, gaps } = source.read(&of, self.count, &mut self.seen).await?;
        self.is_well();
        if self.saved.is_empty() {
            self.save_positions(source).await;
        }
        let has_any = !delivered.is_empty();
        let of_gaps: Vec<_> = gaps.iter().map(|(which, _)| *which).collect();
        self.missing(source, gaps).await?;
        if has_any {
            self.handle(source, delivered).await?;
        }
        for which in of_gaps {
            source.correct(which, &self.seen).await?;
        }
        if !has_any && !self.options.once {
            let due = self.aside.next_due();
            let until_due = due.map(|due| due.saturating_duration_since(Instant::now()));
            let wait = until_due.map_or(BLOCK, |wait| wait.min(BLOCK));
            source.wait(&of, &self.seen, wait).await?;
        }
        Ok(has_any)
    }

    /// The streams to read new entries from: orders are not read while somebody must look first.
    fn intake(&self, source: &Source) -> Vec<Which> {
        let is_open = self.options.on_no_row != OnNoRow::Stop || !self.aside.has_unchanged();
        self.totals.intake(&self.streams.orders, is_open);
        let mut all = source.all();
        all.retain(|which| is_open || *which != Which::Orders);
        all
    }

    /// Whether nothing is left to do, for `--once`. What is aside is tried again, and what other
    /// consumers have pending is waited for: they finish it, or it is taken over.
    async fn is_done(&mut self, source: &mut Source) -> Result<bool, Halt> {
        if self.steal(source).await? {
            return Ok(false);
        }
        if let Some(due) = self.aside.next_due() {
            let wait = due.saturating_duration_since(Instant::now());
            rest(&mut self.stop, wait.min(BLOCK)).await?;
            return Ok(false);
        }
        let mut others = 0;
        for which in source.all() {
            let own = self.aside.of(which) as u64;
            others += source.summary(which).await?.count.saturating_sub(own);
        }
        let since = *self.waits_since.get_or_insert_with(Instant::now);
        if others > 0 && since.elapsed() < PATIENCE {
            rest(&mut self.stop, OTHERS_EVERY).await?;
            return Ok(false);
        }
        if others > 0 {
            warn!(
                "{others} entries of {} are pending for other consumers: they are taken over once \
                 they were idle for --claim-after",
                self.streams.orders
            );
            self.totals.left_to_others(others);
        }
        Ok(true)
    }

    /// Takes over entries that other workers have left. True if there were any.
    ///
    /// These may be entries of a live worker that can't reach the database. An entry that two
    /// workers write still becomes one row.
    async fn steal(&mut self, source: &mut Source) -> Result<bool, Halt> {
        let mut has_stolen = false;
        let idle = self.options.claim_after;
        for which in source.all() {
            let mut next = Some(EntryId::default());
            while let Some(start) = next {
                let taken = source.steal(which, idle, start, self.options.batch).await?;
                next = taken.next;
                for id in taken.deleted {
                    self.deleted(source, (which, id)).await?;
                }
                let mut entries = taken.entries;
                // Entries that are aside here have their own time of retry.
                entries.retain(|entry| !self.aside.knows((which, entry.id)));
                if !entries.is_empty() {
                    has_stolen = true;
                    debug!("took over {} entries of {}", entries.len(), source.name(which));
                }
                self.handle(source, Delivered::from([(which, entries)])).await?;
                if *self.stop.borrow() {
                    return Ok(has_stolen);
                }
            }
            source.remove_idle(which, (idle * IDLE_TIMES).max(IDLE_MIN)).await?;
        }
        Ok(has_stolen)
    }

    async fn trim(&mut self, source: &mut Source) -> Result<(), Halt> {
        let Some(after) = self.options.trim_after else { return Ok(()) };
        self.save_positions(source).await;
        for which in source.all() {
            let trimmed = trim(source, which, after).await?;
            self.totals.add(Count::Trimmed, trimmed);
        }
        Ok(())
    }

    async fn report(&mut self, source: &mut Source) -> Result<(), Halt> {
        self.save_positions(source).await;
        let stands = measure(source).await?;
        let done = self.totals.summary();
        info!(
            "{} orders, {} rows, {} confirmed, {} released, {} dead letters, {} refused{stands}",
            done.orders,
            done.rows_inserted,
            done.confirmed,
            done.released,
            done.rejected,
            done.refused
        );
        Ok(())
    }
}

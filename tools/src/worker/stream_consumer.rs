//! The streams of one hash tag, from reading to acknowledging, through all outages: `Intake` sees
//! what is read, `Writer` and `Finisher` have it in `Hand`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use redis::RedisError;
use seckill_tools::back_off::back_off;
use seckill_tools::nodes::Nodes;
use seckill_tools::server_errors::{Trouble, told, trouble};
use tracing::{error, info, warn};

use crate::finishing::Finisher;
use crate::gauges::measure;
use crate::halt::{Halt, Stop, Stopped, rest};
use crate::hand::Hand;
use crate::intake::{BLOCK, Intake, leave};
use crate::marks::looks_wrong;
use crate::options::{Options, Streams};
use crate::outage::Outage;
use crate::source::Source;
use crate::store::Store;
use crate::tend::tend;
use crate::totals::{Part, Totals};
use crate::writing::Writer;

/// How often rows that wait for something else than an entry are looked at.
const TEND_EVERY: Duration = Duration::from_secs(30);
const REPORT_EVERY: Duration = Duration::from_secs(10);
/// How long `--once` waits for a server that has not answered yet.
pub const PATIENCE: Duration = Duration::from_secs(10);
const CONNECT_FIRST: Duration = Duration::from_millis(100);
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// How often `--once` looks whether other consumers have finished.
const OTHERS_EVERY: Duration = Duration::from_millis(50);
/// What the parts of a consumer have in common.
pub type Shared = (Arc<Options>, Arc<Totals>, Arc<Store>);

pub struct StreamConsumer {
    options: Arc<Options>,
    totals: Arc<Totals>,
    intake: Intake,
    hand: Hand,
    /// Since when `--once` waits for entries of other consumers.
    waits_since: Option<Instant>,
    streams: Streams,
    consumer: String,
    nodes: Nodes,
    stop: Stop,
    outage: Outage,
    has_served: bool,
    /// A group was missing, and none has been read since.
    lacks_group: bool,
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
        store: Arc<Store>,
        totals: Arc<Totals>,
        stop: Stop,
    ) -> Result<Self> {
        let server = format!("the server of {}", streams.orders);
        let place = options.site.server.without_password();
        let outage = Outage::of(&server, &place, Part::Server(streams.orders.clone()), &totals);
        let (its, all) = (|| (options.clone(), totals.clone(), store.clone()), &streams.orders);
        let writer = Writer::new(its(), all, stop.clone());
        let (finisher, intake) = (Finisher::new(its()), Intake::new(its(), stop.clone()));
        Ok(Self {
            nodes: Nodes::new(options.site.server.place()?),
            intake,
            hand: Hand::new(writer, finisher),
            options,
            totals,
            waits_since: None,
            streams,
            consumer: consumer.to_owned(),
            stop,
            outage,
            has_served: false,
            lacks_group: false,
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
        self.hand.fields = self.options.compare(source.connection()).await?.fields;
        self.agree(&mut source).await?;
        self.intake.join(&mut source, &mut self.hand).await?;
        self.hand.finish(&mut source).await?;
        self.intake.recover(&mut source, &mut self.hand).await?;
        self.serve(&mut source).await?;
        self.intake.save(&source).await;
        leave(&mut source).await?;
        Ok(())
    }

    /// Reads nothing from a server that is not the one of the rows.
    async fn agree(&mut self, source: &mut Source) -> Result<(), Halt> {
        if !self.options.fields.unchecked
            && let Some(text) = looks_wrong(source).await?
        {
            return Err(Halt::Foreign(text));
        }
        self.hand.writer.agree(source).await?;
        self.totals.tell(Part::Foreign(self.streams.orders.clone()), None);
        Ok(())
    }

    /// It is not the server of the rows: tells it once, and waits for a person.
    async fn foreign(&mut self, text: &str) -> Result<(), Stopped> {
        let orders = &self.streams.orders;
        self.totals.intake(orders, false);
        if self.totals.tell(Part::Foreign(orders.clone()), Some(text)) {
            error!("{}: {text}", self.options.site.server.without_password());
        }
        rest(&mut self.stop, CONNECT_MAX).await
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

    async fn serve(&mut self, source: &mut Source) -> Result<(), Halt> {
        let now = Instant::now();
        let steal_every = self.options.claim_after / 2;
        let steal_every = steal_every.clamp(Duration::from_millis(50), Duration::from_secs(30));
        let mut steal = Every::new(steal_every, now);
        let mut tends = Every::new(TEND_EVERY, now + TEND_EVERY);
        let mut report = Every::new(REPORT_EVERY, now + REPORT_EVERY);
        let mut trims = self.options.trim_every().map(|every| Every::new(every, now + every));
        loop {
            if *self.stop.borrow() {
                break;
            }
            let mut has_worked = false;
            if steal.is_due() {
                has_worked |= self.intake.steal(source, &mut self.hand).await?;
            }
            has_worked |= self.intake.retry(source, &mut self.hand).await?;
            let read = self.intake.read(source, &self.hand).await?;
            (self.has_served, self.lacks_group) = (true, false);
            self.outage.over();
            has_worked |= self.intake.handle(source, &mut self.hand, read).await?;
            if trims.as_mut().is_some_and(Every::is_due) {
                self.trim(source).await?;
            }
            self.totals.refused(&self.streams.orders, self.hand.finisher.aside().len());
            self.hand.finisher.save_lost().await;
            if tends.is_due() {
                tend(source, &mut self.hand.writer, &self.options).await?;
            }
            if report.is_due() {
                self.hand.fields = self.options.compare(source.connection()).await?.fields;
                self.report(source).await?;
            }
            if self.options.once && !has_worked && self.is_done(source).await? {
                break;
            }
        }
        if self.options.once {
            tend(source, &mut self.hand.writer, &self.options).await?;
        }
        self.trim(source).await?;
        Ok(())
    }

    /// Whether nothing is left to do, for `--once`. What is aside is tried again, and what other
    /// consumers have pending is waited for: they finish it, or it is taken over.
    async fn is_done(&mut self, source: &mut Source) -> Result<bool, Halt> {
        if self.intake.steal(source, &mut self.hand).await? {
            return Ok(false);
        }
        if let Some(due) = self.hand.finisher.aside().next_due() {
            let wait = due.saturating_duration_since(Instant::now());
            rest(&mut self.stop, wait.min(BLOCK)).await?;
            return Ok(false);
        }
        let mut others = 0;
        for which in source.all() {
            let own = self.hand.finisher.aside().of(which) as u64;
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

    async fn trim(&mut self, source: &mut Source) -> Result<(), Halt> {
        let Some(after) = self.options.trim_after else { return Ok(()) };
        self.intake.save(source).await;
        for which in source.all() {
            self.hand.finisher.trim(source, which, after).await?;
        }
        Ok(())
    }

    async fn report(&mut self, source: &mut Source) -> Result<(), Halt> {
        self.intake.save(source).await;
        let stands = measure(source, &self.totals).await?;
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

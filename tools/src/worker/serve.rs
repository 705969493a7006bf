//! The streams of one hash tag, from reading to acknowledging, through all outages: `Intake` sees
//! what is read, `InFlight` has it until it is done.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use redis::RedisError;
use seckill_tools::back_off::back_off;
use seckill_tools::nodes::Nodes;
use seckill_tools::server_errors::{Trouble, trouble};
use tracing::{error, info, warn};

use crate::check;
use crate::gauges::measure;
use crate::halt::{Halt, rest};
use crate::in_flight::Shared;
use crate::intake::{BLOCK, Intake, leave};
use crate::options::Streams;
use crate::outage::Outage;
use crate::pairing::{looks_wrong, pair};
use crate::source::Source;
use crate::store::{Fault, Store};
use crate::totals::{Component, Count};

const REPORT_EVERY: Duration = Duration::from_secs(10);
/// How often a group that is not checked is checked, once all entries are read.
const CHECK_EVERY: Duration = Duration::from_secs(30);
/// How long `--once` waits for a server that has not answered yet.
pub const PATIENCE: Duration = Duration::from_secs(10);
const CONNECT_FIRST: Duration = Duration::from_millis(100);
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// How often `--once` looks whether other consumers have finished.
const OTHERS_EVERY: Duration = Duration::from_millis(50);

pub struct StreamConsumer {
    shared: Shared,
    intake: Intake,
    /// Since when `--once` waits for entries of other consumers.
    waits_since: Option<Instant>,
    streams: Streams,
    consumer: String,
    nodes: Nodes,
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
        let is_due = self.is_near();
        if is_due {
            self.next = Instant::now() + self.interval;
        }
        is_due
    }

    /// Will it be due when it is asked for?
    fn is_near(&self) -> bool {
        Instant::now() >= self.next
    }
}

impl StreamConsumer {
    pub fn new(shared: Shared, streams: Streams, consumer: &str) -> Result<Self> {
        let server = format!("the server of {}", streams.orders);
        let (site, part) = (&shared.options.site, Component::Server(streams.orders.clone()));
        let place = site.server.without_password();
        Ok(Self {
            nodes: Nodes::new(site.server.place()?),
            intake: Intake::new(shared.clone(), &streams.orders),
            waits_since: None,
            outage: Outage::of(&server, &place, part, &shared.totals),
            shared,
            streams,
            consumer: consumer.to_owned(),
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
                Err(Halt::Unpaired(text)) if !self.shared.options.once => {
                    if self.unpaired(&text).await.is_err() {
                        return Ok(());
                    }
                    continue;
                }
                Err(halt) => return Err(halt.error(&self.shared.options.site)),
            };
            let is_lasting = trouble(&error) == Trouble::Wrong;
            let is_patient = !self.shared.options.once || started.elapsed() < PATIENCE;
            let gives_up = match self.has_served {
                false => is_lasting || !is_patient,
                true => is_lasting && self.shared.options.once,
            };
            if gives_up {
                return Err(Halt::Redis(error).error(&self.shared.options.site));
            }
            if self.pause(&error).await.is_err() {
                return Ok(());
            }
        }
    }

    async fn session(&mut self) -> Result<(), Halt> {
        let connection = tokio::select! {
            connection = self.nodes.connect(&self.streams.orders) => connection?,
            _ = self.shared.stop.wait_for(|stop| *stop) => return Err(Halt::Stopped),
        };
        let (group, consumer) = (&self.shared.options.site.group, &self.consumer);
        let mut source = Source::new(connection, self.streams.clone(), group, consumer);
        self.intake.in_flight.fields =
            self.shared.options.compare(source.connection()).await?.fields;
        self.pair(&mut source).await?;
        if source.make_groups().await? {
            let why = "the stream or its group was missing";
            self.intake.uncheck(&source, why, 0).await?;
        }
        self.intake.in_flight.finish(&mut source).await?;
        self.intake.recover(&mut source).await?;
        self.serve(&mut source).await?;
        leave(&mut source).await?;
        Ok(())
    }

    /// Reads nothing from a server that is not paired with the tables.
    async fn pair(&mut self, source: &mut Source) -> Result<(), Halt> {
        if !self.shared.options.fields.unchecked
            && let Some(text) = looks_wrong(source).await?
        {
            return Err(Halt::Unpaired(text));
        }
        let orders = self.streams.orders.clone();
        let options = Arc::clone(&self.shared.options);
        let paired =
            self.intake.in_flight.ask(async |store| pair(source, store, &options).await).await?;
        let group = paired.map_err(Halt::Unpaired)?;
        if let Some(why) = &group.unchecked {
            info!("{orders} is to be checked: {why}");
        }
        self.shared.totals.unchecked(&orders, group.unchecked.is_some());
        self.shared.totals.report(Component::Unpaired(orders), None);
        Ok(())
    }

    /// The server is not paired with the tables: says so once, and waits for an operator.
    async fn unpaired(&mut self, text: &str) -> Result<(), Halt> {
        let orders = &self.streams.orders;
        self.shared.totals.intake(orders, false);
        if self.shared.totals.report(Component::Unpaired(orders.clone()), Some(text)) {
            error!("{}: {text}", self.shared.options.site.server.without_password());
        }
        rest(&mut self.shared.stop, CONNECT_MAX).await
    }

    /// Waits before the next connection, longer and longer; not at all the first time if only the
    /// group is missing. Logs one line per outage, not per try.
    async fn pause(&mut self, error: &RedisError) -> Result<(), Halt> {
        if trouble(error) == Trouble::NoGroup && !std::mem::replace(&mut self.lacks_group, true) {
            info!("{} or its group is missing and is created again", self.streams.orders);
            return Ok(());
        }
        let wait = back_off(CONNECT_FIRST, self.outage.failed_by(error)).min(CONNECT_MAX);
        rest(&mut self.shared.stop, wait.mul_f64(0.5 + fastrand::f64() / 2.0)).await
    }

    async fn serve(&mut self, source: &mut Source) -> Result<(), Halt> {
        let now = Instant::now();
        let steal_every = self.shared.options.claim_after / 2;
        let steal_every = steal_every.clamp(Duration::from_millis(50), Duration::from_secs(30));
        let mut steal = Every::new(steal_every, now);
        let mut checks = Every::new(CHECK_EVERY, now);
        let mut report = Every::new(REPORT_EVERY, now + REPORT_EVERY);
        let mut trims =
            self.shared.options.trim_every().map(|every| Every::new(every, now + every));
        let mut asked = None;
        loop {
            if *self.shared.stop.borrow() && asked.is_none() {
                break;
            }
            let mut has_worked = false;
            if asked.is_none() && steal.is_due() {
                has_worked |= self.intake.steal(source).await?;
            }
            has_worked |= self.intake.retry(source).await?;
            let asked_now = match asked.take() {
                Some(asked) => asked,
                None => self.intake.ask(source).await,
            };
            let read = self.intake.read(source, asked_now).await?;
            (self.has_served, self.lacks_group) = (true, false);
            self.outage.over();
            // What is left for long is taken over from this consumer, too.
            if !steal.is_near() {
                asked = self.intake.ask_on(source, &read).await;
            }
            has_worked |= self.intake.handle(source, read).await?;
            if trims.as_mut().is_some_and(Every::is_due) {
                self.trim(source).await?;
            }
            self.intake.note_gone(source).await?;
            self.shared.totals.parked(&self.streams.orders, self.intake.in_flight.parked().len());
            if !has_worked && !self.shared.options.once && checks.is_due() {
                self.check(source).await?;
            }
            if report.is_due() {
                self.intake.in_flight.fields =
                    self.shared.options.compare(source.connection()).await?.fields;
                self.report(source).await?;
            }
            if self.shared.options.once && !has_worked && self.is_done(source).await? {
                break;
            }
        }
        if self.shared.options.once {
            self.check(source).await?;
        }
        self.trim(source).await?;
        Ok(())
    }

    /// Checks a group that is not checked, and rules what needs no operator.
    async fn check(&mut self, source: &mut Source) -> Result<(), Halt> {
        let orders = self.streams.orders.clone();
        let group = self.shared.options.site.group.clone();
        let asked = self.ask(async |store| store.group(&orders, &group).await).await?;
        let Some(found) = asked else { return Ok(()) };
        let Some(found) = found.filter(|group| group.unchecked.is_some()) else {
            self.shared.totals.unchecked(&orders, false);
            return Ok(());
        };
        let mut is_over =
            check::by_itself(&self.shared.options, &self.shared.store, source).await?;
        if is_over {
            let checked = async |store: &Store| store.checked(&orders, &group, &found).await;
            is_over = self.ask(checked).await? == Some(true);
        }
        if is_over {
            info!("{orders} is checked: nothing differs");
        }
        self.shared.totals.unchecked(&orders, !is_over);
        Ok(())
    }

    /// What the tables say to a check. None while the database is away, for which only `--once`
    /// waits: what is read next tells of it, and the check comes again.
    async fn ask<T>(
        &mut self,
        ask: impl AsyncFn(&Store) -> Result<T, Fault>,
    ) -> Result<Option<T>, Halt> {
        if self.shared.options.once {
            return self.intake.in_flight.ask(ask).await.map(Some);
        }
        match ask(&self.shared.store).await {
            Ok(found) => Ok(Some(found)),
            Err(Fault::Server(error)) => Err(Halt::Redis(error)),
            Err(_) => Ok(None),
        }
    }

    /// Whether nothing is left to do, for `--once`. What is parked is tried again, and what other
    /// consumers have pending is waited for: they finish it, or it is taken over.
    async fn is_done(&mut self, source: &mut Source) -> Result<bool, Halt> {
        if self.intake.steal(source).await? {
            return Ok(false);
        }
        if let Some(due) = self.intake.in_flight.parked().next_due() {
            let wait = due.saturating_duration_since(Instant::now());
            rest(&mut self.shared.stop, wait.min(BLOCK)).await?;
            return Ok(false);
        }
        let mut others = 0;
        for which in source.all() {
            let own = self.intake.in_flight.parked().of(which) as u64;
            let pending = source.ours(which).await?.map_or(0, |group| group.pending);
            others += pending.saturating_sub(own);
        }
        let since = *self.waits_since.get_or_insert_with(Instant::now);
        if others > 0 && since.elapsed() < PATIENCE {
            rest(&mut self.shared.stop, OTHERS_EVERY).await?;
            return Ok(false);
        }
        if others > 0 {
            warn!(
                "{others} entries of {} are pending for other consumers: they are taken over once \
                 they were idle for --claim-after",
                self.streams.orders
            );
            self.shared.totals.left_to_others(others);
        }
        Ok(true)
    }

    async fn trim(&mut self, source: &mut Source) -> Result<(), Halt> {
        if let Some(after) = self.shared.options.trim_after {
            self.intake.trim(source, after).await?;
        }
        Ok(())
    }

    async fn report(&mut self, source: &mut Source) -> Result<(), Halt> {
        let stands = measure(source, &self.shared.totals).await?;
        let done = self.shared.totals.summary();
        info!(
            "{} orders, {} rows, {} confirmed, {} released, {} dead letters, {} parked{stands}",
            done.of(Count::Orders),
            done.of(Count::Inserted),
            done.of(Count::Confirmed),
            done.of(Count::Released),
            done.of(Count::DeadLetters),
            done.parked
        );
        Ok(())
    }
}

//! The consumers of a worker: one for the streams of each hash tag that the command line names, or
//! that is found on the server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use seckill_tools::back_off::back_off;
use seckill_tools::nodes::Nodes;
use seckill_tools::server_errors::{Trouble, trouble};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{error, info};

use crate::gauges;
use crate::halt::{Halt, Stop, rest};
use crate::options::{Options, Streams};
use crate::outage::Outage;
use crate::serve::{PATIENCE, StreamConsumer};
use crate::store::Store;
use crate::tag_finder::{Found, TAGS_MAX, TagFinder};
use crate::totals::{Component, Totals};

/// How often new tags are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const CONNECT_FIRST: Duration = Duration::from_millis(100);
const CONNECT_MAX: Duration = Duration::from_secs(5);

pub struct Consumers {
    options: Arc<Options>,
    totals: Arc<Totals>,
    store: Arc<Store>,
    nodes: Nodes,
    /// Set once the database is open.
    opened: watch::Receiver<bool>,
    stop: Stop,
    name: String,
    running: JoinSet<Result<()>>,
    measuring: JoinSet<()>,
}

impl Consumers {
    pub fn new(
        options: Arc<Options>,
        totals: Arc<Totals>,
        store: Arc<Store>,
        opened: watch::Receiver<bool>,
        stop: Stop,
    ) -> Result<Self> {
        let name = options.consumer();
        info!("consumer {name} of group {}", options.site.group);
        Ok(Self {
            nodes: Nodes::new(options.site.server.place()?),
            options,
            totals,
            store,
            opened,
            stop,
            name,
            running: JoinSet::new(),
            measuring: JoinSet::new(),
        })
    }

    /// Runs the consumers until all are done or one fails.
    pub async fn run(mut self) -> Result<()> {
        match self.options.named_streams() {
            Some(named) => named.into_iter().try_for_each(|streams| self.start(streams))?,
            None => self.find().await?,
        }
        while let Some(ended) = self.running.join_next().await {
            ended.context("a consumer failed")??;
        }
        Ok(())
    }

    fn start(&mut self, streams: Streams) -> Result<()> {
        // An alert must not mistake a gauge that was never set for one that is fine.
        self.totals.intake(&streams.orders, true);
        self.totals.parked(&streams.orders, 0);
        self.totals.unchecked(&streams.orders, false);
        if self.options.metrics.is_some() {
            let (options, totals) = (Arc::clone(&self.options), Arc::clone(&self.totals));
            let (nodes, stop) = (self.nodes.clone(), self.stop.clone());
            let measuring = gauges::keep(options, totals, streams.clone(), nodes, stop);
            self.measuring.spawn_local(measuring);
        }
        let (store, totals) = (Arc::clone(&self.store), Arc::clone(&self.totals));
        let (options, stop) = (Arc::clone(&self.options), self.stop.clone());
        let consumer = StreamConsumer::new(options, streams, &self.name, store, totals, stop)?;
        let (mut opened, mut stop) = (self.opened.clone(), self.stop.clone());
        self.running.spawn_local(async move {
            tokio::select! {
                _ = opened.wait_for(|opened| *opened) => consumer.run().await,
                _ = stop.wait_for(|stop| *stop) => Ok(()),
            }
        });
        Ok(())
    }

    /// Starts a consumer for each tag, also for tags that appear later, until asked to stop. With
    /// `--once`, or if the keys have no tags, only looks once.
    async fn find(&mut self) -> Result<()> {
        let stop = self.stop.clone();
        let mut finder = TagFinder::new(Arc::clone(&self.options), self.nodes.clone(), stop);
        let stream = self.options.site.stream.clone();
        let server = self.options.site.server.without_password();
        let (part, foreign) = (Component::Server(stream.clone()), Component::Unpaired(stream));
        let mut outage = Outage::of("the server", &server, part, &self.totals);
        let (started, mut was_left_out) = (Instant::now(), 0);
        loop {
            let wait = match finder.look().await {
                Ok(Found::One(streams)) => return self.start(streams),
                Ok(Found::New(new, left_out)) => {
                    outage.over();
                    self.totals.report(foreign.clone(), None);
                    if left_out != was_left_out {
                        was_left_out = left_out;
                        let text = format!(
                            "{left_out} hash tags are not read: one worker reads at most \
                             {TAGS_MAX}, start more workers with --tag"
                        );
                        error!("{text}");
                        self.totals.report(Component::Tags, (left_out > 0).then_some(&text));
                    }
                    for streams in new {
                        info!("reading {}", streams.orders);
                        self.start(streams)?;
                    }
                    if self.options.once {
                        return Ok(());
                    }
                    LOOK_EVERY
                }
                Err(Halt::Stopped) => return Ok(()),
                Err(Halt::Unpaired(text)) if !self.options.once => {
                    outage.over();
                    if self.totals.report(foreign.clone(), Some(&text)) {
                        error!("{server}: {text}");
                    }
                    LOOK_EVERY
                }
                Err(halt @ (Halt::Settings(_) | Halt::Unpaired(_))) => {
                    return Err(halt.error(&self.options.site));
                }
                Err(Halt::Redis(error)) => {
                    let is_patient = !self.options.once || started.elapsed() < PATIENCE;
                    let is_lasting = trouble(&error) == Trouble::Wrong && self.running.is_empty();
                    if is_lasting || !is_patient {
                        return Err(Halt::Redis(error).error(&self.options.site));
                    }
                    back_off(CONNECT_FIRST, outage.failed_by(&error)).min(CONNECT_MAX)
                }
            };
            tokio::select! {
                Some(ended) = self.running.join_next() => {
                    ended.context("a consumer failed")??;
                }
                rested = rest(&mut self.stop, wait) => if rested.is_err() {
                    return Ok(());
                },
            }
        }
    }
}

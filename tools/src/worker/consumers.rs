//! The consumers of a worker: one for the streams of each hash tag that the command line names, or
//! that is found on the server.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use seckill_tools::back_off::back_off;
use seckill_tools::nodes::Nodes;
use seckill_tools::server_errors::{Trouble, trouble};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{error, info};

use crate::gauges;
use crate::halt::{Halt, rest};
use crate::in_flight::Shared;
use crate::options::Streams;
use crate::outage::Outage;
use crate::serve::{PATIENCE, StreamConsumer};
use crate::tag_finder::{Found, TAGS_MAX, TagFinder};
use crate::totals::Component;

/// How often new tags are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const CONNECT_FIRST: Duration = Duration::from_millis(100);
const CONNECT_MAX: Duration = Duration::from_secs(5);

pub struct Consumers {
    shared: Shared,
    nodes: Nodes,
    /// Set once the database is open.
    opened: watch::Receiver<bool>,
    name: String,
    running: JoinSet<Result<()>>,
    measuring: JoinSet<()>,
}

impl Consumers {
    pub fn new(shared: Shared, opened: watch::Receiver<bool>) -> Result<Self> {
        let name = shared.options.consumer();
        info!("consumer {name} of group {}", shared.options.site.group);
        let nodes = Nodes::new(shared.options.site.server.place()?);
        let (running, measuring) = (JoinSet::new(), JoinSet::new());
        Ok(Self { shared, nodes, opened, name, running, measuring })
    }

    /// Runs the consumers until all are done or one fails.
    pub async fn run(mut self) -> Result<()> {
        match self.shared.options.named_streams() {
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
        self.shared.totals.intake(&streams.orders, true);
        self.shared.totals.parked(&streams.orders, 0);
        self.shared.totals.unchecked(&streams.orders, false);
        if self.shared.options.metrics.is_some() {
            let measuring = gauges::keep(self.shared.clone(), streams.clone(), self.nodes.clone());
            self.measuring.spawn_local(measuring);
        }
        let consumer = StreamConsumer::new(self.shared.clone(), streams, &self.name)?;
        let (mut opened, mut stop) = (self.opened.clone(), self.shared.stop.clone());
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
        let mut finder = TagFinder::new(self.shared.clone(), self.nodes.clone());
        let stream = self.shared.options.site.stream.clone();
        let server = self.shared.options.site.server.without_password();
        let (part, foreign) = (Component::Server(stream.clone()), Component::Unpaired(stream));
        let mut outage = Outage::of("the server", &server, part, &self.shared.totals);
        let (started, mut was_left_out) = (Instant::now(), 0);
        loop {
            let wait = match finder.look().await {
                Ok(Found::One(streams)) => return self.start(streams),
                Ok(Found::New(new, left_out)) => {
                    outage.over();
                    self.shared.totals.report(foreign.clone(), None);
                    if left_out != was_left_out {
                        was_left_out = left_out;
                        let text = format!(
                            "{left_out} hash tags are not read: one worker reads at most \
                             {TAGS_MAX}, start more workers with --tag"
                        );
                        error!("{text}");
                        self.shared.totals.report(Component::Tags, (left_out > 0).then_some(&text));
                    }
                    for streams in new {
                        info!("reading {}", streams.orders);
                        self.start(streams)?;
                    }
                    if self.shared.options.once {
                        return Ok(());
                    }
                    LOOK_EVERY
                }
                Err(Halt::Stopped) => return Ok(()),
                Err(Halt::Unpaired(text)) if !self.shared.options.once => {
                    outage.over();
                    if self.shared.totals.report(foreign.clone(), Some(&text)) {
                        error!("{server}: {text}");
                    }
                    LOOK_EVERY
                }
                Err(halt @ (Halt::Settings(_) | Halt::Unpaired(_))) => {
                    return Err(halt.error(&self.shared.options.site));
                }
                Err(Halt::Redis(error)) => {
                    let is_patient = !self.shared.options.once || started.elapsed() < PATIENCE;
                    let is_lasting = trouble(&error) == Trouble::Wrong && self.running.is_empty();
                    if is_lasting || !is_patient {
                        return Err(Halt::Redis(error).error(&self.shared.options.site));
                    }
                    back_off(CONNECT_FIRST, outage.failed_by(&error)).min(CONNECT_MAX)
                }
            };
            tokio::select! {
                Some(ended) = self.running.join_next() => {
                    ended.context("a consumer failed")??;
                }
                rested = rest(&mut self.shared.stop, wait) => if rested.is_err() {
                    return Ok(());
                },
            }
        }
    }
}

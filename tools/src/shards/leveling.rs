//! `level`: looks at the shards again and again and moves what is idle, through lost connections.

use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::{Error, Result};
use redis::RedisError;
use seckill_tools::back_off::back_off;
use seckill_tools::connection::Target;
use seckill_tools::server::Place;
use seckill_tools::server_errors::{Trouble, is_down, trouble, with_causes};
use seckill_tools::signals::asked_to_end;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use seckill_tools::sharded_sale::Standing;

use crate::levels;
use crate::mover::Mover;
use crate::options::Level;
use crate::sale::{find, is_silent};

const TELL_EVERY: Duration = Duration::from_secs(1);
const CONNECT_FIRST: Duration = Duration::from_millis(100);
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// How long the current move may take when the program is asked to end. An unfinished move stays on
/// its way, for the next run to finish.
const END_WITHIN: Duration = Duration::from_secs(3);

pub struct Leveling<'o> {
    place: Place,
    voucher: &'o str,
    options: &'o Level,
    /// Moves and units moved until now.
    moved: (u64, i64),
    round: u64,
    /// What was left on each shard at the last look.
    before: Option<Vec<i64>>,
    /// Since when the server is away, and how often it was tried.
    outage: Option<(Instant, u64)>,
    has_looked: bool,
    /// When it was last reported how far it is, and in which words.
    reported: Option<(Instant, String)>,
}

impl<'o> Leveling<'o> {
    pub fn new(place: Place, voucher: &'o str, options: &'o Level) -> Self {
        let (moved, round, before, outage) = ((0, 0), 0, None, None);
        let (has_looked, reported) = (false, None);
        Self { place, voucher, options, moved, round, before, outage, has_looked, reported }
    }

    /// At the first look and then at most once per second, if there is news.
    fn tell(&mut self, standing: &Standing) {
        if self.options.once
            || self.reported.as_ref().is_some_and(|(at, _)| at.elapsed() < TELL_EVERY)
        {
            return;
        }
        let (shards, left) = (standing.shards.len(), standing.left().iter().sum::<i64>());
        let line = format!(
            "{} on {shards} shards: {left} units left; moved {} in {} moves",
            self.voucher, self.moved.1, self.moved.0
        );
        if self.reported.as_ref().is_none_or(|(_, before)| *before != line) {
            let ends = if self.reported.is_none() { ", until Ctrl-C" } else { "" };
            eprintln!("seckill-shards: {line}{ends}");
            self.reported = Some((Instant::now(), line));
        }
    }

    /// Until asked to end, or until all is done that was asked for. False when the shards disagree.
    pub async fn run(mut self) -> Result<bool> {
        let (stopper, mut stop) = watch::channel(false);
        let ends = asked_to_end()?;
        let is_sound = {
            let mut levels = pin!(self.level_on(&mut stop));
            tokio::select! {
                done = &mut levels => done?,
                () = ends => {
                    stopper.send_replace(true);
                    match timeout(END_WITHIN, levels).await {
                        Ok(done) => done?,
                        Err(_) => {
                            eprintln!(
                                "seckill-shards: the server does not answer: a move may be on \
                                 its way, run seckill-shards finish"
                            );
                            true
                        }
                    }
                }
            }
        };
        println!("moved {} units in {} moves", self.moved.1, self.moved.0);
        Ok(is_sound)
    }

    async fn level_on(&mut self, stop: &mut watch::Receiver<bool>) -> Result<bool> {
        loop {
            let error = match self.session(stop).await {
                Ok(is_sound) => return Ok(is_sound),
                Err(error) => error,
            };
            // What has never worked is a mistake, not an outage.
            if self.options.once || !self.has_looked || !is_away(&error) {
                return Err(error);
            }
            let (_, tries) = self.outage.get_or_insert((Instant::now(), 0));
            *tries += 1;
            if *tries == 1 {
                let (place, text) = (self.place.name(), with_causes(&error));
                let state =
                    if of_server(&error).is_some_and(is_down) { "down" } else { "not ready" };
                eprintln!("seckill-shards: the server {place} is {state}, retrying: {text}");
            }
            let wait = back_off(CONNECT_FIRST, *tries).min(CONNECT_MAX);
            tokio::select! {
                () = sleep(wait) => {}
                _ = stop.wait_for(|stop| *stop) => return Ok(true),
            }
        }
    }

    /// One connection: finishes what was left, then moves idle units where they are missing.
    async fn session(&mut self, stop: &mut watch::Receiver<bool>) -> Result<bool> {
        let link = Target::find(self.place.clone()).await?.connect().await?;
        let sale = find(link, self.voucher).await?;
        sale.check_not_dropping()?;
        if !is_silent(&sale.look().await?.lost_shards()) {
            return Ok(false);
        }
        let mut mover = Mover::new(&sale, self.options.replicas);
        mover.finish_all().await?;
        let mut ticks = tokio::time::interval(self.options.every);
        loop {
            tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => break,
                _ = ticks.tick() => {}
            }
            let standing = sale.look().await?;
            self.tell(&standing);
            self.has_looked = true;
            if let Some((since, _)) = self.outage.take() {
                let seconds = since.elapsed().as_secs_f64();
                eprintln!("seckill-shards: the server is back after {seconds:.1} s");
            }
            if !is_silent(&standing.differences()) {
                return Ok(false);
            }
            let mut left = standing.left();
            // The first look has nothing to compare with: whatever lies there is idle.
            let steps = levels::moves(&left, self.before.as_ref().unwrap_or(&left), self.round);
            for step in steps {
                if *stop.borrow() {
                    break;
                }
                let units = mover.go(step.from, step.to, step.units).await?;
                self.moved = (self.moved.0 + u64::from(units > 0), self.moved.1 + units);
                left[step.from as usize] -= units;
                left[step.to as usize] += units;
            }
            self.before = Some(left);
            self.round += 1;
            let is_over = self.options.until_sold_out && standing.is_sold_out();
            if self.options.once || is_over {
                break;
            }
        }
        Ok(is_silent(&sale.look().await?.differences()))
    }
}

/// Whether a server was lost, or is not ready.
fn is_away(error: &Error) -> bool {
    of_server(error).is_some_and(|error| trouble(error) == Trouble::Away)
}

fn of_server(error: &Error) -> Option<&RedisError> {
    error.chain().find_map(|cause| cause.downcast_ref())
}

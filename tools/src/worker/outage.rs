//! A server or database that does not answer, or is not ready: one line of the log and a sentence
//! of `/healthz` say so, and a line when it is back.

use std::sync::Arc;
use std::time::Instant;

use redis::RedisError;
use seckill_tools::sanitize::sanitize;
use seckill_tools::server_errors::{is_down, message, other_scheme};
use tracing::{debug, info, warn};

use crate::totals::{Component, Totals};

enum State {
    Down,
    /// Nobody knows whether it is down.
    Unreached,
    /// It answers, and refuses.
    NotReady,
}

pub struct Outage {
    name: String,
    /// Its address, without a password.
    place: String,
    part: Component,
    totals: Arc<Totals>,
    since: Option<Instant>,
    tries: u64,
}

impl Outage {
    /// None yet, of what has this name in sentences, at this address.
    pub fn of(name: &str, place: &str, part: Component, totals: &Arc<Totals>) -> Self {
        let (name, place, totals) = (name.to_owned(), place.to_owned(), Arc::clone(totals));
        Self { name, place, part, totals, since: None, tries: 0 }
    }

    /// A try has failed for this reason. Returns how many have, since the last success.
    pub fn failed(&mut self, why: &str) -> u64 {
        self.note(why, State::Down)
    }

    /// The same of a server, which may have answered.
    pub fn failed_by(&mut self, error: &RedisError) -> u64 {
        let state = if is_down(error) { State::Unreached } else { State::NotReady };
        self.note(&format!("{}{}", message(error), other_scheme(&self.place, error)), state)
    }

    fn note(&mut self, why: &str, state: State) -> u64 {
        let why = format!("{}: {}", self.place, sanitize(why));
        self.tries += 1;
        if self.since.is_none() {
            self.since = Some(Instant::now());
            let words = match state {
                State::Down => "is down",
                State::Unreached => "can't be reached",
                State::NotReady => "is not ready",
            };
            self.totals.report(self.part.clone(), Some(&format!("{words}: {why}")));
            match state {
                State::Down => warn!("{} is down, retrying: {why}", self.name),
                State::Unreached => warn!("{} can't be reached, retrying: {why}", self.name),
                State::NotReady => warn!("{} is not ready, retrying: {why}", self.name),
            }
        }
        debug!("try {}: {why}", self.tries);
        self.tries
    }

    /// A try has succeeded.
    pub fn over(&mut self) {
        self.tries = 0;
        if let Some(since) = self.since.take() {
            self.totals.report(self.part.clone(), None);
            info!("{} is back after {:.1} s", self.name, since.elapsed().as_secs_f64());
        }
    }
}

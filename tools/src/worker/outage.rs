//! A server or database that does not answer, or is not ready: one line of the log and a sentence
//! of `/healthz` say so, and a line when it is back.

use std::sync::Arc;
use std::time::Instant;

use redis::RedisError;
use seckill_tools::sanitize::sanitize;
use seckill_tools::server_errors::{is_down, message, other_scheme};
use tracing::{debug, info, warn};

use crate::totals::{Component, Totals};

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
        if let Some(why) = self.begins("is down", why) {
            warn!("{} is down, retrying: {why}", self.name);
        }
        self.tries
    }

    /// The same of a server: nobody knows whether it is down, or it answers, and refuses.
    pub fn failed_by(&mut self, error: &RedisError) -> u64 {
        let is_down = is_down(error);
        let state = if is_down { "can't be reached" } else { "is not ready" };
        let why = format!("{}{}", message(error), other_scheme(&self.place, error));
        match self.begins(state, &why) {
            Some(why) if is_down => warn!("{} can't be reached, retrying: {why}", self.name),
            Some(why) => warn!("{} is not ready, retrying: {why}", self.name),
            None => {}
        }
        self.tries
    }

    /// Why, if this is the first try that failed.
    fn begins(&mut self, state: &str, why: &str) -> Option<String> {
        let why = format!("{}: {}", self.place, sanitize(why));
        self.tries += 1;
        debug!("try {}: {why}", self.tries);
        let is_first = self.since.is_none();
        self.since.get_or_insert_with(Instant::now);
        if is_first {
            self.totals.report(self.part.clone(), Some(&format!("{state}: {why}")));
        }
        is_first.then_some(why)
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

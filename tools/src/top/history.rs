//! The last readings: what has changed between them, and how fast.

use std::collections::VecDeque;

use domain::sale::Outcome;

use crate::reading::Reading;

/// Rates that are kept for the chart.
const KEPT: usize = 400;

/// The outcomes of tries: what a reader calls them, and their counters.
pub const TRIES: [(&str, &str); 7] = [
    (Outcome::Accepted.words(), "tries_accepted"),
    (Outcome::SoldOut.words(), "tries_sold_out"),
    (Outcome::AtLimit.words(), "tries_at_limit"),
    (Outcome::NotStarted.words(), "tries_not_started"),
    (Outcome::Ended.words(), "tries_ended"),
    (Outcome::Waiting.words(), "tries_waiting"),
    ("repeated", "tries_repeated"),
];

#[derive(Default)]
pub struct History {
    now: Option<Reading>,
    before: Option<Reading>,
    /// Tries per second, the latest last.
    tries: VecDeque<u64>,
}

impl History {
    pub fn push(&mut self, reading: Reading) {
        self.before = self.now.replace(reading);
        if let Some(rate) = self.tries_rate() {
            self.tries.push_back(whole(rate));
        }
        if self.tries.len() > KEPT {
            self.tries.pop_front();
        }
    }

    pub fn now(&self) -> Option<&Reading> {
        self.now.as_ref()
    }

    /// The latest rates of tries, at most so many, the latest last.
    pub fn tries(&self, most: usize) -> Vec<u64> {
        let skipped = self.tries.len().saturating_sub(most);
        self.tries.iter().skip(skipped).copied().collect()
    }

    /// Has any order been in line?
    pub fn has_line(&self) -> bool {
        self.now.as_ref().and_then(|now| now.counters.get("tries_waiting")) > Some(&0)
    }

    /// By how much a counter has grown between the last two readings; none when there are no two,
    /// or when it began again in between.
    fn growth(&self, counter: &str) -> Option<u64> {
        let (now, before) = (self.now.as_ref()?, self.before.as_ref()?);
        if now.server.run_id != before.server.run_id {
            return None;
        }
        now.counters.get(counter)?.checked_sub(*before.counters.get(counter)?)
    }

    fn seconds(&self) -> Option<f64> {
        let (now, before) = (self.now.as_ref()?, self.before.as_ref()?);
        let seconds = now.at.saturating_duration_since(before.at).as_secs_f64();
        (seconds > 0.0).then_some(seconds)
    }

    /// How much a counter grows per second.
    pub fn rate(&self, counter: &str) -> Option<f64> {
        Some(exact(self.growth(counter)?) / self.seconds()?)
    }

    fn tries_rate(&self) -> Option<f64> {
        TRIES.iter().map(|(_, counter)| self.rate(counter)).sum()
    }

    /// How long a request for a lock was in line in the mean, in ms, of those answered since the
    /// reading before.
    pub fn mean_wait_ms(&self) -> Option<f64> {
        let answered = self.growth("locks_acquired")? + self.growth("locks_refused")?;
        let waited = self.growth("locks_waited_ms_total")?;
        (answered > 0).then(|| exact(waited) / exact(answered))
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with a few digits")]
pub fn exact(number: u64) -> f64 {
    number as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates are small")]
fn whole(rate: f64) -> u64 {
    rate.round() as u64
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::reading::Server;
    use std::time::{Duration, Instant};

    /// A reading so many seconds after another, with these counters.
    pub fn reading(start: Instant, seconds: u64, counters: &[(&str, u64)]) -> Reading {
        Reading {
            at: start + Duration::from_secs(seconds),
            server: Server { run_id: "r".to_owned(), ..Server::default() },
            counters: counters.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
            vouchers: Vec::new(),
            left_out: 0,
            streams: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn rates_are_what_has_changed() {
        let start = Instant::now();
        let mut history = History::default();
        let all = |count| TRIES.map(|(_, counter)| (counter, count));
        history.push(reading(start, 0, &all(10)));
        assert_eq!((history.rate("tries_ended"), history.tries(9)), (None, vec![]));
        history.push(reading(start, 2, &all(30)));
        assert_eq!(history.rate("tries_ended"), Some(10.0));
        history.push(reading(start, 3, &all(31)));
        assert_eq!(history.tries(9), [70, 7]);
        assert_eq!(history.tries(1), [7]);
        assert_eq!(history.rate("unknown"), None);
    }

    #[test]
    fn a_counter_that_begins_again_has_no_rate() {
        let start = Instant::now();
        let mut history = History::default();
        history.push(reading(start, 0, &[("tries_ended", 10)]));
        history.push(reading(start, 1, &[("tries_ended", 3)]));
        assert_eq!(history.rate("tries_ended"), None);
        let mut other = reading(start, 2, &[("tries_ended", 9)]);
        other.server.run_id = "another".to_owned();
        history.push(other);
        assert_eq!(history.rate("tries_ended"), None);
    }

    #[test]
    fn waits_are_told_in_the_mean() {
        let start = Instant::now();
        let locks = |acquired, refused, waited| {
            [
                ("locks_acquired", acquired),
                ("locks_refused", refused),
                ("locks_waited_ms_total", waited),
            ]
        };
        let mut history = History::default();
        history.push(reading(start, 0, &locks(5, 5, 1_000)));
        history.push(reading(start, 1, &locks(8, 6, 1_100)));
        assert_eq!(history.mean_wait_ms(), Some(25.0));
        history.push(reading(start, 2, &locks(8, 6, 1_100)));
        assert_eq!(history.mean_wait_ms(), None);
    }
}

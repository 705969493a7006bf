//! The last readings: what has changed between them, and how fast.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use domain::sale::TryOutcome;

use crate::reading::{Reading, Voucher};

/// Rates that are kept for the chart.
const KEPT: usize = 400;
/// For so long a voucher stays on top after it was seen to sell.
const SELLS_FOR: Duration = Duration::from_secs(10);

/// The outcomes of tries: what a reader calls them, and their counters.
pub const TRIES: [(&str, &str); 7] = [
    (TryOutcome::Accepted.words(), "tries_accepted"),
    (TryOutcome::SoldOut.words(), "tries_sold_out"),
    (TryOutcome::AtLimit.words(), "tries_at_limit"),
    (TryOutcome::NotStarted.words(), "tries_not_started"),
    (TryOutcome::Ended.words(), "tries_ended"),
    (TryOutcome::Waiting.words(), "tries_waiting"),
    ("repeated", "tries_repeated"),
];

/// What happened per second between a reading and the one before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    pub at: Instant,
    pub tries: u64,
    pub accepted: u64,
}

#[derive(Default)]
pub struct History {
    now: Option<Reading>,
    before: Option<Reading>,
    /// The latest last.
    rates: VecDeque<Rates>,
    /// Units that were taken per second, by voucher: of those that have sold since `rates` begin.
    taken: HashMap<String, VecDeque<u64>>,
    /// By voucher, the last reading that saw more units taken than the one before.
    sold_at: HashMap<String, Instant>,
}

impl History {
    pub fn push(&mut self, mut reading: Reading) {
        self.sort(&mut reading);
        self.before = self.now.replace(reading);
        self.push_rates();
    }

    /// Nothing where there are no two readings of one server, or no counters.
    fn push_rates(&mut self) {
        let (Some(now), Some(before), Some(seconds)) = (&self.now, &self.before, self.seconds())
        else {
            return;
        };
        let rates = self.tries_rate().zip(self.rate("tries_accepted"));
        let Some((tries, accepted)) = rates else { return };
        let rates = Rates { at: now.at, tries: whole(tries), accepted: whole(accepted) };
        let before: HashMap<&str, &Voucher> =
            before.vouchers.iter().map(|voucher| (voucher.name.as_str(), voucher)).collect();
        self.taken.values_mut().for_each(|rates| rates.push_back(0));
        for Voucher { name, info, .. } in &now.vouchers {
            let before = before.get(name.as_str()).filter(|before| before.info.sale == info.sale);
            let taken = before.and_then(|before| Some(info.taken()? - before.info.taken()?));
            let taken = taken.and_then(|units| u64::try_from(units).ok()).filter(|it| *it > 0);
            let Some(taken) = taken else { continue };
            let curve = self.taken.entry(name.clone()).or_insert_with(|| VecDeque::from([0]));
            curve.pop_back();
            curve.push_back(whole(exact(taken) / seconds));
        }
        self.rates.push_back(rates);
        if self.rates.len() > KEPT {
            self.rates.pop_front();
        }
        let kept = self.rates.len();
        self.taken
            .values_mut()
            .for_each(|curve| drop(curve.drain(..curve.len().saturating_sub(kept))));
        self.taken.retain(|_, curve| curve.iter().any(|rate| *rate > 0));
    }

    /// Those that sell come first, then those that could; each kind by name.
    fn sort(&mut self, reading: &mut Reading) {
        let before = self.now.iter().flat_map(|now| &now.vouchers);
        let before: HashMap<&str, Option<i64>> =
            before.map(|voucher| (voucher.name.as_str(), voucher.info.taken())).collect();
        for voucher in &reading.vouchers {
            if before.get(voucher.name.as_str()).is_some_and(|it| voucher.info.taken() > *it) {
                self.sold_at.insert(voucher.name.clone(), reading.at);
            }
        }
        self.sold_at.retain(|_, at| reading.at.saturating_duration_since(*at) < SELLS_FOR);
        reading.vouchers.sort_by_cached_key(|voucher| {
            let place = match voucher.info.state.as_str() {
                _ if self.sold_at.contains_key(&voucher.name) => 0,
                "open" => 1,
                "scheduled" => 3,
                "soldout" => 4,
                "ended" => 5,
                // A code word: something is wrong.
                _ => 2,
            };
            (place, voucher.name.clone())
        });
    }

    pub fn now(&self) -> Option<&Reading> {
        self.now.as_ref()
    }

    /// The latest rates, at most so many, the latest last.
    pub fn rates(&self, most: usize) -> impl Iterator<Item = &Rates> {
        self.rates.iter().skip(self.rates.len().saturating_sub(most))
    }

    /// Tries since the module was loaded.
    pub fn tries_total(&self) -> Option<u64> {
        let now = self.now.as_ref()?;
        TRIES.iter().map(|(_, counter)| now.counters.get(*counter).copied()).sum()
    }

    /// The latest units per second of a voucher: at most so many, the latest last.
    pub fn taken(&self, voucher: &str, most: usize) -> impl Iterator<Item = u64> {
        let curve = self.taken.get(voucher);
        let skipped = curve.map_or(0, |curve| curve.len().saturating_sub(most));
        curve.into_iter().flatten().skip(skipped).copied()
    }

    /// Has any order been in the queue?
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

    /// How long a request for a lock was in the queue in the mean, in ms, of those answered since
    /// the reading before.
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
            clock_ms: None,
            server: Server { run_id: "r".to_owned(), ..Server::default() },
            counters: counters.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
            vouchers: Vec::new(),
            left_out: 0,
            streams: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn tries(history: &History, most: usize) -> Vec<u64> {
        history.rates(most).map(|rates| rates.tries).collect()
    }

    #[test]
    fn rates_are_what_has_changed() {
        let start = Instant::now();
        let mut history = History::default();
        let all = |count| TRIES.map(|(_, counter)| (counter, count));
        history.push(reading(start, 0, &all(10)));
        assert_eq!((history.rate("tries_ended"), tries(&history, 9)), (None, vec![]));
        history.push(reading(start, 2, &all(30)));
        assert_eq!(history.rate("tries_ended"), Some(10.0));
        history.push(reading(start, 3, &all(31)));
        assert_eq!(tries(&history, 9), [70, 7]);
        assert_eq!(tries(&history, 1), [7]);
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
    fn vouchers_that_sell_are_on_top_for_a_while() {
        let start = Instant::now();
        let mut history = History::default();
        let mut order = |seconds, vouchers: &[(&str, &str, i64)]| {
            let mut now = reading(start, seconds, &[]);
            let voucher = |(name, state, buyers): &(&str, &str, i64)| {
                let mut voucher = Voucher { name: (*name).to_owned(), ..Voucher::default() };
                voucher.info.state = (*state).to_owned();
                voucher.info.buyers = Some(*buyers);
                voucher
            };
            now.vouchers = vouchers.iter().map(voucher).collect();
            history.push(now);
            let names = history.now().unwrap().vouchers.iter().map(|voucher| voucher.name.clone());
            names.collect::<String>()
        };
        let all = [("a", "ended", 5), ("b", "soldout", 9), ("c", "open", 0), ("d", "scheduled", 0)];
        assert_eq!(order(0, &all), "cdba");
        let sells = [all[0], ("b", "soldout", 10), all[2], ("e", "open", 3), ("f", "WRONGTYPE", 0)];
        assert_eq!(order(1, &sells), "bcefa");
        assert_eq!(order(10, &sells), "bcefa");
        assert_eq!(order(11, &sells), "cefba");
        // One that gives units back does not sell.
        let fewer = [("a", "ended", 4), sells[1], sells[2]];
        assert_eq!(order(12, &fewer), "cba");
    }

    #[test]
    fn a_voucher_has_a_curve_once_it_sells() {
        let start = Instant::now();
        let mut history = History::default();
        let mut push = |seconds, sale, buyers: &[(&str, i64)]| {
            let mut now = reading(start, seconds, &TRIES.map(|(_, counter)| (counter, 10)));
            now.vouchers.extend(buyers.iter().map(|(name, buyers)| {
                let mut voucher = Voucher { name: (*name).to_owned(), ..Voucher::default() };
                (voucher.info.buyers, voucher.info.sale) = (Some(*buyers), Some(sale));
                voucher
            }));
            history.push(now);
            ["a", "b"].map(|name| history.taken(name, 2).collect::<Vec<_>>())
        };
        assert_eq!(push(0, 1, &[("a", 5), ("b", 0)]), [(); 2].map(|()| Vec::<u64>::new()));
        assert_eq!(push(2, 1, &[("a", 25), ("b", 0)]), [vec![10], vec![]]);
        assert_eq!(push(3, 1, &[("a", 24), ("b", 7)]), [vec![10, 0], vec![7]]);
        // Another sale of a name: what it has sold may be older than a second.
        assert_eq!(push(4, 2, &[("a", 90), ("b", 90)]), [vec![0, 0], vec![7, 0]]);
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

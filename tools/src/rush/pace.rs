//! Hands out the tries of a rush, each once; with a rate, each at its moment, whether the answers
//! to the ones before it have come or not.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::answers::Answers;

/// A rush that was stopped is noticed so soon.
const SLEEP_MAX: Duration = Duration::from_millis(20);

/// What all connections share while they send.
pub struct Shared {
    next: AtomicU32,
    pub tries: u32,
    stopped: AtomicBool,
    answers: Mutex<Answers>,
}

impl Shared {
    pub fn new(tries: u32) -> Shared {
        Shared {
            next: AtomicU32::new(0),
            tries,
            stopped: AtomicBool::new(false),
            answers: Mutex::default(),
        }
    }

    /// What was answered so far.
    pub fn answers(&self) -> MutexGuard<'_, Answers> {
        // Whoever has panicked while counting ends the rush anyway.
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// No more tries are taken.
    pub fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// The numbers of the next tries, up to `count`; None when all are taken or it was stopped.
    pub fn take(&self, count: u32) -> Option<Range<u32>> {
        if self.is_stopped() {
            return None;
        }
        let end = |from: u32| self.tries.min(from.saturating_add(count));
        let next = |from: u32| (from < self.tries).then(|| end(from));
        let from = self.next.fetch_update(Relaxed, Relaxed, next).ok()?;
        Some(from..end(from))
    }
}

/// When each try is to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    started: Instant,
    per_second: u32,
}

impl Pace {
    pub fn new(started: Instant, per_second: u32) -> Self {
        Self { started, per_second }
    }

    pub fn moment_of(&self, number: u32) -> Instant {
        self.started + self.after(number)
    }

    fn after(&self, number: u32) -> Duration {
        Duration::from_secs_f64(f64::from(number) / f64::from(self.per_second))
    }

    /// How many tries are to be sent by then.
    fn due(&self, elapsed: Duration) -> u32 {
        // A number that is too large for the type becomes its largest.
        (elapsed.as_secs_f64() * f64::from(self.per_second)) as u32
    }
}

/// Starts to hand out tries, up to `at_once` of those that are due, to so many connections in
/// turn. A thread of its own, for it sleeps more exactly than the runtime does.
pub fn hand_out(
    pace: Pace,
    shared: Arc<Shared>,
    connections: u32,
    at_once: u32,
) -> Vec<UnboundedReceiver<Range<u32>>> {
    let (senders, receivers): (Vec<_>, Vec<_>) =
        (0..connections).map(|_| unbounded_channel()).unzip();
    std::thread::spawn(move || run(pace, &shared, &senders, at_once));
    receivers
}

fn run(pace: Pace, shared: &Shared, senders: &[UnboundedSender<Range<u32>>], at_once: u32) {
    let mut taken = 0;
    // Those that are due later than the last moment are not asked for.
    for sender in senders.iter().cycle() {
        let due = loop {
            let due = pace.due(pace.started.elapsed()).saturating_add(1).saturating_sub(taken);
            if due > 0 || shared.is_stopped() {
                break due;
            }
            let wait = pace.moment_of(taken).saturating_duration_since(Instant::now());
            std::thread::sleep(wait.min(SLEEP_MAX));
        };
        let Some(range) = shared.take(due.clamp(1, at_once)) else { return };
        taken = range.end;
        if sender.send(range).is_err() {
            // Its connection was lost: nothing can be proved any more.
            shared.stop();
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_try_has_its_moment() {
        let pace = Pace::new(Instant::now(), 1_000);
        assert_eq!(pace.moment_of(0), pace.started);
        assert_eq!(pace.moment_of(1_500) - pace.started, Duration::from_millis(1_500));
        assert_eq!(pace.due(Duration::from_millis(1_500)), 1_500);
    }

    #[test]
    fn all_tries_are_handed_out_in_order_and_none_early() {
        let shared = Arc::new(Shared::new(100));
        let pace = Pace::new(Instant::now(), 5_000);
        let mut all = Vec::new();
        for mut receiver in hand_out(pace, shared, 3, 4) {
            while let Some(range) = receiver.blocking_recv() {
                assert!(range.len() <= 4);
                assert!(pace.moment_of(range.end - 1) <= Instant::now());
                all.extend(range);
            }
        }
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_rush_that_was_stopped_hands_out_no_more() {
        let shared = Arc::new(Shared::new(u32::MAX));
        let pace = Pace::new(Instant::now(), 1);
        let mut receivers = hand_out(pace, Arc::clone(&shared), 1, 1);
        let mut receiver = receivers.remove(0);
        assert_eq!(receiver.blocking_recv(), Some(0..1));
        shared.stop();
        assert_eq!(receiver.blocking_recv(), None);
    }

    #[test]
    fn every_try_is_taken_once_and_none_after_a_stop() {
        let shared = Shared::new(10);
        let taken: Vec<u32> = std::iter::from_fn(|| shared.take(4)).flatten().collect();
        assert_eq!(taken, (0..10).collect::<Vec<_>>());

        let shared = Shared::new(10);
        shared.stop();
        assert_eq!(shared.take(4), None);
    }
}

//! Hands out the tries of a rush, each once; with a rate, each at its moment, whether the answers
//! to the ones before it have come or not.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use crate::answers::Answers;

/// A rush that was stopped is noticed so soon.
const SLEEP_MAX: Duration = Duration::from_millis(20);

/// What all connections share while they send.
pub struct Shared {
    next: AtomicU32,
    pub tries: u32,
    stopped: AtomicBool,
    answers: Mutex<Answers>,
    /// None where a connection sends its next tries when it has the answers.
    pace: Option<Pace>,
}

/// When each try is to be sent.
struct Pace {
    started: Instant,
    per_second: u32,
    /// A permit for each try that is due and not taken.
    due: Semaphore,
}

impl Pace {
    fn moment_of(&self, number: u32) -> Instant {
        let after = f64::from(number) / f64::from(self.per_second);
        self.started + Duration::from_secs_f64(after)
    }

    /// How many tries are to be sent by then.
    fn due(&self, elapsed: Duration) -> u32 {
        // A number that is too large for the type becomes its largest.
        (elapsed.as_secs_f64() * f64::from(self.per_second)) as u32 + 1
    }
}

impl Shared {
    /// With a rate, the first try is due now.
    pub fn start(tries: u32, rate: Option<u32>) -> Arc<Shared> {
        let (started, due) = (Instant::now(), Semaphore::new(0));
        let pace = rate.map(|per_second| Pace { started, per_second, due });
        let (next, stopped, answers) =
            (AtomicU32::new(0), AtomicBool::new(false), Mutex::default());
        let shared = Arc::new(Shared { next, tries, stopped, answers, pace });
        let paced = Arc::clone(&shared);
        // A thread of its own, for it sleeps more exactly than the runtime does.
        std::thread::spawn(move || paced.keep_pace());
        shared
    }

    /// Permits each try at its moment, and one more at the end or after a stop.
    fn keep_pace(&self) {
        let Some(pace) = &self.pace else { return };
        let mut permitted = 0;
        while permitted < self.tries && !self.is_stopped() {
            let due = pace.due(pace.started.elapsed()).min(self.tries);
            pace.due.add_permits((due - permitted) as usize);
            permitted = due;
            let wait = pace.moment_of(permitted).saturating_duration_since(Instant::now());
            std::thread::sleep(wait.min(SLEEP_MAX));
        }
        pace.due.add_permits(1);
    }

    /// When the latency of a try begins, which is sent now.
    pub fn begun(&self, number: u32, now: Instant) -> Instant {
        self.pace.as_ref().map_or(now, |pace| pace.moment_of(number))
    }

    /// What was answered so far.
    pub fn answers(&self) -> MutexGuard<'_, Answers> {
        // Whoever has panicked while counting ends the rush anyway.
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// No more tries are taken.
    pub fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// The numbers of the next tries, up to `count`, and of those that are due; None when all are
    /// taken or it was stopped.
    pub async fn take(&self, count: u32) -> Option<Range<u32>> {
        let Some(Pace { due, .. }) = &self.pace else { return self.next(count) };
        due.acquire().await.ok()?.forget();
        let more = (1..count).take_while(|_| due.try_acquire().map(|it| it.forget()).is_ok());
        let taken = self.next(u32::try_from(more.count()).unwrap_or(0) + 1);
        if taken.is_none() {
            due.add_permits(1); // for the next connection to see the end
        }
        taken
    }

    fn next(&self, count: u32) -> Option<Range<u32>> {
        if self.is_stopped() {
            return None;
        }
        let end = |from: u32| self.tries.min(from.saturating_add(count));
        let next = |from: u32| (from < self.tries).then(|| end(from));
        let from = self.next.fetch_update(Relaxed, Relaxed, next).ok()?;
        Some(from..end(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(shared: &Shared, at_once: u32) -> Vec<u32> {
        let mut all = Vec::new();
        while let Some(range) = shared.take(at_once).await {
            assert!(range.len() <= at_once as usize);
            let now = Instant::now();
            assert!(range.clone().all(|number| shared.begun(number, now) <= now), "early");
            all.extend(range);
        }
        all
    }

    #[tokio::test]
    async fn each_try_is_taken_once_and_none_early() {
        for rate in [None, Some(5_000)] {
            let shared = Shared::start(100, rate);
            let taken = futures_util::future::join_all((0..3).map(|_| all(&shared, 4))).await;
            let mut taken = taken.concat();
            taken.sort_unstable();
            assert_eq!(taken, (0..100).collect::<Vec<_>>(), "{rate:?}");
        }
    }

    #[tokio::test]
    async fn a_try_has_its_moment() {
        let shared = Shared::start(10, Some(1_000));
        let now = Instant::now();
        let wait = shared.begun(1_500, now) - shared.begun(0, now);
        assert_eq!(wait, Duration::from_millis(1_500));
        let shared = Shared::start(10, None);
        assert_eq!(shared.begun(1_500, now), now);
    }

    #[tokio::test]
    async fn a_rush_that_was_stopped_hands_out_no_more() {
        for rate in [None, Some(1)] {
            let shared = Shared::start(u32::MAX, rate);
            assert_eq!(shared.take(1).await, Some(0..1));
            shared.stop();
            assert_eq!(shared.take(1).await, None);
        }
    }
}

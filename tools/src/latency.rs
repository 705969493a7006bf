//! How long requests took: the one histogram of the load test and of the benchmark.

use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// Microseconds, to about a hundredth of each.
#[derive(Clone, Debug)]
pub struct Latencies(Histogram<u64>);

/// Percentiles of the latency, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub p999_ms: f64,
    pub max_ms: f64,
}

impl Default for Latencies {
    fn default() -> Self {
        // Up to ten minutes: no answer is waited for longer.
        let histogram = Histogram::new_with_bounds(1, 600_000_000, 2);
        Self(histogram.unwrap_or_else(|error| unreachable!("fixed bounds: {error}")))
    }
}

impl Latencies {
    pub fn add(&mut self, took: Duration) {
        self.0.saturating_record(u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1));
    }

    pub fn merge(&mut self, other: &Self) {
        // Both have the same bounds, so it can't fail.
        let _ = self.0.add(&other.0);
    }

    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// What this share of them took at most, in milliseconds.
    pub fn ms(&self, quantile: f64) -> f64 {
        let micros = self.0.value_at_quantile(quantile).min(self.0.max());
        Duration::from_micros(micros).as_secs_f64() * 1_000.0
    }

    pub fn summary(&self) -> Latency {
        let [p50_ms, p99_ms, p999_ms, max_ms] = [0.5, 0.99, 0.999, 1.0].map(|part| self.ms(part));
        Latency { p50_ms, p99_ms, p999_ms, max_ms }
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { p50_ms, p99_ms, p999_ms, max_ms } = self;
        write!(
            to,
            "p50 {p50_ms:.2} ms, p99 {p99_ms:.2} ms, p99.9 {p999_ms:.2} ms, max {max_ms:.2} ms"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_and_merged_is_found_at_its_share() {
        let (mut some, mut more) = (Latencies::default(), Latencies::default());
        (1..=90).for_each(|_| some.add(Duration::from_millis(2)));
        (1..=10).for_each(|_| more.add(Duration::from_millis(40)));
        more.add(Duration::from_secs(3_600));
        some.merge(&more);
        assert_eq!(some.count(), 101);
        let near = |ms: f64, wanted: f64| (ms / wanted - 1.0).abs() < 0.01;
        assert!(near(some.ms(0.5), 2.0) && near(some.ms(0.95), 40.0), "{some:?}");
        assert!(near(some.summary().max_ms, 600_000.0), "longer counts as the longest: {some:?}");
    }
}

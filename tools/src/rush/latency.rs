//! How long tries took.

use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// Microseconds, to about a hundredth of each.
#[derive(Debug)]
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
        let digits = 2;
        // Up to ten minutes: no answer is waited for longer.
        let bounds = (1, 600_000_000);
        let histogram = Histogram::new_with_bounds(bounds.0, bounds.1, digits);
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

    pub fn summary(&self) -> Latency {
        let ms = |us: u64| Duration::from_micros(us).as_secs_f64() * 1_000.0;
        Latency {
            p50_ms: ms(self.0.value_at_quantile(0.5)),
            p99_ms: ms(self.0.value_at_quantile(0.99)),
            p999_ms: ms(self.0.value_at_quantile(0.999)),
            max_ms: ms(self.0.max()),
        }
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

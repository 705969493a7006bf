//! How long to wait before something is tried again.

use std::time::Duration;

/// However often it was tried, and however long a server is away.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// `first`, doubled with each try after the first, up to a minute or `first` if that is longer.
pub fn back_off(first: Duration, tries: u64) -> Duration {
    let doublings = u32::try_from(tries.saturating_sub(1)).unwrap_or(u32::MAX).min(20);
    first.saturating_mul(1 << doublings).min(WAIT_MAX.max(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute() {
        let second = Duration::from_secs(1);
        let waits: Vec<_> =
            [0, 1, 2, 3, 7, 8, u64::MAX].map(|tries| back_off(second, tries)).into();
        assert_eq!(waits, [1, 1, 2, 4, 60, 60, 60].map(Duration::from_secs));
        let long = Duration::from_secs(3_600);
        assert_eq!(back_off(long, 9), long);
    }
}

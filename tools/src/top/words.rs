//! Numbers and texts as they are shown.

use indicatif::HumanCount;

/// With a comma between thousands.
pub fn number(number: u64) -> String {
    HumanCount(number).to_string()
}

pub fn signed(value: Option<i64>) -> String {
    match value {
        Some(value) if value < 0 => format!("-{}", number(value.unsigned_abs())),
        Some(value) => number(value.unsigned_abs()),
        None => "-".to_owned(),
    }
}

pub fn rate(rate: Option<f64>) -> String {
    match rate {
        None => "-".to_owned(),
        Some(rate) if rate > 0.0 && rate < 9.95 => format!("{rate:.1}"),
        Some(rate) => {
            let digits = format!("{rate:.0}");
            digits.parse().map_or(digits, number)
        }
    }
}

/// The two largest units.
pub fn uptime(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, minutes) => format!("{minutes}m {}s", seconds % 60),
        (0, hours, minutes) => format!("{hours}h {}m", minutes % 60),
        (days, hours, _) => format!("{days}d {}h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!((number(0), number(999)), ("0".into(), "999".into()));
        assert_eq!((number(1_000), number(1_234_567)), ("1,000".into(), "1,234,567".into()));
        assert_eq!((signed(Some(-1_000)), signed(None)), ("-1,000".into(), "-".into()));
        assert_eq!((rate(Some(0.04)), rate(Some(0.0))), ("0.0".into(), "0".into()));
        assert_eq!((rate(Some(9.94)), rate(Some(1_234.5))), ("9.9".into(), "1,234".into()));
        assert_eq!((uptime(59), uptime(61)), ("59s".into(), "1m 1s".into()));
        assert_eq!((uptime(7_260), uptime(90_000)), ("2h 1m".into(), "1d 1h".into()));
    }
}

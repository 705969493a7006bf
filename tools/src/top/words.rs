//! Numbers and texts as they are shown.

use indicatif::HumanCount;

use crate::selling::SoldOut;

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

/// The time of a day, of the server's clock.
pub fn clock(unix_ms: i64) -> String {
    let seconds = unix_ms.div_euclid(1_000).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02} UTC", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// What is left until a moment: minutes and seconds, with hours before them, or days and hours.
pub fn countdown(ms: i64) -> String {
    let seconds = u64::try_from(ms).unwrap_or(0).div_ceil(1_000);
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{rest:02}"),
        1..48 => format!("{hours}:{minutes:02}:{rest:02}"),
        _ => uptime(seconds),
    }
}

/// For how long a sale has sold: `1.8s`, `2m 5s`.
pub fn sold_out(SoldOut { after_ms, is_exact }: SoldOut) -> String {
    let ms = u64::try_from(after_ms).unwrap_or(0);
    match (ms, is_exact) {
        (0..60_000, true) => format!("{}.{}s", ms / 1_000, ms / 100 % 10),
        (_, true) => uptime(ms / 1_000),
        (_, false) => format!("~{}", uptime(ms.div_ceil(1_000))),
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
        assert_eq!(clock(1_795_344_856_500), "10:54:16 UTC");
        let left = [-5, 1, 59_001, 3_600_000, 172_799_000, 180_000_000].map(countdown);
        assert_eq!(left, ["0:00", "0:01", "1:00", "1:00:00", "47:59:59", "2d 2h"]);
        let after = |after_ms, is_exact| sold_out(SoldOut { after_ms, is_exact });
        assert_eq!((after(1_849, true), after(125_000, true)), ("1.8s".into(), "2m 5s".into()));
        assert_eq!((after(1_001, false), after(-9, true)), ("~2s".into(), "0.0s".into()));
    }
}

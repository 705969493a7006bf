//! How options write a duration: a number and its unit.

use std::ops::RangeInclusive;
use std::time::Duration;

const UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Reads a duration of at least 1 ms: `500ms`, `60s`, `30m`, `2h` or `7d`. A number without its
/// unit is refused, since it could mean anything.
pub fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = UNITS.iter().find(|(name, _)| *name == &text[digits.len()..]);
    let ms = unit.and_then(|(_, ms)| digits.parse::<u64>().ok()?.checked_mul(*ms));
    // What is sent to the server is a signed number of ms.
    match ms {
        Some(ms) if ms > 0 && i64::try_from(ms).is_ok() => Ok(Duration::from_millis(ms)),
        _ => Err("must be a number and its unit, ms, s, m, h or d, such as 30m".to_owned()),
    }
}

/// The same, within bounds. `range` names them in the error.
pub fn duration_within(
    text: &str,
    bounds: RangeInclusive<Duration>,
    range: &str,
) -> Result<Duration, String> {
    let duration = duration(text)?;
    if bounds.contains(&duration) { Ok(duration) } else { Err(format!("must be {range}")) }
}

/// Whole milliseconds of a duration.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_a_unit() {
        for (text, ms) in [("500ms", 500), ("60s", 60_000), ("30m", 1_800_000), ("2h", 7_200_000)] {
            assert_eq!(duration(text).map(millis), Ok(ms), "{text}");
        }
        assert_eq!(duration("1d"), Ok(Duration::from_secs(86_400)));
        for wrong in ["30", "m", "", "0s", "-1h", "1.5h", "1w", "9223372036854775808ms", "\u{e9}"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn bounds_are_named() {
        let within = |text| {
            let bounds = Duration::from_millis(50)..=Duration::from_secs(3_600);
            duration_within(text, bounds, "from 50ms to 1h")
        };
        assert_eq!(within("50ms"), Ok(Duration::from_millis(50)));
        assert_eq!(within("1h"), Ok(Duration::from_secs(3_600)));
        for wrong in ["49ms", "3601s"] {
            assert_eq!(within(wrong), Err("must be from 50ms to 1h".to_owned()), "{wrong}");
        }
    }
}

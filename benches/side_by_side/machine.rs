//! Where and when figures were measured. Benchmarks of other crates include this file.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::Result;

pub fn server_name(control: &mut redis::Connection) -> Result<String> {
    let info: redis::InfoDict = redis::cmd("INFO").arg("server").query(control)?;
    // Valkey also has a redis_version, of the Redis that it is compatible with.
    let name = |name: &str, field: &str| Some(format!("{name} {}", info.get::<String>(field)?));
    name("Valkey", "valkey_version")
        .or_else(|| name("Redis", "redis_version"))
        .ok_or_else(|| "INFO server names no version".into())
}

pub fn cpu_model() -> String {
    fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        })
        .unwrap_or_else(|| "unknown CPU".to_owned())
}

pub fn today() -> Result<String> {
    let days = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() / 86_400;
    Ok(civil_date(days))
}

/// The Gregorian date this many days after 1970-01-01. Counts years from March, so that the leap
/// day is the last day of a year.
fn civil_date(days: u64) -> String {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

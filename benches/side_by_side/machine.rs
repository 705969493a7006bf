//! Where and when figures were measured. Benchmarks of other crates include this file.

use std::fs;
use std::process::Command;

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
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name"));
    let name = model.and_then(|rest| Some(rest.split_once(':')?.1.trim()));
    name.unwrap_or("unknown CPU").to_owned()
}

/// UTC, as year-month-day.
pub fn today() -> Result<String> {
    let date = Command::new("date").args(["-u", "+%F"]).output()?;
    Ok(String::from_utf8(date.stdout)?.trim().to_owned())
}

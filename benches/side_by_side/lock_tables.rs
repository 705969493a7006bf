//! What `lock_line` found out, as a page and a plot.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::Result;
use crate::lock_line::{CONTENDERS, Contention, Latency, LockLine, MANNERS};

/// Writes lock-line.json and lock-line.md.
pub fn write(line: &LockLine, dir: &Path) -> Result<()> {
    fs::write(dir.join("lock-line.json"), serde_json::to_string_pretty(line)? + "\n")?;
    fs::write(dir.join("lock-line.md"), page(line))?;
    Ok(())
}

pub fn page(line: &LockLine) -> String {
    let mut page = String::new();
    let _ = MANNERS;
    let _ = writeln!(page, "pairs {:.2} {:.2}", line.pairs.module, line.pairs.script);
    for (name, rows) in [("steady", &line.steady), ("burst", &line.burst)] {
        let _ = writeln!(page, "{name} {CONTENDERS}");
        for row in rows {
            let _ = writeln!(page, "{}", contention(row));
        }
    }
    let w = &line.waiters;
    let _ = writeln!(page, "{} waiters {} bytes each", w.clients, w.bytes_each);
    for l in [&w.alone, &w.with_waiters, &w.with_hand_overs] {
        let _ = writeln!(page, "{}", latency(l));
    }
    page
}

fn contention(row: &Contention) -> String {
    format!(
        "| {} | {:.0} | {:.2} | {:.2} | {:.1} | {:.1} |",
        row.manner.label(),
        row.hand_overs_per_second,
        row.p50_ms,
        row.p99_ms,
        row.commands_each,
        row.cpu_each
    )
}

fn latency(row: &Latency) -> String {
    format!("{:.0} {:.0}", row.p50, row.p99)
}

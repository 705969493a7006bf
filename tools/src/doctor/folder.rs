//! Many scripts: examined in parallel, then shown in one table.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result};

use crate::cluster::Node;
use crate::examine::Bench;
use crate::options::Kind;
use crate::report::Examined;
use crate::roles::Roles;
use crate::server::Programs;
use crate::source::Source;

/// Each worker has two servers of its own.
const WORKERS_MAX: usize = 4;

/// Examines all scripts, and returns the results in the order of the scripts.
pub fn examine_all(
    programs: &Programs,
    kind: Option<Kind>,
    sources: &[Source],
    roles: &Roles,
) -> Result<Vec<Examined>> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let workers = cores.min(WORKERS_MAX).min(sources.len().div_ceil(2)).max(1);
    let node = Node { programs, started: Mutex::new(None) };
    let next = AtomicUsize::new(0);
    let done: Mutex<BTreeMap<usize, Result<Examined>>> = Mutex::new(BTreeMap::new());
    let work = || -> Result<()> {
        let mut bench = Bench::new(programs, &node)?;
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(source) = sources.get(at) else { return Ok(()) };
            let examined = bench.examine(kind, source, roles);
            if examined.is_err() {
                // A script that does not end keeps its server busy, so new servers are started.
                bench = Bench::new(programs, &node)?;
            }
            let examined = examined.with_context(|| format!("examining {}", source.name));
            done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(at, examined);
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().map_err(|_| anyhow::anyhow!("a thread of the doctor failed"))?
        })
    })?;
    let done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let examined = |(at, examined): (usize, Result<Examined>)| match examined {
        Ok(examined) => examined,
        Err(error) => {
            let mut unclear = Examined::new(&sources[at].name);
            unclear.obstacles = vec![format!("{error:#}")];
            unclear
        }
    };
    Ok(done.into_iter().map(examined).collect())
}

/// One line per script.
pub fn summary(all: &[Examined]) -> String {
    let width = all.iter().map(|one| one.file.chars().count()).max().unwrap_or(0);
    let mut text = String::from("Summary\n");
    for one in all {
        let mut why: Vec<&str> = one.findings.iter().map(|found| found.code).collect();
        why.dedup();
        let why = if one.findings.is_empty() { one.what.to_owned() } else { why.join(" ") };
        text += &format!("  {:<width$}  {:<8}  {why}\n", one.file, one.verdict.word());
    }
    text
}

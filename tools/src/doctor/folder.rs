//! Many scripts: examined in parallel, then shown in one table and in one block of redis.conf,
//! since a server has one value of each setting.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::Result;

use crate::cluster::Node;
use crate::conf::{Block, DEFAULTS, conf_line};
use crate::cure::Cure;
use crate::examine::Bench;
use crate::options::Kind;
use crate::report::{Examined, Verdict, word, wrapped};
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
    let work = || -> Result<Vec<(usize, Examined)>> {
        let mut bench = Bench::new(programs, &node)?;
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(source) = sources.get(at) else { return Ok(done) };
            let mut examined = Examined::new(&source.name);
            match bench.examine(kind, source, roles) {
                Ok(of_script) => examined = of_script,
                Err(error) => {
                    examined.obstacles = vec![format!("examining {}: {error:#}", source.name)];
                    // A script that does not end keeps its server busy, so new servers are started.
                    bench = Bench::new(programs, &node)?;
                }
            }
            done.push((at, examined));
        }
    };
    let done = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let ended = threads.into_iter().map(|thread| {
            thread.join().map_err(|_| anyhow::anyhow!("a thread of the doctor failed"))?
        });
        ended.collect::<Result<Vec<_>>>()
    })?;
    // In the order of the scripts.
    let done: BTreeMap<usize, Examined> = done.into_iter().flatten().collect();
    Ok(done.into_values().collect())
}

/// One line per script.
pub fn summary(all: &[Examined]) -> String {
    let width = all.iter().map(|one| one.file.chars().count()).max().unwrap_or(0);
    let mut text = String::from("Summary\n");
    for one in all {
        let mut why: Vec<&str> = one.findings.iter().map(|found| found.code).collect();
        why.dedup();
        let why = if one.findings.is_empty() { one.what.to_owned() } else { why.join(" ") };
        text += &format!("  {:<width$}  {:<8}  {why}\n", one.file, word(one.verdict));
    }
    text
}

/// The block for many scripts, with what the module can answer. Scripts that need no settings come
/// first; one that would need others than are set already gets a line that needs none.
pub fn block(all: &[Examined]) -> Option<Block> {
    let mut set: BTreeMap<&str, (String, &str)> = BTreeMap::new();
    let (mut entries, mut block, mut others) = (Vec::new(), Block::default(), Vec::new());
    let (mut fit, unfit): (Vec<&Examined>, Vec<&Examined>) = all
        .iter()
        .filter(|one| !one.cures.is_empty())
        .partition(|one| one.verdict == Verdict::DropIn);
    fit.sort_by_key(|one| !one.cures[0].settings.is_empty());
    for one in fit {
        let contradiction = |cure: &Cure| {
            cure.needs().into_iter().find_map(|(name, value)| {
                let (other, file) = set.get(name).filter(|(other, _)| *other != value)?;
                Some(format!(
                    "{name} would have to be \"{value}\" for {}, but is \"{other}\" for {file}, \
                     and a server has one value",
                    one.file
                ))
            })
        };
        let trouble = contradiction(&one.cures[0]);
        let cure = one.cures.iter().find(|cure| contradiction(cure).is_none());
        let entry = cure.and_then(|cure| one.scripts_line(cure));
        let advice = match (cure, &entry) {
            (Some(_), Some(_)) => "SECKILL.TRYKEYS answers it here".to_owned(),
            (Some(_), None) => format!("put its line of SECKILL.TRYKEYS in place of {}", one.file),
            (None, _) => "it needs another server".to_owned(),
        };
        match trouble {
            Some(trouble) => block.notes.push(format!("{trouble}: {advice}.")),
            None if entry.is_none() => others.push(one.file.as_str()),
            None => {}
        }
        entries.extend(entry);
        for (name, value) in cure.map(Cure::needs).unwrap_or_default() {
            set.entry(name).or_insert((value, &one.file));
        }
    }
    others.extend(unfit.iter().map(|one| one.file.as_str()));
    if !others.is_empty() {
        block.notes.push(format!("Not in it, see above: {}.", others.join(", ")));
    }
    entries.sort();
    entries.dedup();
    for (name, default) in DEFAULTS {
        let value = set.get(name).map(|(value, _)| value).filter(|value| *value != default);
        block.lines.extend(value.map(|value| conf_line(name, value)));
    }
    if !entries.is_empty() {
        block.lines.push(conf_line("seckill.scripts", &entries.join("; ")));
    }
    (!block.lines.is_empty() && all.len() > 1).then_some(block)
}

pub fn text(block: &Block) -> String {
    let mut text =
        "\nFor redis.conf, all of it, in place of what it has of these settings\n".to_owned();
    text.extend(block.lines.iter().map(|line| format!("  {line}\n")));
    text.extend(block.notes.iter().map(|note| wrapped("  - ", note)));
    text
}

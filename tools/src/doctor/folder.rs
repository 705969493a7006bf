//! Many scripts: examined in parallel, then shown in one table and in one block of redis.conf,
//! since a server has one value of each setting.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::Result;

use crate::bench::Bench;
use crate::call::Call;
use crate::compare::Replacement;
use crate::conf::{Block, conf_line, defaults};
use crate::examine::{Examined, examine};
use crate::report::wrapped;
use crate::server::Programs;
use crate::source::Source;

/// Each worker has two servers of its own.
const WORKERS_MAX: usize = 4;

/// Examines all scripts, and returns the results in their order.
pub fn examine_all(
    programs: &Programs,
    sources: &[Source],
    told: Option<&Call>,
) -> Result<Vec<Examined>> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let workers = cores.min(WORKERS_MAX).min(sources.len().div_ceil(2)).max(1);
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Examined)>> {
        let mut bench = Bench::new(programs)?;
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(source) = sources.get(at) else { return Ok(done) };
            let examined = match examine(&mut bench, source, told) {
                Ok(examined) => examined,
                Err(error) => {
                    let mut examined = Examined::new(source);
                    examined.seen = vec![format!("Examining it failed: {error:#}.")];
                    // A script that does not end keeps its server busy, so new servers are started.
                    bench = Bench::new(programs)?;
                    examined
                }
            };
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
    let done: BTreeMap<usize, Examined> = done.into_iter().flatten().collect();
    Ok(done.into_values().collect())
}

/// One line per script.
pub fn summary(all: &[Examined]) -> String {
    let width = all.iter().map(|one| one.file.chars().count()).max().unwrap_or(0);
    let mut text = String::from("Summary\n");
    for one in all {
        let harm = one.session.as_ref().map(|session| session.harm.as_str());
        let line = one.replacements.first().map(Replacement::command);
        let why = harm.or(line).or(one.seen.first().map(String::as_str)).unwrap_or_default();
        let why: String = why.chars().take(70).collect();
        text += &format!("  {:<width$}  {:<11}  {why}\n", one.file, one.verdict().word());
    }
    text
}

/// The block for many scripts, with what the module can answer. Those that the application loads
/// come first, then those that need no settings; one that would need others than are set already
/// gets a line that needs none.
pub fn block(all: &[Examined]) -> Option<Block> {
    let mut set: BTreeMap<&str, (String, &str)> = BTreeMap::new();
    let (mut entries, mut block, mut others) = (Vec::new(), Block::default(), Vec::new());
    let (mut fit, unfit): (Vec<&Examined>, Vec<&Examined>) =
        all.iter().partition(|one| !one.replacements.is_empty());
    fit.sort_by_key(|one| (!one.is_loaded, !one.replacements[0].others().is_empty()));
    for one in fit {
        let contradiction = |line: &Replacement| {
            needs(line).into_iter().find_map(|(name, value)| {
                let (other, file) = set.get(name).filter(|(other, _)| *other != value)?;
                Some(format!(
                    "{name} would have to be \"{value}\" for {}, but is \"{other}\" for {file}, \
                     and a server has one value",
                    one.file
                ))
            })
        };
        let trouble = contradiction(&one.replacements[0]);
        let line = one.replacements.iter().find(|line| contradiction(line).is_none());
        let entry = line.and_then(Replacement::entry);
        if let Some(trouble) = trouble {
            let advice = match (line, &entry) {
                (Some(_), Some(_)) => "SECKILL.TRYKEYS answers it here".to_owned(),
                (Some(line), None) => format!("put this in place of {}: {}", one.file, line.lua),
                (None, _) => "it needs another server".to_owned(),
            };
            block.notes.push(format!("{trouble}: {advice}."));
        } else if entry.is_none() {
            others.push(one.file.as_str());
        }
        entries.extend(entry);
        for (name, value) in line.map(needs).unwrap_or_default() {
            set.entry(name).or_insert((value, &one.file));
        }
    }
    others.extend(unfit.iter().map(|one| one.file.as_str()));
    if !others.is_empty() {
        block.notes.push(format!("Not in it, see above: {}.", others.join(", ")));
    }
    entries.sort();
    entries.dedup();
    for (name, default) in defaults() {
        let value = set.get(name).map(|(value, _)| value).filter(|value| *value != default);
        block.lines.extend(value.map(|value| conf_line(name, value)));
    }
    if !entries.is_empty() {
        block.lines.push(conf_line("seckill.scripts", &entries.join("; ")));
    }
    (!block.lines.is_empty() && all.len() > 1).then_some(block)
}

/// Each setting that must have this value for a line, also if it is the default.
fn needs(line: &Replacement) -> Vec<(&'static str, String)> {
    let is_try = line.lua.contains("SECKILL.TRY");
    let is_needed = |name: &str| match name {
        "seckill.scripts" => false,
        "seckill.unlimited-stock" => is_try,
        _ => line.by_names,
    };
    let value = |name, default: &str| {
        let own = line.settings.iter().find(|(own, _)| *own == name);
        own.map_or_else(|| default.to_owned(), |(_, value)| value.clone())
    };
    let needed = defaults().into_iter().filter(|(name, _)| is_needed(name));
    needed.map(|(name, default)| (name, value(name, default))).collect()
}

pub fn text(block: &Block) -> String {
    let mut text =
        "\nFor redis.conf, all of it, in place of what it has of these settings\n".to_owned();
    text.extend(block.lines.iter().map(|line| format!("  {line}\n")));
    text.extend(block.notes.iter().map(|note| wrapped("  - ", note)));
    text
}

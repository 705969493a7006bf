//! How long a storm runs, and its seeds.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::harness::side_by_side;

/// The duration of the long form: STORM_MINUTES. None in the short form.
fn long_form() -> Option<Duration> {
    let minutes = std::env::var("STORM_MINUTES").ok()?;
    let minutes: f64 = minutes.parse().expect("STORM_MINUTES is a number");
    Some(Duration::from_secs_f64(minutes * 60.0))
}

pub fn is_long() -> bool {
    long_form().is_some()
}

/// May a storm continue? Never in the short form. All tests of a process end together.
pub fn goes_on() -> bool {
    static START: OnceLock<Instant> = OnceLock::new();
    let start = START.get_or_init(Instant::now);
    long_form().is_some_and(|length| start.elapsed() < length)
}

/// A history waits for most of its time, for the disk and for processes.
const AT_ONCE: usize = 3;

/// Runs histories, each with its own seed: at least `short` of them, some side by side, and more
/// while the long form runs. With SEED only one, with that seed. Prints their sums.
pub fn histories(name: &str, short: usize, history: impl Fn(u64) -> Tally + Sync) {
    let given = std::env::var("SEED").ok().map(|seed| seed.parse().expect("SEED is a number"));
    let short = if given.is_some() { 1 } else { short };
    let mut sum = Tally::default();
    let mut count = 0;
    goes_on();
    while count < short || (given.is_none() && goes_on()) {
        let at_once = short.saturating_sub(count).clamp(1, AT_ONCE);
        let seed = || given.unwrap_or_else(|| fastrand::u64(..));
        let seeds: Vec<u64> = std::iter::repeat_with(seed).take(at_once).collect();
        let named = |seed: &u64| format!("SEED={seed} {name}");
        seeds.iter().for_each(|seed| println!("{}", named(seed)));
        side_by_side(seeds, named, &history).into_iter().for_each(|tally| sum.add(tally));
        count += at_once;
    }
    // This bypasses the capture of cargo test: the sums are the result of the long form.
    let line = format!("{name}: {count} histories, {sum}\n");
    match is_long() {
        true => drop(std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes())),
        false => print!("{line}"),
    }
}

/// Counts for the last line of a storm.
#[derive(Clone, Copy, Default)]
pub struct Tally {
    pub commands: usize,
    /// Commands that were answered, errors included.
    pub answered: usize,
    /// SIGKILLs, promotions and cuts; for the fuzzer, its checks of everything.
    pub ends: usize,
    /// SIGKILLs in the middle of a background save or rewrite.
    pub amid: usize,
    /// Answered commands whose effects were lost, where that is allowed.
    pub lost: usize,
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        self.commands += other.commands;
        self.answered += other.answered;
        self.ends += other.ends;
        self.amid += other.amid;
        self.lost += other.lost;
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { commands, answered, ends, amid, lost } = self;
        write!(to, "{commands} commands, {answered} answered, {ends} ends")?;
        if *amid > 0 {
            write!(to, " ({amid} amid a save)")?;
        }
        write!(to, ", {lost} answers lost")
    }
}

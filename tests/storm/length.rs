//! How long a storm goes on, and its seeds.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long the long form goes on: STORM_MINUTES. None in the short form.
fn long_form() -> Option<Duration> {
    let minutes = std::env::var("STORM_MINUTES").ok()?;
    let minutes: f64 = minutes.parse().expect("STORM_MINUTES is a number");
    Some(Duration::from_secs_f64(minutes * 60.0))
}

pub fn is_long() -> bool {
    long_form().is_some()
}

/// Whether a storm may go on: never in the short form. All tests of a process end together.
pub fn goes_on() -> bool {
    static START: OnceLock<Instant> = OnceLock::new();
    let start = START.get_or_init(Instant::now);
    long_form().is_some_and(|length| start.elapsed() < length)
}

/// Runs histories, each with a seed of its own: `short` of them at least, and more as long as the
/// long form goes on. With SEED there is one, of that seed. Prints what they add up to.
pub fn histories(name: &str, short: usize, history: impl Fn(u64) -> Tally) {
    let given = std::env::var("SEED").ok().map(|seed| seed.parse().expect("SEED is a number"));
    let mut sum = Tally::default();
    let mut count = 0;
    goes_on();
    while count < if given.is_some() { 1 } else { short } || (given.is_none() && goes_on()) {
        let seed = given.unwrap_or_else(|| fastrand::u64(..));
        println!("SEED={seed} {name}");
        sum.add(history(seed));
        count += 1;
    }
    // Past the capture of cargo test: what was done is the result of the long form.
    let line = format!("{name}: {count} histories, {sum}\n");
    match is_long() {
        true => drop(std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes())),
        false => print!("{line}"),
    }
}

/// What was done, for the last line of a storm.
#[derive(Clone, Copy, Default)]
pub struct Tally {
    pub commands: usize,
    /// Commands that were answered, errors included.
    pub answered: usize,
    /// SIGKILLs, promotions and cuts; looks at everything, of the fuzzer.
    pub ends: usize,
    /// SIGKILLs in the middle of a background save or rewrite.
    pub amid: usize,
    /// Answered commands that were gone afterwards, where that is allowed.
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

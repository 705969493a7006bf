//! The progress of the rush, while it runs.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use domain::sale::Outcome;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use redis::RedisResult;

use crate::managed::Standing;

const DRAW_EVERY: Duration = Duration::from_millis(100);
/// Without a terminal a line is printed this often instead of the bar.
const LINE_EVERY: Duration = Duration::from_secs(2);

/// The answers so far, counted by all connections together.
#[derive(Default)]
pub struct Tally {
    accepted: AtomicU32,
    sold_out: AtomicU32,
    at_limit: AtomicU32,
    waiting: AtomicU32,
    other: AtomicU32,
}

impl Tally {
    pub fn count(&self, answer: &RedisResult<i64>) {
        let outcome = answer.as_ref().ok().copied().and_then(Outcome::of_code);
        let counter = match outcome {
            Some(Outcome::Accepted) => &self.accepted,
            Some(Outcome::SoldOut) => &self.sold_out,
            Some(Outcome::AtLimit) => &self.at_limit,
            Some(Outcome::Waiting) => &self.waiting,
            _ => &self.other,
        };
        counter.fetch_add(1, Relaxed);
    }

    pub fn answered(&self) -> u32 {
        let known = [&self.accepted, &self.sold_out, &self.at_limit, &self.waiting];
        known.into_iter().chain([&self.other]).map(|counter| counter.load(Relaxed)).sum()
    }

    fn line(&self) -> String {
        let count = |counter: &AtomicU32| HumanCount(u64::from(counter.load(Relaxed))).to_string();
        let mut line = format!(
            "accepted {}, sold out {}, at the limit {}",
            count(&self.accepted),
            count(&self.sold_out),
            count(&self.at_limit)
        );
        for (name, counter) in [("waiting", &self.waiting), ("errors and others", &self.other)] {
            if counter.load(Relaxed) > 0 {
                line += &format!(", {name} {}", count(counter));
            }
        }
        line
    }
}

/// A bar on a terminal, a line now and then elsewhere, nothing when quiet.
pub struct Progress {
    bar: ProgressBar,
    lines: bool,
}

impl Progress {
    pub fn new(tries: u32, quiet: bool) -> Progress {
        let terminal = std::io::stderr().is_terminal();
        let target = if terminal && !quiet {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(u64::from(tries)), target);
        let template =
            "[{wide_bar}] {human_pos} of {human_len} tries\n{rate} tries per second: {msg}";
        let rate = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            // What can't be drawn is not shown.
            let _ = write!(out, "{}", HumanCount(state.per_sec() as u64));
        };
        bar.set_style(
            ProgressStyle::with_template(template)
                .unwrap_or_else(|_| ProgressStyle::default_bar())
                .with_key("rate", rate)
                .progress_chars("=> "),
        );
        Progress { bar, lines: !terminal && !quiet }
    }

    pub fn every(&self) -> Duration {
        if self.lines { LINE_EVERY } else { DRAW_EVERY }
    }

    pub fn show(&self, tally: &Tally, standing: Option<Standing>) {
        let answered = u64::from(tally.answered());
        self.bar.set_position(answered);
        let line = tally.line() + &standing.map(stands).unwrap_or_default();
        self.bar.set_message(line.clone());
        if self.lines {
            eprintln!("{} tries: {line}", HumanCount(answered));
        }
    }

    pub fn finish(&self, tally: &Tally, standing: Option<Standing>) {
        self.show(tally, standing);
        self.bar.abandon();
    }
}

/// The state of a managed sale, after the answers.
fn stands(standing: Standing) -> String {
    let count = |units: i64| HumanCount(units.max(0).unsigned_abs()).to_string();
    let Standing { left, held, sold, waiting, .. } = standing;
    let line = format!("; left {}, held {}, sold {}", count(left), count(held), count(sold));
    if waiting == 0 { line } else { line + &format!(", in line {}", count(waiting)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tally_counts_every_answer_once() {
        let tally = Tally::default();
        for outcome in [0, 1, 1, 2] {
            tally.count(&Ok(outcome));
        }
        assert_eq!(tally.line(), "accepted 1, sold out 2, at the limit 1");
        for outcome in [5, 6, 6] {
            tally.count(&Ok(outcome));
        }
        assert_eq!(tally.answered(), 7);
        assert!(tally.line().ends_with(", waiting 2, errors and others 1"));
    }

    #[test]
    fn a_managed_sale_shows_how_it_stands() {
        let mut standing =
            Standing { left: 1_000, held: 20, sold: 3, waiting: 0, limit: 1, hold_ms: None };
        assert_eq!(stands(standing), "; left 1,000, held 20, sold 3");
        standing.waiting = 4;
        assert_eq!(stands(standing), "; left 1,000, held 20, sold 3, in line 4");
    }
}

//! The progress of the rush, while it runs.

use std::io::IsTerminal;
use std::time::Duration;

use domain::sale::Outcome;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::answers::Answers;
use crate::managed::Standing;

const DRAW_EVERY: Duration = Duration::from_millis(100);
/// Without a terminal a line is printed this often instead of the bar.
const LINE_EVERY: Duration = Duration::from_secs(2);

/// The outcomes that are shown, and their names.
const SHOWN: [(Outcome, &str); 5] = [
    (Outcome::Accepted, "accepted"),
    (Outcome::SoldOut, "sold out"),
    (Outcome::AtLimit, "at the limit"),
    (Outcome::NotStarted, "not started"),
    (Outcome::Waiting, "waiting"),
];

/// How many tries were answered, and what: the first three of `SHOWN` always, the others if there
/// are any.
pub fn so_far(answers: &Answers) -> (u64, String) {
    let count = |outcome: Outcome| answers.outcomes[outcome as usize];
    let shown = SHOWN.map(|(outcome, name)| (name, count(outcome)));
    let others = answers.answered() - shown.iter().map(|(_, n)| n).sum::<u64>();
    let all = shown.into_iter().chain([("errors and others", others)]).enumerate();
    let seen = all.filter(|(place, (_, n))| *place < 3 || *n > 0);
    let parts: Vec<_> = seen.map(|(_, (name, n))| format!("{name} {}", HumanCount(n))).collect();
    (answers.answered(), parts.join(", "))
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

    pub fn show(&self, (answered, line): (u64, String), standing: Option<Standing>) {
        self.bar.set_position(answered);
        let line = line + &standing.map(stands).unwrap_or_default();
        self.bar.set_message(line.clone());
        if self.lines {
            eprintln!("{} tries: {line}", HumanCount(answered));
        }
    }

    pub fn finish(&self, so_far: (u64, String), standing: Option<Standing>) {
        self.show(so_far, standing);
        self.bar.abandon();
    }
}

/// The state of a managed sale, after the answers.
fn stands(standing: Standing) -> String {
    let count = |units: i64| HumanCount(units.max(0).unsigned_abs()).to_string();
    let Standing { left, held, sold, waiting, .. } = standing;
    let line = format!("; left {}, held {}, sold {}", count(left), count(held), count(sold));
    if waiting == 0 { line } else { line + &format!(", in the queue {}", count(waiting)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_is_shown_once() {
        let mut answers = Answers::default();
        [0, 1, 1, 2].into_iter().for_each(|outcome| answers.add(0, Ok(outcome)));
        assert_eq!(so_far(&answers), (4, "accepted 1, sold out 2, at the limit 1".to_owned()));
        [5, 6, 6, -1].into_iter().for_each(|outcome| answers.add(0, Ok(outcome)));
        let (answered, line) = so_far(&answers);
        assert!(answered == 8 && line.ends_with(", waiting 2, errors and others 2"), "{line}");
    }

    #[test]
    fn a_managed_sale_shows_how_it_stands() {
        let mut standing =
            Standing { left: 1_000, held: 20, sold: 3, waiting: 0, limit: 1, hold_ms: None };
        assert_eq!(stands(standing), "; left 1,000, held 20, sold 3");
        standing.waiting = 4;
        assert_eq!(stands(standing), "; left 1,000, held 20, sold 3, in the queue 4");
    }
}

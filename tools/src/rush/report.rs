//! What is shown at the end: a small table, or JSON.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use domain::book::{Reason, State};
use domain::confirm::Confirmation;
use domain::orders::Cancellation;
use domain::sale::TryOutcome;
use indicatif::HumanCount;
use seckill_tools::latency::Latency;
use serde::Serialize;

use crate::answers::Errors;
use crate::decisions;
use crate::managed::{Audit, BookedOrder};
use crate::managed_proof::{self, Managed};
use crate::options::Options;
use crate::proof::{self, Check, Facts};

/// What became of a managed sale.
#[derive(Debug, Serialize)]
pub struct ManagedReport {
    /// Units per user at most.
    pub limit: i64,
    /// Orders that got units in this run.
    pub orders: u64,
    pub paid: u64,
    /// Payments that came after the deadline.
    pub too_late: u64,
    pub cancelled: u64,
    /// Orders in the book whose hold expired.
    pub expired: u64,
    /// Orders that got their units in the queue; they are among `orders`.
    pub promoted: u64,
    /// Orders that are in the queue at the end.
    pub waiting: u64,
    pub audit: Audit,
}

impl ManagedReport {
    fn new(managed: &Managed<'_>, Facts { plan, answers, .. }: &Facts) -> ManagedReport {
        let Managed { limit, ledger, .. } = managed;
        let promoted = decisions::promoted(plan, &answers.waiting, &ledger.book).len() as u64;
        let in_book = |is: &dyn Fn(&BookedOrder) -> bool| {
            ledger.book.iter().filter(|order| is(order)).count() as u64
        };
        let expired = State::Released(Reason::Expired);
        ManagedReport {
            limit: *limit,
            orders: answers.accepted.len() as u64 + promoted,
            paid: answers.payments.confirmed(Confirmation::Confirmed),
            too_late: answers.payments.confirmed(Confirmation::TooLate),
            cancelled: answers.payments.cancelled(Cancellation::Released),
            expired: in_book(&|order| order.state == expired && order.was_accepted),
            promoted,
            waiting: in_book(&|order| order.state == State::Waiting),
            audit: ledger.audit.clone(),
        }
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![("orders", n(self.orders))];
        let of_holds = [("  paid", self.paid), ("  paid too late", self.too_late)];
        let returned = [("  cancelled", self.cancelled), ("  expired", self.expired)];
        let queue = [("  promoted", self.promoted), ("still waiting", self.waiting)];
        let some = of_holds.into_iter().chain(returned).chain(queue).filter(|(_, n)| *n > 0);
        rows.extend(some.map(|(name, count)| (name, n(count))));
        rows
    }
}

/// The result of a rush. Its fields are those of the JSON.
#[derive(Debug, Serialize)]
pub struct Report {
    pub server: String,
    pub voucher: String,
    pub seed: u64,
    pub connections: u32,
    pub pipeline: u32,
    pub tries: u32,
    pub tries_planned: u32,
    /// Users with at least one try.
    pub users: u32,
    pub stock_left: i64,
    /// How often each outcome was replied.
    pub outcomes: BTreeMap<&'static str, u64>,
    pub errors: BTreeMap<String, Errors>,
    pub elapsed_ms: u64,
    pub tries_per_s: u64,
    /// Tries that were due per second; None if each connection waited for answers.
    pub rate: Option<u32>,
    /// From the moment at which a try was to be sent, or was sent where answers were waited for.
    pub latency: Latency,
    /// CPU that the server used meanwhile, divided by the tries.
    /// With the confirmations and cancellations of a managed sale, if any.
    /// Not with a rate: an idle server's own work is no work of tries.
    pub server_cpu_us_per_try: Option<f64>,
    /// None if the voucher is not managed.
    pub managed: Option<ManagedReport>,
    pub checks: Vec<Check>,
    pub consistent: bool,
}

impl Report {
    pub fn new(
        options: &Options,
        server: String,
        facts: &Facts,
        elapsed: Duration,
        cpu_s: f64,
        managed: Option<&Managed<'_>>,
    ) -> Report {
        let checks = match managed {
            Some(managed) => managed_proof::checks(facts, managed),
            None => proof::checks(facts),
        };
        let Facts { plan, sent, answers, .. } = facts;
        let cpu_us = cpu_s * 1e6 / f64::from((*sent).max(1));
        let per_second = f64::from(*sent) / elapsed.as_secs_f64().max(1e-6);
        let outcomes = TryOutcome::ALL.map(TryOutcome::words).into_iter().zip(answers.outcomes);
        Report {
            server,
            voucher: options.voucher.clone(),
            seed: options.seed,
            connections: options.connections,
            pipeline: options.pipeline,
            tries: *sent,
            tries_planned: plan.tries(),
            users: plan.users_among(*sent),
            stock_left: facts.after.stock,
            outcomes: outcomes.collect(),
            errors: answers.errors.clone(),
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            tries_per_s: per_second.round() as u64,
            rate: options.rate,
            latency: answers.latencies.summary(),
            server_cpu_us_per_try: options.rate.is_none().then(|| (cpu_us * 1e3).round() / 1e3),
            managed: managed.map(|managed| ManagedReport::new(managed, facts)),
            // Everything agrees and every try was decided.
            consistent: checks.iter().all(Check::holds) && answers.error_count() == 0,
            checks,
        }
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::json!(self)
    }

    fn count(&self, outcome: TryOutcome) -> u64 {
        self.outcomes.get(outcome.words()).copied().unwrap_or(0)
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut row = |name: &str, value: String| {
            let _ = writeln!(text, "{name:<26}{value}"); // writing to a String can't fail
        };
        row("server", self.server.clone());
        row("tries", format!("{} by {} users (seed {})", n(self.tries), n(self.users), self.seed));
        let sent_by = format!("{} connections, {} at a time", self.connections, self.pipeline);
        let seconds = Duration::from_millis(self.elapsed_ms).as_secs_f64();
        row("", format!("{sent_by}, in {seconds:.2} s"));
        row("tries per second", n(self.tries_per_s));
        let from = match self.rate {
            Some(rate) => format!("counted from when each try was due, {} per second", n(rate)),
            None => "counted from sending, together with the tries of the same pipeline".to_owned(),
        };
        row("latency", self.latency.to_string());
        row("", from);
        if let Some(us) = self.server_cpu_us_per_try {
            row("server CPU per try", format!("{us:.2} us"));
        }
        for outcome in TryOutcome::ALL {
            let count = self.count(outcome);
            // The rest are outcomes of managed vouchers only.
            if outcome.code() < 3 || count > 0 {
                row(&format!("{} ({})", outcome.words(), outcome.code()), n(count));
            }
        }
        for (name, value) in self.managed.iter().flat_map(ManagedReport::rows) {
            row(name, value);
        }
        for (code, errors) in &self.errors {
            row(&format!("error {code}"), format!("{} ({})", n(errors.count), errors.first));
        }
        self.write_checks(&mut text);
        text
    }

    fn write_checks(&self, text: &mut String) {
        let _ = writeln!(text, "\n{:<26}{:>10} {:>10}", "on the server", "expected", "found");
        for Check { what, expected, found } in &self.checks {
            let mark = if expected == found { "ok" } else { "DIFFERS" };
            let _ = writeln!(text, "{what:<26}{expected:>10} {found:>10}  {mark}");
        }
        let _ = writeln!(text, "{}", self.verdict());
    }

    fn verdict(&self) -> String {
        let differing: Vec<&str> =
            self.checks.iter().filter(|check| !check.holds()).map(|check| check.what).collect();
        if !differing.is_empty() {
            return format!("DIFFERENT: {}", differing.join(", "));
        }
        let failed: u64 = self.errors.values().map(|errors| errors.count).sum();
        if failed > 0 {
            return format!("INCOMPLETE: nothing differs, but {} tries failed", n(failed));
        }
        let stopped = if self.tries < self.tries_planned { " (stopped early)" } else { "" };
        let left = self.stock_left;
        if let Some(ManagedReport { audit, limit, .. }) = &self.managed {
            let (sold, held) = (audit.sold, audit.held);
            return format!(
                "CONSISTENT: {sold} sold, {held} held, {left} left of {}, nobody with more than \
                 {limit}{stopped}",
                audit.total
            );
        }
        let sold = self.count(TryOutcome::Accepted);
        format!("CONSISTENT: {} sold, each to another user, {left} left{stopped}", n(sold))
    }
}

fn n(number: impl Into<u64>) -> String {
    HumanCount(number.into()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::plan::Plan;
    use crate::proof::tests::facts;

    fn report(outcomes: [u64; TryOutcome::ALL.len()], errors: u64, found: i64) -> Report {
        use clap::Parser;
        let options = Options::parse_from(["rush", "--seed", "7"]);
        let mut facts = facts();
        facts.answers.outcomes = outcomes;
        if errors > 0 {
            let first = "no stock key".to_owned();
            facts.answers.errors.insert("NOVOUCHER".to_owned(), Errors { count: errors, first });
        }
        facts.sent = u32::try_from(outcomes.iter().sum::<u64>() + errors).unwrap();
        facts.plan = Arc::new(Plan::new("run".to_owned(), facts.sent, facts.sent, 0.0, 7));
        let elapsed = Duration::from_millis(500);
        let server = "Redis 7.0.15".to_owned();
        let report = Report::new(&options, server, &facts, elapsed, 0.001, None);
        let checks = vec![Check { what: "stock left", expected: 0, found }];
        Report { consistent: found == 0 && errors == 0, checks, ..report }
    }

    #[test]
    fn a_sound_rush_reads_consistent() {
        let report = report([3, 1_997, 0, 0, 0, 0, 0], 0, 0);
        let text = report.text();
        assert!(text.contains("50 connections, 16 at a time, in 0.50 s\n"), "{text}");
        assert!(text.ends_with("CONSISTENT: 3 sold, each to another user, 0 left\n"), "{text}");
        assert!(text.contains("sold out (1)              1,997\n"), "{text}");
        assert!(!text.contains("not started"), "{text}");
        assert_eq!((report.tries_per_s, report.server_cpu_us_per_try), (4_000, Some(0.5)));
    }

    #[test]
    fn a_difference_is_named() {
        let text = report([3, 7, 0, 0, 0, 0, 0], 0, 1).text();
        assert!(text.ends_with("DIFFERENT: stock left\n"), "{text}");
    }

    #[test]
    fn errors_are_shown_by_code_and_leave_it_incomplete() {
        let report = report([3, 7, 0, 0, 0, 0, 0], 2, 0);
        assert!(!report.consistent);
        let text = report.text();
        assert!(text.contains("error NOVOUCHER           2 (no stock key)\n"), "{text}");
        assert!(text.ends_with("INCOMPLETE: nothing differs, but 2 tries failed\n"), "{text}");
    }

    #[test]
    fn the_json_has_the_figures() {
        let json = report([3, 7, 1, 0, 0, 0, 0], 0, 0).json();
        assert_eq!(json["outcomes"]["at the limit"], 1);
        assert_eq!(json["consistent"], true);
        assert_eq!(json["checks"][0]["what"], "stock left");
    }

    #[test]
    fn a_managed_sale_reads_with_what_became_of_its_orders() {
        let audit = Audit { total: 3, left: 1, sold: 2, buyers: 2, ..Audit::default() };
        let mut report = report([4, 6, 0, 0, 0, 0, 0], 0, 0);
        report.stock_left = 1;
        report.managed = Some(ManagedReport {
            limit: 1,
            orders: 3,
            paid: 2,
            too_late: 0,
            cancelled: 0,
            expired: 1,
            promoted: 1,
            waiting: 5,
            audit,
        });
        let text = report.text();
        assert!(text.contains("orders                    3\n  paid "), "{text}");
        let line = "  promoted                1\nstill waiting             5\n";
        assert!(text.contains(&format!("  expired                 1\n{line}")), "{text}");
        assert!(!text.contains("cancelled"), "{text}");
        let verdict = "CONSISTENT: 2 sold, 0 held, 1 left of 3, nobody with more than 1\n";
        assert!(text.ends_with(verdict), "{text}");
        assert_eq!(report.json()["managed"]["audit"]["differences"], serde_json::json!([]));
    }
}

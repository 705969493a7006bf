//! The alerts: rules checked and tested by promtool, and their page.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::harness::left_out;
use crate::metrics::{exposed, metrics};
use crate::program::text;
use kit::pages::page;

/// A rule as in its file.
#[derive(Debug)]
struct Alert<'f> {
    name: &'f str,
    severity: &'f str,
    waits: &'f str,
    remedy: &'f str,
}

/// The value that follows some words; empty without these words.
fn behind<'f>(rule: &'f str, words: &str) -> &'f str {
    let rest = rule.split_once(words).map_or("", |(_, rest)| rest);
    &rest[..rest.find(['\n', '}']).unwrap_or(rest.len())]
}

fn alerts(file: &str) -> Vec<Alert<'_>> {
    let alert = |rule| Alert {
        name: behind(rule, ""),
        severity: behind(rule, "severity: "),
        waits: behind(rule, " for: "),
        remedy: behind(rule, "remedy: docs/"),
    };
    file.split("- alert: ").skip(1).map(alert).collect()
}

#[test]
fn promtool_accepts_and_tests_the_rules() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/prometheus");
    for args in [
        ["check", "config", "prometheus.yml"],
        ["check", "rules", "alerts.yml"],
        ["test", "rules", "alerts_test.yml"],
    ] {
        let Ok(output) = Command::new("promtool").args(args).current_dir(&folder).output() else {
            return left_out(
                "tests of alerts: Prometheus is not installed, `scripts/setup test` installs it",
            );
        };
        let told = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.success(), "{args:?}\n{told}");
        let is_tested = args[0] == "test" || told.contains("rules found");
        assert!(is_tested, "{args:?} looked at nothing\n{told}");
    }
    // The page's tests make each rule fire.
    let tests = page("packaging/prometheus/alerts_test.yml");
    for Alert { name, .. } in alerts(&page("packaging/prometheus/alerts.yml")) {
        let fires = format!("alertname: {name}\n        exp_alerts:\n");
        assert!(tests.contains(&fires), "no test of {name}");
    }
}

#[test]
fn rules_ask_for_what_there_is() {
    let exposed = exposed();
    let rules = page("packaging/prometheus/alerts.yml");
    let lines = rules.lines().filter(|line| !line.trim_start().starts_with('#'));
    let asked: BTreeSet<String> = lines.flat_map(metrics).collect();
    assert!(asked.len() > 15, "{asked:?}");
    for metric in &asked {
        assert!(exposed.contains_key(metric), "no {metric}");
    }
}

#[test]
fn the_page_lists_every_alert() {
    let rules = page("packaging/prometheus/alerts.yml");
    let page = page("docs/watching.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `Seckill")).collect();
    let listed: Vec<&str> = rows.iter().filter_map(|row| row.split('`').nth(1)).collect();
    let alerts = alerts(&rules);
    assert!(alerts.len() > 15, "{alerts:?}");
    assert_eq!(listed, alerts.iter().map(|alert| alert.name).collect::<Vec<_>>());
    for (row, Alert { name, severity, waits, remedy }) in rows.iter().zip(&alerts) {
        let waits = if waits.is_empty() { "at once" } else { waits };
        let begin = format!("| `{name}` | {severity} | {waits} | ");
        assert!(row.starts_with(&begin), "{begin}\n{row}");
        let ends = [format!("]({remedy}) |"), format!("`{remedy}` |")];
        assert!(ends.iter().any(|end| row.ends_with(end)), "{remedy}\n{row}");
    }
}

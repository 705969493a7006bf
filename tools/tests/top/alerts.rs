//! The alerts: rules tested by promtool, their page, and a Prometheus in which they fire.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::harness::{Port, left_out, wait_for};
use crate::metrics::{exposed, get, metrics, sale, served, worker};
use crate::program::text;
use kit::pages::page;
use kit::program::Program;

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

/// Is Prometheus installed? If not, the test is reported as left out.
fn is_here() -> bool {
    let runs = |name| Command::new(name).arg("--version").output().is_ok();
    let is_here = runs("promtool") && runs("prometheus");
    if !is_here {
        left_out("tests of alerts: Prometheus is not installed, `scripts/setup test` installs it");
    }
    is_here
}

/// Runs promtool beside the rules; returns its exit code and what it said.
fn promtool(args: &[&str], input: Stdio) -> (Option<i32>, String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/prometheus");
    let mut promtool = Command::new("promtool");
    let output = promtool.args(args).current_dir(folder).stdin(input).output();
    let output = output.expect("run promtool");
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn promtool_accepts_and_tests_the_rules() {
    if !is_here() {
        return;
    }
    for args in [
        ["check", "config", "prometheus.yml"],
        ["check", "rules", "alerts.yml"],
        ["test", "rules", "alerts_test.yml"],
    ] {
        let (code, told) = promtool(&args, Stdio::null());
        assert_eq!(code, Some(0), "{args:?}\n{told}");
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

/// Names that promtool objects to, and that stay, because names of metrics never change.
const ODD_NAMES: [&str; 2] = ["seckill_locks_waited_ms_total", "seckill_voucher_total"];

#[test]
fn pages_are_in_the_format_of_prometheus() {
    if !is_here() {
        return;
    }
    let server = sale();
    let (_top, at_top) = served(&server);
    let (_worker, _port, at_worker) = worker(&server);
    let file = server.dir().join("page");
    for address in [at_top, at_worker] {
        let page = get(address, "GET /metrics HTTP/1.0\r\n\r\n").expect("a page");
        let (_, page) = page.split_once("\r\n\r\n").expect("a page");
        fs::write(&file, page).expect("write");
        let (code, told) =
            promtool(&["check", "metrics"], File::open(&file).expect("the page").into());
        // 3: the format is right, but some names could be better.
        assert!(matches!(code, Some(0 | 3)), "{told}\n{page}");
        for line in told.lines() {
            assert!(ODD_NAMES.iter().any(|name| line.starts_with(name)), "{line}");
        }
    }
}

/// A Prometheus with our configuration and rules, except for addresses and waiting times.
struct Prometheus {
    program: Program,
    port: Port,
}

impl Prometheus {
    /// Starts it in a folder, which keeps its files.
    fn start(dir: &Path, top: SocketAddr, worker: SocketAddr) -> Self {
        let rules = page("packaging/prometheus/alerts.yml");
        let is_wait = |line: &str| line.trim_start().starts_with("for: ");
        let at_once: Vec<&str> = rules.lines().filter(|line| !is_wait(line)).collect();
        assert!(at_once.len() < rules.lines().count(), "no rule waits");
        fs::write(dir.join("alerts.yml"), at_once.join("\n")).expect("the rules");
        let mut config = page("packaging/prometheus/prometheus.yml");
        for (ours, here) in [
            ("\"metrics:9465\"", format!("\"{top}\"")),
            ("\"worker:9464\"", format!("\"{worker}\"")),
            ("scrape_interval: 5s", "scrape_interval: 250ms".to_owned()),
            ("evaluation_interval: 5s", "evaluation_interval: 250ms".to_owned()),
        ] {
            assert_eq!(config.matches(ours).count(), 1, "{ours}");
            config = config.replace(ours, &here);
        }
        fs::write(dir.join("prometheus.yml"), config).expect("the configuration");
        let port = Port::free();
        let listen = format!("--web.listen-address=127.0.0.1:{}", port.number);
        let options = ["--config.file=prometheus.yml", "--storage.tsdb.path=data", &listen];
        let program = Program::start(Command::new("prometheus").args(options).current_dir(dir));
        Self { program, port }
    }

    /// The answer of its API, or None if there is none yet.
    fn ask(&self, path: &str) -> Option<Value> {
        let address = SocketAddr::from(([127, 0, 0, 1], self.port.number));
        let answer = get(address, &format!("GET /api/v1/{path} HTTP/1.0\r\n\r\n"))?;
        let body = answer.split_once("\r\n\r\n")?.1;
        serde_json::from_str::<Value>(body).ok().map(|answer| answer["data"].clone())
    }

    fn wait_until(&self, what: &str, path: &str, is_so: impl Fn(&Value) -> bool) {
        let seen = wait_for(what, || self.ask(path).filter(&is_so));
        seen.unwrap_or_else(|late| panic!("{late}: {:?}", self.ask(path)));
    }

    fn wait_for_value(&self, metric: &str, want: &str) {
        self.wait_until(metric, &format!("query?query={metric}"), |found| {
            found["result"][0]["value"][1] == want
        });
    }

    /// Waits until an alert of this name fires, or until none does.
    fn wait_for_alert(&self, name: &str, fires: bool) {
        self.wait_until(name, "alerts", |found| {
            let mut alerts = found["alerts"].as_array().into_iter().flatten();
            let is_it =
                |alert: &Value| alert["labels"]["alertname"] == name && alert["state"] == "firing";
            alerts.any(is_it) == fires && found["alerts"].is_array()
        });
    }
}

#[test]
fn prometheus_scrapes_a_sale_and_alerts() {
    if !is_here() {
        return;
    }
    let mut server = sale();
    let (_top, at_top) = served(&server);
    let (mut worker, _port, at_worker) = worker(&server);
    let mut prometheus = Prometheus::start(server.dir(), at_top, at_worker);
    prometheus.wait_until("both targets", "targets?state=active", |found| {
        let targets = found["activeTargets"].as_array().map_or(&[][..], Vec::as_slice);
        targets.len() == 2 && targets.iter().all(|target| target["health"] == "up")
    });
    prometheus.wait_for_value("seckill_tries_accepted_total", "3");
    prometheus.wait_for_value("seckill_worker_rows_inserted_total", "3");
    // Tea is sold out, and the server has just started.
    prometheus.wait_for_alert("SeckillSoldOut", true);
    prometheus.wait_for_alert("SeckillServerRestarted", true);
    for name in ["SeckillServerDown", "SeckillWorkerDown", "SeckillModuleMissing"] {
        prometheus.wait_for_alert(name, false);
    }
    assert!(worker.terminate().success(), "{}", worker.log());
    prometheus.wait_for_alert("SeckillWorkerDown", true);
    server.kill9();
    prometheus.wait_for_alert("SeckillServerDown", true);
    server.start_again();
    prometheus.wait_for_alert("SeckillServerDown", false);
    assert!(prometheus.program.terminate().success(), "{}", prometheus.program.log());
}

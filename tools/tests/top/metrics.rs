//! Metrics for Prometheus: their figures, their names on the page, the queries of the dashboard.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use crate::harness::{DEADLINE, Port, Server, wait_for};
use crate::program::{run_all, url};
use kit::pages::page;
use kit::program::Program;

/// The samples of a page: name with labels, and value.
type Samples = BTreeMap<String, f64>;

/// A server with data for every metric.
pub fn sale() -> Server {
    let server = Server::with().aof().start();
    run_all(
        &server,
        &[
            "SECKILL.CREATE phone 20 LIMIT 2 HOLD 900000",
            "SET seckill:stock:tea 1",
            "XGROUP CREATE stream.orders g1 0 MKSTREAM",
            "SECKILL.TRY phone alice o1 UNITS 2",
            "SECKILL.TRY phone bob o2",
            "SECKILL.CONFIRM phone bob o2",
            "SECKILL.TRY tea alice o3",
            "SECKILL.TRY tea bob o4",
            "SECKILL.TRY tea carol o5",
            "LOCK.ACQUIRE lock:1 me 60000",
            "XREADGROUP GROUP g1 c1 COUNT 1 STREAMS stream.orders >",
        ],
    );
    server
}

pub fn get(address: SocketAddr, request: &str) -> Option<String> {
    let mut client = TcpStream::connect(address).ok()?;
    client.set_read_timeout(Some(DEADLINE)).ok()?;
    client.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    client.read_to_string(&mut answer).ok()?;
    Some(answer)
}

fn samples(address: SocketAddr) -> Option<Samples> {
    let answer = get(address, "GET /metrics HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") || head.starts_with("HTTP/1.0 200"), "{head}");
    let lines = body.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let pairs = lines.filter_map(|line| line.rsplit_once(' '));
    Some(pairs.map(|(name, value)| (name.to_owned(), value.parse().expect(name))).collect())
}

/// A seckill-top that serves metrics, and its address.
pub fn served(server: &Server) -> (Program, SocketAddr) {
    let options = ["--redis", &url(server), "--metrics", "127.0.0.1:0", "--interval", "50ms"];
    let service = Program::start(Command::new(env!("CARGO_BIN_EXE_seckill-top")).args(options));
    let told = wait_for("the address", || {
        let said = service.log();
        let address = said.split_once("http://")?.1.split_once('/')?.0;
        address.parse().ok()
    });
    (service, told.unwrap_or_else(|late| panic!("{late}")))
}

#[test]
fn vouchers_that_look_alike_are_series_of_their_own() {
    let server = Server::start();
    let labels = [
        ("sale:1", "sale:1"),
        ("sale:1 ", "sale:1 "),
        ("sale:1\n", r"sale:1\\n"),
        ("sale:1\u{202e}", r"sale:1\\u{202e}"),
    ];
    for (units, (voucher, _)) in labels.iter().enumerate() {
        server.call(&["SET", &format!("seckill:stock:{voucher}"), &units.to_string()]);
    }
    let (_service, address) = served(&server);
    let samples = samples(address).expect("a page");
    for (units, (_, label)) in labels.iter().enumerate() {
        let name = format!("seckill_voucher_left{{voucher=\"{label}\"}}");
        assert_eq!(samples.get(&name), Some(&(units as f64)), "{name} in {samples:#?}");
    }
}

#[test]
fn figures_are_those_of_the_sale() {
    let mut server = sale();
    let (service, address) = served(&server);
    let samples = samples(address).expect("a page");
    for (name, want) in [
        ("seckill_up", 1.0),
        ("seckill_tries_accepted_total", 3.0),
        ("seckill_tries_sold_out_total", 2.0),
        ("seckill_orders_confirmed_total", 1.0),
        ("seckill_locks_acquired_total", 1.0),
        ("seckill_voucher_left{voucher=\"phone\"}", 17.0),
        ("seckill_voucher_held{voucher=\"phone\"}", 2.0),
        ("seckill_voucher_sold{voucher=\"phone\"}", 1.0),
        ("seckill_voucher_total{voucher=\"phone\"}", 20.0),
        ("seckill_voucher_buyers{voucher=\"phone\"}", 2.0),
        ("seckill_voucher_waiting{voucher=\"phone\"}", 0.0),
        ("seckill_voucher_left{voucher=\"tea\"}", 0.0),
        ("seckill_voucher_state{state=\"soldout\",voucher=\"tea\"}", 1.0),
        ("seckill_stream_entries{stream=\"stream.orders\"}", 3.0),
        ("seckill_voucher_hold_overdue_seconds{voucher=\"phone\"}", 0.0),
        ("seckill_server_saved{kind=\"aof\"}", 1.0),
        ("seckill_server_memory_max_bytes", 0.0),
        ("seckill_group_lag{group=\"g1\",stream=\"stream.orders\"}", 2.0),
        ("seckill_group_pending{group=\"g1\",stream=\"stream.orders\"}", 1.0),
    ] {
        assert_eq!(samples.get(name), Some(&want), "{name} in {samples:#?}");
    }
    // There is no count of sold units of an unmanaged voucher.
    assert!(!samples.contains_key("seckill_voucher_sold{voucher=\"tea\"}"), "{samples:#?}");

    server.kill9();
    let value = |want: f64| {
        let found = || (self::samples(address)?.get("seckill_up") == Some(&want)).then_some(());
        wait_for("seckill_up", found).unwrap_or_else(|late| panic!("{late} {want}"));
    };
    value(0.0);
    server.start_again();
    value(1.0);
    // However many requests there were, it reported this once or, with another reason, twice.
    let told = service.log().matches('\n').count();
    assert!((2..=4).contains(&told), "{}", service.log());
}

/// While writes are paused no hold expires.
#[test]
fn a_hold_that_does_not_expire_is_overdue() {
    const OVERDUE: &str = "seckill_voucher_hold_overdue_seconds{voucher=\"phone\"}";
    let server = Server::start();
    run_all(&server, &["SECKILL.CREATE phone 2 HOLD 500"]);
    let (_service, address) = served(&server);
    let wait = |what: &str, is_so: &dyn Fn(Option<f64>) -> bool| {
        let found = || is_so(samples(address)?.get(OVERDUE).copied()).then_some(());
        wait_for(what, found).unwrap_or_else(|late| panic!("{late}: {:?}", samples(address)));
    };
    wait("no hold", &|overdue| overdue.is_none());
    run_all(&server, &["MULTI", "SECKILL.TRY phone ann o1", "CLIENT PAUSE 600000 WRITE", "EXEC"]);
    wait("a hold that is overdue", &|overdue| overdue > Some(0.2));
    run_all(&server, &["CLIENT UNPAUSE"]);
    wait("no hold", &|overdue| overdue.is_none());
}

#[test]
fn a_server_without_the_module_has_no_counters() {
    let server = Server::with().without_module().start();
    let (_service, address) = served(&server);
    let samples = samples(address).expect("a page");
    assert_eq!(samples.get("seckill_up"), Some(&1.0), "{samples:?}");
    assert!(!samples.contains_key("seckill_tries_accepted_total"), "{samples:?}");
}

#[test]
fn other_requests_are_answered_too() {
    let server = Server::start();
    let (_service, address) = served(&server);
    for (request, want) in [
        ("GET /nowhere HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "),
        ("GET //metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "),
        ("POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405 "),
        ("POST /sales.json HTTP/1.1\r\n\r\n", "HTTP/1.1 405 "),
        ("DELETE / HTTP/1.1\r\n\r\n", "HTTP/1.1 405 "),
        ("not HTTP\r\n\r\n", "HTTP/1.1 400 "),
        ("GET /healthz HTTP/1.1\r\n\r\n", "HTTP/1.1 200 "),
        ("HEAD /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK"),
        ("GET /metrics?a=b HTTP/1.0\r\n\r\n", "HTTP/1.0 200 OK"),
    ] {
        let answer = get(address, request).expect("an answer");
        assert!(answer.starts_with(want), "{request}: {answer}");
        let has_body = !answer.ends_with("\r\n\r\n");
        assert_eq!(has_body, request.contains(" /") && !request.starts_with("HEAD"), "{answer}");
    }
}

/// A worker of a server, and the address of its metrics, all of which are there.
pub fn worker(server: &Server) -> (Program, Port, SocketAddr) {
    let port = Port::free();
    let at = SocketAddr::from(([127, 0, 0, 1], port.number));
    let options = ["--redis", &url(server), "--metrics", &at.to_string(), "--group", "g2"];
    let mut worker = Command::new(env!("CARGO_BIN_EXE_seckill-worker"));
    let worker = Program::start(worker.args(options).current_dir(server.dir()));
    let whole = wait_for("the worker's page", || {
        let page = samples(at)?;
        let has = |begin: &str| page.keys().any(|name| name.starts_with(begin));
        (has("seckill_worker_lag") && has("seckill_worker_commit")).then_some(())
    });
    whole.unwrap_or_else(|late| panic!("{late}\n{}", worker.log()));
    (worker, port, at)
}

/// The names of metrics, with their labels, that seckill-top and seckill-worker expose.
pub fn exposed() -> BTreeMap<String, BTreeSet<String>> {
    let server = sale();
    let (_top, address) = served(&server);
    let (_worker, _port, at_worker) = worker(&server);
    let all = wait_for("both pages", || {
        let mut both = samples(address)?;
        both.extend(samples(at_worker)?);
        Some(both)
    });
    let all = all.unwrap_or_else(|late| panic!("{late}"));
    let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for sample in all.keys() {
        let (name, labels) = sample.split_once('{').unwrap_or((sample, ""));
        let labels = labels.trim_end_matches('}').split(',');
        let labels = labels.filter_map(|label| Some(label.split_once('=')?.0.to_owned()));
        names.entry(name.to_owned()).or_default().extend(labels);
    }
    names
}

/// The metrics of a query.
pub fn metrics(query: &str) -> Vec<String> {
    let words = query.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("seckill_")).map(str::to_owned).collect()
}

/// All texts with this name, anywhere in the dashboard.
fn texts(value: &serde_json::Value, name: &str, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (field, value) in fields {
                if let (true, Some(text)) = (field == name, value.as_str()) {
                    found.push(text.to_owned());
                }
                texts(value, name, found);
            }
        }
        serde_json::Value::Array(values) => {
            values.iter().for_each(|value| texts(value, name, found));
        }
        _ => {}
    }
}

#[test]
fn the_dashboard_asks_for_what_there_is() {
    let exposed = exposed();
    let dashboard: serde_json::Value =
        serde_json::from_str(&page("docs/grafana/seckill.json")).expect("JSON");
    let mut queries = Vec::new();
    texts(&dashboard["panels"], "expr", &mut queries);
    texts(&dashboard["templating"], "definition", &mut queries);
    assert!(queries.len() > 30, "{queries:?}");
    // Labels that Prometheus adds to every sample.
    let added = ["instance", "job"].map(str::to_owned);
    let check_labels = |query: &str, labels: Vec<String>| {
        for metric in metrics(query) {
            let has = exposed.get(&metric).unwrap_or_else(|| panic!("no {metric}: {query}"));
            for label in &labels {
                assert!(has.contains(label) || added.contains(label), "{metric} {label}: {query}");
            }
        }
    };
    for query in &queries {
        assert!(!metrics(query).is_empty(), "{query}");
        assert_eq!(query.matches('(').count(), query.matches(')').count(), "{query}");
        let labels = query.split(['{', ',', '}']).filter_map(|part| part.split_once("=~"));
        check_labels(query, labels.map(|(label, _)| label.trim().to_owned()).collect());
    }
    for panel in dashboard["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let legend = target["legendFormat"].as_str().expect("a legend");
            let labels = legend.split("{{").skip(1).filter_map(|rest| rest.split("}}").next());
            let query = target["expr"].as_str().expect("a query");
            check_labels(query, labels.map(str::to_owned).collect());
        }
    }
    // A metric without a query or an alert is not worth exposing, except these.
    let rules = page("packaging/prometheus/alerts.yml");
    let asked = queries.iter().flat_map(|query| metrics(query)).chain(metrics(&rules));
    let asked: BTreeSet<String> = asked.collect();
    let unasked = [
        "seckill_server_info",
        "seckill_group_consumers",
        "seckill_worker_trimmed_total",
        "seckill_worker_commit_seconds_count",
        "seckill_worker_commit_seconds_sum",
    ];
    let forgotten: Vec<_> = exposed
        .keys()
        .filter(|name| !asked.contains(*name) && !unasked.contains(&name.as_str()))
        .collect();
    assert!(forgotten.is_empty(), "neither panels nor alerts have {forgotten:?}");
}

#[test]
fn the_pages_list_every_metric() {
    let exposed = exposed();
    for (name, prefix, is_of_page) in [
        ("docs/watching.md", "| `seckill_", |name: &str| !name.starts_with("seckill_worker_")),
        ("docs/worker-reference.md", "| `seckill_worker_", |name: &str| {
            name.starts_with("seckill_worker_")
        }),
    ] as [(&str, &str, fn(&str) -> bool); 2]
    {
        let page = page(name);
        let rows = page.lines().filter(|line| line.starts_with(prefix));
        let named = |row: &'_ str| row.split('|').nth(1).unwrap_or_default().to_owned();
        let cells: Vec<String> = rows.map(named).collect();
        let listed: BTreeSet<&str> =
            cells.iter().flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
        let there: BTreeSet<&str> =
            exposed.keys().map(String::as_str).filter(|name| is_of_page(name)).collect();
        assert_eq!(listed, there, "{name}");
    }
}

/// What Grafana is given by compose.yaml is there, and its parts name each other.
#[test]
fn the_grafana_of_compose_has_the_dashboard() {
    let compose = page("packaging/compose.yaml");
    let grafana = compose.split("\n  grafana:\n").nth(1).expect("a service");
    let mounts = grafana.lines().filter_map(|line| line.trim().strip_suffix(":ro"));
    let mounts = mounts.filter_map(|line| line.strip_prefix("- ")?.split_once(':'));
    let mounts: BTreeMap<&str, &str> = mounts.map(|(from, to)| (to, from)).collect();
    let folder = page("packaging/grafana/dashboards/seckill.yml");
    let folder = folder.lines().find_map(|line| line.trim().strip_prefix("path: "));
    let folder = folder.expect("a folder of dashboards");
    assert_eq!(mounts.get(folder), Some(&"../docs/grafana"), "{mounts:?}");
    assert_eq!(mounts.get("/etc/grafana/provisioning"), Some(&"./grafana"), "{mounts:?}");
    assert!(grafana.contains(&format!("HOME_DASHBOARD_PATH: {folder}/seckill.json\n")));
    let source = page("packaging/grafana/datasources/prometheus.yml");
    assert!(
        source.contains("url: http://prometheus:9090\n") && compose.contains("\n  prometheus:\n")
    );
}

//! The page for browsers and its figures, as they are served. `scripts/browser` opens the page.

use std::net::SocketAddr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{Server, text, wait_for};
use crate::metrics::{get, served};
use crate::program::run_all;

/// Head and body of an answer.
fn page(address: SocketAddr, path: &str) -> (String, String) {
    let answer = get(address, &format!("GET {path} HTTP/1.1\r\nHost: here\r\n\r\n"));
    let answer = answer.unwrap_or_else(|| panic!("no answer for {path}"));
    let (head, body) = answer.split_once("\r\n\r\n").expect("a page");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{path}: {head}");
    (head.to_ascii_lowercase(), body.to_owned())
}

fn figures(address: SocketAddr) -> Value {
    let (head, body) = page(address, "/sales.json");
    assert!(head.contains("content-type: application/json\r\n"), "{head}");
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"))
}

/// The first figures that are so.
fn figures_when(address: SocketAddr, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let found = wait_for(what, || Some(figures(address)).filter(&is_so));
    found.unwrap_or_else(|late| panic!("{late}: {:#}", figures(address)))
}

fn sale<'f>(figures: &'f Value, name: &str) -> &'f Value {
    let sales = figures["sales"].as_array().expect("sales");
    let found = sales.iter().find(|sale| sale["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {figures:#}"))
}

#[test]
fn the_page_loads_and_runs_nothing_but_its_own() {
    let server = Server::start();
    let (_service, address) = served(&server);
    let (head, html) = page(address, "/");
    assert!(head.contains("content-type: text/html; charset=utf-8\r\n"), "{head}");
    assert!(head.contains("x-content-type-options: nosniff"), "{head}");
    let policy = head.lines().find_map(|line| line.strip_prefix("content-security-policy: "));
    let policy = policy.unwrap_or_else(|| panic!("{head}"));
    for part in ["default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    for part in ["script-src ", "style-src "] {
        let allowed = policy.split_once(part).map(|(_, rest)| rest.split(';').next());
        let is_hash = |word: &str| word.starts_with("'sha256-") && word.len() == 53;
        let allowed = allowed.flatten().expect(part);
        assert!(allowed.split(' ').all(is_hash), "{policy}");
    }
    for foreign in ["src=", "@import", "url(", "<iframe", "innerHTML", "insertAdjacentHTML"] {
        assert!(!html.contains(foreign), "{foreign}");
    }
    // Other pages allow nothing at all.
    for path in ["/sales.json", "/metrics", "/healthz"] {
        assert!(page(address, path).0.contains("content-security-policy: default-src 'none'"));
    }
}

#[test]
fn figures_are_those_of_the_sale_and_of_nobody() {
    let server = Server::with().aof().start();
    let odd = "<script>alert(1)</script>";
    run_all(
        &server,
        &[
            "SECKILL.CREATE phone 20 LIMIT 2 HOLD 900000 BEGIN 1000 END 32503680000000",
            "XGROUP CREATE stream.orders seckill-worker 0 MKSTREAM",
            "XGROUP CREATE stream.orders another 0",
            "SECKILL.TRY phone user-ann order-1 UNITS 2",
            "SECKILL.TRY phone user-ben order-2",
            "SECKILL.TRY phone user-cat order-3",
            "SECKILL.CONFIRM phone user-ben order-2 REF ref-9",
            "SECKILL.CANCEL phone user-cat order-3",
            "XREADGROUP GROUP seckill-worker c1 COUNT 2 STREAMS stream.orders >",
            "LOCK.ACQUIRE lock:1 token-1 60000",
        ],
    );
    server.call(&["SET", &format!("seckill:stock:{odd}"), "5"]);
    server.call(&["SECKILL.TRY", odd, "user-ann", "order-4"]);
    let (_service, address) = served(&server);
    let figures = figures_when(address, "both sales", |figures| {
        figures["sales"].as_array().is_some_and(|sales| sales.len() == 2)
    });
    let phone = sale(&figures, "phone");
    let number = |sale: &Value, name: &str| sale[name].as_i64();
    for (name, want) in [
        ("total", Some(20)),
        ("left", Some(17)),
        ("held", Some(2)),
        ("sold", Some(1)),
        ("buyers", Some(2)),
        ("waiting", Some(0)),
        ("begin_ms", Some(1000)),
        ("end_ms", Some(32_503_680_000_000)),
        ("sold_out_after_ms", None),
    ] {
        assert_eq!(number(phone, name), want, "{name} in {phone:#}");
    }
    let unmanaged = sale(&figures, odd);
    assert_eq!((number(unmanaged, "left"), number(unmanaged, "sold")), (Some(4), Some(1)));
    let way = &figures["way"];
    let of = |name: &str| way[name].as_u64();
    assert_eq!(["accepted", "paid", "returned"].map(of), [Some(4), Some(1), Some(1)], "{way:#}");
    let reader = &way["reader"];
    assert_eq!(reader["group"], "seckill-worker");
    assert_eq!((&reader["acknowledged"], &reader["waiting"]), (&0.into(), &4.into()), "{way:#}");
    assert_eq!(figures["tries"]["accepted"], 4);
    let text = page(address, "/sales.json").1;
    for secret in ["user-", "order-", "ref-", "token", "lock:"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[test]
fn a_sale_says_after_how_long_it_was_sold_out() {
    let server = Server::start();
    let (_service, address) = served(&server);
    figures_when(address, "a reading", |figures| figures["sales"].is_array());
    run_all(&server, &["SECKILL.CREATE phone 2", "SECKILL.CREATE tea 2 HOLD 900000"]);
    figures_when(address, "both", |it| it["sales"].as_array().is_some_and(|it| it.len() == 2));
    for order in ["o1", "o2"] {
        server.call(&["SECKILL.TRY", "phone", order, order]);
        server.call(&["SECKILL.TRY", "tea", order, order]);
        sleep(Duration::from_millis(120));
    }
    let figures = figures_when(address, "both sold out", |figures| {
        ["phone", "tea"].iter().all(|it| sale(figures, it)["sold_out_after_ms"].is_number())
    });
    let entries = redis::from_redis_value(server.run("XRANGE stream.orders - +"));
    let entries: Vec<(String, redis::Value)> = entries.expect("entries");
    let ms = |id: &str| id.split_once('-').and_then(|(ms, _)| ms.parse::<i64>().ok());
    let ids: Vec<i64> = entries.iter().filter_map(|(id, _)| ms(id)).collect();
    // Their tries took turns: the first, the second, and the same again.
    for (name, first, last) in [("phone", ids[0], ids[2]), ("tea", ids[1], ids[3])] {
        let sale = sale(&figures, name);
        assert_eq!(sale["sold_out_after_ms"], last - first, "{sale:#}");
        assert_eq!(sale["is_sold_out_exact"], true);
    }
}

/// The figures stay, with the reason why there are no newer ones.
#[test]
fn a_server_may_go_away_and_come_back() {
    let mut server = Server::with().aof().start();
    run_all(&server, &["SECKILL.CREATE phone 9"]);
    let (_service, address) = served(&server);
    let is_well = |figures: &Value| figures["trouble"].is_null() && figures["sales"].is_array();
    figures_when(address, "figures", is_well);
    server.kill9();
    let figures = figures_when(address, "trouble", |figures| {
        figures["trouble"].as_str().is_some_and(|it| it.contains("no connection to "))
    });
    assert_eq!(sale(&figures, "phone")["left"], 9);
    server.start_again();
    figures_when(address, "figures again", is_well);
}

/// One reading an interval, however many look.
#[test]
fn many_who_look_cost_the_server_no_more() {
    let server = Server::start();
    let (_service, address) = served(&server);
    figures_when(address, "figures", |figures| figures["sales"].is_array());
    let readings = || -> i64 {
        let stats = text(&server.run("INFO commandstats"));
        let calls = stats.split_once("cmdstat_time:calls=").and_then(|(_, it)| it.split_once(','));
        calls.and_then(|(calls, _)| calls.parse().ok()).expect("calls of TIME")
    };
    let (before, began) = (readings(), Instant::now());
    let mut asked = 0;
    while asked < 200 || began.elapsed() < Duration::from_millis(300) {
        page(address, "/sales.json");
        asked += 1;
    }
    // An interval is 50 ms at least; a reading asks for the time once.
    let most = began.elapsed().as_millis() / 50 + 2;
    let read = readings() - before;
    assert!(read > 0 && u128::from(read.unsigned_abs()) <= most, "{read} of at most {most}");
}

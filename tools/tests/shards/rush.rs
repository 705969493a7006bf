//! `seckill-rush` with a rate, and on servers with sales of others.

use redis::Value;

use crate::harness::{Server, wait_for};
use crate::program::Program;
use crate::sales::proved;

fn url(server: &Server) -> String {
    format!("redis://127.0.0.1:{}", server.port())
}

#[test]
fn a_rate_is_kept() {
    let server = Server::with().port().start();
    let words = "--json --rate 1000 --tries 500 --connections 4 --stock 100";
    let report = proved(Program::rush(&url(&server), words));
    assert_eq!((&report["tries"], &report["rate"]), (&500.into(), &1000.into()), "{report}");
    // The last one is due after 499 ms.
    assert!(report["elapsed_ms"].as_u64() >= Some(499), "{report}");
    let latency = |name: &str| report["latency"][name].as_f64().expect("a number");
    assert!(latency("p50_ms") > 0.0 && latency("p50_ms") <= latency("max_ms"), "{report}");
    // Between tries the server was idle.
    assert!(report["server_cpu_us_per_try"].is_null(), "{report}");
}

/// A server that pauses delays all tries that are due meanwhile, not only those that were sent.
#[test]
fn latencies_count_from_when_a_try_was_due() {
    let server = Server::with().port().start();
    let words = "--json --rate 1000 --tries 2000 --connections 1 --pipeline 1 --stock 5000";
    let rush = Program::rush(&url(&server), words);
    let sold = || match server.call(&["XLEN", "stream.orders"]) {
        Value::Int(1..) => Some(()),
        _ => None,
    };
    wait_for("the first order", sold).expect("the first order");
    server.call(&["DEBUG", "SLEEP", "0.5"]);
    let report = proved(rush);
    // A fifth of all tries was due in the pause: a rush that waits for answers delays one.
    let p99 = report["latency"]["p99_ms"].as_f64().expect("a number");
    assert!(p99 > 300.0, "{report}");
}

#[test]
fn a_server_with_orders_of_others_is_refused() {
    let server = Server::with().port().start();
    server.call(&["SET", "seckill:stock:tea", "5"]);
    server.call(&["SECKILL.TRY", "tea", "ann", "o1"]);
    let said = Program::rush(&url(&server), "--tries 10").refused();
    assert!(said.contains("stream.orders has orders, which may be a shop's: --beside-"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert_eq!(server.call(&["DBSIZE"]), Value::Int(3), "tea: its stock, its buyers, its stream");
    proved(Program::rush(&url(&server), "--json --tries 100 --beside-others"));
}

/// A voucher that is there is sold on only if asked.
#[test]
fn a_rush_can_be_repeated_and_go_on() {
    let server = Server::with().port().start();
    let rush = |words: &str| Program::rush(&url(&server), &format!("--json --tries 100{words}"));
    proved(rush(""));
    let said = rush(" --beside-others").refused();
    assert!(said.contains("--keep goes on selling it, SECKILL.DROP rush FORCE deletes"), "{said}");
    let report = proved(rush(" --keep"));
    let buyers = server.call(&["SCARD", "seckill:order:rush"]);
    let sold = report["stock_left"].as_i64().map(|left| Value::Int(1_000 - left));
    assert_eq!(sold, Some(buyers), "{report}");
    let report = proved(rush(" --voucher two --managed --stock 5 --beside-others"));
    assert_eq!(report["managed"]["audit"]["sold"], 5, "{report}");
    let report = proved(rush(" --voucher two --managed --keep"));
    assert_eq!(report["managed"]["audit"]["sold"], 5, "{report}");
}

/// Who neither pays nor cancels makes room for the next in the queue, until all units are sold.
#[test]
fn a_queue_is_promoted() {
    let server = Server::with().port().start();
    let shares = "--pay-share 0.5 --cancel-share 0.2";
    let words = format!(
        "--json --tries 400 --users 400 --duplicates 0 --stock 20 --managed --hold 300ms {shares} \
         --waitlist"
    );
    let report = proved(Program::rush(&url(&server), &words));
    let managed = &report["managed"];
    let number = |name: &str| managed[name].as_u64().expect("a number");
    assert_eq!((managed["audit"]["sold"].as_u64(), &report["stock_left"]), (Some(20), &0.into()));
    assert_eq!(number("orders") - number("cancelled") - number("expired"), 20, "{report}");
    assert!(number("promoted") > 0 && number("waiting") > 0, "{report}");
    let in_queue = i64::try_from(number("waiting")).expect("a count");
    assert_eq!(server.call(&["ZCARD", "seckill:wait:rush"]), Value::Int(in_queue), "{report}");
}

#[test]
fn the_page_lists_every_option() {
    kit::pages::check_options(env!("CARGO_BIN_EXE_seckill-rush"), "docs/rush.md");
    kit::pages::check_help(env!("CARGO_BIN_EXE_seckill-shards"), None);
}

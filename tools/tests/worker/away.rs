//! Databases, groups and streams that disappear and return.

use redis::Value;
use std::net::TcpListener;

use crate::databases::{Database, Kind};
use crate::harness::{Port, text, wait_for};
use crate::http::{http_get, metric};
use crate::shop::{GROUP, STREAMS, Shop, random};
use crate::worker::Worker;

/// Retries at once, so that a wrong rejection would happen quickly.
const IMPATIENT: [&str; 4] = ["--retry", "5ms", "--claim-after", "50ms"];

fn nothing_was_rejected(shop: &Shop) {
    assert_eq!(shop.run("EXISTS stream.orders.dlq"), Value::Int(0));
    assert_eq!(shop.row_count(), shop.accepted_count());
}

fn wait_for_rows(shop: &Shop, worker: &Worker, rows: usize) {
    worker.wait("rows", || shop.row_count() >= rows);
}

/// Keeps the database away for this long after the worker has read something for it: long enough to
/// give up on an entry, if the worker blamed the entry.
fn keep_away(shop: &Shop, worker: &mut Worker, ms: i64) {
    worker.wait("the worker to meet the obstacle", || shop.has_pending());
    shop.let_pass(ms);
    assert!(shop.has_pending());
    assert!(worker.is_running(), "{}", worker.log());
}

fn the_database_is_away(kind: Kind) {
    let Some(database) = Database::alone(kind) else { return };
    let shop = Shop::open(database).selling("phone 100000, tea 100000 LIMIT 1");
    let mut random = random();
    let mut worker = shop.worker(&IMPATIENT);
    for round in 0..3 {
        let before = shop.row_count();
        shop.rush(&format!("r{round}"), 200, &mut random);
        wait_for_rows(&shop, &worker, before + 1);
        let server = shop.database.server.clone().expect("a database server");
        shop.rush(&format!("s{round}"), 1_000, &mut random);
        if round == 1 {
            server.crash();
        } else {
            server.stop();
        }
        shop.rush(&format!("t{round}"), 100, &mut random);
        keep_away(&shop, &mut worker, 500);
        if round == 2 {
            // It waits for the database, and still ends when it is asked to.
            assert!(worker.terminate().success(), "{}", worker.log());
            worker = shop.worker(&IMPATIENT);
            worker.wait_for_word("the database is down");
        }
        server.start_again();
        shop.wait_until_drained(&mut worker);
    }
    assert!(worker.terminate().success(), "{}", worker.log());
    shop.check();
    nothing_was_rejected(&shop);
}

on_databases! { the_database_is_away: postgres Postgres, mariadb MariaDb, mysql MySql }

#[test]
fn a_group_or_stream_that_is_gone_or_of_another_type_is_read_when_it_is_back() {
    let shop = Shop::of("phone 100000");
    let mut worker = shop.worker(&IMPATIENT);
    shop.buy("phone", "u1", "o1");
    shop.wait_until_drained(&mut worker);
    shop.run(&format!("XGROUP DESTROY stream.orders {GROUP}"));
    shop.buy("phone", "u2", "o2");
    shop.wait_until_drained(&mut worker);
    shop.run("DEL stream.orders");
    shop.buy("phone", "u3", "o3");
    shop.wait_until_drained(&mut worker);
    shop.run("SET stream.orders nonsense");
    shop.run("RPUSH stream.orders.released nonsense");
    worker.wait_for_word("WRONGTYPE");
    shop.run("DEL stream.orders stream.orders.released");
    shop.buy("phone", "u4", "o4");
    shop.wait_until_drained(&mut worker);
    shop.check();
    nothing_was_rejected(&shop);
}

/// The lag of the rows must be visible while the database hangs.
#[test]
fn the_lag_is_measured_while_the_database_is_locked() {
    let shop = Shop::of("phone 100000");
    let port = Port::free();
    let address = format!("127.0.0.1:{}", port.number);
    let mut worker = shop.worker(&["--metrics", &address]);
    let lag = |lag: f64, pending: f64| {
        let page = http_get(port.number)?;
        let found = ["lag", "pending"]
            .map(|name| metric(&page, &format!("worker_{name}{{stream=\"stream.orders\"}}")));
        (found == [Some(lag), Some(pending)]).then_some(())
    };
    let wait = |most: f64, pending: f64| {
        let seen = wait_for("the gauges", || lag(most, pending));
        seen.unwrap_or_else(|late| panic!("{late}: {:?}\n{}", http_get(port.number), worker.log()));
    };
    wait(0.0, 0.0);
    let lock = shop.database.held("BEGIN EXCLUSIVE");
    shop.buy("phone", "first", "first");
    wait(0.0, 1.0);
    shop.buy_many("phone", 0..439);
    wait(439.0, 1.0);
    // Redis does not know the lag of a group any more once an unread entry was deleted.
    let unread = text(&shop.run("XADD stream.orders * userId u voucherId phone id gone"));
    shop.buy("phone", "last", "last");
    assert_eq!(shop.run(&format!("XDEL stream.orders {unread}")), Value::Int(1));
    assert_eq!(shop.group("stream.orders", GROUP).expect("a group")["lag"], "(nil)");
    wait(440.0, 1.0);
    // Also by a worker that starts too late to open the database.
    worker.kill9();
    let late = shop.worker(&["--metrics", &address]);
    let seen = wait_for("the gauges", || lag(440.0, 1.0));
    seen.unwrap_or_else(|why| panic!("{why}: {:?}\n{}", http_get(port.number), late.log()));
    drop(late);
    let mut worker = shop.worker(&["--claim-after", "10ms", "--log-json"]);
    lock.end("COMMIT");
    shop.wait_until_drained(&mut worker);
    shop.check();
    nothing_was_rejected(&shop);
    for line in worker.log().lines() {
        let object: serde_json::Value = serde_json::from_str(line).expect("an object a line");
        assert!(object["message"].is_string(), "{line}");
    }
}

fn ends_in_time(worker: &mut Worker) {
    let status = kit::program::Program::terminate(worker);
    assert!(status.success(), "{status}\n{}", worker.log());
}

/// A peer that accepts connections and never answers.
#[test]
fn a_worker_ends_in_time_before_a_database_that_never_answers() {
    let shop = Shop::open(Database::sqlite());
    for kind in ["postgres", "mysql"] {
        let silent = TcpListener::bind(("127.0.0.1", 0)).expect("a listener");
        let url = format!("{kind}://u:p@{}/shop", silent.local_addr().expect("its address"));
        let redis = shop.worker_args()[1].clone();
        let args = ["--redis", &redis, "--database", &url].map(str::to_owned);
        let mut worker = Worker::start(&args, shop.server.dir());
        let connection = silent.accept().expect("the worker");
        ends_in_time(&mut worker);
        drop(connection);
    }
}

#[test]
fn a_worker_ends_in_time_when_the_database_stands_still() {
    let Some(database) = Database::alone(Kind::MariaDb) else { return };
    let shop = Shop::open(database).selling("phone 100000");
    shop.buy("phone", "u1", "o1");
    let mut worker = shop.worker(&IMPATIENT);
    wait_for_rows(&shop, &worker, 1);
    shop.wait_until_drained(&mut worker);
    let server = shop.database.server.clone().expect("a database server");
    server.freeze();
    shop.buy("phone", "u2", "o2");
    // It may have asked the database something else before it has read the order.
    let stands = || shop.has_pending() || worker.log().contains("the database is down");
    worker.wait("an order in flight, or an outage", stands);
    ends_in_time(&mut worker);
    server.thaw();
    shop.drain(&[]);
    shop.check();
    nothing_was_rejected(&shop);
}

/// A full Redis 7.0 queues no command of a transaction, and none creates a group that is there.
/// What is written and trimmed makes room.
#[test]
fn a_full_server_is_read() {
    let shop = Shop::of("tea 100 HOLD 600000");
    let options = [&IMPATIENT[..], &["--consumer", "w1"]].concat();
    let mut worker = shop.worker(&options);
    shop.buy_many("tea", 0..30);
    shop.wait_until_drained(&mut worker);
    shop.run("CONFIG SET maxmemory 1");
    assert!(text(&shop.run("SECKILL.TRY tea u99 o99")).contains("OOM"));
    let pay =
        |n: u32| assert_eq!(shop.run(&format!("SECKILL.CONFIRM tea u{n} o{n}")), Value::Int(1));
    (0..10).for_each(pay);
    shop.wait_until_drained(&mut worker);
    worker.kill9();
    // Left by the dead worker, and by another one.
    (10..30).for_each(pay);
    for consumer in ["w1", "w2"] {
        let left = format!("XREADGROUP GROUP {GROUP} {consumer} COUNT 5 STREAMS");
        shop.run(&format!("{left} stream.orders.confirmed >"));
    }
    worker = shop.worker(&options);
    shop.wait_until_drained(&mut worker);
    assert!(worker.terminate().success(), "{}", worker.log());
    let (code, said) = shop.asked(&["resolve", "o29", "--release", "--yes"], "");
    assert_eq!(code, Some(0), "{said}");
    let summary = shop.drain(&["--trim-after", "1ms"]);
    assert_eq!(summary["trimmed"], 61);
    shop.run("CONFIG SET maxmemory 0");
    let states = shop.database.texts(["state"], "FROM seckill_orders WHERE units = 1");
    assert_eq!(states, vec![["sold"]; 29]);
    shop.check();
}

/// A first start waits for memory, whether or not somebody has made the groups.
#[test]
fn a_full_server_is_told_at_the_first_start() {
    for has_groups in [false, true] {
        let shop = Shop::of("tea 100");
        shop.buy("tea", "ann", "o1");
        for stream in STREAMS.into_iter().filter(|_| has_groups) {
            shop.run(&format!("XGROUP CREATE {stream} {GROUP} 0 MKSTREAM"));
        }
        shop.run("CONFIG SET maxmemory 1");
        let mut worker = shop.worker(&IMPATIENT);
        worker.wait_for_word("is not ready, retrying: ");
        let told = "OOM command not allowed when used memory > 'maxmemory'";
        assert!(worker.log().contains(told), "{}", worker.log());
        assert!(!worker.log().contains("aborted"), "{}", worker.log());
        shop.run("CONFIG SET maxmemory 0");
        shop.wait_until_drained(&mut worker);
        shop.check();
    }
}

//! Databases, groups and streams that go away and come back.

use redis::Value;

use crate::databases::{Database, Kind};
use crate::harness::wait_for;
use crate::shop::{GROUP, Shop, random};
use crate::worker::Worker;

/// Retries at once: what is given up at all is given up quickly.
const IMPATIENT: [&str; 4] = ["--retry-ms", "5", "--claim-after-ms", "50"];

fn nothing_was_rejected(shop: &Shop) {
    assert_eq!(shop.run("EXISTS stream.orders.dlq"), Value::Int(0));
    assert_eq!(shop.row_count(), shop.accepted_count());
}

fn wait_for_rows(shop: &Shop, worker: &Worker, rows: usize) {
    let there = wait_for("rows", || (shop.row_count() >= rows).then_some(()));
    there.unwrap_or_else(|late| panic!("{late}\n{}", worker.log()));
}

/// Keeps the database away for so long after the worker has read something for it: often enough
/// to have given up on an entry, if it were to blame.
fn keep_away(shop: &Shop, worker: &mut Worker, ms: i64) {
    let met = wait_for("the worker to meet the obstacle", || {
        (shop.group("stream.orders", GROUP)?["pending"] != "0").then_some(())
    });
    met.unwrap_or_else(|late| panic!("{late}\n{}", worker.log()));
    shop.let_pass(ms);
    assert_ne!(shop.group("stream.orders", GROUP).expect("a group")["pending"], "0");
    assert!(worker.is_running(), "{}", worker.log());
}

fn the_database_is_away(kind: Kind) {
    let Some(database) = Database::alone(kind) else { return };
    let mut shop = Shop::open(database);
    let mut random = random();
    shop.sell("phone", 100_000);
    shop.sell_managed("tea", 100_000, "LIMIT 1");
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
        }
        server.start_again();
        shop.wait_until_drained(&mut worker);
    }
    assert!(worker.terminate().success(), "{}", worker.log());
    shop.check();
    nothing_was_rejected(&shop);
}

#[test]
fn postgres_is_away() {
    the_database_is_away(Kind::Postgres);
}

#[test]
fn mariadb_is_away() {
    the_database_is_away(Kind::MariaDb);
}

#[test]
fn a_worker_started_before_its_database_waits_for_it() {
    let Some(database) = Database::alone(Kind::Postgres) else { return };
    let mut shop = Shop::open(database);
    shop.sell("phone", 10);
    shop.buy("phone", "alice", "o1");
    let server = shop.database.server.clone().expect("a database server");
    server.stop();
    let mut worker = shop.worker(&IMPATIENT);
    let said = wait_for("a word of it", || (!worker.log().is_empty()).then_some(()));
    said.unwrap_or_else(|late| panic!("{late}"));
    server.start_again();
    shop.wait_until_drained(&mut worker);
    shop.check();
}

#[test]
fn the_sqlite_file_is_locked() {
    let mut shop = Shop::open(Database::sqlite());
    let mut random = random();
    shop.sell("phone", 100_000);
    shop.rush("a", 100, &mut random);
    let mut worker = shop.worker(&IMPATIENT);
    wait_for_rows(&shop, &worker, 1);
    shop.wait_until_drained(&mut worker);
    let rows = shop.row_count();
    let lock = shop.database.held("BEGIN EXCLUSIVE");
    shop.rush("b", 100, &mut random);
    // It waits for the lock a while before it calls that an obstacle.
    let told = wait_for("the worker to say so", || worker.log().contains("locked").then_some(()));
    told.unwrap_or_else(|late| panic!("{late}\n{}", worker.log()));
    keep_away(&shop, &mut worker, 500);
    lock.end("COMMIT");
    shop.wait_until_drained(&mut worker);
    assert!(shop.row_count() > rows);
    assert!(worker.terminate().success(), "{}", worker.log());
    shop.check();
    nothing_was_rejected(&shop);
}

#[test]
fn a_group_that_is_destroyed_is_made_anew() {
    let mut shop = Shop::open(Database::sqlite());
    let mut random = random();
    shop.sell("phone", 100_000);
    let mut worker = shop.worker(&IMPATIENT);
    for round in 0..10 {
        shop.rush(&format!("r{round}"), 100, &mut random);
        shop.run(&format!("XGROUP DESTROY stream.orders {GROUP}"));
        if round % 2 == 0 {
            shop.wait_until_drained(&mut worker);
        }
    }
    shop.wait_until_drained(&mut worker);
    shop.check();
    nothing_was_rejected(&shop);
}

#[test]
fn a_stream_that_is_deleted_or_of_another_type_is_read_when_it_is_back() {
    let mut shop = Shop::open(Database::sqlite());
    shop.sell("phone", 100_000);
    let mut worker = shop.worker(&IMPATIENT);
    shop.buy("phone", "u1", "o1");
    shop.wait_until_drained(&mut worker);
    shop.run("DEL stream.orders");
    shop.buy("phone", "u2", "o2");
    shop.wait_until_drained(&mut worker);
    shop.run("SET stream.orders nonsense");
    shop.run("RPUSH stream.orders.released nonsense");
    let noticed = || worker.log().contains("WRONGTYPE").then_some(());
    let met = wait_for("the worker to notice", noticed);
    met.unwrap_or_else(|late| panic!("{late}\n{}", worker.log()));
    shop.run("DEL stream.orders stream.orders.released");
    shop.buy("phone", "u3", "o3");
    shop.wait_until_drained(&mut worker);
    shop.check();
    nothing_was_rejected(&shop);
}

#[test]
fn after_flushall_the_worker_goes_on() {
    let mut shop = Shop::open(Database::sqlite());
    let mut random = random();
    shop.sell("before", 1_000);
    shop.rush("a", 100, &mut random);
    let mut worker = shop.worker(&IMPATIENT);
    shop.wait_until_drained(&mut worker);
    shop.check();
    shop.run("FLUSHALL");
    let mut shop = shop.forgotten();
    shop.sell("after", 1_000);
    shop.rush("b", 100, &mut random);
    shop.wait_until_drained(&mut worker);
    assert!(worker.is_running(), "{}", worker.log());
    let after = shop.rows().into_keys().filter(|(voucher, _)| voucher == "after");
    assert_eq!(after.count(), shop.accepted_count());
}

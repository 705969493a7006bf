//! Databases, groups and streams that go away and come back.

use redis::Value;

use crate::databases::{Database, Kind};
use crate::harness::wait_for;
use crate::shop::{GROUP, Shop, random};
use crate::worker::Worker;

/// Retries at once, and a cap that is soon reached: what is rejected at all is rejected quickly.
const IMPATIENT: [&str; 6] = ["--retry-ms", "5", "--claim-after-ms", "50", "--deliveries-max", "2"];

fn nothing_was_rejected(shop: &Shop) {
    assert_eq!(shop.run("EXISTS stream.orders.dlq"), Value::Int(0));
    assert_eq!(shop.row_count(), shop.accepted_count());
}

fn wait_for_rows(shop: &Shop, worker: &Worker, rows: usize) {
    let there = wait_for("rows", || (shop.row_count() >= rows).then_some(()));
    there.unwrap_or_else(|late| panic!("{late}\n{}", worker.log()));
}

/// Waits until the worker has met its obstacle often enough to have given up on an entry.
fn wait_for_retries(shop: &Shop, worker: &mut Worker, times: usize) {
    let said = worker.log().lines().count();
    let met = wait_for("the worker to meet the obstacle", || {
        let entries_wait = shop.group("stream.orders", GROUP)?["pending"] != "0";
        (entries_wait && worker.log().lines().count() >= said + times).then_some(())
    });
    met.unwrap_or_else(|late| panic!("{late}\n{}", worker.log()));
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
        shop.rush(&format!("r{round}"), 200, &mut random);
        wait_for_rows(&shop, &worker, 200 * round + 1);
        let server = shop.database.server.as_ref().expect("a database server");
        server.stop();
        shop.rush(&format!("s{round}"), 100, &mut random);
        wait_for_retries(&shop, &mut worker, 3);
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
    wait_for_retries(&shop, &mut worker, 3);
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
    let said = worker.log().len();
    let met = wait_for("the worker to notice", || (worker.log().len() > said).then_some(()));
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

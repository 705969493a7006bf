//! Servers that die, and workers that hang, at any moment: every order still becomes one row. For
//! workers that die: `statements`, `chaos`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use redis::Value;

use crate::databases::{Database, Kind};
use crate::harness::Server;
use crate::shop::{Shop, random};
use crate::worker::until;

/// Sells until it is stopped, on servers that die meanwhile.
fn sell_through_crashes(address: &redis::ConnectionInfo, stop: &AtomicBool, name: &str) {
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        let client = redis::Client::open(address.clone()).expect("an address");
        let connection = client.get_connection_with_timeout(Duration::from_secs(5));
        let Ok(mut connection) = connection else {
            thread::yield_now();
            continue;
        };
        loop {
            number += 1;
            let [user, id] = ["u", "o"].map(|what| format!("{what}-{name}-{number}"));
            let mut tried = redis::cmd("SECKILL.TRY");
            tried.arg("phone").arg(&user).arg(&id);
            if tried.query::<i64>(&mut connection).is_err() || stop.load(Ordering::Relaxed) {
                break;
            }
            if number % 5 == 0 {
                let mut cancelled = redis::cmd("SECKILL.CANCEL");
                cancelled.arg("phone").arg(&user).arg(&id);
                if cancelled.query::<i64>(&mut connection).is_err() {
                    break;
                }
            }
        }
    }
}

#[test]
fn redis_is_killed() {
    let server = Server::with().aof().start();
    let mut shop = Shop::on(server, Database::sqlite(), &[""]);
    let mut random = random();
    shop.sell("phone", 1_000_000);
    // The streams are not trimmed: after a crash they show what was accepted.
    let mut worker = shop.worker(&["--retry", "10ms"]);
    let (address, stop) = (shop.server.address(), AtomicBool::new(false));
    thread::scope(|scope| {
        for name in ["a", "b"] {
            let (address, stop) = (&address, &stop);
            scope.spawn(move || sell_through_crashes(address, stop, name));
        }
        for _ in 0..8 {
            let before = shop.count("XLEN stream.orders");
            until("orders", || shop.count("XLEN stream.orders") > before + 20);
            thread::sleep(Duration::from_millis(50).mul_f64(random.f64()));
            shop.server.kill9();
            shop.server.start_again();
        }
        stop.store(true, Ordering::Relaxed);
    });
    shop.wait_until_drained(&mut worker);
    assert!(worker.terminate().success(), "{}", worker.log());
    shop.accept_what_the_streams_hold();
    shop.check();
    assert!(shop.accepted_count() > 160);
    assert_eq!(shop.run("EXISTS stream.orders.dlq"), Value::Int(0));
}

/// A worker that hangs is considered dead. When it resumes, its orders are rows already.
fn a_frozen_worker_does_no_harm(kind: Kind) {
    let Some(database) = Database::open(kind) else { return };
    let mut shop = Shop::open(database);
    let mut random = random();
    shop.sell("phone", 100_000);
    shop.sell_managed("tea", 100_000, "LIMIT 1");
    let options = ["--claim-after", "50ms", "--retry", "10ms", "--batch", "20"];
    for round in 0..6 {
        let mut frozen = shop.worker(&options);
        shop.rush(&format!("r{round}"), 300, &mut random);
        thread::sleep(Duration::from_millis(80).mul_f64(random.f64()));
        frozen.freeze();
        // It may hold a lock of the database: then nothing proceeds until it resumes.
        let mut other = shop.worker(&options);
        thread::sleep(Duration::from_millis(100).mul_f64(random.f64()));
        frozen.thaw();
        shop.wait_until_drained(&mut other);
        for worker in [&mut frozen, &mut other] {
            assert!(worker.terminate().success(), "{}", worker.log());
        }
    }
    shop.check();
    assert_eq!(shop.row_count(), shop.accepted_count());
    assert_eq!(shop.run("EXISTS stream.orders.dlq"), Value::Int(0));
}

on_databases! { a_frozen_worker_does_no_harm: sqlite Sqlite, postgres Postgres }

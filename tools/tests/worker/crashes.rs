//! Workers and servers that die at any moment: every order still becomes one row.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use redis::Value;

use crate::databases::{Database, Kind};
use crate::harness::{Server, wait_for};
use crate::shop::{GROUP, Shop, pairs, random};

/// Repeatedly kills a worker that has more work than it can do, until enough workers have died in
/// the middle of something.
fn workers_are_killed(kind: Kind) {
    let Some(database) = Database::open(kind) else { return };
    let mut shop = Shop::open(database);
    let mut random = random();
    shop.sell("phone", 100_000);
    shop.sell_managed("tea", 100_000, "LIMIT 1");
    let (mut rounds, mut in_the_middle) = (0, 0);
    while in_the_middle < 20 {
        assert!(rounds < 100, "only {in_the_middle} of {rounds} workers died in the middle");
        if shop.count("XLEN stream.orders") < 300 {
            shop.rush(&format!("r{rounds}"), 600, &mut random);
        }
        let batch = random.choice(["1", "7", "30"]).expect("one");
        let options = ["--batch", batch, "--claim-after", "10ms", "--trim-after", "10ms"];
        let mut worker = shop.worker(&options);
        worker.kill9_somewhen(&mut random, || shop.has_pending());
        in_the_middle += u32::from(shop.has_pending());
        rounds += 1;
    }
    println!("{in_the_middle} of {rounds} workers died in the middle");
    shop.drain(&[]);
    shop.check();
    assert_eq!(shop.row_count(), shop.accepted_count());
}

#[test]
fn workers_are_killed_on_sqlite() {
    workers_are_killed(Kind::Sqlite);
}

#[test]
fn workers_are_killed_on_postgres() {
    workers_are_killed(Kind::Postgres);
}

#[test]
fn workers_are_killed_on_mariadb() {
    workers_are_killed(Kind::MariaDb);
}

#[test]
fn workers_are_killed_on_mysql() {
    workers_are_killed(Kind::MySql);
}

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
            let sold = wait_for("orders", || {
                (shop.count("XLEN stream.orders") > before + 20).then_some(())
            });
            sold.unwrap_or_else(|late| panic!("{late}"));
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

/// One of two workers dies; the other one takes over the entries that it had read.
fn the_other_takes_over(kind: Kind) {
    let Some(database) = Database::open(kind) else { return };
    let mut shop = Shop::open(database);
    let mut random = random();
    shop.sell("phone", 100_000);
    let options = ["--claim-after", "200ms", "--batch", "5"];
    let mut survivor = shop.worker(&options);
    for round in 0.. {
        assert!(round < 50, "no worker died in the middle of something");
        shop.rush(&format!("r{round}"), 1_000, &mut random);
        let name = format!("victim{round}");
        let mut victim = shop.worker(&[&options[..], &["--consumer", &name]].concat());
        let has_pending = || {
            let consumers = shop.run(&format!("XINFO CONSUMERS stream.orders {GROUP}"));
            let Value::Array(consumers) = consumers else { return false };
            let mut consumers = consumers.into_iter().map(pairs);
            consumers.any(|consumer| consumer["name"] == name && consumer["pending"] != "0")
        };
        victim.kill9_somewhen(&mut random, has_pending);
        if has_pending() {
            println!("{name} died in the middle");
            break;
        }
    }
    shop.wait_until_drained(&mut survivor);
    assert!(survivor.terminate().success(), "{}", survivor.log());
    shop.check();
    assert_eq!(shop.row_count(), shop.accepted_count());
    assert_eq!(shop.run("EXISTS stream.orders.dlq"), Value::Int(0));
}

#[test]
fn the_other_takes_over_on_sqlite() {
    the_other_takes_over(Kind::Sqlite);
}

#[test]
fn the_other_takes_over_on_postgres() {
    the_other_takes_over(Kind::Postgres);
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

#[test]
fn a_frozen_worker_does_no_harm_on_sqlite() {
    a_frozen_worker_does_no_harm(Kind::Sqlite);
}

#[test]
fn a_frozen_worker_does_no_harm_on_postgres() {
    a_frozen_worker_does_no_harm(Kind::Postgres);
}

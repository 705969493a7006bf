//! Workers that hang at any moment: every order still becomes one row. For servers and workers that
//! die: `chaos`.

use std::thread;
use std::time::Duration;

use redis::Value;

use crate::databases::{Database, Kind};
use crate::shop::{Shop, random};

/// A worker that hangs is considered dead. When it resumes, its orders are rows already.
fn a_frozen_worker_does_no_harm(kind: Kind) {
    let Some(database) = Database::open(kind) else { return };
    let shop = Shop::open(database).selling("phone 100000, tea 100000 LIMIT 1");
    let mut random = random();
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

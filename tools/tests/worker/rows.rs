//! Orders become rows: on every database, once, with a summary, signals, several workers.

use sqlx::Row as _;

use crate::databases::{Database, Kind};
use crate::harness::Server;
use crate::shop::{GROUP, Shop, random};

/// A rush on an unmanaged voucher, and a managed sale with holds and orders of two units.
fn sold_out(database: Database) -> Shop {
    let mut shop = Shop::open(database).selling("phone 200");
    let mut random = random();
    shop.rush("a", 400, &mut random);
    shop.sell_managed("tea", 10, "LIMIT 2 HOLD 600000");
    for (user, units) in [("alice", 2), ("bob", 1), ("carol", 2)] {
        let id = format!("tea-{user}");
        shop.run(&format!("SECKILL.TRY tea {user} {id} UNITS {units}"));
        shop.accept("tea", user, &id, units);
    }
    shop
}

fn orders_become_rows(kind: Kind) {
    let Some(database) = Database::open(kind) else { return };
    let shop = sold_out(database);
    let summary = shop.drain(&[]);
    shop.check();
    assert_eq!(shop.row_count(), shop.accepted_count());
    let orders = shop.accepted_count();
    for (field, wanted) in [
        ("orders", orders),
        ("rows_inserted", orders),
        ("rows_repeated", 0),
        ("released", 0),
        ("dead_letters", 0),
    ] {
        assert_eq!(summary[field], wanted, "{field} of {summary}");
    }
    assert!(summary["batches"].as_u64() >= Some(1), "{summary}");
    assert!(summary["seconds"].as_f64() > Some(0.0), "{summary}");
    let tea = &shop.rows()[&("tea".to_owned(), "tea-alice".to_owned())];
    assert_eq!((tea.units, tea.state.as_str()), (2, "held"));

    // Nothing is left to do, and nothing is done twice.
    let again = shop.drain(&[]);
    assert_eq!((&again["orders"], &again["rows_inserted"]), (&0.into(), &0.into()), "{again}");
    // Nor by a group that reads everything again, for example after it was created again.
    shop.read_again();
    let again = shop.drain(&[]);
    assert_eq!((&again["rows_repeated"], &again["rows_inserted"]), (&orders.into(), &0.into()));
    shop.check();
}

/// Whatever PostgreSQL knows of the table: of a new voucher, nothing.
#[test]
fn an_order_is_looked_up_among_many_without_statistics() {
    let Some(database) = Database::open(Kind::Postgres) else { return };
    let shop = Shop::open(database).selling("tea 400 HOLD 600000");
    shop.buy("tea", "first", "first");
    shop.drain(&[]);
    shop.database.rows("ALTER TABLE seckill_orders SET (autovacuum_enabled = false)");
    shop.database.rows(
        "INSERT INTO seckill_orders SELECT (row).* FROM (SELECT jsonb_populate_record(o, \
         jsonb_build_object('order_id', 'old-' || i)) AS row \
         FROM seckill_orders o, generate_series(1, 50000) i) rows",
    );
    shop.buy_many("tea", 0..300);
    shop.drain(&[]);
    let read = "SELECT idx_tup_read FROM pg_stat_user_indexes \
                WHERE indexrelname = 'seckill_orders_pkey'";
    let read: i64 = shop.database.rows(read)[0].get(0);
    assert!(read < 50_000, "{read} entries read");
}

on_databases! { orders_become_rows: sqlite Sqlite, postgres Postgres, mariadb MariaDb, mysql MySql }

/// Neither the tables nor the groups exist, and two workers create them.
fn two_workers_start_at_once(kind: Kind) {
    let Some(database) = Database::open(kind) else { return };
    let shop = sold_out(database);
    let mut workers = [shop.worker(&[]), shop.worker(&[])];
    for worker in &mut workers {
        shop.wait_until_drained(worker);
    }
    for mut worker in workers {
        assert!(worker.terminate().success(), "{}", worker.log());
    }
    // They leave no consumer, which would accumulate over the years.
    let group = shop.group("stream.orders", GROUP).expect("the worker's group");
    assert_eq!(group["consumers"], "0", "{group:?}");
    shop.check();
}

on_databases! {
    two_workers_start_at_once: sqlite Sqlite, postgres Postgres, mariadb MariaDb, mysql MySql
}

#[test]
fn sigterm_finishes_the_batch() {
    let shop = Shop::of("phone 1000000");
    let mut random = random();
    // On a busy machine the worker may finish before it is asked to end.
    for round in 0.. {
        assert!(round < 10, "no worker ended in the middle");
        let before = shop.row_count();
        shop.rush(&format!("r{round}"), 3_000, &mut random);
        let mut worker = shop.worker(&["--batch", "10"]);
        worker.wait("more rows", || shop.row_count() > before);
        let status = worker.terminate();
        assert_eq!(status.code(), Some(0), "{}", worker.log());
        // It finished everything that it had started: no entry is left to be taken over.
        let group = shop.group("stream.orders", GROUP).expect("the worker's group");
        assert_eq!(group["pending"], "0");
        let rows = shop.row_count();
        assert_eq!(group["entries-read"], rows.to_string());
        if rows < shop.accepted_count() {
            break;
        }
    }
    let rest = shop.drain(&[]);
    assert_eq!(rest["rows_repeated"], 0, "{rest}");
    shop.check();
}

#[test]
fn other_names_of_streams() {
    let server = Server::with().config("seckill.order-stream shop.orders").start();
    let shop = Shop::on(server, Database::sqlite(), &[""]).selling("phone 10");
    shop.buy("phone", "alice", "o1");
    shop.run("SECKILL.CANCEL phone alice o1");
    let streams = ["--stream", "shop.orders"];
    let summary = shop.drain(&streams);
    assert_eq!((&summary["orders"], &summary["released"]), (&1.into(), &1.into()), "{summary}");
    let rows = shop.rows();
    assert_eq!(rows[&("phone".to_owned(), "o1".to_owned())].state, "cancelled");
}

/// A batch reads and locks its own orders, and no other: also in a table that was empty when the
/// database last looked.
#[test]
fn an_order_that_another_has_locked_holds_up_no_others() {
    for kind in [Kind::Postgres, Kind::MariaDb, Kind::MySql] {
        let Some(database) = Database::open(kind) else { continue };
        let shop = Shop::open(database).selling("phone 5000");
        shop.drain(&[]);
        if kind != Kind::Postgres {
            shop.sql("ALTER TABLE seckill_orders STATS_AUTO_RECALC = 0");
        }
        shop.buy_many("phone", 0..2_000);
        shop.drain(&[]);
        let one = "SELECT units FROM seckill_orders WHERE voucher_id = 'phone' AND sale_id = '' \
                   AND order_id = 'o7' AND user_id = 'u7' FOR UPDATE";
        let lock = shop.database.held(&format!("START TRANSACTION; {one}"));
        shop.buy_many("phone", 2_000..2_400);
        shop.drain(&[]);
        assert_eq!(shop.row_count(), 2_400);
        lock.end("COMMIT");
        shop.check();
    }
}

//! One payment of two orders, of any vouchers: it is refunded once at most, and a person says whose
//! it is.

use redis::Value;
use sqlx::Row as _;

use crate::check::expect;
use crate::databases::{Database, Kind};
use crate::refunds::step;
use crate::settle::CHECK;
use crate::shop::{Shop, databases};

const OTHER: [&str; 2] = ["--voucher", "8"];

/// One payment of two orders: it was for both, or for one of them.
#[test]
fn a_payment_of_two_orders_counts_once() {
    for database in databases() {
        let mut shop = Shop::saved(database, "HOLD 600000");
        shop.sell_managed("8", 5, "HOLD 600000");
        for (user, [one, other]) in [("ann", ["1", "2"]), ("ben", ["3", "4"]), ("cid", ["5", "6"])]
        {
            for (voucher, order) in [("7", one), ("8", other)] {
                shop.buy(voucher, user, order);
                shop.pay(&format!("{voucher} {user} {order}"), user, 1);
            }
        }
        shop.run("SECKILL.CANCEL 7 cid 5");
        shop.run("SECKILL.CANCEL 8 cid 6");
        shop.drain(&[]);
        assert_eq!(shop.refunds("cid"), 0);
        let told = expect(&shop, &CHECK, 1, &["payment ann on the server, also paid order 2 of"]);
        let end = ", with --keep or --release: it was for both, or not for this one";
        let settle = |order: &str, way: &str, words: &str| {
            shop.settles(&[&step(&told, order, end)[..], &[way]].concat(), 0, &[words]);
        };
        settle("1", "--keep", "is kept: its payment is that of order 2 of voucher 8");
        settle("3", "--release", "order 3 is released; payment ben is another order's");
        settle("5", "--release", "order 5 is released, and nothing is refunded");
        shop.drain(&[]);
        assert_eq!((shop.refunds("ben"), shop.refunds("cid")), (0, 0));
        expect(&shop, &CHECK, 0, &["\nPROVED: 1 units sold"]);
        // It is that of the other order alone, which is released.
        expect(&shop, &OTHER, 1, &["6 of cid for voucher 8: ", "no line refunds 1 units"]);
        expect(&shop, &[&OTHER[..], &["--repair"]].concat(), 0, &["\nPROVED: 2 units sold"]);
        assert_eq!(shop.refunds("cid"), 1);
        // It is the other order's alone: its release refunds it.
        shop.run("SECKILL.CANCEL 8 ben 4");
        shop.drain(&[]);
        assert_eq!(shop.refunds("ben"), 1);
        expect(&shop, &OTHER, 0, &["\nPROVED: 1 units sold"]);
    }
}

/// A late payment that is another order's is refunded by nobody, until a person says whose it is;
/// whether the server's record of it is still there or not.
#[test]
fn a_late_payment_of_another_order_waits_for_a_person() {
    for database in databases() {
        let mut shop = Shop::saved(database, "HOLD 600000");
        shop.sell_managed("8", 5, "HOLD 1000");
        let orders = [("ann", "1", "2"), ("ben", "3", "4"), ("cid", "5", "6")];
        for (user, one, other) in orders {
            shop.buy("7", user, one);
            shop.buy("8", user, other);
            shop.pay(&format!("7 {user} {one}"), user, 1);
        }
        shop.let_pass(1_100);
        for (user, _, other) in orders {
            shop.pay(&format!("8 {user} {other}"), user, 3);
        }
        shop.drain(&[]);
        for (user, _, other) in orders {
            assert!(shop.changes(other).contains(&format!("claimed {user}")), "{user}");
        }
        let line = |reference| {
            format!(
                "payment {reference} names it on the server, the payment of another order in the \
             rows: seckill-worker settle --voucher 8 --payment {reference} --keep"
            )
        };
        expect(&shop, &OTHER, 1, &[&line("ann"), &line("ben"), "3 orders"]);
        let payment =
            |reference, way: &'static str| ["--voucher", "8", "--payment", reference, way];
        shop.settles(&payment("ann", "--keep"), 0, &["payment ann stays that of order 1: it is"]);
        let told = expect(&shop, &OTHER, 1, &["2 orders"]);
        assert!(!told.contains("ann"), "{told}");
        shop.run("SECKILL.DROP 8");
        shop.run("DEL seckill:payments:8");
        expect(&shop, &OTHER, 1, &[&line("ben")]);
        shop.settles(&payment("ben", "--refund"), 1, &["that of order 3: money counts once"]);
        shop.settles(&payment("ben", "--keep"), 0, &["payment ben stays that of order 3"]);
        shop.settles(&payment("cid", "--keep"), 0, &["payment cid stays that of order 5"]);
        expect(&shop, &CHECK, 0, &["PROVED: 3 units sold"]);
        expect(&shop, &OTHER, 3, &["UNPROVED: nothing differs"]);
        for (user, _, other) in orders {
            assert!(!shop.changes(other).contains(&format!("late {user}")), "{user}");
        }
    }
}

/// Two workers that read both orders at once, whatever level of isolation a shop has set.
fn two_workers_refund_once(kind: Kind) {
    let Some(database) = Database::open(kind) else { return };
    if kind == Kind::Postgres {
        let level = "ALTER DATABASE %I SET default_transaction_isolation = ''repeatable read''";
        database
            .rows(&format!("DO $$ BEGIN EXECUTE format('{level}', current_database()); END $$"));
    }
    let mut shop = Shop::saved(database, "HOLD 600000");
    let users: Vec<_> = (0..60).map(|number| format!("u{number}")).collect();
    for voucher in ["8", "9"] {
        shop.sell_managed(voucher, 60, "HOLD 600000");
    }
    for user in &users {
        for voucher in ["8", "9"] {
            shop.buy(voucher, user, &format!("{voucher}-{user}"));
            shop.pay(&format!("{voucher} {user} {voucher}-{user}"), user, 1);
        }
    }
    for user in &users {
        for voucher in ["8", "9"] {
            let cancel = format!("SECKILL.CANCEL {voucher} {user} {voucher}-{user}");
            assert_eq!(shop.run(&cancel), Value::Int(1), "{cancel}");
        }
    }
    let options = ["--batch", "7", "--claim-after", "1s", "--retry", "5ms"];
    let mut workers = [shop.worker(&options), shop.worker(&options)];
    for worker in &mut workers {
        shop.wait_until_drained(worker);
    }
    for mut worker in workers {
        assert!(worker.terminate().success(), "{}", worker.log());
    }
    for user in &users {
        // One may be written before the other is read.
        assert!(shop.refunds(user) < 2, "{user}");
    }
    expect(&shop, &OTHER, 1, &["60 orders"]);
}

on_databases! {
    two_workers_refund_once: sqlite Sqlite, postgres Postgres, mariadb MariaDb, mysql MySql
}

/// Neither a look for held orders that should be over, nor one for another order with a payment,
/// reads a table as a whole.
fn a_worker_reads_few_rows(kind: Kind) {
    // Reads are counted by the server, of all that it does.
    let Some(database) = Database::alone(kind) else { return };
    let shop = Shop::saved(database, "HOLD 600000");
    for user in ["ann", "ben", "held"] {
        shop.buy("7", user, user);
        shop.drain(&[]);
        if user != "held" {
            shop.pay(&format!("7 {user} {user}"), user, 1);
            shop.drain(&[]);
        }
    }
    // Twice as many at each turn.
    let all = "voucher_id, sale_id, order_id, user_id, units, state, deadline_ms, entry_id, \
               released_id, confirmed_id, ref, created_ms, updated_ms";
    let lines =
        "voucher_id, sale_id, order_id, entry, to_state, from_state, at_ms, units, ref, said";
    for turn in 0..13 {
        for (table, columns) in [("seckill_orders", all), ("seckill_order_changes", lines)] {
            let more = |column| format!("CONCAT({column}, '-{turn}')");
            let values = columns.replace("order_id", &more("order_id"));
            let values = values.replace(" ref", &format!(" {}", more("ref")));
            shop.database
                .rows(&format!("INSERT INTO {table} ({columns}) SELECT {values} FROM {table}"));
        }
    }
    let analyze = if kind == Kind::Postgres { "ANALYZE" } else { "ANALYZE TABLE" };
    for table in ["seckill_orders", "seckill_order_changes"] {
        shop.database.rows(&format!("{analyze} {table}"));
    }
    let read = || {
        let query = match kind {
            Kind::Postgres => "SELECT 'rows', SUM(seq_tup_read)::text FROM pg_stat_user_tables",
            _ => "SHOW GLOBAL STATUS LIKE 'Handler_read%next'",
        };
        let counts = shop.database.rows(query);
        counts.iter().map(|row| row.get::<String, _>(1).parse::<i64>().expect("a number")).sum()
    };
    let drain = || -> i64 {
        let before: i64 = read();
        shop.drain(&[]);
        read() - before
    };
    let idle = drain();
    assert!(idle < 2_000, "{idle} rows read by a worker with nothing to do");
    assert_eq!(shop.run("SECKILL.CANCEL 7 ann ann"), Value::Int(1));
    let rows = drain();
    assert!(rows < 8_000, "{rows} rows read, and {idle} by a worker with nothing to do");
    assert_eq!(shop.refunds("ann"), 1);
}

on_databases! {
    a_worker_reads_few_rows: postgres Postgres, mariadb MariaDb, mysql MySql
}

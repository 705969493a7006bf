//! Defaults that a shop's administrator has set for all, and that would change what the worker's
//! statements mean.

use crate::check::expect;
use crate::databases::{Database, Kind};
use crate::resolve::CHECK;
use crate::shop::Shop;
use crate::statements::documented;

const POSTGRES: [&str; 8] = [
    "default_transaction_isolation = 'serializable'",
    "standard_conforming_strings = off",
    "transform_null_equals = on",
    "array_nulls = off",
    "DateStyle = 'German, DMY'",
    "client_encoding = 'LATIN1'",
    "plan_cache_mode = 'force_generic_plan'",
    "idle_in_transaction_session_timeout = '500ms'",
];
const MYSQL: [&str; 7] = [
    "autocommit = 0", "sql_select_limit = 5", "max_join_size = 5", "sql_big_selects = 0",
    "sql_safe_updates = 1", "completion_type = 1", "innodb_lock_wait_timeout = 1",
];
const MODES: &str = "sql_mode = 'ORACLE,EMPTY_STRING_IS_NULL,SIMULTANEOUS_ASSIGNMENT'";

fn defaults_of_a_database_change_nothing(kind: Kind) {
    let Some(database) = Database::alone(kind) else { return };
    let mut shop = Shop::open(database);
    let file = shop.with_statements(&[(7, 100)], &documented(kind));
    let set = if kind == Kind::Postgres { "ALTER ROLE seckill SET" } else { "SET GLOBAL" };
    let settings = if kind == Kind::Postgres { &POSTGRES[..] } else { &MYSQL };
    let modes = Some(&MODES).filter(|_| kind == Kind::MariaDb);
    for setting in settings.iter().chain(modes) {
        shop.sql(&format!("{set} {setting}"));
    }
    shop.sell_managed("7", 100, "HOLD 600000");
    shop.buy_numbered("7", 0..60);
    for number in 0..40 {
        shop.pay(&format!("7 {} {}", 500 + number, 1000 + number), &format!("r{number}"), 1);
    }
    let options = ["--statements", &file, "--batch", "25", "--claim-after", "1s", "--retry", "5ms"];
    let mut workers = [shop.worker(&options), shop.worker(&options)];
    for worker in &mut workers {
        shop.wait_until_drained(worker);
    }
    for number in 30..50 {
        shop.run(&format!("SECKILL.CANCEL 7 {} {}", 500 + number, 1000 + number));
    }
    for worker in &mut workers {
        shop.wait_until_drained(worker);
    }
    for mut worker in workers {
        assert!(worker.terminate().success(), "{}", worker.log());
    }
    shop.read_again();
    shop.drain(&options[..4]);
    let check = [&CHECK[..], &["--statements", &file]].concat();
    expect(&shop, &check, 0, &["\nCONSISTENT: 40 orders with 40 units"]);
    if kind.is_mysql() {
        // The test reads many rows, too.
        for name in ["sql_select_limit", "sql_big_selects", "max_join_size", "autocommit"] {
            shop.sql(&format!("SET GLOBAL {name} = DEFAULT"));
        }
    }
    assert_eq!(shop.counted("seckill_migrations"), 1);
    for number in 0..50 {
        let refunds = i64::from((30..40).contains(&number));
        assert_eq!(shop.refunds(&format!("r{number}")), refunds, "r{number}");
    }
    assert_eq!(shop.shop_stock(7), 60);
    let orders = shop.shop_orders();
    let count = |status| orders.values().filter(|is| **is == status).count();
    assert_eq!([count(1), count(2), count(4)], [10, 30, 20]);
    if kind == Kind::Postgres {
        shop.sql("ALTER ROLE seckill SET search_path = 'nowhere'");
        shop.ends(&[], 1, "no schema has been selected to create in");
    }
    if kind == Kind::MariaDb {
        shop.sql("ALTER TABLE seckill_groups ENGINE = Aria");
        shop.ends(&[], 1, "ALTER TABLE seckill_groups ENGINE = InnoDB");
    }
}

/// A session of PostgreSQL that waits for a lock sees nothing of a worker that has given up, and
/// each try would leave one more. A limit that is set already stays.
#[test]
fn a_session_waits_for_a_lock_as_long_as_its_worker() {
    let Some(database) = Database::alone(Kind::Postgres) else { return };
    let shop = Shop::open(database).selling("phone 9");
    shop.sql("CREATE TABLE noted (id TEXT, waits TEXT)");
    let note = "INSERT INTO noted VALUES (:order_id, current_setting('lock_timeout'))";
    let file = shop.statements(&format!("on_sold = [\"{note}\"]"));
    for (id, set) in [("o1", "0"), ("o2", "5s")] {
        shop.sql(&format!("ALTER ROLE seckill SET lock_timeout = '{set}'"));
        shop.buy("phone", id, id);
        shop.drain(&["--statements", &file]);
    }
    let noted = shop.database.texts(["waits"], "FROM noted ORDER BY id");
    assert_eq!(noted, [["1min"], ["5s"]]);
}

on_databases! {
    defaults_of_a_database_change_nothing: postgres Postgres, mariadb MariaDb, mysql MySql
}

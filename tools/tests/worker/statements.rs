//! The shop's own statements: in the transaction of the row, once for each change of state.

use std::collections::{BTreeMap, BTreeSet};

use redis::Value;

use crate::databases::{Database, Kind};
use crate::harness::Port;
use crate::http::{http_get, metric};
use crate::shop::{Shop, databases};

pub const QUICK: [&str; 4] = ["--retry", "5ms", "--claim-after", "50ms"];

/// The tables of the usual shop. Status: 1 to be paid, 2 paid, 4 cancelled.
const TABLES: [&str; 2] = [
    "CREATE TABLE tb_voucher_order (id BIGINT PRIMARY KEY, user_id BIGINT NOT NULL, voucher_id \
     BIGINT NOT NULL, status INT NOT NULL)",
    "CREATE TABLE tb_seckill_voucher (voucher_id BIGINT PRIMARY KEY, stock INT NOT NULL)",
];

/// The file shown in docs/worker.md, changed for PostgreSQL as the page says.
pub fn documented(kind: Kind) -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/worker.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let file = page.split("```toml\n").nth(1).expect("a file").split("```").next();
    let mut file = file.expect("its end").to_owned();
    if kind == Kind::Postgres {
        for name in [":order_id", ":user_id", ":voucher_id"] {
            file = file.replace(name, &format!("CAST({name} AS BIGINT)"));
        }
    }
    file
}

impl Shop {
    /// Makes the shop's tables, and writes its file of statements; returns the file's name.
    pub fn with_statements(&self, stock: &[(u32, i64)], file: &str) -> String {
        TABLES.iter().for_each(|table| self.sql(table));
        for (voucher, units) in stock {
            self.sql(&format!("INSERT INTO tb_seckill_voucher VALUES ({voucher}, {units})"));
        }
        self.statements(file)
    }

    pub fn statements(&self, file: &str) -> String {
        let path = self.server.dir().join("statements.toml");
        std::fs::write(&path, file).expect("write the file");
        path.display().to_string()
    }

    /// The shop's own stock of a voucher.
    pub fn shop_stock(&self, voucher: u32) -> i64 {
        let of = format!("FROM tb_seckill_voucher WHERE voucher_id = {voucher}");
        self.database.numbers(["stock"], &of)[0][0]
    }

    /// The status of each order in the shop's own table.
    pub fn shop_orders(&self) -> BTreeMap<i64, i64> {
        let orders = self.database.numbers(["id", "status"], "FROM tb_voucher_order");
        orders.into_iter().map(|[id, status]| (id, status)).collect()
    }

    /// Checks that the shop's tables agree with the rows.
    pub fn check_shop(&self, stock: &[(u32, i64)]) {
        let rows = self.all_rows();
        let status = |state: &str| match state {
            "held" => 1,
            "sold" => 2,
            _ => 4,
        };
        let orders = ["voucher_id", "id", "user_id", "status"];
        let orders = self.database.numbers(orders, "FROM tb_voucher_order").into_iter();
        let told = orders.map(|[voucher, id, user, status]| ([voucher, id, user], status));
        let told: BTreeMap<_, _> = told.collect();
        // An order id may be used again in a later sale.
        let mut states: BTreeMap<_, BTreeSet<i64>> = BTreeMap::new();
        for ((voucher, id), row) in &rows {
            let names = [&voucher.replace('#', ""), id, &row.user];
            let names = names.map(|it| it.parse::<i64>().expect("a number"));
            states.entry(names).or_default().insert(status(&row.state));
        }
        for (names, states) in &states {
            // An order that was released before it was written has no row in the shop's table.
            let is_right = match told.get(names) {
                Some(told) => states.contains(told),
                None => states.iter().all(|it| *it == 4),
            };
            assert!(is_right, "{names:?} {states:?}: {:?}", told.get(names));
        }
        assert!(told.keys().all(|names| states.contains_key(names)));
        for (voucher, units) in stock {
            let live = rows.iter().filter(|((of, _), row)| {
                of.replace('#', "") == voucher.to_string() && row.is_live()
            });
            let sold: i64 = live.map(|(_, row)| row.units).sum();
            assert_eq!(self.shop_stock(*voucher), units - sold, "{voucher}");
        }
    }
}

#[test]
fn the_documented_statements_keep_the_usual_shops_tables() {
    for shop in Shop::on_each("1 100, 2 100 HOLD 600000 LIMIT 3") {
        let file = shop.with_statements(&[(1, 100), (2, 100)], &documented(shop.database.kind));
        shop.buy("1", "501", "1001");
        for order in ["2001", "2002", "2003"] {
            shop.buy("2", "501", order);
        }
        shop.run("SECKILL.CONFIRM 2 501 2001");
        shop.run("SECKILL.CONFIRM 2 501 2002");
        shop.drain(&["--statements", &file]);
        shop.run("SECKILL.CANCEL 2 501 2002");
        shop.drain(&["--statements", &file]);
        shop.check();
        let wanted = BTreeMap::from([(1001, 2), (2001, 2), (2002, 4), (2003, 1)]);
        assert_eq!(shop.shop_orders(), wanted);
        assert_eq!((shop.shop_stock(1), shop.shop_stock(2)), (99, 98));
        // Entries that are read again change nothing.
        shop.read_again();
        shop.drain(&["--statements", &file]);
        assert_eq!((shop.shop_stock(1), shop.shop_stock(2)), (99, 98));
        shop.check_shop(&[(1, 100), (2, 100)]);
    }
}

/// The shop's own stock is smaller than the stock on sale: its voucher's orders wait, others don't.
#[test]
fn a_statement_that_changes_no_row_parks_its_vouchers_orders_and_says_where() {
    for shop in Shop::on_each("1 100 HOLD 600000, 2 9") {
        let file = shop.with_statements(&[(1, 3), (2, 9)], &documented(shop.database.kind));
        // Held: such orders could be rejected.
        shop.buy_numbered("1", 0..5);
        let options = [&QUICK[..], &["--statements", &file]].concat();
        let mut worker = shop.worker(&options);
        worker.wait_for_word("--statements, on_held, statement 2, changed no row for order 100");
        shop.wait_for_pending(&worker, 2);
        shop.buy("1", "600", "2000");
        shop.buy("2", "600", "2001");
        shop.wait_for_pending(&worker, 3);
        assert_eq!((shop.row_count(), shop.shop_stock(1), shop.shop_stock(2)), (4, 0, 8));
        assert_eq!(worker.terminate().code(), Some(0), "{}", worker.log());
        let summary = shop.once(&["--statements", &file]).summary_with(3);
        assert_eq!(summary["rows_inserted"], 0, "{summary}");
        assert_eq!(shop.run("EXISTS stream.orders.dlq"), Value::Int(0));
        let mut worker = shop.worker(&options);
        worker.wait_for_word("changed no row");
        shop.sql("UPDATE tb_seckill_voucher SET stock = 3 WHERE voucher_id = 1");
        shop.wait_until_drained(&mut worker);
        shop.check();
        assert_eq!((shop.shop_orders().len(), shop.shop_stock(1)), (7, 0));
    }
}

#[test]
fn a_statement_that_changes_no_row_stops_all_orders_if_that_is_wanted() {
    let shop = Shop::of("1 100, 2 9");
    let file = shop.with_statements(&[(1, 0), (2, 9)], &documented(shop.database.kind));
    shop.buy("1", "501", "1001");
    let port = Port::free();
    let address = format!("127.0.0.1:{}", port.number);
    let options = ["--statements", &file, "--metrics", &address, "--on-zero-rows", "stop"];
    let mut worker = shop.worker(&[&QUICK[..], &options].concat());
    let stopped = |page: String| metric(&page, "intake_stopped") == Some(1.0);
    worker.wait("the metric", || http_get(port.number).is_some_and(stopped));
    shop.buy("2", "600", "2001");
    shop.let_pass(300);
    assert_eq!(shop.row_count(), 0, "{}", worker.log());
    assert_eq!(worker.terminate().code(), Some(3), "{}", worker.log());
}

#[test]
fn statements_are_looked_at_before_anything_is_read() {
    for database in databases() {
        let mut shop = Shop::open(database);
        shop.with_statements(&[], "");
        shop.sell("1", 100);
        shop.buy("1", "501", "1001");
        // 2: errors that can be found without the database.
        for (code, file, words) in [
            (1, "on_sold = [\"INSERT INTO nowhere VALUES (:order_id)\"]", "on_sold, statement 1: "),
            (1, "on_sold = [\"UPDATE\"]", "on_sold, statement 1: "),
            (1, "on_held = [\"UPDATE tb_seckill_voucher SET stok = 1\"]", "on_held, statement 1: "),
            (
                2,
                "on_sold = [\"DELETE FROM tb_voucher_order WHERE id = :orderid\"]",
                ":orderid is no",
            ),
            (2, "on_payed = [\"SELECT 1\"]", ": line 1: unknown field `on_payed`"),
            (2, "\n\non_sold = [\"SELECT 1]", ": line 3: "),
            (2, "", "it has no statement"),
            // What ends the transaction commits the rows without what follows.
            (
                2,
                "on_sold = [\"BEGIN\", \"INSERT INTO t VALUES (1)\", \"COMMIT\"]",
                "may end the row's transaction",
            ),
        ] {
            let file = shop.statements(file);
            shop.ends(&["--statements", &file], code, words);
        }
        shop.ends(&["--statements", "no-such-file"], 2, "no-such-file");
        assert_eq!(shop.run("XINFO GROUPS stream.orders"), Value::Array(vec![]));
    }
}

/// A value that a column refuses is the order's fault: other orders continue.
#[test]
fn an_order_that_the_shops_table_refuses_holds_no_other_up() {
    for shop in Shop::on_each("1 100") {
        let file = shop.with_statements(&[(1, 100)], &documented(shop.database.kind));
        shop.sql("CREATE UNIQUE INDEX one_each ON tb_voucher_order (user_id, voucher_id)");
        shop.sql("INSERT INTO tb_voucher_order VALUES (77, 501, 1, 2)");
        shop.buy_numbered("1", 0..5);
        let worker = shop.worker(&[&QUICK[..], &["--statements", &file]].concat());
        shop.wait_for_pending(&worker, 1);
        assert_eq!((shop.row_count(), shop.shop_stock(1)), (4, 96));
        assert_eq!(shop.run("EXISTS stream.orders.dlq"), Value::Int(0));
    }
}

const NOTES: &str = "CREATE TABLE notes (id VARCHAR(64), who VARCHAR(64), voucher VARCHAR(64), \
                     sale VARCHAR(64), units BIGINT, state VARCHAR(64), was VARCHAR(64), until_ms \
                     BIGINT)";

/// One statement for each change of state, with every value that exists.
fn noted() -> String {
    let note = "\"INSERT INTO notes VALUES (:order_id, :user_id, :voucher_id, :sale_id, :units, \
                :state, :old_state, :deadline_ms)\"";
    let changes = ["on_sold", "on_held", "on_confirmed", "on_released"];
    changes.map(|change| format!("{change} = [{note}]\n")).concat()
}

/// Any user name, alone in its batch or with others.
#[test]
fn every_value_reaches_a_statement_as_it_is() {
    let quotes = ["o'hara", "back\\slash\\'\"", "$seckill_worker$"];
    let users = [&quotes[..], &["\u{7528}\u{6237}", "$1", ":units", "a\nline"]].concat();
    let alone = [Kind::Sqlite, Kind::Postgres].into_iter().filter_map(Database::open);
    let alone = alone.map(|database| (database, "1"));
    for (database, batch) in databases().map(|database| (database, "256")).chain(alone) {
        let mut shop = Shop::open(database);
        let letters = if shop.database.kind.is_mysql() { "CHARACTER SET utf8mb4" } else { "" };
        shop.sql(&format!("{NOTES} {letters}"));
        let file = shop.statements(&noted());
        shop.sell("1", 100);
        shop.sell_managed("2", 100, "HOLD 600000 LIMIT 9");
        let mut wanted = Vec::new();
        let mut note = |of: [&str; 3], units: i64, state: &str, was: &str, is_held: bool| {
            let [id, user, voucher] = of.map(str::to_owned);
            let texts = [id, user, voucher, state.to_owned(), was.to_owned()];
            wanted.push((texts, units, is_held));
        };
        for (number, user) in users.iter().enumerate() {
            let [sold, held] = ["s", "h"].map(|kind| format!("{kind}{number}"));
            shop.server.call(&["SECKILL.TRY", "1", user, &sold]);
            shop.accept("1", user, &sold, 1);
            shop.server.call(&["SECKILL.TRY", "2", user, &held, "UNITS", "3"]);
            shop.accept("2", user, &held, 3);
            note([&sold, user, "1"], 1, "sold", "none", false);
            note([&held, user, "2"], 3, "held", "none", true);
        }
        shop.drain(&["--statements", &file, "--batch", batch]);
        for (number, user) in users.iter().enumerate() {
            let held = format!("h{number}");
            shop.server.call(&["SECKILL.CONFIRM", "2", user, &held]);
            note([&held, user, "2"], 3, "sold", "held", true);
        }
        shop.drain(&["--statements", &file, "--batch", batch]);
        for (number, user) in users.iter().enumerate() {
            let held = format!("h{number}");
            shop.server.call(&["SECKILL.CANCEL", "2", user, &held]);
            note([&held, user, "2"], 3, "cancelled", "sold", true);
        }
        shop.drain(&["--statements", &file, "--batch", batch]);
        shop.check();
        let query = "SELECT id, who, voucher, state, COALESCE(was, 'none'), units, \
                     COALESCE(until_ms, 0) FROM notes WHERE sale IS NOT NULL";
        let read = |row: &sqlx::any::AnyRow| {
            let texts = [0, 1, 2, 3, 4].map(|column| sqlx::Row::get::<String, _>(row, column));
            (texts, sqlx::Row::get::<i64, _>(row, 5), sqlx::Row::get::<i64, _>(row, 6) > 0)
        };
        let mut notes: Vec<_> = shop.database.rows(query).iter().map(read).collect();
        notes.sort();
        wanted.sort();
        assert_eq!(notes, wanted, "{:?}, batches of {batch}", shop.database.kind);
    }
}

/// A worker that has no statements, or lacks one that another worker runs, writes no order
/// without: it ends.
#[test]
fn a_worker_that_lacks_statements_of_another_ends() {
    for shop in Shop::on_each("7 9000") {
        let file = shop.with_statements(&[(7, 9000)], &documented(shop.database.kind));
        let buy_next = || {
            let next = u32::try_from(shop.accepted_count()).expect("few");
            shop.buy_numbered("7", next..next + 1);
        };
        let mut without = shop.worker(&QUICK);
        without.wait_for_word("consumer");
        let mut with = shop.worker(&[&QUICK[..], &["--statements", &file]].concat());
        with.wait("an order in the shop's tables", || {
            buy_next();
            !shop.shop_orders().is_empty()
        });
        without.wait("an order that it may not write", || {
            buy_next();
            without.log().contains("but rows were written with statements for on_sold")
        });
        assert_eq!(without.ended().code(), Some(1), "{}", without.log());
        // What it had read is taken over.
        shop.wait_until_drained(&mut with);
        assert!(with.terminate().success(), "{}", with.log());
    }
}

//! The shop's statements for many orders at once: PostgreSQL and SQLite get one request per batch,
//! and the result is that of one order after the other.

use crate::databases::{Database, Kind};
use crate::shop::Shop;
use crate::statements::{QUICK, documented};

/// Each command of a client has its own time stamp.
#[test]
fn postgres_is_asked_once_for_a_batch_and_one_by_one_where_it_must_be() {
    let Some(database) = Database::open(Kind::Postgres) else { return };
    let mut shop = Shop::open(database);
    let moment = "asked TIMESTAMPTZ DEFAULT statement_timestamp()";
    let file = shop.with_statements(&[(1, 100)], &documented(Kind::Postgres));
    shop.sql(&format!("ALTER TABLE tb_voucher_order ADD COLUMN {moment}"));
    shop.sell("1", 100);
    let mut buyers = 0;
    let mut batch = |statements: &str| {
        shop.buy_numbered("1", buyers..buyers + 5);
        let file = shop.statements(statements);
        assert_eq!(shop.drain(&["--statements", &file])["batches"], 1);
        let its = format!("FROM tb_voucher_order WHERE id >= {}", 1_000 + buyers);
        buyers += 5;
        shop.database.numbers(["COUNT(*)", "COUNT(DISTINCT asked)"], &its)[0]
    };
    let statements = std::fs::read_to_string(file).expect("the file");
    assert_eq!(batch(&statements), [5, 1]);
    // A statement that returns rows can't be in a block.
    let returning = statements.replacen("stock >= :units", "stock >= :units RETURNING stock", 1);
    assert_eq!(batch(&returning), [5, 5]);
    shop.sql("DROP EXTENSION plpgsql");
    assert_eq!(batch(&statements), [5, 5]);
    shop.check();
    shop.check_shop(&[(1, 100)]);
}

/// Executed one by one, they would take longer than the clock's millisecond.
const MANY: u32 = 200;

/// By SQLite's clock, everything within one statement has one time stamp.
#[test]
fn sqlite_is_asked_once_for_a_batch_and_one_by_one_where_it_must_be() {
    let shop = Shop::of("1 1000");
    shop.sql("CREATE TABLE told (id TEXT, asked REAL DEFAULT (julianday('now')))");
    let mut buyers = 0;
    let mut moments = |statement: &str, says_so: bool| {
        for number in buyers..buyers + MANY {
            shop.buy("1", &format!("user{number}"), &format!("{number}"));
        }
        buyers += MANY;
        let file = shop.statements(&format!("on_sold = [\"{statement}\"]"));
        let mut worker = shop.once(&["--statements", &file]);
        assert!(worker.ended().success(), "{}", worker.log());
        assert_eq!(worker.log().contains("run one by one"), says_so, "{}", worker.log());
        let [told, moments] =
            shop.database.numbers(["COUNT(*)", "COUNT(DISTINCT asked)"], "FROM told")[0];
        assert_eq!(told, i64::from(MANY), "{statement}");
        shop.sql("DELETE FROM told");
        moments
    };
    assert_eq!(moments("INSERT INTO told (id) VALUES (:order_id)", false), 1);
    assert_eq!(moments("REPLACE INTO told (id) VALUES (:order_id) -- each", false), 1);
    // A trigger can't contain these statements.
    assert!(moments("INSERT INTO told (id) VALUES (:order_id) RETURNING id", true) > 1);
    assert!(moments("INSERT INTO main.told (id) VALUES (:order_id)", true) > 1);
    // The changed rows of both statements count together.
    let two = "DELETE FROM told WHERE id = ''; INSERT INTO told (id) VALUES (:order_id)";
    assert!(moments(two, false) > 1);
    shop.check();
}

/// The column decides how a value is compared, alone and in a batch.
#[test]
fn sqlite_compares_values_in_a_batch_as_it_does_alone() {
    for batch in ["1", "256"] {
        let mut shop = Shop::open(Database::sqlite());
        shop.sql(
            "CREATE TABLE visits (name TEXT COLLATE NOCASE, units TEXT, voucher INTEGER, number \
             INTEGER DEFAULT 0)",
        );
        shop.sql("INSERT INTO visits VALUES ('ALICE', '1', 7, 0), ('bob', '1', 7, 0)");
        let file = shop.statements(
            "on_sold = [{ sql = \"UPDATE visits SET number = number + 1 WHERE :user_id = name AND \
             :units = units AND :voucher_id = voucher\", may_change_nothing = true }]",
        );
        shop.sell("7", 10);
        shop.buy("7", "alice", "1");
        shop.buy("7", "Bob", "2");
        shop.drain(&["--statements", &file, "--batch", batch]);
        let visits = shop.database.numbers(["SUM(number)", "COUNT(*)"], "FROM visits");
        assert_eq!(visits, [[2, 2]], "batches of {batch}");
    }
}

/// The shop's trigger rolls back the whole transaction, so there is no savepoint to return to.
#[test]
fn an_order_that_ends_the_transaction_on_sqlite_holds_no_other_up() {
    let mut shop = Shop::open(Database::sqlite());
    let file = shop.with_statements(&[(1, 100)], &documented(Kind::Sqlite));
    shop.sql(
        "CREATE TRIGGER no_third BEFORE INSERT ON tb_voucher_order WHEN NEW.id = 1003 BEGIN \
         SELECT RAISE(ROLLBACK, 'never the third'); END",
    );
    shop.sell("1", 100);
    shop.buy_numbered("1", 0..5);
    let worker = shop.worker(&[&QUICK[..], &["--statements", &file]].concat());
    shop.wait_for_pending(&worker, 1);
    worker.wait_for_word("on_sold, statement 1: never the third");
    assert!(!worker.log().contains("savepoint"), "{}", worker.log());
    assert_eq!((shop.row_count(), shop.shop_stock(1)), (4, 96));
}

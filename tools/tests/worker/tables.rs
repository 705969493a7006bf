//! Where the rows are: in the worker's own tables, next to those of an application.

use crate::databases::{Database, Kind};
use crate::shop::{Shop, databases};

impl Shop {
    pub fn sql(&self, statement: &str) {
        self.database.held(statement).end("SELECT 1");
    }

    pub fn counted(&self, table: &str) -> usize {
        self.database.rows(&format!("SELECT 1 FROM {table}")).len()
    }
}

/// The application has tables with these names.
#[test]
fn an_applications_own_tables_are_not_touched() {
    for shop in Shop::on_each("phone 10") {
        shop.sql("CREATE TABLE orders (number BIGINT, what VARCHAR(20))");
        shop.sql("CREATE TABLE voucher_sales (number BIGINT)");
        shop.sql("CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, name VARCHAR(20))");
        shop.sql("INSERT INTO orders VALUES (1, 'mine')");
        shop.sql("INSERT INTO _sqlx_migrations VALUES (7, 'mine')");
        shop.buy("phone", "ann", "o1");
        shop.drain(&[]);
        shop.check();
        assert_eq!((shop.row_count(), shop.counted("seckill_migrations")), (1, 1));
        let own = ["orders", "voucher_sales", "_sqlx_migrations"].map(|table| shop.counted(table));
        assert_eq!(own, [1, 0, 1]);
    }
}

#[test]
fn tables_that_are_others_end_the_worker_in_a_sentence() {
    for shop in Shop::on_each("phone 10") {
        shop.sql("CREATE TABLE seckill_orders (number BIGINT, what VARCHAR(20))");
        shop.buy("phone", "ann", "o1");
        let told = "the tables seckill_orders and seckill_voucher_sales are not those of this \
                    worker (another --table-prefix?)";
        shop.ends(&[], 1, told);
        // Nor are any left beside them.
        let all = match shop.database.kind {
            Kind::Sqlite => "SELECT 1 FROM sqlite_master WHERE name LIKE 'seckill_%'",
            Kind::Postgres => "SELECT 1 FROM pg_tables WHERE tablename LIKE 'seckill_%'",
            Kind::MariaDb | Kind::MySql => "SHOW TABLES LIKE 'seckill_%'",
        };
        assert_eq!(shop.database.rows(all).len(), 1);
        shop.drain(&["--table-prefix", "mine_"]);
        assert_eq!(shop.counted("mine_orders"), 1);
        assert_eq!(shop.counted("seckill_orders"), 0);
    }
}

/// The file is named, and no table is blamed for it.
#[test]
fn a_file_that_can_not_be_written_is_named() {
    let mut shop = Shop::of("phone 10");
    for path in ["nosuch/seckill.db", "."] {
        let path = shop.server.dir().join(path);
        shop.database.url = format!("sqlite:{}", path.display());
        let told = format!("--database: sqlite:{}: ", path.display());
        shop.ends(&[], 1, &told);
    }
}

#[test]
fn no_table_is_made_when_that_is_not_wanted() {
    let shop = Shop::of("phone 10");
    shop.buy("phone", "ann", "o1");
    shop.ends(&["--no-migrate"], 1, "seckill_orders");
    assert_eq!(shop.database.rows("SELECT 1 FROM sqlite_master").len(), 0);
    shop.ends(&["--once", "--table-prefix", "Robert'); DROP TABLE x; --"], 2, "--table-prefix");
    shop.drain(&[]);
    shop.buy("phone", "ben", "o2");
    shop.drain(&["--no-migrate"]);
    shop.check();
}

/// The rows have names, addresses and references: nobody else may read them.
#[test]
fn a_sqlite_file_is_its_owners() {
    use std::os::unix::fs::PermissionsExt;
    let shop = Shop::of("phone 10");
    shop.buy("phone", "ann", "o1");
    shop.ends(&["--once"], 0, "there is no such file, so a new one is made");
    let path = shop.database.url.trim_start_matches("sqlite:");
    let mode = std::fs::metadata(path).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// Two sales of one voucher, on servers whose entries name the sale.
#[test]
fn an_order_of_another_sale_overwrites_nothing() {
    for database in databases() {
        let shop = Shop::open(database);
        for sale in ["", " sale 1", " sale 2"] {
            shop.run(&format!(
                "XADD stream.orders * userId ann voucherId tea id o1 deadline 9{sale}"
            ));
        }
        shop.run("XADD stream.orders.confirmed * userId ann voucherId tea id o1 sale 2");
        let fields = "userId ann voucherId tea id o1 sale 1 reason expired was held";
        shop.run(&format!("XADD stream.orders.released * {fields}"));
        for _ in 0..2 {
            shop.drain(&[]);
            let states = shop.database.texts(["state"], "FROM seckill_orders ORDER BY sale_id");
            assert_eq!(states, [["sold"], ["expired"], ["sold"]]);
            shop.read_again();
        }
        let units = "SELECT 1 FROM seckill_voucher_sales WHERE units = 1";
        assert_eq!(shop.database.rows(units).len(), 2);
    }
}

/// PostgreSQL refuses from then on what was prepared before.
#[test]
fn a_column_is_changed_beside_a_worker() {
    let Some(database) = Database::open(Kind::Postgres) else { return };
    let shop = Shop::open(database).selling("phone 100");
    let mut worker = shop.worker(&[]);
    for number in 0..24 {
        // Each of its connections has prepared the same before.
        if number >= 12 {
            shop.sql(&format!("ALTER TABLE seckill_orders ALTER state TYPE VARCHAR({number})"));
        }
        shop.buy("phone", &format!("u{number}"), &format!("o{number}"));
        shop.wait_until_drained(&mut worker);
    }
    assert!(!worker.log().contains("can't be written"), "{}", worker.log());
    shop.check();
}

/// A trigger of the application leaves out rows of the worker's table, and tells nobody: the entry
/// is acknowledged only once its row is there.
#[test]
fn a_row_that_a_trigger_leaves_out_is_not_acknowledged() {
    for shop in Shop::on_each("phone 10 HOLD 600000") {
        let (left_out, ended) = match shop.database.kind {
            Kind::Sqlite => (
                "CREATE TRIGGER t BEFORE INSERT ON seckill_orders WHEN NEW.user_id = 'ben'
                 BEGIN SELECT RAISE(IGNORE); END",
                "DROP TRIGGER t",
            ),
            Kind::Postgres => (
                "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 IF NEW.user_id = 'ben' THEN RETURN NULL; END IF; RETURN NEW; END $$;
                 CREATE TRIGGER t BEFORE INSERT OR UPDATE ON seckill_orders
                 FOR EACH ROW EXECUTE FUNCTION f()",
                "DROP TRIGGER t ON seckill_orders",
            ),
            // Their triggers can only refuse.
            Kind::MariaDb | Kind::MySql => continue,
        };
        shop.drain(&[]);
        shop.sql(left_out);
        shop.buy("phone", "ann", "o1");
        shop.buy("phone", "ben", "o2");
        let worker = shop.once(&[]);
        assert_eq!(worker.summary_with(3)["parked"], 1);
        assert_eq!((shop.row_count(), shop.units_sold("phone")), (1, 1));
        shop.sql(ended);
        shop.drain(&[]);
        shop.check();
    }
}

//! Servers that lose what they had: rows are never made to say less than what a customer was told.

use std::collections::BTreeSet;

use redis::Value;

use crate::check::expect;
use crate::databases::{Database, Kind};
use crate::harness::{Server, in_time};
use crate::resolve::CHECK;
use crate::shop::{Shop, databases};
use crate::statements::documented;
use crate::worker::{Worker, until};

impl Shop {
    fn states(&self) -> BTreeSet<String> {
        self.rows().into_values().map(|row| row.state).collect()
    }

    /// What the changes table has become of an order, in order.
    pub fn changes(&self, order: &str) -> Vec<String> {
        let rest =
            format!("FROM seckill_order_changes WHERE order_id = '{order}' ORDER BY at_ms, entry");
        let lines = self.database.texts(["says", "COALESCE(ref, '-')"], &rest);
        lines.iter().map(|line| line.join(" ")).collect()
    }

    /// The entry that the row of a payment names.
    fn confirmed(&self, reference: &str) -> String {
        let rest = format!("FROM seckill_payments WHERE ref = '{reference}'");
        let [[entry]] = &self.database.texts(["confirmed"], &rest)[..] else { panic!("{rest}") };
        entry.clone()
    }
}

/// The tables of the worker.
const TABLES: [&str; 9] = [
    "seckill_orders", "seckill_payments", "seckill_payment_refs", "seckill_refunds",
    "seckill_order_changes", "seckill_rulings", "seckill_voucher_sales", "seckill_groups",
    "seckill_settings",
];

impl Shop {
    /// Copies the tables, these and the worker's.
    pub fn backs_up(&self, tables: &[&str]) {
        for table in TABLES.iter().chain(tables) {
            self.sql(&format!("CREATE TABLE backup_{table} AS SELECT * FROM {table}"));
        }
    }

    /// They are as they were.
    pub fn restores(&self, tables: &[&str]) {
        for table in TABLES.iter().chain(tables) {
            self.sql(&format!("DELETE FROM {table}"));
            self.sql(&format!("INSERT INTO {table} SELECT * FROM backup_{table}"));
        }
    }
}

/// The database returns to a backup, and the sale is dropped: of its payments the server's records
/// are left.
#[test]
fn payments_of_a_sale_that_is_over_are_written_from_their_records() {
    for database in databases() {
        let shop = Shop::saved(database, "HOLD 600000");
        for (user, order) in [("ann", "1"), ("ben", "2"), ("cid", "3")] {
            shop.buy("7", user, order);
        }
        shop.pay("7 ann 1", "A", 1);
        shop.run("SECKILL.CANCEL 7 ben 2");
        shop.drain(&[]);
        shop.backs_up(&[]);
        shop.run("SECKILL.CANCEL 7 ann 1");
        shop.pay("7 ben 2", "B UNITS 1", 3);
        shop.pay("7 cid 3", "C UNITS 1", 1);
        shop.run("SECKILL.DROP 7");
        shop.pay("7 dan 4", "D UNITS 1", 0);
        shop.drain(&[]);
        shop.restores(&[]);
        let told = expect(&shop, &CHECK, 1, &["order 2 of ben", "check --voucher=7 --repair"]);
        assert_eq!(told.matches("check --voucher=7 --repair ").count(), 3, "{told}");
        expect(&shop, &["--voucher", "7", "--repair"], 1, &["wrote 3 orders"]);
        // What became of its units since is not on record.
        shop.answers(&[], "order 1 of ann for voucher 7: sold, 1 units");
        shop.answers(&[], "order 3 of cid for voucher 7: held, 1 units");
        shop.answers(&[], "payment D of order 4 of dan for voucher 7: it waits for its order");
        expect(&shop, &CHECK, 3, &["is not on the server, and no check has found it consistent"]);
        assert_eq!(["A", "B", "C", "D"].map(|it| shop.refunds(it)), [0, 1, 0, 1]);
        assert_eq!(
            shop.states(),
            BTreeSet::from(["cancelled", "sold", "unknown"].map(str::to_owned))
        );
        // No row knows the sale.
        TABLES[..7].iter().for_each(|table| shop.sql(&format!("DELETE FROM {table}")));
        expect(&shop, &CHECK, 3, &["is not on the server, and no check has found it consistent"]);
    }
}

/// A confirmation is lost with the server, and sent again: two entries, and a line of both, since
/// the row names none any more.
#[test]
fn an_entry_that_a_row_names_no_more_is_a_line() {
    for database in databases() {
        for (reference, line) in [("", "confirmed -"), (" REF A UNITS 1", "confirmed A")] {
            let database = Database::open(database.kind).expect("it was there");
            let mut shop = Shop::saved(database, "HOLD 600000");
            shop.buy("7", "ann", "1");
            let confirm = format!("SECKILL.CONFIRM 7 ann 1{reference}");
            shop.loses(&[], |shop| assert_eq!(shop.run(&confirm), Value::Int(1)));
            assert!(shop.changes("1").is_empty(), "the row names its entry");
            assert_eq!(shop.run(&confirm), Value::Int(1));
            shop.drain(&[]);
            assert_eq!(shop.changes("1"), [line, line]);
            shop.read_again();
            shop.drain(&[]);
            assert_eq!(shop.changes("1"), [line, line]);
            expect(&shop, &["--voucher", "7"], 0, &["\nCONSISTENT: 1 orders with 1 units"]);
        }
    }
}

/// Confirmations are lost, the holds expire: twenty paid orders, which the server releases.
#[test]
fn paid_orders_that_the_server_has_forgotten_stay_paid() {
    for kind in databases().map(|database| database.kind) {
        let (mut shop, file) = in_time(2_000, |ms| {
            let database = Database::open(kind).expect("it was there");
            let shop = Shop::open(database).selling(&format!("2 100 HOLD {ms}"));
            let file = shop.with_statements(&[(2, 100)], &documented(kind));
            shop.buy_numbered("2", 0..20);
            shop.drain(&["--statements", &file]);
            shop.run("SAVE");
            let is_paid = (0..20).all(|number| {
                let (user, id) = (500 + number, 1_000 + number);
                let confirm = format!("SECKILL.CONFIRM 2 {user} {id} REF pay{number}");
                shop.run(&confirm) == Value::Int(1)
            });
            is_paid.then_some((shop, file))
        });
        let statements = ["--statements", &*file];
        shop.drain(&statements);
        assert_eq!(shop.states(), BTreeSet::from(["sold".to_owned()]));
        shop.returns_to_the_save();
        until("the holds to expire", || shop.count("XLEN stream.orders.released") == 20);
        let summary = shop.once(&statements).summary_with(4);
        assert_eq!((&summary["conflicts"], &summary["released"]), (&20.into(), &20.into()));
        assert_eq!(shop.states(), BTreeSet::from(["sold".to_owned()]));
        assert!(shop.shop_orders().values().all(|status| *status == 2));
        assert_eq!(shop.shop_stock(2), 80);
        let told = expect(&shop, &["--voucher", "2"], 1, &["DIFFERENT: 20 questions"]);
        assert!(told.contains("order 1000 of 500 for voucher 2: sold, 1 units, payment pay0"));
        // The payment's row names its entry.
        assert_eq!(shop.changes("1000"), ["expired -"]);
        assert!(shop.confirmed("pay0").contains('-'), "{}", shop.confirmed("pay0"));
        shop.check_conflicts();
    }
}

/// The server forgets an order, its buyer asks again, and cancels: two entries, one release.
#[test]
fn an_order_that_was_lost_repeated_and_cancelled_is_cancelled() {
    for mut shop in Shop::on_each("2 100 LIMIT 1") {
        let file = shop.with_statements(&[(2, 100)], &documented(shop.database.kind));
        let statements = ["--statements", &*file];
        shop.drain(&statements);
        shop.loses(&statements, |shop| shop.buy("2", "501", "1001"));
        assert!(shop.changes("1001").is_empty(), "the row names its entry");
        assert_eq!(shop.run("SECKILL.TRY 2 501 1001"), Value::Int(0));
        assert_eq!(shop.run("SECKILL.CANCEL 2 501 1001"), Value::Int(1));
        // Entries that nobody has read are read first.
        expect(&shop, &["--voucher", "2"], 3, &["2 entries of voucher 2 are not read"]);
        // The shop's tables would lack what is written without their statements.
        shop.ends(&["--once"], 1, "rows were written with statements");
        shop.drain(&statements);
        expect(&shop, &["--voucher", "2"], 0, &["\nCONSISTENT: 0 orders with 0 units"]);
        assert_eq!((shop.shop_orders()[&1001], shop.shop_stock(2)), (4, 100));
        assert_eq!(shop.states(), BTreeSet::from(["cancelled".to_owned()]));
        assert_eq!(shop.changes("1001"), ["accepted -", "accepted -", "cancelled -"]);
        shop.check();
    }
}

/// Payments that come too late, twice, or for nothing: kept, and nothing is sold for them.
#[test]
fn payments_to_refund_are_kept() {
    for shop in Shop::on_each("tea 9 HOLD 600000 LIMIT 5, cup 9 LIMIT 5") {
        for (voucher, id) in [("tea", "o1"), ("tea", "o2"), ("cup", "o3")] {
            shop.buy(voucher, "ann", id);
        }
        shop.run("SECKILL.CANCEL tea ann o1");
        for (payment, answer) in [
            ("tea ann o1 REF late UNITS 1", 3),
            ("tea ann o2 REF first", 1),
            ("tea ann o2 REF second UNITS 1", 5),
            ("tea ann o9 REF none", 0),
            // Sold at once: it takes its first reference.
            ("cup ann o3 REF at-once", 2),
        ] {
            let answered = shop.run(&format!("SECKILL.CONFIRM {payment}"));
            assert_eq!(answered, Value::Int(answer), "{payment}");
        }
        for _ in 0..2 {
            shop.drain(&[]);
            let states =
                shop.rows().into_iter().map(|((_, id), row)| format!("{id} {}", row.state));
            let states: Vec<_> = states.collect();
            assert_eq!(states, ["o3 sold", "o1 cancelled", "o2 sold", "o9 unknown"]);
            for (id, wanted) in
                [("o1", "late late"), ("o1", "cancelled -"), ("o2", "duplicate second")]
            {
                let changes = shop.changes(id);
                let found = changes.iter().filter(|other| *other == wanted).count();
                assert_eq!(found, 1, "{id} {changes:?}");
            }
            assert!(shop.changes("o3").is_empty() && shop.confirmed("at-once").contains('-'));
            assert_eq!(["late", "second", "first"].map(|it| shop.refunds(it)), [1, 1, 0]);
            expect(&shop, &["--voucher", "cup"], 0, &["CONSISTENT: 1 orders"]);
            let unknown = ["payment none of order o9 of ann", "resolve --payment=none --refund"];
            expect(&shop, &["--voucher", "tea"], 1, &unknown);
            shop.read_again();
        }
    }
}

/// Nothing is written that a failover could take back.
#[test]
fn an_order_waits_for_its_replicas() {
    let server = Server::with().port().start();
    let shop = Shop::on(server, Database::sqlite(), &[""]).selling("phone 9");
    shop.buy("phone", "ann", "o1");
    let mut worker: Worker = shop.worker(&["--replicas", "1"]);
    worker.wait_for_word("0 replicas have the orders, and 1 must");
    assert!(worker.log().contains("is not ready"), "{}", worker.log());
    assert!(!worker.log().contains("be reached"), "the server is there: {}", worker.log());
    assert_eq!(shop.row_count(), 0);
    let _replica = Server::with().replica_of(&shop.server).start();
    shop.wait_until_drained(&mut worker);
    assert_eq!(shop.row_count(), 1);
    assert!(worker.terminate().success(), "{}", worker.log());
}

/// A shop's `NOW()` is in the zone of its database.
#[test]
fn the_time_zone_is_the_databases() {
    for kind in [Kind::Postgres, Kind::MariaDb] {
        let Some(database) = Database::alone(kind) else { continue };
        let mut shop = Shop::open(database);
        let (set, now) = match kind {
            Kind::Postgres => ("ALTER ROLE seckill SET timezone = 'Asia/Shanghai'", {
                "current_setting('timezone')"
            }),
            _ => ("SET GLOBAL time_zone = '+08:00'", "@@session.time_zone"),
        };
        shop.sql(set);
        shop.sql("CREATE TABLE zones (zone VARCHAR(64), modes VARCHAR(999))");
        let modes = if kind == Kind::Postgres { "''" } else { "@@session.sql_mode" };
        let insert = format!("INSERT INTO zones VALUES ({now}, {modes})");
        let file = shop.statements(&format!("on_sold = [\"{insert}\"]"));
        shop.sell("1", 9);
        shop.buy("1", "501", "1001");
        shop.drain(&["--statements", &file]);
        let [zone, modes] = shop.database.texts(["zone", "modes"], "FROM zones").remove(0);
        let wanted = if kind == Kind::Postgres { "Asia/Shanghai" } else { "+08:00" };
        assert_eq!(zone, wanted);
        assert!(!modes.contains("PIPES_AS_CONCAT"), "{modes}");
    }
}

/// A text for a number is refused, also where the database would store 0; and a table that can't be
/// rolled back is named.
#[test]
fn mysql_does_not_store_another_value_unnoticed() {
    for kind in [Kind::MariaDb, Kind::MySql] {
        let Some(database) = Database::alone(kind) else { continue };
        let mut shop = Shop::open(database);
        shop.sql("SET GLOBAL sql_mode = ''");
        shop.sql("CREATE TABLE numbers (id BIGINT) ENGINE = MyISAM");
        let file = shop.statements("on_sold = [\"INSERT INTO numbers VALUES (:order_id)\"]");
        shop.sell("1", 9);
        shop.buy("1", "ann", "1001");
        shop.buy("1", "ben", "b-1002");
        let mut worker = shop.once(&["--statements", &file, "--batch", "1"]);
        worker.ended();
        let log = worker.log();
        assert!(log.contains("statement 1, stores another value: "), "{log}");
        assert!(log.contains("table numbers has no transactions (MyISAM)"), "{log}");
        assert_eq!(worker.summary_with(3)["rows_inserted"], 1, "{log}");
        assert_eq!(shop.row_count(), 1);
    }
}

/// Nothing is read from another server until an operator says so.
#[test]
fn another_server_is_paired_by_an_operator() {
    for database in databases() {
        let mut shop = Shop::saved(database, "LIMIT 5");
        shop.buy("7", "ann", "1");
        shop.drain(&[]);
        shop.server = Server::start();
        shop.sell_managed("7", 5, "LIMIT 5");
        shop.run("SECKILL.TRY 7 ben 2");
        let told = "is not paired with the tables";
        shop.ends(&["--once"], 1, told);
        assert_eq!(shop.row_count(), 1);
        expect(&shop, &CHECK, 3, &[told]);
        shop.resolves(&["1", "--release"], 1, &[told]);
        shop.resolves(&["--re-pair"], 0, &["paired: start the worker"]);
        shop.once(&[]).ended();
        assert_eq!(shop.row_count(), 2);
        // The sale of the other server is over, and nobody had checked it.
        expect(&shop, &CHECK, 3, &["is not on the server, and no check has found it consistent"]);
    }
}

/// A command that names no database takes no entry of a group that has one.
#[test]
fn once_without_a_database_takes_no_orders_of_another() {
    let shop = Shop::of("phone 9");
    shop.buy("phone", "ann", "o1");
    shop.drain(&[]);
    shop.buy("phone", "ben", "o2");
    let redis = shop.worker_args()[1].clone();
    let dir = shop.server.dir();
    for _ in 0..2 {
        let args = ["--redis", &redis, "--once"].map(str::to_owned);
        let (code, said) = crate::worker::asked(args.into_iter(), dir, "");
        let words = "group seckill-worker has read stream.orders into another database";
        assert!(code == Some(1) && said.contains(words), "{said}");
    }
    shop.drain(&[]);
    assert_eq!(shop.row_count(), 2);
}

/// Held orders that the server lost expire once nobody can pay them any more.
#[test]
fn a_lost_hold_expires_after_its_deadline() {
    let mut shop = Shop::saved(Database::sqlite(), "HOLD 1500 LIMIT 5");
    shop.loses(&[], |shop| shop.buy("7", "ann", "1"));
    shop.run("SECKILL.TRY 7 ben 2");
    shop.let_pass(1_600);
    shop.once(&[]).ended();
    expect(&shop, &CHECK, 0, &["\nCONSISTENT: "]);
    let states = shop.rows().into_values().map(|row| row.state);
    assert_eq!(states.collect::<Vec<_>>(), ["expired", "expired"]);
}

/// After a loss an order id is given again, to another user: each has an order, and the units off
/// the sale are those of the one that the server lacks.
#[test]
fn two_users_of_one_order_id_keep_their_orders() {
    for database in databases() {
        let mut shop = Shop::saved(database, "HOLD 600000");
        shop.loses(&[], |shop| {
            shop.buy("7", "al", "100");
            shop.pay("7 al 100", "A", 1);
        });
        shop.buy("7", "bo", "100");
        shop.pay("7 bo 100", "B", 1);
        shop.once(&[]).ended();
        expect(&shop, &CHECK, 1, &["order 100 of al for voucher 7: sold, 1 units"]);
        let al = ["100", "--user", "al"];
        for _ in 0..2 {
            for whose in [al, ["100", "--user", "bo"]] {
                let kept = ["order 100 is kept with 1 units"];
                shop.resolves(&[&whose[..], &["--keep"]].concat(), 0, &kept);
                let units = (shop.info("7", "left"), shop.info("7", "total"));
                assert_eq!(units, ("3".into(), "4".into()));
            }
        }
        expect(&shop, &CHECK, 0, &["\nCONSISTENT: "]);
        shop.resolves(&["100", "--user", "bo", "--release"], 0, &["refund 1 units of payment B"]);
        assert_eq!((shop.info("7", "left"), shop.info("7", "total")), ("4".into(), "4".into()));
        shop.once(&[]).ended();
        shop.resolves(&[&al[..], &["--release"]].concat(), 0, &["refund 1 units of payment A"]);
        assert_eq!((shop.info("7", "left"), shop.info("7", "total")), ("5".into(), "5".into()));
        expect(&shop, &CHECK, 0, &["\nCONSISTENT: "]);
    }
}

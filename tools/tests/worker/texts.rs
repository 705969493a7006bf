//! The shop's statements on MySQL and MariaDB: many orders in one text, with the result of one
//! order after the other, and with values that stay data.

use crate::databases::{Database, Kind};
use crate::shop::{Shop, random};
use crate::statements::documented;

const KINDS: [Kind; 2] = [Kind::MariaDb, Kind::MySql];

fn databases() -> impl Iterator<Item = Database> {
    KINDS.into_iter().filter_map(Database::open)
}

impl Shop {
    /// Ten orders, of which some are confirmed and one is cancelled, in one batch.
    fn buy_ten(&self, first: u32) {
        for number in first..first + 10 {
            self.buy("1", &format!("{}", 500 + number), &format!("{}", 1_000 + number));
            if number % 3 == 0 {
                self.run(&format!("SECKILL.CONFIRM 1 {} {}", 500 + number, 1_000 + number));
            }
        }
    }
}

/// Alone and in a text, merged and not: the same rows, stock and changes.
#[test]
fn orders_of_a_batch_are_written_together_unless_a_trigger_would_see_it() {
    for database in databases() {
        let shop = Shop::open(database).selling("1 100 HOLD 600000");
        let file = shop.with_statements(&[(1, 100)], &documented(shop.database.kind));
        shop.sql("ALTER TABLE tb_voucher_order ADD COLUMN asked DATETIME(6) DEFAULT NOW(6)");
        let moments = |shop: &Shop, first: u32| {
            let its = format!("FROM tb_voucher_order WHERE id >= {}", 1_000 + first);
            shop.database.numbers(["COUNT(*)", "COUNT(DISTINCT asked)"], &its)[0]
        };
        shop.buy_ten(0);
        assert_eq!(shop.drain(&["--statements", &file])["batches"], 1);
        assert_eq!(moments(&shop, 0), [10, 1], "one INSERT");
        // A trigger sees the stock before each order: as many as were taken by then.
        shop.sql("CREATE TABLE seen (stock BIGINT)");
        shop.sql(
            "CREATE TRIGGER see AFTER INSERT ON tb_voucher_order FOR EACH ROW INSERT INTO seen \
             SELECT stock FROM tb_seckill_voucher WHERE voucher_id = NEW.voucher_id",
        );
        shop.buy_ten(10);
        assert_eq!(shop.drain(&["--statements", &file])["batches"], 1);
        let [told, moments] = moments(&shop, 10);
        assert!(told == 10 && moments > 1, "one order after the other: {moments}");
        let seen = shop.database.numbers(["COUNT(DISTINCT stock)", "MAX(stock)"], "FROM seen");
        assert_eq!(seen, [[10, 90]]);
        shop.run("SECKILL.CANCEL 1 503 1003");
        shop.drain(&["--statements", &file]);
        shop.check();
        shop.check_shop(&[(1, 100)]);
    }
}

/// A statement that may be about any table, or about other orders, keeps its place.
#[test]
fn statements_that_see_other_orders_run_in_order() {
    for database in databases() {
        let mut shop = Shop::open(database);
        let file = "on_sold = [
            \"INSERT INTO tb_voucher_order (id, user_id, voucher_id, status) \
              VALUES (:order_id, :user_id, :voucher_id, 0)\",
            \"UPDATE tb_voucher_order SET status = status + 1 WHERE voucher_id = :voucher_id\"]";
        let file = shop.with_statements(&[(1, 100)], file);
        shop.sell("1", 100);
        shop.buy_numbered("1", 0..5);
        shop.drain(&["--statements", &file]);
        let orders: Vec<_> = shop.shop_orders().into_iter().collect();
        assert_eq!(orders, [(1000, 5), (1001, 4), (1002, 3), (1003, 2), (1004, 1)]);
    }
}

/// What a text is in one batch, a number may be in the next.
#[test]
fn a_text_stays_a_text_in_the_place_of_a_number() {
    for database in databases() {
        let mut shop = Shop::open(database);
        let columns = "order_id VARBINARY(255), user_id VARBINARY(255), voucher_id VARBINARY(255)";
        shop.sql(&format!("CREATE TABLE told ({columns}, units BIGINT)"));
        let file = "on_sold = [\"INSERT INTO told (order_id, user_id, voucher_id, units) \
                    VALUES (:order_id, :user_id, :voucher_id, :units)\"]";
        let file = shop.with_statements(&[], file);
        let words = ["007", "abc", "-0"];
        words.iter().for_each(|voucher| shop.sell(voucher, 100));
        let (mut wanted, mut worker) = (Vec::new(), shop.worker(&["--statements", &file]));
        for number in 0..30 {
            // Of a different number of texts in turn, on each of two connections.
            let order = format!("{}{number}", ["007", "abc", "-0", "1e", ""][number % 5]);
            let user = if number % 4 < 2 { order.clone() } else { format!("0{number}") };
            let voucher = words[number / 4 % 3];
            shop.buy(voucher, &user, &order);
            wanted.push([order, user, voucher.to_owned()]);
            shop.wait_until_drained(&mut worker);
        }
        let mut told = shop.database.texts(["order_id", "user_id", "voucher_id"], "FROM told");
        told.sort();
        wanted.sort();
        assert_eq!(told, wanted);
        words.iter().for_each(|voucher| {
            let sold = wanted.iter().filter(|order| order[2] == *voucher).count();
            assert_eq!(shop.units_sold(voucher), sold as i64, "{voucher}");
        });
    }
}

/// Statements that a text may run once for many orders, ones that keep their place among those of
/// their table, and ones that keep it among all.
const ANY: [&str; 14] = [
    "INSERT INTO a (id, n) VALUES (:order_id, 0)",
    "INSERT INTO b VALUES (:order_id, -3)",
    "INSERT INTO b (n, id) VALUES (:units, :order_id)",
    "UPDATE s SET stock = stock - :units WHERE id = :voucher_id AND stock >= :units",
    "UPDATE s SET stock = stock + :units WHERE id = :voucher_id",
    "UPDATE a SET n = 2 WHERE id = :order_id",
    "UPDATE a SET n = 5, m = :kept WHERE id = :order_id",
    "UPDATE b SET n = 4 WHERE id = :order_id",
    "UPDATE a SET n = 7 WHERE n = 0",
    "UPDATE b SET n = (n * 3 + 1) % 1009",
    "UPDATE a SET m = m + 1 WHERE n = 2",
    "DELETE FROM b WHERE id = :order_id",
    "UPDATE s SET stock = stock + (SELECT COUNT(*) FROM a)",
    "INSERT INTO b SELECT :order_id, COUNT(*) FROM b",
];

/// SQLite runs the statements in order: what is written together leaves the same in every table.
#[test]
fn any_statements_leave_what_they_leave_one_after_the_other() {
    let mut random = random();
    for database in databases() {
        let mut shops = [Database::sqlite(), database].map(Shop::open);
        for shop in &mut shops {
            shop.sql("CREATE TABLE a (id BIGINT PRIMARY KEY, n BIGINT, m BIGINT DEFAULT 0)");
            shop.sql("CREATE TABLE b (id BIGINT, n BIGINT)");
            shop.sql("CREATE TABLE s (id BIGINT PRIMARY KEY, stock BIGINT)");
        }
        for voucher in 1..=20 {
            let mut file = String::new();
            for change in ["on_held", "on_sold", "on_confirmed", "on_reduced", "on_released"] {
                let one = |random: &mut fastrand::Rng| {
                    let sql = ANY[random.usize(0..ANY.len())];
                    format!("{{ sql = \"{sql}\", may_change_nothing = true }}")
                };
                let all: Vec<_> = (0..random.usize(0..4)).map(|_| one(&mut random)).collect();
                file += &format!("{change} = [{}]\n", all.join(", "));
            }
            // A row of this table has one order: only a new one inserts.
            let (before, after) = file.split_at(file.find("on_confirmed").expect("it is there"));
            file = before.to_owned() + &after.replace(ANY[0], ANY[5]);
            for change in ["on_held", "on_sold"] {
                let line = format!("{change} = [");
                let [start, rest] = file.split_once(&line).map(<[_; 2]>::from).expect("a line");
                let (own, rest) = rest.split_once('\n').expect("its end");
                let own = own.replace(ANY[0], ANY[8]);
                let row = format!("{{ sql = \"{}\" }}, ", ANY[0]);
                file = format!("{start}{line}{row}{own}\n{rest}");
            }
            // Each order is tried once, before anything else is done with it.
            let mut steps: Vec<(u32, u8)> = Vec::new();
            for _ in 0..40 {
                let order = random.u32(0..12);
                let is_new = steps.iter().all(|(known, _)| *known != order);
                steps.push((order, if is_new { 0 } else { random.u8(1..4) }));
            }
            for shop in &mut shops {
                shop.sql(&format!("INSERT INTO s VALUES ({voucher}, 100)"));
                shop.sell_managed(&voucher.to_string(), 100, "HOLD 600000 LIMIT 3");
                for (order, what) in &steps {
                    let id = format!("{voucher} {} {}", 500 + order, voucher * 1000 + order);
                    shop.run(&match what {
                        0 => format!("SECKILL.TRY {id} UNITS 3"),
                        1 => format!("SECKILL.CONFIRM {id}"),
                        2 => format!("SECKILL.CANCEL {id} UNITS 1"),
                        _ => format!("SECKILL.CANCEL {id}"),
                    });
                }
                let path = shop.statements(&file);
                // Each file is another shop's, with other events.
                let _ = shop.database.try_rows("DELETE FROM seckill_settings");
                shop.drain(&["--statements", &path]);
            }
            for (table, column) in [("a", "n"), ("a", "m"), ("b", "n"), ("s", "stock")] {
                let [wanted, told] = [&shops[0], &shops[1]].map(|shop| {
                    let mut rows = shop.database.numbers(["id", column], &format!("FROM {table}"));
                    rows.sort();
                    rows
                });
                assert_eq!(told, wanted, "{table} {column}\n{file}\n{steps:?}");
            }
        }
    }
}

/// Text of letters that end a text, in some mode or character set, or that are part of one.
fn letters(random: &mut fastrand::Rng, number: usize, set: &str) -> String {
    const ODD: [char; 18] = [
        '\'', '"', '\\', '`', ';', '-', '#', '%', '?', ':', '@', '\u{1a}', '\n', '\u{7e17}',
        '\u{5c0f}', ' ', '\u{bf}', '\u{1f600}',
    ];
    let letter = |random: &mut fastrand::Rng| match random.u8(0..4) {
        0 if set == "utf8mb4" => random.char('\u{80}'..'\u{ffff}'),
        1 => random.alphanumeric(),
        // The last ones are not in GBK, where half of another is a backslash.
        _ if set == "gbk" => ODD[random.usize(0..ODD.len() - 2)],
        _ => ODD[random.usize(0..ODD.len())],
    };
    // The ends are letters, since a server may cut spaces at the end of a text.
    let text: String = (0..random.usize(0..40)).map(|_| letter(random)).collect();
    format!("{number}a{text}z")
}

/// What is written is read again, letter by letter, whatever modes the server has.
#[test]
fn a_value_is_data_in_every_mode() {
    let mut random = random();
    for database in KINDS.into_iter().filter_map(Database::alone) {
        let mut shop = Shop::open(database);
        for set in ["utf8mb4", "gbk"] {
            shop.sql(&format!(
                "CREATE TABLE told_{set} (id VARBINARY(600), who VARCHAR(200) CHARACTER SET {set}, \
                 n INT AUTO_INCREMENT PRIMARY KEY)"
            ));
        }
        shop.sell("1", 100_000);
        let mut wanted = Vec::new();
        for modes in
            ["", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES,STRICT_ALL_TABLES", "PIPES_AS_CONCAT"]
        {
            shop.sql(&format!("SET GLOBAL sql_mode = '{modes}'"));
            // Both forms: rows of one INSERT, and one order after the other.
            for (set, more) in
                [("utf8mb4", ""), ("utf8mb4", " -- alone"), ("gbk", ""), ("gbk", " -- alone")]
            {
                let file = shop.statements(&format!(
                    "on_sold = [\"INSERT INTO told_{set} (id, who) \
                     VALUES (:order_id, :user_id){more}\"]"
                ));
                for _ in 0..40 {
                    let [user, order] = [(); 2].map(|()| letters(&mut random, wanted.len(), set));
                    shop.server.call(&["SECKILL.TRY", "1", &user, &order]);
                    shop.accept("1", &user, &order, 1);
                    wanted.push([order, user]);
                }
                shop.drain(&["--statements", &file]);
            }
        }
        let columns = ["id", "CONVERT(who USING utf8mb4)"];
        let of = |set| shop.database.texts(columns, &format!("FROM told_{set}"));
        let mut told: Vec<_> = ["utf8mb4", "gbk"].into_iter().flat_map(of).collect();
        told.sort();
        wanted.sort();
        assert_eq!(told, wanted);
        shop.check();
    }
}

/// Each order of a batch, whatever the modes, and numbers that are other texts.
#[test]
fn a_value_that_a_column_would_change_is_not_stored() {
    for database in KINDS.into_iter().filter_map(Database::alone) {
        let mut shop = Shop::open(database);
        shop.sql("CREATE TABLE o (id BIGINT PRIMARY KEY, user_id INT, note VARCHAR(9))");
        shop.sell("1", 100);
        let big = "1795745285880123456";
        let mut written = 0;
        for (modes, more) in [("", ""), ("STRICT_TRANS_TABLES", ""), ("", " -- alone")] {
            shop.sql(&format!("SET GLOBAL sql_mode = '{modes}'"));
            let file = shop.statements(&format!(
                "on_sold = [\"INSERT INTO o (id, user_id, note) \
                 VALUES (:order_id, :user_id, :order_id){more}\"]"
            ));
            let first = 100 + 10 * written;
            for (user, order) in [
                (format!("{first}"), format!("{first}")),
                (format!("{}", first + 1), format!("0{first}")),
                (format!("{}", first + 2), format!("{first}.5")),
                (format!("{}", first + 3), format!("{}", first + 3)),
                (format!("{}{written}", &big[..18]), format!("{}", first + 4)),
            ] {
                shop.server.call(&["SECKILL.TRY", "1", &user, &order]);
            }
            written += 2;
            shop.once(&["--statements", &file]).summary_with(3);
            let its = format!("FROM o WHERE id >= {first} ORDER BY id");
            let ids = shop.database.numbers(["id", "user_id"], &its);
            let right = [[first, first], [first + 3, first + 3]];
            assert_eq!(ids, right, "modes {modes}{more}");
        }
        // Where they are texts, they are stored.
        shop.sql("CREATE TABLE texts (id VARCHAR(64) PRIMARY KEY, user_id VARCHAR(64))");
        let file =
            shop.statements("on_sold = [\"INSERT INTO texts VALUES (:order_id, :user_id)\"]");
        shop.drain(&["--statements", &file, "--group", "texts", "--table-prefix", "texts_"]);
        assert_eq!(
            shop.database
                .numbers(["COUNT(*)", "COUNT(CASE WHEN id = '0100' THEN 1 END)"], "FROM texts"),
            [[15, 1]]
        );
    }
}

#[test]
fn a_statement_that_is_sent_alone_is_named_at_the_start() {
    for database in databases() {
        let shop = Shop::open(database).selling("1 100");
        shop.sql("CREATE TABLE told (id VARCHAR(64))");
        shop.buy_many("1", 0..5);
        let file = shop
            .statements("on_sold = [{ sql = \"DO tell(:order_id)\", may_change_nothing = true }]");
        // However often the opening of the database fails.
        let mut worker = shop.worker(&["--statements", &file, "--verbose"]);
        worker.wait_for_word("try 3: ");
        shop.sql(
            "CREATE FUNCTION tell(id VARCHAR(64)) RETURNS INT DETERMINISTIC MODIFIES SQL DATA \
             BEGIN INSERT INTO told VALUES (id); RETURN 1; END",
        );
        shop.wait_until_drained(&mut worker);
        assert!(worker.terminate().success(), "{}", worker.log());
        let words = "on_sold, statement 1 is sent for each order alone";
        assert_eq!(worker.log().matches(words).count(), 1, "{}", worker.log());
        assert_eq!(
            shop.database.numbers(["COUNT(*)", "COUNT(DISTINCT id)"], "FROM told"),
            [[5, 5]]
        );
        shop.check();
    }
}

/// MariaDB tells then what it changed, not how many.
#[test]
fn a_statement_that_returns_rows_has_changed_them() {
    let Some(database) = Database::open(Kind::MariaDb) else { return };
    let mut shop = Shop::open(database);
    shop.sql("CREATE TABLE told (id VARCHAR(64))");
    shop.sell("1", 100);
    shop.buy_many("1", 0..5);
    let file = shop.statements("on_sold = [\"INSERT INTO told VALUES (:order_id) RETURNING id\"]");
    shop.drain(&["--statements", &file]);
    assert_eq!(shop.counted("told"), 5);
    shop.check();
}

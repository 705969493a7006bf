//! A person settles what a loss has left, and nothing else is changed, whichever option is wrong.

use redis::Value;

use crate::check::{checked, expect};
use crate::databases::Database;
use crate::harness::Server;
use crate::shop::{Shop, databases, pairs};
use crate::statements::documented;

impl Shop {
    /// The server is stopped, and returns with what it had at the last SAVE.
    pub fn returns_to_the_save(&mut self) {
        self.server.kill9();
        self.server.start_again();
    }

    /// Something is done that becomes rows, and that the server loses.
    pub fn loses(&mut self, options: &[&str], act: impl FnOnce(&Self)) {
        self.run("SAVE");
        act(self);
        self.drain(options);
        self.returns_to_the_save();
    }

    /// Runs `settle` with this exit code; returns what it says.
    pub fn settles(&self, options: &[&str], code: i32, words: &[&str]) -> String {
        let (found, text) = self.asked(&[&["settle"], options].concat(), "");
        assert_eq!(found, Some(code), "{options:?}: {text}");
        for word in words {
            assert!(text.contains(word), "{word}: {text}");
        }
        text
    }

    /// Follows the line of a check about units that are off the sale for nobody.
    fn puts_back(&self, units: u32) -> Value {
        let words = format!("{units} units of it are off the sale on the server");
        let told = expect(self, &CHECK, 1, &[&words]);
        let (_, restock) = told.split_once(": SECKILL.RESTOCK ").expect("the next step");
        self.run(&format!("SECKILL.RESTOCK {}", restock.lines().next().expect("its line")))
    }

    pub fn info(&self, voucher: &str, field: &str) -> String {
        pairs(self.run(&format!("SECKILL.INFO {voucher}")))[field].clone()
    }

    pub fn pay(&self, order: &str, reference: &str, answer: i64) {
        let command = format!("SECKILL.CONFIRM {order} REF {reference}");
        assert_eq!(self.run(&command), Value::Int(answer), "{command}");
    }

    /// A sale of five that is on, in rows and server, and saved.
    pub fn saved(database: Database, rules: &str) -> Self {
        let mut shop = Self::open(database);
        shop.sell_managed("7", 5, rules);
        shop.drain(&[]);
        shop.run("SAVE");
        shop
    }
}

pub const CHECK: [&str; 2] = ["--voucher", "7"];
pub const REPAIR: [&str; 3] = ["--voucher", "7", "--repair"];

#[test]
fn a_kept_order_is_off_the_sale_once() {
    for database in databases() {
        let mut shop = Shop::saved(database, "HOLD 600000");
        shop.buy("7", "ann", "1");
        shop.pay("7 ann 1", "A", 1);
        shop.drain(&[]);
        shop.returns_to_the_save();
        let told = expect(&shop, &REPAIR, 1, &["1 of ann for voucher 7: unknown on the server"]);
        assert!(told.contains("seckill-worker settle 1 --voucher 7 --sale "), "{told}");
        shop.settles(&["list"], 0, &["ref A; the server said: no such order", "1 rows are"]);
        for _ in 0..2 {
            let words = ["SECKILL.RESTOCK 7 -1 FOR 1 SALE ", "4 are left"];
            shop.settles(&["1", "--keep"], 0, &words);
            assert_eq!((shop.info("7", "left"), shop.info("7", "total")), ("4".into(), "4".into()));
        }
        let told = expect(&shop, &CHECK, 0, &["\nPROVED: 1 units sold"]);
        assert!(told.contains("settled by a person "), "{told}");
        // It can be released after all: its unit is on sale again, its payment is refunded.
        shop.settles(
            &["1", "--release"],
            0,
            &["1 units of voucher 7 are on sale again", "payment A"],
        );
        assert_eq!(shop.info("7", "left"), "5");
        assert!(shop.changes("1").contains(&"cancelled A".to_owned()), "{:?}", shop.changes("1"));
        expect(&shop, &CHECK, 0, &["\nPROVED: 0 units sold"]);
        shop.settles(&["1", "--keep"], 1, &["nothing was settled: ", "does not contradict it"]);
    }
}

#[test]
fn an_order_whose_units_are_sold_again_is_oversold_until_one_is_left() {
    let mut shop = Shop::saved(Database::sqlite(), "LIMIT 5");
    shop.loses(&[], |shop| shop.buy("7", "ann", "1"));
    assert_eq!(shop.run("SECKILL.TRY 7 ben 2 UNITS 5"), Value::Int(0));
    shop.drain(&[]);
    expect(&shop, &REPAIR, 1, &["1 of ann"]);
    shop.settles(&["1", "--keep"], 0, &["OVERSOLD by 1"]);
    expect(&shop, &CHECK, 1, &["1 units of it are on sale again", "1 orders oversold"]);
    shop.run("SECKILL.CANCEL 7 ben 2 KEEP 4");
    shop.drain(&[]);
    shop.settles(&["1", "--keep"], 0, &["0 are left"]);
    expect(&shop, &CHECK, 0, &["\nPROVED: 5 units sold"]);
}

#[test]
fn a_release_cancels_on_the_server_what_is_there() {
    for mut shop in Shop::on_each("7 5 HOLD 600000") {
        let file = shop.with_statements(&[(7, 5)], &documented(shop.database.kind));
        shop.buy("7", "501", "1001");
        shop.drain(&["--statements", &file]);
        shop.loses(&["--statements", &file], |shop| shop.pay("7 501 1001", "A", 1));
        expect(&shop, &["--voucher", "7", "--repair", "--statements", &file], 1, &["held on the"]);
        // Kept, it must be confirmed there again; the line says how.
        let told = shop.settles(&["1001", "--keep"], 1, &["repeat its confirmation, "]);
        assert!(told.contains("SECKILL.CONFIRM 7 501 1001 REF A SALE "), "{told}");
        shop.settles(&["1001", "--release"], 1, &["with --statements"]);
        let release = ["1001", "--release", "--statements", &file];
        shop.settles(&release, 0, &["is released; refund payment A"]);
        assert_eq!((shop.info("7", "left"), shop.info("7", "held")), ("5".into(), "0".into()));
        assert_eq!((shop.shop_orders()[&1001], shop.shop_stock(7)), (4, 5));
        // The entry of that release, not read yet, says nothing new.
        expect(&shop, &CHECK, 0, &["\nPROVED: 0 units sold"]);
        shop.drain(&["--statements", &file]);
        assert_eq!((shop.shop_orders()[&1001], shop.shop_stock(7)), (4, 5));
        expect(&shop, &CHECK, 0, &["\nPROVED: 0 units sold"]);
    }
}

/// The entry of a release that the person has seen is read after that.
#[test]
fn what_a_person_has_kept_is_not_released_by_what_the_server_said_then() {
    let mut shop = Shop::saved(Database::sqlite(), "HOLD 600000 LIMIT 5");
    assert_eq!(shop.run("SECKILL.TRY 7 ann 1 UNITS 2"), Value::Int(0));
    shop.pay("7 ann 1", "A", 1);
    shop.drain(&[]);
    shop.loses(&[], |shop| _ = shop.run("SECKILL.CANCEL 7 ann 1 KEEP 1"));
    expect(&shop, &REPAIR, 1, &["2 units on the server, 1 units in the rows"]);
    shop.run("SECKILL.CANCEL 7 ann 1");
    shop.settles(&["1", "--keep"], 0, &["order 1 is kept, sold", "took its 1 units off the sale"]);
    shop.once(&[]).ended();
    expect(&shop, &REPAIR, 0, &["\nPROVED: 1 units sold"]);
    assert_eq!(shop.info("7", "left"), "4");
    // A person takes the row back by other means: the units do not stay off the sale.
    shop.sql("UPDATE seckill_orders SET state = 'cancelled'");
    assert_eq!(shop.puts_back(1), Value::Int(5));
    assert!(!checked(&shop, &CHECK).1.contains("off the sale"));
}

#[test]
fn what_was_taken_for_an_order_that_returned_is_put_back() {
    let mut shop = Shop::saved(Database::sqlite(), "LIMIT 5");
    shop.loses(&[], |shop| assert_eq!(shop.run("SECKILL.TRY 7 ann 1 UNITS 2"), Value::Int(0)));
    expect(&shop, &REPAIR, 1, &["1 of ann for voucher 7"]);
    // All that `settle --keep` did before it was killed; the client repeats its try.
    let sale = shop.info("7", "sale");
    shop.run(&format!("SECKILL.RESTOCK 7 -2 FOR 1 SALE {sale}"));
    assert_eq!(shop.run("SECKILL.TRY 7 ann 1 UNITS 2"), Value::Int(0));
    shop.drain(&[]);
    assert_eq!(shop.puts_back(2), Value::Int(3));
    expect(&shop, &CHECK, 0, &["\nPROVED: 2 units sold"]);
}

#[test]
fn a_dispute_that_has_healed_ends_by_itself() {
    let mut shop = Shop::saved(Database::sqlite(), "HOLD 600000");
    shop.buy("7", "ann", "1");
    shop.pay("7 ann 1", "A", 1);
    shop.drain(&[]);
    shop.returns_to_the_save();
    expect(&shop, &REPAIR, 1, &["disputed rows"]);
    // Client and provider repeat what was not answered.
    assert_eq!(shop.run("SECKILL.TRY 7 ann 1"), Value::Int(0));
    shop.pay("7 ann 1", "A", 1);
    shop.settles(
        &["1", "--release"],
        1,
        &["the server says now: sold, units 1, ref A", "does not"],
    );
    shop.drain(&[]);
    expect(&shop, &CHECK, 0, &["\nPROVED: 1 units sold"]);
    shop.settles(&["list"], 0, &["0 rows are disputed"]);
}

#[test]
fn a_held_order_that_the_server_has_lost_ends() {
    for mut shop in Shop::on_each("7 5 HOLD 3000 LIMIT 9") {
        let file = shop.with_statements(&[(7, 5)], &documented(shop.database.kind));
        let statements = ["--statements", &*file];
        shop.drain(&statements);
        shop.loses(&statements, |shop| {
            assert_eq!(shop.run("SECKILL.TRY 7 501 1001"), Value::Int(0))
        });
        shop.let_pass(3_100);
        // As long as nothing was sold since, this may be an older copy of the server.
        shop.drain(&statements);
        assert_eq!((shop.shop_orders()[&1001], shop.shop_stock(7)), (1, 4));
        let keep = ["1001", "--keep", "--statements", &file];
        shop.settles(&keep, 1, &["nobody can pay it any more: --release"]);
        shop.run("SECKILL.ALTER 7 HOLD 600000");
        assert_eq!(shop.run("SECKILL.TRY 7 502 1002"), Value::Int(0));
        shop.drain(&statements);
        assert_eq!((shop.shop_orders()[&1001], shop.shop_stock(7)), (4, 4));
        assert!(shop.changes("1001").contains(&"expired -".to_owned()));
    }
}

#[test]
fn all_disputes_of_a_sale_are_settled_if_they_are_as_many_as_expected() {
    let mut shop = Shop::saved(Database::sqlite(), "LIMIT 9");
    for order in ["1", "2", "3"] {
        shop.buy("7", "ann", order);
    }
    shop.drain(&[]);
    shop.returns_to_the_save();
    expect(&shop, &REPAIR, 1, &["disputed rows"]);
    let sale = shop.info("7", "sale");
    let all = |count| ["--all", "--keep", "--voucher", "7", "--sale", &*sale, "--expect", count];
    shop.settles(&all("2"), 1, &["there are 3, so nothing was settled", "mark "]);
    assert_eq!(shop.info("7", "left"), "5");
    shop.settles(&all("3"), 0, &["3 disputed rows", "order 2 is kept"]);
    expect(&shop, &CHECK, 0, &["\nPROVED: 3 units sold"]);
    shop.settles(&["--all", "--keep", "--voucher", "7", "--expect", "3"], 2, &["--sale"]);
}

#[test]
fn many_held_orders_that_the_server_has_lost_end_together() {
    for database in databases() {
        let mut shop = Shop::saved(database, "HOLD 600000 LIMIT 9");
        for order in ["1", "2", "3"] {
            shop.buy("7", "ann", order);
        }
        shop.drain(&[]);
        shop.returns_to_the_save();
        shop.buy("7", "bob", "4");
        let sale = shop.info("7", "sale");
        let all = |count| {
            let of = ["--voucher", "7", "--sale", &*sale, "--expect", count];
            [&["--all", "--held", "--release"][..], &of].concat()
        };
        shop.settles(&all("3"), 1, &["there are 0, so nothing was settled"]);
        shop.sql("UPDATE seckill_orders SET deadline_ms = 1 WHERE order_id <> '4'");
        // So many of so few rows don't end by themselves.
        let (_, told) = shop.asked(&["--once", "--claim-after", "100ms"], "");
        let (_, advised) = told.split_once("seckill-worker settle ").expect("what to do");
        let advised: Vec<_> = advised.lines().next().expect("its line").split(' ').collect();
        assert_eq!(advised, all("3"));
        shop.settles(&all("2"), 1, &["there are 3, so nothing was settled"]);
        shop.settles(&advised, 0, &["3 held rows that the server lacks", "order 2 is released"]);
        shop.settles(&all("0"), 0, &["0 held rows"]);
        shop.settles(&["--all", "--held", "--keep"], 2, &["--keep"]);
        assert_eq!(shop.rows()[&("7".to_owned(), "4".to_owned())].state, "held");
        shop.run("SECKILL.CONFIRM 7 bob 4");
        shop.drain(&[]);
        expect(&shop, &CHECK, 0, &["\nPROVED: 1 units sold"]);
    }
}

/// The worst that a wrong option can do: nothing ends, and a sentence says what was seen.
#[test]
fn a_wrong_server_or_database_changes_nothing() {
    let mut shop = Shop::saved(Database::sqlite(), "HOLD 3000 LIMIT 9");
    // A staging server has yesterday's data.
    let staging = Server::start();
    let dump = shop.server.dir().join("dump.rdb");
    shop.buy("7", "ann", "1");
    shop.buy("7", "ben", "2");
    shop.pay("7 ben 2", "B", 1);
    shop.drain(&[]);
    let rows = shop.rows();
    shop.let_pass(3_100);
    let mut copy = Server::start();
    copy.kill9();
    std::fs::copy(dump, copy.dir().join("dump.rdb")).expect("a copy");
    copy.start_again();
    let unchanged = |shop: &Shop| assert_eq!(shop.rows(), rows);
    let home = std::mem::replace(&mut shop.server, staging);
    // An empty server: the worker reads nothing, and says so.
    let mut worker = shop.once(&[]);
    assert_eq!(worker.ended().code(), Some(1));
    assert!(worker.log().contains("stream.orders has no mark of its rows"), "{}", worker.log());
    assert_eq!(shop.run("DBSIZE"), Value::Int(0));
    let told = checked(&shop, &REPAIR);
    assert_eq!(told.0, Some(2), "{told:?}");
    assert!(told.1.contains("--repair writes nothing: "), "{told:?}");
    expect(&shop, &CHECK, 1, &["the server is empty, or --redis", "DIFFERENT"]);
    for way in ["--keep", "--release"] {
        shop.settles(&["2", way], 1, &["nothing was settled: "]);
    }
    unchanged(&shop);
    // The copy has the mark and the sale, and lacks the orders.
    shop.server = copy;
    shop.once(&[]).summary();
    unchanged(&shop);
    // Another database: the rows begin anew, and nobody calls them whole.
    shop.server = home;
    let ours = std::mem::replace(&mut shop.database, Database::sqlite());
    let mut worker = shop.once(&[]);
    worker.ended();
    assert!(worker.log().contains("was lost, or is another one"), "{}", worker.log());
    let (code, told) = checked(&shop, &CHECK);
    assert_eq!(code, Some(1), "{told}");
    shop.database = ours;
    unchanged(&shop);
    shop.settles(&["2", "--keep", "--voucher", "8"], 1, &["no row of that voucher"]);
    shop.settles(&["9", "--keep"], 1, &["no row of that voucher and sale has the order id 9"]);
    let others = ["--all", "--release", "--voucher", "8", "--sale", "1", "--expect", "1"];
    shop.settles(&others, 1, &["there are 0, so nothing was settled"]);
    shop.server.kill9();
    shop.settles(&["2", "--release"], 1, &[]);
    unchanged(&shop);
}

#[test]
fn a_person_adopts_an_empty_server() {
    let mut shop = Shop::saved(Database::sqlite(), "LIMIT 9");
    shop.buy("7", "ann", "1");
    shop.drain(&[]);
    shop.settles(&["--adopt-server", "--yes"], 1, &["the server has the mark of the rows"]);
    shop.server = Server::start();
    let words = ["mark none", "1 rows, mark ", "adopted: mark "];
    shop.settles(&["--adopt-server", "--yes"], 0, &words);
    // Entries that are not there any more are told as lost.
    shop.once(&[]).summary_with(5);
    let told = expect(&shop, &CHECK, 3, &["the server has no book of this sale", "UNPROVED: "]);
    assert!(!told.contains("the mark"), "{told}");
}

/// A backup that is older than the first worker has no mark, but the sale of the rows.
#[test]
fn a_server_from_before_its_first_worker_is_known_by_its_sale() {
    for mut shop in Shop::on_each("7 5 HOLD 600000") {
        shop.run("SAVE");
        shop.buy("7", "ann", "1");
        shop.pay("7 ann 1", "A", 1);
        shop.drain(&[]);
        shop.returns_to_the_save();
        let told = expect(&shop, &CHECK, 1, &["1 of ann for voucher 7: unknown on the server"]);
        assert!(!told.contains("mark"), "{told}");
        shop.settles(&["1", "--keep"], 0, &["order 1 is kept, sold", "4 are left"]);
        let mut worker = shop.once(&[]);
        worker.ended();
        let words = "it was restored to what it was before its first worker";
        assert!(worker.log().contains(words), "{}", worker.log());
        shop.once(&[]).summary();
        expect(&shop, &CHECK, 0, &["\nPROVED: 1 units sold"]);
        // A later sale of the voucher is not the one of the rows.
        shop.run("HDEL stream.orders.mark seckill-worker");
        shop.run("SECKILL.DROP 7 FORCE");
        assert_eq!(shop.run("SECKILL.CREATE 7 5"), Value::Okay);
        shop.ends(&["--once"], 1, "stream.orders has no mark of its rows");
    }
}

#[test]
fn a_closed_sale_stays_proved_until_its_rows_change() {
    for database in databases() {
        let shop = Shop::saved(database, "LIMIT 9");
        shop.buy("7", "ann", "1");
        shop.drain(&[]);
        let close = ["--voucher", "7", "--close"];
        expect(&shop, &close, 0, &["stays open: it has not ended", "\nPROVED"]);
        shop.run("SECKILL.ALTER 7 END 1000");
        expect(&shop, &close, 0, &["closed sale ", "1 orders, 1 units", "\nPROVED"]);
        shop.run("SECKILL.DROP 7");
        expect(&shop, &CHECK, 0, &["\nPROVED"]);
        shop.sql("UPDATE seckill_orders SET ref = 'x'");
        expect(&shop, &CHECK, 3, &["no book of this sale", "UNPROVED"]);
    }
}

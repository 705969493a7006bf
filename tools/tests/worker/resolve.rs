//! What an operator resolves after a loss: each answer does what it says on both sides, once.

use std::io::{Read as _, Write as _};
use std::process::Command;

use redis::Value;

use crate::check::{checked, expect};
use crate::databases::Database;
use crate::shop::{Shop, databases, pairs};
use crate::statements::documented;
use crate::worker::{SHARDS, WORKER, asking};

pub const CHECK: [&str; 2] = ["--voucher", "7"];

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

    /// Runs `resolve` with this exit code; returns what it says.
    pub fn resolves(&self, options: &[&str], code: i32, words: &[&str]) -> String {
        let (found, text) = self.asked(&[&["resolve", "--yes"], options].concat(), "");
        assert_eq!(found, Some(code), "{options:?}: {text}");
        for word in words {
            assert!(text.contains(word), "{word}: {text}");
        }
        text
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

    /// The units that lines refund of a payment.
    pub fn refunds(&self, reference: &str) -> i64 {
        let lines = format!("FROM seckill_refunds WHERE ref = '{reference}'");
        self.database.numbers(["units"], &lines).iter().map(|[units]| units).sum()
    }

    /// What a check asks, as JSON.
    pub fn questions(&self, options: &[&str]) -> Vec<serde_json::Value> {
        let (_, json) = checked(self, &[&CHECK, options, &["--json"]].concat());
        let json: serde_json::Value =
            serde_json::from_str(&json).unwrap_or_else(|_| panic!("{json}"));
        json["questions"].as_array().expect("questions").clone()
    }

    /// Runs a printed command as it stands, in a shell.
    pub fn pasted(&self, command: &str) -> String {
        self.pasted_after("", command)
    }

    /// The same as the argument of another program.
    pub fn pasted_after(&self, program: &str, command: &str) -> String {
        if let Some(words) = command.strip_prefix("seckill-shards") {
            return self.shell(&format!("{program}{SHARDS}{words}"));
        }
        let rest = command.strip_prefix("seckill-worker").expect("a command of a program");
        let (words, order) = rest.split_once(" -- ").map_or((rest, None), |(a, b)| (a, Some(b)));
        let order = order.map(|order| format!(" -- {order}")).unwrap_or_default();
        let yes = if words.starts_with(" resolve") { " --yes" } else { "" };
        self.shell(&format!("{program}{WORKER}{words}{yes}{order}"))
    }

    fn shell(&self, line: &str) -> String {
        let ran = Command::new("sh").args(["-c", line]).current_dir(self.server.dir()).output();
        let ran = ran.expect("a shell");
        let said = [ran.stdout, ran.stderr].concat();
        println!("{line}\n{}", String::from_utf8_lossy(&said));
        String::from_utf8(said).expect("text")
    }
}

#[test]
fn a_kept_order_is_off_the_sale_once() {
    for database in databases() {
        let mut shop = Shop::saved(database, "HOLD 600000");
        shop.buy("7", "ann", "1");
        shop.pay("7 ann 1", "A", 1);
        shop.drain(&[]);
        shop.returns_to_the_save();
        shop.once(&[]).summary_with(5);
        let told = expect(&shop, &CHECK, 1, &["order 1 of ann for voucher 7: sold, 1 units"]);
        assert!(told.contains("no such order on the server"), "{told}");
        for _ in 0..2 {
            shop.resolves(&["1", "--keep"], 0, &["order 1 is kept with 1 units"]);
            assert_eq!((shop.info("7", "left"), shop.info("7", "total")), ("4".into(), "4".into()));
        }
        expect(&shop, &CHECK, 0, &["\nCONSISTENT: "]);
        // It can be released after all: its unit is on sale again, its payment is refunded.
        let words =
            ["puts 1 units on sale again", "order 1 is released", "refund 1 units of payment A"];
        shop.resolves(&["1", "--release"], 0, &words);
        assert_eq!((shop.info("7", "left"), shop.refunds("A")), ("5".into(), 1));
        expect(&shop, &CHECK, 0, &["\nCONSISTENT: "]);
        // What is refunded is not kept again.
        shop.resolves(&["1", "--keep", "1"], 1, &["1 units can't be kept, at most 0"]);
    }
}

#[test]
fn an_order_whose_units_are_sold_again_is_oversold_until_one_is_left() {
    for database in databases() {
        let mut shop = Shop::saved(database, "LIMIT 5");
        shop.loses(&[], |shop| shop.buy("7", "ann", "1"));
        assert_eq!(shop.run("SECKILL.TRY 7 ben 2 UNITS 5"), Value::Int(0));
        shop.once(&[]).ended();
        expect(&shop, &CHECK, 1, &["order 1 of ann"]);
        shop.resolves(&["1", "--keep"], 0, &["the sale lacks units of it"]);
        let told = expect(&shop, &CHECK, 0, &["order 1 of voucher 7 is oversold by 1 units"]);
        shop.run("SECKILL.CANCEL 7 ben 2 KEEP 4");
        shop.drain(&[]);
        let again = told.split("when units are left: ").nth(1).expect("a command");
        shop.pasted(again.lines().next().expect("its line"));
        assert_eq!(shop.info("7", "left"), "0");
        let told = expect(&shop, &CHECK, 0, &["\nCONSISTENT: "]);
        assert!(!told.contains("oversold"), "{told}");
    }
}

/// Two payments of an order: one on the server, one in the database.
#[test]
fn the_other_payment_of_an_order_is_refunded() {
    for way in ["--keep", "--release"] {
        let mut shop = Shop::of("7 5 HOLD 600000");
        shop.buy("7", "ann", "1");
        shop.drain(&[]);
        shop.loses(&[], |shop| shop.pay("7 ann 1", "A", 1));
        shop.pay("7 ann 1", "B", 1);
        shop.once(&[]).ended();
        assert_eq!(shop.refunds("A") + shop.refunds("B"), 0, "nobody has decided yet");
        shop.resolves(&["1", way], 0, &["refund 1 units of payment "]);
        shop.once(&[]).ended();
        let refunds = shop.refunds("A") + shop.refunds("B");
        assert_eq!(refunds, if way == "--keep" { 1 } else { 2 });
        expect(&shop, &CHECK, 0, &["\nCONSISTENT: "]);
    }
}

/// One payment of two orders: whose is it, is asked first, and nothing of it is the other's.
#[test]
fn a_payment_of_two_orders_is_ones() {
    for database in databases() {
        let mut shop = Shop::saved(database, "HOLD 600000");
        shop.buy("7", "ann", "1");
        shop.buy("7", "ann2", "2");
        shop.run("SAVE");
        shop.loses(&[], |shop| shop.pay("7 ann 1", "A", 1));
        shop.pay("7 ann2 2", "A", 1);
        shop.once(&[]).ended();
        let asked = shop.questions(&[]);
        let kinds: Vec<_> = asked.iter().map(|one| &one["kind"]).collect();
        assert_eq!(kinds, ["reference"], "no order has an answer yet: {asked:?}");
        shop.resolves(&["2", "--release"], 1, &["payment A is of several orders, say first"]);
        assert_eq!(shop.info("7", "left"), "3", "nothing is done");
        shop.resolves(
            &["2", "--payment", "A"],
            0,
            &["payment A is of order 2", "nothing of it is of order 1 of ann"],
        );
        let asked = shop.questions(&[]);
        let is_of_1 = |one: &serde_json::Value| one["kind"] == "order" && one["order"] == "1";
        assert!(asked.iter().all(|one| one["kind"] != "reference"), "{asked:?}");
        assert!(asked.iter().any(is_of_1), "now it is asked: {asked:?}");
        assert_eq!(shop.refunds("A"), 0);
        // The order without a payment is not kept.
        shop.resolves(&["1", "--release"], 0, &["order 1 is released"]);
        shop.once(&[]).ended();
        expect(&shop, &CHECK, 0, &["\nCONSISTENT: "]);
        let rows = shop.rows();
        let live: Vec<_> = rows.iter().filter(|(_, row)| row.is_live()).collect();
        assert_eq!(live.len(), 1, "{rows:?}");
    }
}

/// A payment of no order: it is refunded, on both sides, and never pays an order.
#[test]
fn a_payment_of_no_order_is_refunded_once() {
    for way in ["--refund", "--refunded"] {
        let shop = Shop::saved(Database::sqlite(), "HOLD 600000");
        let command = "SECKILL.CONFIRM 7 ann 9 REF A UNITS 2";
        assert_eq!(shop.run(command), Value::Int(0));
        shop.drain(&[]);
        let asked = shop.questions(&[]);
        assert_eq!((asked.len(), &asked[0]["kind"]), (1, &"payment".into()), "{asked:?}");
        shop.resolves(&["--payment", "A", way], 0, &["payment A"]);
        shop.once(&[]).ended();
        assert_eq!(shop.refunds("A"), if way == "--refund" { 2 } else { 0 });
        expect(&shop, &CHECK, 0, &["\nCONSISTENT: "]);
        shop.buy("7", "ann", "9");
        assert_eq!(shop.run(command), Value::Int(3), "it is to be refunded, and pays nothing");
    }
}

/// Printed commands are pasted as they stand, whatever an order is called.
#[test]
fn printed_commands_are_quoted() {
    let hidden = "\u{1b}[2J%s\\\n'\u{200b}1";
    let ids = ["a b", "it's", "$(touch bad)", "-x", "\u{5546}", hidden];
    let mut shop = Shop::saved(Database::sqlite(), "HOLD 600000 LIMIT 9");
    shop.run("SECKILL.RESTOCK 7 5");
    shop.run("SAVE");
    let call = |shop: &Shop, words: &[&str]| shop.server.call(words);
    for id in ids {
        let bought = call(&shop, &["SECKILL.TRY", "7", id, id]);
        assert_eq!(bought, Value::Int(0), "{id}");
        let paid = call(&shop, &["SECKILL.CONFIRM", "7", id, id, "REF", id]);
        assert_eq!(paid, Value::Int(1), "{id}");
    }
    shop.drain(&[]);
    shop.returns_to_the_save();
    shop.once(&[]).ended();
    let asked = shop.questions(&[]);
    assert_eq!(asked.len(), ids.len(), "{asked:?}");
    for one in &asked {
        let command = one["command"].as_str().expect("a command");
        assert!(!command.contains(char::is_control), "{command:?}");
        let said = shop.pasted(command);
        assert!(said.contains("is kept with 1 units"), "{command}: {said}");
    }
    assert!(!shop.server.dir().join("bad").exists());
    expect(&shop, &CHECK, 0, &["\nCONSISTENT: "]);
}

/// A shop whose order lives again has the words of its file, or is told which to add.
#[test]
fn an_order_that_lives_again_needs_on_restored() {
    for shop in Shop::on_each("7 5 LIMIT 5") {
        let mut shop = shop;
        let file = shop.with_statements(&[(7, 5)], &documented(shop.database.kind));
        let statements = ["--statements", &*file];
        let bought = |shop: &Shop| {
            assert_eq!(shop.run("SECKILL.TRY 7 501 1001"), Value::Int(0));
        };
        bought(&shop);
        shop.drain(&statements);
        shop.loses(&statements, |shop| _ = shop.run("SECKILL.CANCEL 7 501 1001"));
        assert_eq!((shop.shop_orders()[&1001], shop.shop_stock(7)), (4, 5));
        let keep = ["1001", "--keep", "--statements", &file];
        shop.resolves(&["1001", "--keep"], 1, &["rows were written with statements"]);
        let without = std::fs::read_to_string(&file).expect("the file");
        let without = without.split("on_restored").next().expect("a part").to_owned();
        std::fs::write(&file, without).expect("write the file");
        shop.resolves(&keep, 1, &["has no on_restored"]);
        let file = shop.statements(&documented(shop.database.kind));
        assert!(file.ends_with("statements.toml"));
        shop.resolves(&keep, 0, &["order 1001 is kept with 1 units"]);
        assert_eq!((shop.shop_orders()[&1001], shop.shop_stock(7)), (2, 4));
        expect(&shop, &CHECK, 0, &["\nCONSISTENT: "]);
    }
}

#[test]
fn wrong_options_change_nothing() {
    let shop = Shop::of("7 5 HOLD 600000");
    shop.buy("7", "ann", "1");
    shop.drain(&[]);
    for (options, code) in [
        (&["1"][..], 2),
        (&["1", "--keep", "--release"], 2),
        (&["1", "--keep", "0"], 2),
        (&["--payment", "A"], 2),
        (&["--keep"], 2),
        (&["none", "--keep"], 1),
        (&["--payment", "A", "--refund"], 1),
    ] {
        let (found, text) = shop.asked(&[&["resolve", "--yes"], options].concat(), "");
        assert_eq!(found, Some(code), "{options:?}: {text}");
    }
    let (code, text) = shop.asked(&["resolve", "1", "--release"], "no\n");
    assert!(code == Some(1) && text.contains("nothing was done"), "{text}");
    let (code, text) = shop.asked(&["check", "--voucher", "7", "--ask"], "keep\n");
    assert!(code == Some(2) && text.contains("needs a terminal"), "{text}");
    assert!(shop.rows().values().all(|row| row.state == "held"));
    expect(&shop, &CHECK, 0, &["\nCONSISTENT: "]);
    // Nor does one that nobody can answer write what it would write by itself.
    shop.sql("DELETE FROM seckill_orders");
    shop.sql("DELETE FROM seckill_voucher_sales");
    let (code, text) = shop.asked(&["check", "--voucher", "7", "--ask"], "");
    assert!(code == Some(2) && shop.row_count() == 0, "{text}");
    let (code, text) = shop.asked(&["resolve", "1", "--refunded", "--keep", "2", "--yes"], "");
    assert_eq!(code, Some(1), "{text}");
}

/// The database is lost: the rows come from the book, with the statements of the shop.
#[test]
fn a_lost_database_is_written_again_from_the_book() {
    let shop = Shop::saved(Database::sqlite(), "HOLD 600000 LIMIT 5");
    for (user, order) in [("501", "1001"), ("502", "1002")] {
        shop.buy("7", user, order);
    }
    shop.pay("7 501 1001", "A", 1);
    shop.drain(&[]);
    let path = shop.database.url.trim_start_matches("sqlite:").to_owned();
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{path}{end}"));
    }
    let file = shop.with_statements(&[(7, 5)], &documented(shop.database.kind));
    let statements = ["--statements", &*file];
    // The worker itself, since it knows that the tables are others.
    shop.drain(&statements);
    let rows = shop.rows();
    assert_eq!(rows.values().filter(|row| row.is_live()).count(), 2, "{rows:?}");
    assert_eq!((shop.shop_orders().len(), shop.shop_stock(7)), (2, 3));
    expect(&shop, &CHECK, 0, &["\nCONSISTENT: 2 orders with 2 units"]);
}

/// The parts of a payment for a cart that no order has, each on its own.
#[test]
fn an_unmatched_payment_of_a_cart_is_refunded_part_by_part() {
    let shop = Shop::of("7 9 HOLD 600000, 8 9 HOLD 600000");
    shop.drain(&[]);
    for (voucher, units) in [(7, 1), (8, 2)] {
        let confirm = format!("SECKILL.CONFIRM {voucher} ann 1 REF A UNITS {units}");
        assert_eq!(shop.run(&confirm), Value::Int(0));
    }
    shop.drain(&[]);
    for left in [2, 1] {
        let (_, json) = checked(&shop, &["--json"]);
        let found: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let questions = found["questions"].as_array().expect("questions");
        assert_eq!(questions.len(), left, "{questions:?}");
        shop.pasted(questions[0]["command"].as_str().expect("a command"));
        shop.drain(&[]);
    }
    expect(&shop, &[], 0, &["CONSISTENT"]);
    assert_eq!(shop.refunds("A"), 3);
}

/// While an operator reads what a resolve would do, the shop cancels and refunds a unit itself.
#[test]
fn a_unit_that_the_shop_has_refunded_meanwhile_is_on_no_line() {
    let shop = Shop::saved(Database::sqlite(), "HOLD 600000 LIMIT 5");
    assert_eq!(shop.run("SECKILL.TRY 7 501 1001 UNITS 2"), Value::Int(0));
    shop.pay("7 501 1001", "A", 1);
    shop.drain(&[]);
    let words = ["resolve", "1001", "--release"].map(str::to_owned);
    let mut asked = asking(shop.worker_args().into_iter().chain(words), shop.server.dir());
    let (mut said, mut out) = (Vec::new(), asked.stdout.take().expect("a pipe"));
    while !said.ends_with(b"Type yes to do it: ") {
        let mut byte = [0];
        out.read_exact(&mut byte).expect("a question");
        said.extend(byte);
    }
    assert_eq!(shop.run("SECKILL.CANCEL 7 501 1001 KEEP 1 REFUNDED"), Value::Int(1));
    asked.stdin.take().expect("a pipe").write_all(b"yes\n").expect("to answer");
    let ended = asked.wait_with_output().expect("its end");
    let why = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success() && why.contains("the server has changed"), "{why}");
    shop.drain(&[]);
    assert_eq!(shop.refunds("A"), 1);
    expect(&shop, &CHECK, 0, &["\nCONSISTENT: "]);
}

//! docs/moving.md, followed to its end and back: a shop with seckill.lua and the usual
//! consumer, whose code does not change before the worker takes over. The commands are the page's.

use std::collections::BTreeSet;

use kit::pages::page;
use redis::Value;

use crate::databases::Database;
use crate::harness::text;
use crate::shop::{Shop, entries};
use crate::statements::documented;

const SCRIPT: &str = include_str!("../../benches/side_by_side/scripts/seckill.lua");

/// The page's commands, of which a walk must not skip one.
struct Guide(Vec<String>);

impl Guide {
    fn of_page() -> Self {
        let page = page("docs/moving.md");
        let from = page.find("## Orders that are held").expect("the second step");
        let to = page.find("## The library").expect("the fourth step");
        let lines = page[from..to].lines().filter_map(|line| line.strip_prefix("> "));
        let groups = lines.filter(|line| line.starts_with("XGROUP") || line.contains(" HOLD "));
        Self(groups.map(str::to_owned).collect())
    }

    /// Takes the next command, which must begin so.
    fn next(&mut self, begin: &str) -> String {
        let command = self.0.remove(0);
        assert!(command.starts_with(begin), "{command}, not {begin}");
        command
    }
}

impl Shop {
    /// As clients call a script: by its sha1, and by its text if the server does not know it.
    fn by_script(&self, voucher: &str, user: &str, id: &str) -> Value {
        let call = |command: &str, script: &str| {
            self.server.call(&[command, script, "0", voucher, user, id])
        };
        let sha1 = text(&self.server.call(&["SCRIPT", "LOAD", SCRIPT]));
        self.run("SCRIPT FLUSH");
        match call("EVALSHA", &sha1) {
            Value::ServerError(_) => call("EVAL", SCRIPT),
            outcome => outcome,
        }
    }

    /// The usual consumer: stores what is new in its stream as an order, and acknowledges it.
    /// Returns what it has stored.
    fn consume(&self, stream: &str) -> Vec<String> {
        let before = self.group(stream, "g1").expect("the group")["last-delivered-id"].clone();
        self.run(&format!("XREADGROUP GROUP g1 c1 STREAMS {stream} >"));
        let after = self.group(stream, "g1").expect("the group")["last-delivered-id"].clone();
        let stored = |(id, fields): (String, _)| {
            let fields: std::collections::BTreeMap<String, String> = fields;
            self.sql(&format!(
                "INSERT INTO tb_voucher_order (id, user_id, voucher_id, status) VALUES ({}, {}, \
                 {}, 2)",
                fields["id"], fields["userId"], fields["voucherId"]
            ));
            assert_eq!(self.count(&format!("XACK {stream} g1 {id}")), 1);
            fields["id"].clone()
        };
        if before == after {
            return Vec::new();
        }
        let range = self.server.call(&["XRANGE", stream, &format!("({before}"), &after]);
        let Value::Array(new) = range else { panic!("{range:?}") };
        let all = entries(&self.server, stream);
        all.into_iter().rev().take(new.len()).rev().map(stored).collect()
    }
}

#[test]
fn a_shop_is_moved_step_by_step_and_back() {
    let mut guide = Guide::of_page();
    let shop = Shop::open(Database::sqlite());
    let file = shop.with_statements(&[(11, 9), (12, 9)], &documented(shop.database.kind));
    let run = |command: &str| match shop.run(command) {
        Value::ServerError(error) => panic!("{command}: {error:?}"),
        reply => reply,
    };
    let buys = |voucher: &str, user: &str, id: &str| {
        assert_eq!(shop.by_script(voucher, user, id), Value::Int(0), "{voucher} {user} {id}");
    };
    let replaced = || {
        let info = text(&run("INFO seckill"));
        let line = info.lines().find_map(|line| line.strip_prefix("seckill_scripts_replaced:"));
        line.expect("a count").parse::<i64>().expect("a number")
    };

    // The first step, and back, and again.
    run("SET seckill:stock:11 9");
    buys("11", "501", "1");
    let sha1 = text(&shop.server.call(&["SCRIPT", "LOAD", SCRIPT]));
    let line = format!("{sha1} SECKILL.TRY ARGV[1] ARGV[2] ARGV[3]");
    let native = |line: &str| shop.server.call(&["CONFIG", "SET", "seckill.scripts", line]);
    native(&line);
    buys("11", "502", "2");
    assert_eq!(replaced(), 1);
    native("");
    buys("11", "503", "3");
    assert_eq!(replaced(), 1);
    native(&line);

    // The second: the consumer reads its stream to the end, and then that of paid orders.
    run(&guide.next("XGROUP CREATE stream.orders g1 0"));
    assert_eq!(shop.consume("stream.orders"), ["1", "2", "3"]);
    run(&guide.next("XGROUP CREATE stream.orders.confirmed"));
    run("SET seckill:stock:12 3");
    run(&guide.next("SECKILL.CREATE 12 ADOPT HOLD"));
    buys("12", "501", "4");
    buys("12", "502", "5");
    assert_eq!(shop.count("SECKILL.CONFIRM 12 501 4"), 1);
    assert_eq!(shop.consume("stream.orders.confirmed"), ["4"]);
    // Without a reference, payments that buy nothing leave no entry.
    assert_eq!(shop.count("SECKILL.CANCEL 12 502 5 IF held"), 1);
    assert_eq!(shop.count("SECKILL.CONFIRM 12 502 5"), 3);
    assert_eq!(shop.count("SECKILL.CONFIRM 12 503 99"), 0);
    assert_eq!(shop.consume("stream.orders.confirmed"), Vec::<String>::new());

    // Back, while an order is held. Nothing is stored twice, and no unpaid order at all.
    buys("12", "502", "6");
    run("MULTI");
    run(&guide.next("SECKILL.ALTER 12 HOLD 0"));
    run(&guide.next("XGROUP SETID stream.orders g1 $"));
    let Value::Array(done) = run("EXEC") else { panic!("no transaction") };
    assert_eq!(done, [Value::Okay, Value::Okay]);
    buys("12", "503", "7");
    assert_eq!(shop.count("SECKILL.CONFIRM 12 502 6"), 1);
    assert_eq!(shop.consume("stream.orders"), ["7"]);
    assert_eq!(shop.consume("stream.orders.confirmed"), ["6"]);
    let Value::Array(info) = run("SECKILL.INFO 12") else { panic!("no map") };
    let held = info.iter().position(|name| text(name) == "held").expect("a figure");
    assert_eq!(info[held + 1], Value::Int(0));

    // The third, between two sales: references may be sent from here on.
    run(&guide.next("XGROUP SETID stream.orders g1 $"));
    run(&guide.next("XGROUP SETID stream.orders.confirmed g1 $"));
    run(&guide.next("XGROUP CREATE stream.orders.released g1 $"));
    assert_eq!(guide.0, Vec::<String>::new(), "commands of the page that nobody has tried");
    run("SECKILL.RESTOCK 12 3");
    run("SECKILL.ALTER 12 HOLD 900000");
    for (user, id) in [("504", "8"), ("505", "9"), ("506", "10")] {
        buys("12", user, id);
    }
    assert_eq!(shop.count("SECKILL.CONFIRM 12 504 8 REF p8"), 1);
    assert_eq!(shop.count("SECKILL.CANCEL 12 505 9 IF held"), 1);
    assert_eq!(shop.count("SECKILL.CONFIRM 12 505 9 REF p9"), 3);
    let summary = shop.drain(&["--group", "g1", "--statements", &file]);
    assert_eq!((&summary["orders"], &summary["parked"]), (&3.into(), &0.into()), "{summary}");
    // The order that was released before the worker read it is none of the shop's.
    let paid = [1, 2, 3, 4, 6, 7, 8].map(|id| (id, 2));
    assert_eq!(shop.shop_orders(), paid.into_iter().chain([(10, 1)]).collect());
    let late = shop.database.rows("SELECT ref FROM seckill_order_changes WHERE says = 'late'");
    assert_eq!(late.len(), 1);

    // And back, once no order is held.
    assert_eq!(shop.count("SECKILL.CANCEL 12 506 10 IF held"), 1);
    shop.drain(&["--group", "g1", "--statements", &file]);
    run("SECKILL.ALTER 12 HOLD 0");
    buys("12", "507", "11");
    assert_eq!(shop.consume("stream.orders"), ["11"]);
    let pending: BTreeSet<String> = ["", ".confirmed", ".released"]
        .map(|end| shop.group(&format!("stream.orders{end}"), "g1").expect("g1")["pending"].clone())
        .into();
    assert_eq!(pending, BTreeSet::from(["0".to_owned()]));
    // The fourth step's way back: the module's rules hold for the script while it is answered.
    assert_eq!(shop.by_script("12", "507", "12"), Value::Int(2));
    let Value::Array(audit) = run("SECKILL.AUDIT 12") else { panic!("no audit") };
    assert_eq!(audit.last(), Some(&Value::Array(Vec::new())), "{audit:?}");
}

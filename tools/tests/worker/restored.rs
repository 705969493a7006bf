//! What a check writes by itself, or asks, of payments that the server has: also of a database that
//! returns to a backup while the server goes on.

use redis::Value;

use crate::check::expect;
use crate::databases::Database;
use crate::resolve::CHECK;
use crate::shop::Shop;

/// Nothing is lost: orders are sold at once, cancelled as a whole or in part, and paid after that.
#[test]
fn a_payment_after_the_release_is_nothing_to_repair() {
    let shop = Shop::saved(Database::sqlite(), "LIMIT 5");
    shop.buy("7", "ann", "1");
    shop.run("SECKILL.CANCEL 7 ann 1");
    shop.pay("7 ann 1", "A UNITS 1", 4);
    assert_eq!(shop.run("SECKILL.TRY 7 ben 2 UNITS 2"), Value::Int(0));
    shop.run("SECKILL.CANCEL 7 ben 2 KEEP 1");
    shop.pay("7 ben 2", "B UNITS 2", 2);
    shop.drain(&[]);
    assert_eq!((shop.refunds("A"), shop.refunds("B")), (1, 1));
    expect(&shop, &CHECK, 0, &["CONSISTENT: 1 orders with 1 units"]);
}

/// An operator has kept an order before it was paid, and the database returns to that moment.
#[test]
fn a_payment_that_only_the_server_has_of_a_ruled_order_is_written() {
    let shop = Shop::saved(Database::sqlite(), "HOLD 600000");
    shop.buy("7", "ann", "1");
    shop.drain(&[]);
    shop.resolves(&["1", "--keep"], 0, &["order 1 is kept with 1 units"]);
    shop.drain(&[]);
    shop.backs_up(&[]);
    shop.pay("7 ann 1", "wx-1 UNITS 1", 2);
    shop.drain(&[]);
    shop.restores(&[]);
    shop.answers(&CHECK, "order 1 of ann for voucher 7: sold, 1 units");
    std::fs::write(shop.server.dir().join("list.csv"), "ref,units\nwx-1,1\n").expect("a list");
    let listed = ["--refs", "list.csv", "--refs-prefix", "wx-"];
    expect(&shop, &listed, 0, &["CONSISTENT: 1 orders with 1 units", "1 references, units"]);
}

/// A payment came before its order, which then was accepted twice, since the server lost it once;
/// and the database returns to a moment before it was paid.
#[test]
fn a_payment_that_has_found_its_order_waits_for_none() {
    let mut shop = Shop::saved(Database::sqlite(), "HOLD 600000");
    let buys = |shop: &Shop| assert_eq!(shop.run("SECKILL.TRY 7 ann 1"), Value::Int(0));
    shop.loses(&[], buys);
    shop.pay("7 ann 1", "A UNITS 1", 0);
    buys(&shop);
    shop.drain(&[]);
    shop.backs_up(&[]);
    shop.pay("7 ann 1", "A UNITS 1", 1);
    // It was accepted twice, and then paid.
    shop.once(&[]).summary_with(4);
    shop.restores(&[]);
    expect(&shop, &CHECK, 1, &["order 1 of ann for voucher 7", "DIFFERENT: 1 questions"]);
    shop.answers(&CHECK, "order 1 of ann for voucher 7");
    expect(&shop, &CHECK, 0, &["CONSISTENT: 1 orders with 1 units"]);
}

/// An order was accepted twice, since the server lost it once, then paid and reduced.
#[test]
fn an_answer_is_about_what_the_server_says_of_the_payment() {
    let mut shop = Shop::saved(Database::sqlite(), "LIMIT 5");
    let buys = |shop: &Shop| assert_eq!(shop.run("SECKILL.TRY 7 ann 1 UNITS 2"), Value::Int(0));
    shop.loses(&[], buys);
    buys(&shop);
    shop.drain(&[]);
    shop.backs_up(&[]);
    shop.pay("7 ann 1", "A UNITS 2", 2);
    let cancel = "SECKILL.CANCEL 7 ann 1 IF sold KEEP 1 REFUNDED REF A";
    assert_eq!(shop.run(cancel), Value::Int(1));
    shop.once(&[]).summary_with(4);
    shop.restores(&[]);
    shop.answers(&CHECK, "order 1 of ann for voucher 7: sold, 2 units");
    assert_eq!((shop.info("7", "left"), shop.refunds("A")), ("4".to_owned(), 0));
    expect(&shop, &CHECK, 0, &["CONSISTENT: 1 orders with 1 units"]);
}

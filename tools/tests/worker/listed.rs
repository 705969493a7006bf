//! The provider's list of payments, and payments of carts and of several orders.

use redis::Value;

use crate::check::expect;
use crate::databases::Database;
use crate::resolve::CHECK;
use crate::shop::Shop;

impl Shop {
    /// Writes the provider's list; returns the options of a check with it.
    fn list(&self, text: &str) -> [String; 4] {
        let path = self.server.dir().join("list.csv");
        std::fs::write(&path, text).expect("write the list");
        let path = path.to_str().expect("a path").to_owned();
        ["--refs", &path, "--refs-prefix", "wx-"].map(str::to_owned)
    }

    /// A cart: an order of one unit at each of these vouchers, with one payment.
    fn buys_cart(&self, vouchers: &[&str], user: &str, order: &str, reference: &str) {
        vouchers.iter().for_each(|voucher| self.buy(voucher, user, order));
        for voucher in vouchers {
            let command = format!("SECKILL.CONFIRM {voucher} {user} {order} REF {reference}");
            assert_eq!(self.run(&format!("{command} UNITS 1")), Value::Int(1));
        }
    }
}

/// The provider's list: units that nobody said, refunds that nobody noted.
#[test]
fn the_providers_list_is_compared_by_units_and_refunds() {
    let shop = Shop::saved(Database::sqlite(), "HOLD 600000 LIMIT 5");
    assert_eq!(shop.run("SECKILL.TRY 7 ann 1 UNITS 3"), Value::Int(0));
    shop.pay("7 ann 1", "A", 1);
    shop.drain(&[]);
    let path = shop.server.dir().join("provider.csv");
    let refs = path.to_str().expect("a path").to_owned();
    let list = |text: &str| std::fs::write(&path, text).expect("write the list");
    let options = ["--voucher", "7", "--refs", &refs];
    let none = ["no list of the payment provider was compared", "1 payments without UNITS"];
    expect(&shop, &CHECK, 0, &none);
    list("ref\nA\nother\n");
    expect(&shop, &options, 0, &["1 references;", "1 references of the list are not of"]);
    list("ref,units\nA,4\n");
    let told = expect(&shop, &options, 1, &["payment A of order 1", "3 units; 4 in the list"]);
    let command = told.lines().find_map(|line| line.split_once(": seckill-worker "));
    shop.pasted(&format!("seckill-worker {}", command.expect("a command").1));
    // One more was paid than the order has.
    expect(&shop, &options, 1, &["units of its payment are neither kept nor refunded"]);
    shop.resolves(&["1", "--keep"], 0, &["refund 1 units of payment A"]);
    assert_eq!(shop.refunds("A"), 1);
    list("ref,units,refunded\nA,4,0\n");
    expect(&shop, &options, 0, &["still to be refunded: 1 units of 1 payments"]);
    list("ref,units,refunded\nA,4,1\n");
    let told = expect(&shop, &options, 0, &["1 references, units, refunds"]);
    assert!(!told.contains("still to be refunded"), "{told}");
    // More was refunded: the order keeps less.
    list("ref,units,refunded\nA,4,2\n");
    let too_many = ["1", "--refunded", "--keep", "9"];
    shop.resolves(&too_many, 1, &["9 units can't be kept, at most 3"]);
    let told = expect(&shop, &options, 1, &["2 refunded in the list"]);
    let command = told.lines().find_map(|line| line.split_once(": seckill-worker "));
    shop.pasted(&format!("seckill-worker {}", command.expect("a command").1));
    shop.once(&[]).ended();
    expect(&shop, &options, 0, &["\nCONSISTENT: "]);
    assert_eq!(shop.rows()[&("7".to_owned(), "1".to_owned())].units, 2);
    list("ref,units,refunded\nA,4,9\n");
    shop.resolves(&["1", "--refunded"], 0, &["order 1 is released"]);
    shop.once(&[]).ended();
    // And one unit more, after that was acknowledged.
    for (refunded, beyond) in [(9, 5), (10, 6)] {
        list(&format!("ref,units,refunded\nA,4,{refunded}\n"));
        let words = format!("refunded beyond what was due, by {beyond} units");
        let told = expect(&shop, &options, 0, &[&words]);
        let command = told.split("if that is right: ").nth(1).expect("a command");
        shop.pasted(command.lines().next().expect("its line"));
        let told = expect(&shop, &options, 0, &["\nCONSISTENT: "]);
        assert!(!told.contains("beyond"), "{told}");
    }
    list("number\n1\n");
    expect(&shop, &options, 2, &["its first line must name a column ref"]);
}

/// A payment of which the entry is not read yet is on the server's record: it is not to be
/// confirmed, whatever voucher is looked at.
#[test]
fn a_payment_that_is_not_read_yet_is_not_missing() {
    let shop = Shop::of("a 5 HOLD 600000, b 5 HOLD 600000");
    shop.buy("a", "ann", "1");
    shop.buy("b", "ben", "2");
    shop.drain(&[]);
    shop.pay("a ann 1", "wx-1", 1);
    shop.pay("b ben 2", "wx-2", 1);
    let options = shop.list("ref\nwx-1\nwx-2\n");
    let options = options.each_ref().map(String::as_str);
    for voucher in [&["--voucher", "a"][..], &[]] {
        let options = [voucher, &options].concat();
        expect(&shop, &options, 3, &["not read or not written: start seckill-worker"]);
    }
    shop.drain(&[]);
    expect(&shop, &options, 0, &["compared by 2 references"]);
    let options = shop.list("ref\nwx-1\nwx-2\nwx-3\n,1\n");
    let options = options.each_ref().map(String::as_str);
    expect(&shop, &options, 1, &["payment wx-3 is in the list and not in the books"]);
    shop.list("ref,of\nwx-1,\nwx-2,\n,fee\n");
    expect(&shop, &options, 0, &["1 lines of the list have no ref"]);
}

/// The units of a cart's payment are those of its parts: one of them is for more.
#[test]
fn a_cart_that_was_paid_for_more_units_is_answered_by_a_part() {
    let shop = Shop::of("a 5 HOLD 600000, b 5 HOLD 600000");
    shop.buys_cart(&["a", "b"], "ann", "1", "wx-1");
    shop.drain(&[]);
    let options = shop.list("ref,units\nwx-1,3\n");
    let options = options.each_ref().map(String::as_str);
    let told = expect(&shop, &options, 1, &["2 units; 3 in the list: seckill-worker"]);
    let command = told.lines().find_map(|line| line.split_once(": seckill-worker "));
    shop.pasted(&format!("seckill-worker {}", command.expect("a command").1));
    expect(&shop, &options, 1, &["order 1 of ann for voucher a", "neither kept nor refunded"]);
    shop.resolves(&["1", "--voucher", "a", "--keep"], 0, &["refund 1 units of payment wx-1"]);
    expect(&shop, &options, 0, &["\nCONSISTENT: "]);
    let text = "payment wx-1 is of several orders";
    shop.resolves(&["--payment", "wx-1", "--units", "2"], 1, &[text, "--voucher=b"]);
}

/// A payment of a cart that the server has for another order, too: it is the cart's, at all of its
/// vouchers, and nothing of it is the other order's.
#[test]
fn a_payment_of_a_cart_and_another_order_is_the_whole_carts() {
    let shop = Shop::of("a 5 LIMIT 5 HOLD 600000, b 5 HOLD 600000");
    shop.buys_cart(&["a", "b"], "ann", "1", "wx-1");
    shop.buy("a", "ann", "2");
    shop.drain(&[]);
    // What a failover may lose.
    shop.run("HDEL seckill:payments:a wx-1");
    assert_eq!(shop.run("SECKILL.CONFIRM a ann 2 REF wx-1 UNITS 1"), Value::Int(1));
    shop.once(&[]).ended();
    let told = expect(&shop, &[], 1, &["payment wx-1 is of several orders", "1 questions"]);
    let command = told.lines().find_map(|line| line.split_once(": seckill-worker "));
    let said = shop.pasted(&format!("seckill-worker {}", command.expect("a command").1));
    assert!(said.contains("nothing of it is of order 2 of ann for voucher a"), "{said}");
    assert!(!said.contains("for voucher b"), "{said}");
    shop.resolves(&["2", "--release"], 0, &["order 2 is released"]);
    shop.resolves(&["1", "--voucher", "a", "--keep"], 0, &["is kept with 1 units"]);
    shop.once(&[]).ended();
    expect(&shop, &[], 0, &["\nCONSISTENT: 2 orders with 2 units"]);
    assert_eq!(shop.refunds("wx-1"), 0);
}

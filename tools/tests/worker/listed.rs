//! The provider's list of payments, and payments of carts and of several orders.

use redis::Value;

use crate::check::expect;
use crate::databases::Database;
use crate::resolve::CHECK;
use crate::shop::{STREAMS, Shop};

/// A check with the provider's list, which is beside the server's files, as the worker is.
const LISTED: [&str; 4] = ["--refs", "list.csv", "--refs-prefix", "wx-"];

impl Shop {
    /// Writes the provider's list.
    fn list(&self, text: &str) {
        std::fs::write(self.server.dir().join("list.csv"), text).expect("write the list");
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
    let options = ["--voucher", "7", "--refs", "list.csv"];
    let none = ["no list of the payment provider was compared", "1 payments without UNITS"];
    expect(&shop, &CHECK, 0, &none);
    shop.list("ref\nother\n");
    expect(&shop, &options, 0, &["list was compared by 0 references; 1 references of the list"]);
    shop.list("ref\nA\nother\n");
    expect(&shop, &options, 0, &["1 references;", "1 references of the list are not of"]);
    shop.list("ref,units\nA,4\n");
    expect(&shop, &options, 1, &["payment A of order 1"]);
    shop.answers(&options, "3 units; 4 in the list");
    // One more was paid than the order has.
    expect(&shop, &options, 1, &["units of its payment are neither kept nor refunded"]);
    shop.resolves(&["1", "--keep"], 0, &["refund 1 units of payment A"]);
    assert_eq!(shop.refunds("A"), 1);
    shop.list("ref,units,refunded\nA,4,0\n");
    expect(&shop, &options, 0, &["still to be refunded: 1 units of 1 payments"]);
    shop.list("ref,units,refunded\nA,4,1\n");
    let told = expect(&shop, &options, 0, &["1 references, units, refunds"]);
    assert!(!told.contains("still to be refunded"), "{told}");
    // More was refunded: the order keeps less.
    shop.list("ref,units,refunded\nA,4,2\n");
    let too_many = ["1", "--refunded", "--keep", "9"];
    shop.resolves(&too_many, 1, &["9 units can't be kept, at most 3"]);
    shop.answers(&options, "2 refunded in the list");
    shop.once(&[]).ended();
    expect(&shop, &options, 0, &["\nCONSISTENT: "]);
    assert_eq!(shop.rows()[&("7".to_owned(), "1".to_owned())].units, 2);
    shop.list("ref,units,refunded\nA,4,9\n");
    shop.resolves(&["1", "--refunded"], 0, &["order 1 is released"]);
    shop.once(&[]).ended();
    // And one unit more, after that was acknowledged.
    for (refunded, beyond) in [(9, 5), (10, 6)] {
        shop.list(&format!("ref,units,refunded\nA,4,{refunded}\n"));
        let words = format!("refunded beyond what was due, by {beyond} units");
        let told = expect(&shop, &options, 0, &[&words]);
        let command = told.split("if that is right: ").nth(1).expect("a command");
        shop.pasted(command.lines().next().expect("its line"));
        let told = expect(&shop, &options, 0, &["\nCONSISTENT: "]);
        assert!(!told.contains("beyond"), "{told}");
    }
    shop.list("number\n1\n");
    expect(&shop, &options, 2, &["its first line must name a column ref"]);
}

/// A part of a cart of which only the record of its payment is left, without UNITS: for how many
/// units it is, is asked before it may be refunded beside a part that is kept.
#[test]
fn a_part_whose_units_nobody_knows_is_not_refunded_as_a_whole() {
    let shop = Shop::of("7 9 LIMIT 9 HOLD 600000, 8 9 LIMIT 9 HOLD 600000");
    shop.buy("7", "ben", "1");
    shop.drain(&[]);
    assert_eq!(shop.run("SECKILL.TRY 7 ann 2 UNITS 3"), Value::Int(0));
    assert_eq!(shop.run("SECKILL.TRY 8 ann 2 UNITS 2"), Value::Int(0));
    for voucher in ["7", "8"] {
        shop.pay(&format!("{voucher} ann 2"), "wx-1", 1);
    }
    for stream in STREAMS {
        shop.run(&format!("XTRIM {stream} MAXLEN 0"));
    }
    shop.run("SECKILL.DROP 7 FORCE");
    shop.once(&[]).ended();
    let words = "its units are not known, beside other parts of its cart; 1 units at least: the ";
    let told = expect(&shop, &[], 1, &[words]);
    assert!(!told.contains("--release"), "{told}");
    shop.resolves(&["--payment", "wx-1", "--voucher", "7", "--units", "3"], 0, &[]);
    shop.resolves(&["2", "--voucher", "7", "--release"], 0, &["refund 3 units of payment wx-1"]);
    shop.list("ref,units,refunded\nwx-1,5,3\n");
    expect(&shop, &LISTED, 3, &["of voucher 7 is not on the server"]);
    assert_eq!(shop.refunds("wx-1"), 3);
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
    shop.list("ref\nwx-1\nwx-2\n");
    for voucher in [&["--voucher", "a"][..], &[]] {
        let options = [voucher, &LISTED].concat();
        expect(&shop, &options, 3, &["not read or not written: start seckill-worker"]);
    }
    shop.drain(&[]);
    expect(&shop, &LISTED, 0, &["compared by 2 references"]);
    shop.list("ref\nwx-1\nwx-2\nwx-3\n,1\n");
    expect(&shop, &LISTED, 1, &["payment wx-3 is in the list and not in the books"]);
    shop.list("ref,of\nwx-1,\nwx-2,\n,fee\n");
    expect(&shop, &LISTED, 0, &["1 lines of the list have no ref"]);
}

/// The units of a cart's payment are those of its parts: one of them is for more.
#[test]
fn a_cart_that_was_paid_for_more_units_is_answered_by_a_part() {
    let shop = Shop::of("a 5 HOLD 600000, b 5 HOLD 600000");
    shop.buys_cart(&["a", "b"], "ann", "1", "wx-1");
    shop.drain(&[]);
    shop.list("ref,units\nwx-1,3\n");
    shop.answers(&LISTED, "2 units; 3 in the list: seckill-worker");
    expect(&shop, &LISTED, 1, &["order 1 of ann for voucher a", "neither kept nor refunded"]);
    shop.resolves(&["1", "--voucher", "a", "--keep"], 0, &["refund 1 units of payment wx-1"]);
    expect(&shop, &LISTED, 0, &["\nCONSISTENT: "]);
    let text = "payment wx-1 is of several orders";
    shop.resolves(&["--payment", "wx-1", "--units", "2"], 1, &[text, "--voucher=b"]);
}

/// Fewer units were paid than the cart's parts have, so one of them was not paid at all.
#[test]
fn a_cart_that_was_paid_for_fewer_units_is_answered_by_its_parts() {
    let shop = Shop::of("a 5 HOLD 600000, b 5 HOLD 600000");
    shop.buys_cart(&["a", "b"], "ann", "1", "wx-1");
    shop.drain(&[]);
    shop.list("ref,units\nwx-1,1\n");
    shop.answers(&LISTED, "2 units; 1 in the list");
    let told = expect(&shop, &LISTED, 1, &["order 1 of ann for voucher a", "conflict h"]);
    assert!(told.contains(" --release "), "{told}");
    shop.resolves(&["1", "--voucher", "a", "--release"], 0, &["order 1 is released"]);
    shop.drain(&[]);
    expect(&shop, &LISTED, 0, &["\nCONSISTENT: "]);
    assert_eq!((shop.refunds("wx-1"), shop.units_sold("a"), shop.units_sold("b")), (0, 0, 1));
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
    expect(&shop, &[], 1, &["1 questions"]);
    let said = shop.answers(&[], "payment wx-1 is of several orders");
    assert!(said.contains("nothing of it is of order 2 of ann for voucher a"), "{said}");
    assert!(!said.contains("for voucher b"), "{said}");
    shop.resolves(&["2", "--release"], 0, &["order 2 is released"]);
    shop.resolves(&["1", "--voucher", "a", "--keep"], 0, &["is kept with 1 units"]);
    shop.once(&[]).ended();
    expect(&shop, &[], 0, &["\nCONSISTENT: 2 orders with 2 units"]);
    assert_eq!(shop.refunds("wx-1"), 0);
}

impl Shop {
    /// Answers the first question of a check by the command that it prints.
    pub fn answers(&self, options: &[&str], words: &str) -> String {
        let told = expect(self, options, 1, &[words]);
        let mut lines = told.lines().filter(|line| line.contains(words));
        let command = lines.find_map(|line| line.split_once(": seckill-worker "));
        self.pasted(&format!("seckill-worker {}", command.expect("a command").1))
    }

    /// What rows say of their conflicts.
    fn conflicts(&self) -> Vec<String> {
        let columns = ["COALESCE(conflict, '')"];
        self.database.texts(columns, "FROM seckill_orders").into_iter().flatten().collect()
    }
}

/// The server has other units on record, and says them again whenever it is asked.
#[test]
fn units_that_an_operator_has_said_stay() {
    let shop = Shop::of("a 5 HOLD 600000 LIMIT 5");
    assert_eq!(shop.run("SECKILL.TRY a ann 1 UNITS 2"), Value::Int(0));
    shop.pay("a ann 1", "wx-1 UNITS 2", 1);
    shop.drain(&[]);
    shop.list("ref,units,refunded\nwx-1,1,0\n");
    shop.answers(&LISTED, "2 units; 1 in the list");
    shop.resolves(&["1", "--keep"], 0, &["order 1 is kept with 1 units"]);
    shop.drain(&[]);
    expect(&shop, &LISTED, 0, &["\nCONSISTENT: "]);
    assert_eq!(shop.refunds("wx-1"), 0);
}

/// Which of two numbers was paid is no question of whether the customer has the order.
#[test]
fn two_numbers_of_units_are_asked_by_the_number() {
    let shop = Shop::of("a 5 HOLD 600000 LIMIT 5");
    for units in [3, 2] {
        shop.pay("a ann 1", &format!("wx-1 UNITS {units}"), 0);
    }
    shop.once(&[]).summary_with(4);
    shop.resolves(&["--payment", "wx-1", "--refund"], 1, &["say first of how many units"]);
    assert_eq!(shop.run("SECKILL.TRY a ann 1 UNITS 2"), Value::Int(0));
    shop.pay("a ann 1", "wx-1 UNITS 2", 1);
    shop.once(&[]).summary_with(4);
    shop.resolves(&["1", "--keep"], 1, &["is not said to be of one number of units"]);
    shop.answers(&[], "said to be of several numbers of units; 2 units on the server's record");
    expect(&shop, &[], 0, &["\nCONSISTENT: "]);
    assert_eq!((shop.refunds("wx-1"), shop.conflicts()), (0, vec![String::new()]));
    shop.drain(&[]);
}

/// One part of a cart was released before the payment, which says no units: it is refunded by this
/// part, and not as a whole beside the other.
#[test]
fn a_part_of_a_cart_that_is_late_is_asked_by_its_units() {
    let shop = Shop::of("a 5 HOLD 600000, b 5 HOLD 600000");
    ["a", "b"].iter().for_each(|voucher| shop.buy(voucher, "ann", "1"));
    assert_eq!(shop.run("SECKILL.CANCEL b ann 1"), Value::Int(1));
    shop.pay("a ann 1", "wx-1", 1);
    shop.pay("b ann 1", "wx-1", 3);
    shop.once(&[]).summary_with(4);
    for answer in ["--release", "--refunded"] {
        let words = ["nothing was done: payment wx-1 is not said to be of one number of units"];
        shop.resolves(&["1", "--voucher", "b", answer], 1, &words);
    }
    assert_eq!(shop.refunds("wx-1"), 0);
    shop.answers(
        &[],
        "its units are not known, beside other parts of its cart; 1 units of the order",
    );
    expect(&shop, &[], 0, &["\nCONSISTENT: "]);
    assert_eq!((shop.refunds("wx-1"), shop.conflicts()), (1, vec![String::new(); 2]));
    shop.drain(&[]);
}

/// The entries of an order, or of its payment, were lost, and the payment is another order's: it is
/// asked whose it is, before a unit of it is refunded.
#[test]
fn a_payment_that_only_the_server_tells_is_asked_first() {
    for is_order_read in [false, true] {
        let shop = Shop::of("a 5 HOLD 600000, b 5 HOLD 600000");
        shop.buy("a", "ann", "1");
        shop.pay("a ann 1", "wx-1 UNITS 1", 1);
        if is_order_read {
            shop.buy("b", "ben", "2");
        }
        shop.drain(&[]);
        if !is_order_read {
            shop.buy("b", "ben", "2");
        }
        shop.pay("b ben 2", "wx-1 UNITS 1", 1);
        ["stream.orders", "stream.orders.confirmed"].iter().for_each(|stream| {
            shop.run(&format!("XTRIM {stream} MAXLEN 0"));
        });
        if is_order_read {
            shop.resolves(&["2", "--release"], 1, &["look again"]);
        }
        shop.once(&[]).summary_with(4);
        assert_eq!(shop.refunds("wx-1"), 0);
        shop.answers(&[], "payment wx-1 is of several orders");
        shop.resolves(&["2", "--release"], 0, &["order 2 is released"]);
        shop.drain(&[]);
        expect(&shop, &[], 0, &["\nCONSISTENT: "]);
        let live: Vec<_> = shop.rows().into_values().map(|row| row.units).collect();
        assert_eq!((shop.refunds("wx-1"), live), (0, vec![1, 0]));
    }
}

/// It is on a line as a whole, which was written for another order: that is all there is to refund.
#[test]
fn no_more_is_to_be_refunded_than_was_paid() {
    let shop = Shop::of("a 5 HOLD 600000, b 5 HOLD 600000");
    for (voucher, user, order, reference) in [("a", "ann", "1", "wx-1"), ("b", "ben", "2", "wx-2")]
    {
        shop.buy(voucher, user, order);
        shop.pay(&format!("{voucher} {user} {order}"), &format!("{reference} UNITS 1"), 1);
    }
    shop.pay("b ben 2", "wx-3", 5);
    shop.drain(&[]);
    shop.pay("a ann 1", "wx-3 UNITS 1", 5);
    shop.once(&[]).summary_with(4);
    shop.list("ref,units,refunded\nwx-1,1,0\nwx-2,1,0\nwx-3,1,1\n");
    shop.answers(&LISTED, "payment wx-3 is of several orders");
    let told = expect(&shop, &LISTED, 0, &["\nCONSISTENT: "]);
    assert!(!told.contains("to be refunded"), "{told}");
}

/// Another order with the payment of one that was ruled: what its row says is what the sum has.
#[test]
fn sums_are_of_what_rows_say() {
    let shop = Shop::of("a 5 HOLD 600000, b 5 HOLD 600000");
    shop.buy("a", "ann", "1");
    shop.pay("a ann 1", "wx-1 UNITS 1", 1);
    shop.drain(&[]);
    // The resolve ends between its ruling and its step on the server.
    shop.run("ACL SETUSER default -seckill.cancel");
    shop.resolves(&["1", "--refunded"], 1, &["refuses SECKILL.CANCEL"]);
    shop.run("ACL SETUSER default +@all");
    shop.buy("b", "ben", "2");
    shop.pay("b ben 2", "wx-1 UNITS 1", 1);
    shop.once(&[]).summary_with(4);
    assert_eq!(shop.run("SECKILL.CANCEL a ann 1"), Value::Int(1));
    shop.once(&[]).summary_with(4);
    assert_eq!((shop.units_sold("a"), shop.units_sold("b")), (0, 1));
}

//! A payment is refunded once, whatever was lost: as a whole, or by the units of its order.

use redis::Value;

use crate::check::{checked, expect};
use crate::databases::Database;
use crate::harness::Server;
use crate::settle::{CHECK, REPAIR};
use crate::shop::{Shop, databases};
use crate::statements::documented;

/// The row had fewer units than the server, where all of them were paid.
#[test]
fn a_release_refunds_what_was_paid_on_the_server() {
    let mut shop = Shop::of("7 5 HOLD 600000 LIMIT 5");
    let file = shop.with_statements(&[(7, 5)], &documented(shop.database.kind));
    let statements = ["--statements", &*file];
    assert_eq!(shop.run("SECKILL.TRY 7 501 1001 UNITS 3"), Value::Int(0));
    shop.drain(&statements);
    shop.loses(&statements, |shop| _ = shop.run("SECKILL.CANCEL 7 501 1001 KEEP 1"));
    shop.pay("7 501 1001", "A", 1);
    shop.once(&statements).ended();
    let release = ["1001", "--release", "--statements", &file];
    shop.settles(&release, 0, &["is released; refund payment A of 3 units"]);
    shop.once(&statements).ended();
    let lines = shop.changes("1001");
    assert_eq!(lines.iter().filter(|line| *line == "cancelled A").count(), 1, "{lines:?}");
    assert_eq!((shop.shop_orders()[&1001], shop.shop_stock(7)), (4, 5));
    expect(&shop, &CHECK, 0, &["\nPROVED: 0 units sold"]);
}

/// Row and server have two payments of an order: the server's is refunded, whoever has the order.
#[test]
fn the_other_payment_of_an_order_is_refunded() {
    for way in ["--keep", "--release"] {
        let mut shop = Shop::of("7 5 HOLD 600000");
        shop.buy("7", "ann", "1");
        shop.drain(&[]);
        shop.loses(&[], |shop| shop.pay("7 ann 1", "A", 1));
        shop.pay("7 ann 1", "B", 1);
        shop.once(&[]).ended();
        shop.settles(&["1", way], 0, &["refund payment B, of which the row has another one"]);
        shop.once(&[]).ended();
        assert!(shop.changes("1").contains(&"second B".to_owned()), "{:?}", shop.changes("1"));
        expect(&shop, &CHECK, 0, &["\nPROVED: "]);
    }
}

/// The server lost that it had sold the order; its payment, repeated, was too late there.
#[test]
fn a_late_payment_is_not_refunded_again_when_its_order_is_released() {
    for database in databases() {
        let mut shop = Shop::saved(database, "HOLD 3000");
        shop.buy("7", "ann", "1");
        shop.drain(&[]);
        shop.loses(&[], |shop| shop.pay("7 ann 1", "A", 1));
        shop.let_pass(3_100);
        shop.pay("7 ann 1", "A", 3);
        shop.once(&[]).ended();
        shop.settles(&["1", "--keep"], 1, &["gives the payment of 1 back"]);
        let told = shop.settles(&["1", "--release"], 0, &["order 1 is released"]);
        assert!(told.contains("a line of the refunds gives payment A back already"), "{told}");
        let changes = shop.changes("1");
        assert!(changes.contains(&"late A".to_owned()), "{changes:?}");
        assert!(changes.contains(&"cancelled -".to_owned()), "{changes:?}");
        expect(&shop, &CHECK, 0, &["\nPROVED: 0 units sold"]);
        // It was not refunded after all: then its units are.
        let deny = ["1", "--release", "--not-refunded"];
        shop.settles(&deny, 0, &["was not refunded as a whole"]);
        expect(&shop, &REPAIR, 0, &["wrote 1 orders", "\nPROVED: 0 units sold"]);
    }
}

/// Released first, the payment is refunded by its units; too late then, it is not refunded again.
#[test]
fn a_released_payment_that_comes_too_late_is_refunded_once() {
    let mut shop = Shop::saved(Database::sqlite(), "HOLD 3000");
    shop.buy("7", "ann", "1");
    shop.drain(&[]);
    shop.loses(&[], |shop| shop.pay("7 ann 1", "A", 1));
    shop.let_pass(3_100);
    expect(&shop, &REPAIR, 1, &["1 of ann"]);
    shop.settles(&["1", "--release"], 0, &["refund payment A of 1 units"]);
    shop.pay("7 ann 1", "A", 3);
    shop.drain(&[]);
    let changes = shop.changes("1");
    assert!(!changes.contains(&"late A".to_owned()), "{changes:?}");
    expect(&shop, &CHECK, 0, &["\nPROVED: 0 units sold"]);
}

/// What was refunded elsewhere is on no line that refunds it, however much was read at once.
#[test]
fn units_that_were_refunded_elsewhere_are_not_refunded_again() {
    for reads_each in [true, false] {
        let shop = Shop::saved(Database::sqlite(), "HOLD 600000 LIMIT 5");
        assert_eq!(shop.run("SECKILL.TRY 7 ann 1 UNITS 3"), Value::Int(0));
        shop.pay("7 ann 1", "A", 1);
        shop.drain(&[]);
        for words in ["KEEP 2 REFUNDED NORESTOCK", "KEEP 1", "REFUNDED"] {
            assert_eq!(shop.run(&format!("SECKILL.CANCEL 7 ann 1 {words}")), Value::Int(1));
            if reads_each {
                shop.drain(&[]);
            }
        }
        shop.drain(&[]);
        let mut changes = shop.changes("1");
        changes.retain(|line| !line.starts_with("sold"));
        changes.sort();
        let wanted = ["cancelled -", "reduced -", "reduced A", "refunded A", "refunded part A"];
        assert_eq!(changes, wanted, "{reads_each}");
        expect(&shop, &CHECK, 0, &["\nPROVED: 0 units sold"]);
        expect(&shop, &REPAIR, 0, &["\nPROVED: 0 units sold"]);
        assert_eq!(shop.changes("1").iter().filter(|line| *line == "cancelled A").count(), 0);
    }
}

/// A payment of three units for an order of which one was left is refunded in part.
#[test]
fn units_that_were_paid_beyond_the_order_are_refunded() {
    for reads_held in [true, false] {
        let shop = Shop::saved(Database::sqlite(), "HOLD 600000 LIMIT 5");
        assert_eq!(shop.run("SECKILL.TRY 7 ann 1 UNITS 3"), Value::Int(0));
        assert_eq!(shop.run("SECKILL.CANCEL 7 ann 1 KEEP 1"), Value::Int(1));
        if reads_held {
            shop.drain(&[]);
        }
        assert_eq!(shop.run("SECKILL.CONFIRM 7 ann 1 REF A UNITS 3"), Value::Int(1));
        shop.drain(&[]);
        let units = || {
            let due = "FROM seckill_order_changes WHERE to_state = 'reduced' AND ref = 'A'";
            shop.database.texts(["units"], due)
        };
        assert_eq!(units(), [["2"]], "{reads_held}");
        expect(&shop, &CHECK, 0, &["\nPROVED: 1 units sold"]);
        // Without the line it is not said that all is well.
        shop.sql("DELETE FROM seckill_order_changes WHERE to_state = 'reduced' AND ref = 'A'");
        expect(&shop, &CHECK, 1, &["no line refunds 2 units that were paid beyond these"]);
        expect(&shop, &REPAIR, 0, &["wrote 1 orders", "\nPROVED: 1 units sold"]);
        assert_eq!(units(), [["2"]], "{reads_held}");
    }
}

/// Of a payment that pays nothing, all of its units are due.
#[test]
fn lines_of_payments_have_their_units() {
    let shop = Shop::saved(Database::sqlite(), "HOLD 600000 LIMIT 5");
    assert_eq!(shop.run("SECKILL.TRY 7 ann 1 UNITS 3"), Value::Int(0));
    assert_eq!(shop.run("SECKILL.CONFIRM 7 ann 1 REF A UNITS 2"), Value::Int(0));
    shop.pay("7 ann 1", "B", 1);
    assert_eq!(shop.run("SECKILL.CONFIRM 7 ann 1 REF A UNITS 2"), Value::Int(5));
    // Sold and released without a payment, which comes after that.
    assert_eq!(shop.run("SECKILL.TRY 7 bob 2 UNITS 2"), Value::Int(0));
    assert_eq!(shop.run("SECKILL.CONFIRM 7 bob 2"), Value::Int(1));
    assert_eq!(shop.run("SECKILL.CANCEL 7 bob 2"), Value::Int(1));
    shop.drain(&[]);
    shop.pay("7 bob 2", "C", 4);
    shop.drain(&[]);
    let lines = |reference: &str| {
        let its = format!("FROM seckill_order_changes WHERE ref = '{reference}'");
        let mut lines = shop.database.texts(["to_state", "units"], &its);
        lines.sort();
        lines
    };
    assert_eq!(lines("A"), [["second", "2"], ["unknown", "2"]]);
    assert_eq!(lines("C"), [["cancelled", "2"]]);
    expect(&shop, &CHECK, 0, &["\nPROVED: 3 units sold"]);
}

/// What no program writes: lines that someone has deleted, or added.
#[test]
fn what_is_due_of_a_payment_is_on_lines_once() {
    for database in databases() {
        let shop = Shop::saved(database, "HOLD 600000 LIMIT 5");
        assert_eq!(shop.run("SECKILL.TRY 7 ann 1 UNITS 3"), Value::Int(0));
        shop.pay("7 ann 1", "A", 1);
        shop.run("SECKILL.CANCEL 7 ann 1");
        shop.drain(&[]);
        let lines = |word: &str| shop.changes("1").iter().filter(|one| *one == word).count();
        assert_eq!(lines("cancelled A"), 1);
        shop.sql("DELETE FROM seckill_order_changes WHERE to_state = 'cancelled'");
        expect(&shop, &CHECK, 1, &["no line refunds 3 units in the rows: check --repair"]);
        expect(&shop, &REPAIR, 0, &["wrote 1 orders", "\nPROVED: 0 units sold"]);
        assert_eq!(lines("cancelled A"), 1);
        let cancelled = "FROM seckill_order_changes WHERE to_state = 'cancelled'";
        let entries = shop.database.texts(["entry"], cancelled);
        assert_eq!(entries, [["check 0"]], "no entry of a stream wrote it");
        expect(&shop, &REPAIR, 0, &["\nPROVED: 0 units sold"]);
        // The whole payment, too: a person says that this was not refunded.
        let copy = "INSERT INTO seckill_order_changes (voucher_id, sale_id, order_id, entry, \
                    to_state, from_state, at_ms, units, ref, said) SELECT voucher_id, sale_id, \
                    order_id, 'x', 'late', from_state, at_ms, units, ref, said FROM \
                    seckill_order_changes WHERE to_state = 'cancelled'";
        shop.sql(copy);
        let told = expect(&shop, &REPAIR, 1, &["lines refund more in the rows: "]);
        shop.settles(&step(&told, "1", " if it was not"), 0, &["was not refunded as a whole"]);
        expect(&shop, &CHECK, 0, &["\nPROVED: 0 units sold"]);
    }
}

/// Payments that name no order are refunded by a person, once.
#[test]
fn a_payment_of_no_order_is_refunded_once() {
    let shop = Shop::saved(Database::sqlite(), "HOLD 600000");
    shop.pay("7 ann 1", "A", 0);
    shop.drain(&[]);
    expect(&shop, &CHECK, 3, &["settle --voucher 7 --payment A --refund", "UNPROVED"]);
    let refund = ["--voucher", "7", "--payment", "A", "--refund"];
    for _ in 0..2 {
        shop.settles(&refund, 0, &["refund payment A, which named order 1"]);
        shop.drain(&[]);
        let mut changes = shop.changes("1");
        changes.sort();
        assert_eq!(changes, ["late A", "unknown A"]);
    }
    let (code, told) = checked(&shop, &CHECK);
    assert_eq!(code, Some(0), "{told}");
    let none = ["--voucher", "7", "--payment", "B", "--refund"];
    shop.settles(&none, 1, &["payment B is not on record"]);
}

/// A payment that the rows have for an order of a lost sale, repeated to the new one.
#[test]
fn a_payment_that_the_rows_have_is_not_refunded() {
    for database in databases() {
        let mut shop = Shop::saved(database, "HOLD 600000");
        shop.buy("7", "ann", "1");
        shop.pay("7 ann 1", "A", 1);
        shop.drain(&[]);
        shop.server = Server::with().port().start();
        shop.settles(&["--adopt-server", "--yes"], 0, &["adopted: "]);
        shop.sell_managed("7", 5, "HOLD 600000");
        for order in ["1", "2"] {
            shop.pay(&format!("7 ann {order}"), "A", 0);
            shop.once(&[]).ended();
            let refund = ["--voucher", "7", "--payment", "A", "--refund"];
            shop.settles(&refund, 1, &["payment A is that of order 1 of voucher 7, sale "]);
            let (code, told) = checked(&shop, &CHECK);
            let words = "payment A names it on the server, the payment of order 1 in the rows";
            assert_eq!(
                (code, told.contains(words)),
                match order {
                    "1" => (Some(3), false),
                    _ => (Some(1), true),
                }
            );
            assert!(!told.contains("--refund"), "{told}");
            if order == "2" {
                let step = step(&told, "--voucher", "\n");
                shop.settles(&step, 0, &["payment A stays that of order 1 of voucher 7, sale "]);
                let (code, told) = checked(&shop, &CHECK);
                assert_eq!((code, told.contains(words)), (Some(3), false), "{told}");
            }
            assert_eq!(shop.changes(order).iter().filter(|one| *one == "late A").count(), 0);
        }
    }
}

/// Reduced while it was held, then paid, then reduced again; read in parts, or after others.
#[test]
fn what_was_reduced_after_the_payment_is_refunded() {
    for are_others_first in [false, true] {
        let shop = Shop::saved(Database::sqlite(), "HOLD 600000 LIMIT 5");
        let others = [("ben", "2"), ("cid", "3")].into_iter().filter(|_| are_others_first);
        for (user, id) in others.clone() {
            assert_eq!(shop.run(&format!("SECKILL.TRY 7 {user} {id}")), Value::Int(0));
        }
        shop.drain(&[]);
        for (user, id) in others {
            shop.pay(&format!("7 {user} {id}"), id, 1);
            shop.run(&format!("SECKILL.CANCEL 7 {user} {id}"));
        }
        assert_eq!(shop.run("SECKILL.TRY 7 ann 1 UNITS 3"), Value::Int(0));
        shop.run("SECKILL.CANCEL 7 ann 1 KEEP 2");
        shop.pay("7 ann 1", "A", 1);
        shop.run("SECKILL.CANCEL 7 ann 1 KEEP 1");
        shop.drain(&["--batch", "1"]);
        assert_eq!(shop.refunds("A"), 1, "{:?}", shop.changes("1"));
        expect(&shop, &CHECK, 0, &["\nPROVED: 1 units sold"]);
    }
}

/// The entries that tell whether units were paid are gone before the worker reads them.
#[test]
fn units_of_which_nobody_tells_whether_they_were_paid_wait_for_a_person() {
    for database in databases() {
        let shop = Shop::saved(database, "HOLD 600000 LIMIT 5");
        assert_eq!(shop.run("SECKILL.TRY 7 ann 1 UNITS 3"), Value::Int(0));
        shop.drain(&[]);
        shop.run("SECKILL.CANCEL 7 ann 1 KEEP 1");
        shop.pay("7 ann 1", "A", 1);
        for stream in ["confirmed", "released"] {
            shop.run(&format!("XTRIM stream.orders.{stream} MAXLEN 0"));
        }
        let told =
            expect(&shop, &REPAIR, 3, &["payment A of order 1 of voucher 7 was for 1 units"]);
        let settle = step(&told, "1", ", with --paid ");
        assert_eq!(shop.refunds("A"), 0);
        let paid = |units| [&settle[..], &["--paid", units]].concat();
        shop.settles(&paid("3"), 0, &["refund payment A of 2 units"]);
        assert_eq!(shop.refunds("A"), 2);
        expect(&shop, &CHECK, 0, &["\nPROVED: 1 units sold"]);
        shop.settles(&paid("3"), 1, &["nothing was settled: of order 1 it is known"]);
    }
}

/// A released order that a restored server sold, and of which it released a unit.
#[test]
fn what_was_released_of_an_order_before_it_is_kept_is_refunded() {
    let mut shop = Shop::of("7 5 HOLD 600000 LIMIT 5");
    assert_eq!(shop.run("SECKILL.TRY 7 ann 1 UNITS 2"), Value::Int(0));
    shop.drain(&[]);
    shop.loses(&[], |shop| _ = shop.run("SECKILL.CANCEL 7 ann 1"));
    shop.pay("7 ann 1", "A", 1);
    shop.run("SECKILL.CANCEL 7 ann 1 KEEP 1");
    shop.once(&[]).ended();
    shop.settles(&["1", "--keep"], 0, &["order 1 is kept, sold"]);
    shop.once(&[]).ended();
    let told = expect(&shop, &CHECK, 3, &["payment A of order 1 of voucher 7 was for 1 units"]);
    let paid = [&step(&told, "1", ", with --paid ")[..], &["--paid", "2"]].concat();
    shop.settles(&paid, 0, &["refund payment A of 1 units"]);
    assert_eq!(shop.refunds("A"), 1);
    expect(&shop, &CHECK, 0, &["\nPROVED: 1 units sold"]);
}

/// The server lost that a payment was late, and sold the order after all: its release refunds
/// nothing more.
#[test]
fn a_release_that_is_read_refunds_no_late_payment_again() {
    let mut shop = Shop::saved(Database::sqlite(), "HOLD 1000");
    shop.buy("7", "ann", "1");
    shop.drain(&[]);
    shop.let_pass(1_100);
    shop.pay("7 ann 1", "A", 3);
    shop.drain(&[]);
    assert!(shop.changes("1").contains(&"late A".to_owned()));
    shop.returns_to_the_save();
    assert_eq!(shop.run("SECKILL.TRY 7 ann 1"), Value::Int(0));
    shop.pay("7 ann 1", "A", 1);
    shop.run("SECKILL.CANCEL 7 ann 1");
    shop.once(&[]).ended();
    let changes = shop.changes("1");
    assert!(!changes.contains(&"cancelled A".to_owned()), "{changes:?}");
    assert_eq!(shop.refunds("A"), 0);
}

/// The words of the command that a line advises for an order.
pub fn step<'t>(told: &'t str, order: &str, end: &str) -> Vec<&'t str> {
    let at = told.find(&format!("seckill-worker settle {order} ")).expect("the next step");
    let step = told[at..].split_once(end).expect("its end").0;
    step.split(' ').skip(2).collect()
}

impl Shop {
    /// The units that lines refund of a payment.
    pub fn refunds(&self, reference: &str) -> i64 {
        let lines = format!(
            "FROM seckill_order_changes WHERE ref = '{reference}' AND to_state IN ('reduced', \
             'cancelled', 'expired', 'rejected')"
        );
        self.database.numbers(["units"], &lines).iter().map(|[units]| units).sum()
    }
}

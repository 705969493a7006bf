//! What payments are for, and units that leave a sale or were refunded elsewhere: SECKILL.CONFIRM
//! with UNITS, SECKILL.CANCEL with NORESTOCK and REFUNDED, and what entries and book say of them.

use crate::harness::{Server, text};
use crate::reject::entries;
use redis::Value;

/// A sale of nine with these sold or held orders of alice, each of three units.
fn sale(orders: &[&str]) -> Server {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 7 9 LIMIT 9 HOLD 900000");
    for id in orders {
        server.check(&format!("> SECKILL.TRY 7 alice {id} UNITS 3\n0"));
    }
    server
}

/// These fields of the last entry; empty where there is none.
fn last<const N: usize>(server: &Server, stream: &str, names: [&str; N]) -> [String; N] {
    let fields = entries(server, stream).pop().expect("an entry").1;
    names.map(|name| {
        let mut pairs = fields.chunks(2);
        let pair = pairs.find(|pair| pair[0] == name.as_bytes());
        pair.map_or_else(String::new, |it| String::from_utf8_lossy(&it[1]).into_owned())
    })
}

fn total(server: &Server) -> Value {
    server.field("SECKILL.INFO 7", "total")
}

#[test]
fn units_that_leave_a_sale_are_not_for_the_line() {
    let server = sale(&["o1", "o2"]);
    server.check("> SECKILL.TRY 7 bob b1 UNITS 3\n0\n> SECKILL.TRY 7 carl c1 WAITLIST\n6");
    server.check("> SECKILL.CONFIRM 7 alice o1 REF p1\n1");
    server.check("> SECKILL.CANCEL 7 alice o1 KEEP 2 NORESTOCK\n1");
    assert_eq!(total(&server), Value::Int(8));
    server.assert_book("7", [0, 6, 2]);
    assert_eq!(server.state("7", "c1"), "waiting");
    let words = ["units", "kept", "norestock", "refunded", "ref"];
    assert_eq!(last(&server, "stream.orders.released", words), ["", "2", "1", "", "p1"]);
    // A repeat, whatever it says, changes nothing.
    for more in ["KEEP 2 NORESTOCK", "KEEP 2", "KEEP 3 REFUNDED"] {
        let (reply, _) = server.replicated_again(&format!("SECKILL.CANCEL 7 alice o1 {more}"));
        assert_eq!((reply, total(&server)), (Value::Int(2), Value::Int(8)), "{more}");
    }
    server.check("> SECKILL.CANCEL 7 alice o1 NORESTOCK IF held\n3");
    server.check("> SECKILL.CANCEL 7 alice o2 NORESTOCK\n1");
    server.assert_book("7", [0, 3, 2]);
    assert_eq!(server.state("7", "c1"), "waiting");
    // Units that return are for the line, as ever.
    server.check("> SECKILL.CANCEL 7 alice o1\n1");
    server.assert_book("7", [1, 4, 0]);
    assert_eq!(server.state("7", "c1"), "held");
    // Of an order in the queue there is nothing to leave the sale.
    server.check(
        "> SECKILL.TRY 7 dan d1 UNITS 3 WAITLIST\n6\n> SECKILL.CANCEL 7 dan d1 NORESTOCK\n1",
    );
    assert_eq!((total(&server), server.state("7", "d1").as_str()), (Value::Int(5), "cancelled"));
    server.assert_reload_changes_nothing();
}

#[test]
fn units_that_were_refunded_elsewhere_are_in_the_book() {
    let server = sale(&["o1", "o2"]);
    server.check("> SECKILL.CANCEL 7 alice o1 REFUNDED\n3");
    server.check("> SECKILL.CONFIRM 7 alice o1\n1\n> SECKILL.CANCEL 7 alice o1 REFUNDED\n3");
    server.check("> SECKILL.CANCEL 7 alice o1 REF p1\n3");
    server.check("> SECKILL.CONFIRM 7 alice o1 REF p1 UNITS 4\n2");
    // Of another payment nothing is refunded.
    server.check("> SECKILL.CANCEL 7 alice o1 REFUNDED REF p2\n3");
    let paid = ["ref", "payment", "paid", "units"];
    assert_eq!(last(&server, "stream.orders.confirmed", paid), ["p1", "first", "4", "3"]);
    server.check("> SECKILL.CANCEL 7 alice o1 REFUNDED KEEP 2\n1");
    let words = ["units", "kept", "norestock", "refunded", "was"];
    assert_eq!(last(&server, "stream.orders.released", words), ["", "2", "", "1", "sold"]);
    server.check(
        "> SECKILL.CANCEL 7 alice o1 KEEP 1\n1\n> SECKILL.CANCEL 7 alice o1 REFUNDED REF p1\n1",
    );
    let of = |name| server.field("SECKILL.ORDER 7 o1", name);
    assert_eq!((of("paid"), text(&of("refunded")).as_str()), (Value::Int(4), "1-1,3-3"));
    let book = text(&server.run("HGET seckill:book:7 o1"));
    assert_eq!(book, "cancelled:1:0,sold,asked3,paid4,refunded1-1,refunded3-3,ref2:p1:alice");
    server.check("> SECKILL.CANCEL 7 alice o1 REFUNDED\n2\n> SECKILL.CONFIRM 7 alice o1 REF p1\n4");
    server.check("> SECKILL.CONFIRM 7 alice o1 REF p1 UNITS 4\n4");
    server.refused("SECKILL.CONFIRM 7 alice o1 REF p1 UNITS 3", "UNITS");
    let record = text(&server.run("HGET seckill:payments:7 p1"));
    assert_eq!(record, format!("released:{},paid4,user5:alice:o1", server.sale_of("7")));
    server.assert_book("7", [6, 3, 0]);
    for request in ["alice o2 REFUNDED IF held", "alice o2 IF held REFUNDED NORESTOCK"] {
        server.refused(&format!("SECKILL.CANCEL 7 {request}"), "ERR");
    }
    server.run("SET seckill:stock:8 1");
    server.check("> SECKILL.TRY 8 alice u1\n0");
    for word in ["NORESTOCK", "REFUNDED", "REF p1"] {
        server.refused(&format!("SECKILL.CANCEL 8 alice u1 {word}"), "NOVOUCHER");
    }
    server.assert_reload_changes_nothing();
}

#[test]
fn a_payment_for_fewer_units_than_the_order_has_is_unknown() {
    let server = sale(&["o1", "o2"]);
    let paid = ["ref", "payment", "paid", "units"];
    let before = server.field("SECKILL.ORDER 7 o1", "state");
    server.check("> SECKILL.CONFIRM 7 alice o1 REF p1 UNITS 2\n0");
    assert_eq!(last(&server, "stream.orders.confirmed", paid), ["p1", "unmatched", "2", ""]);
    assert_eq!(server.field("SECKILL.ORDER 7 o1", "state"), before);
    // Said again it is no news; also without the number, which stands.
    for request in ["REF p1 UNITS 2", "REF p1"] {
        let (reply, _) = server.replicated_again(&format!("SECKILL.CONFIRM 7 alice o1 {request}"));
        assert_eq!(reply, Value::Int(0), "{request}");
    }
    assert_eq!(entries(&server, "stream.orders.confirmed").len(), 1);
    server.check("> SECKILL.CANCEL 7 alice o1 KEEP 2\n1\n> SECKILL.CONFIRM 7 alice o1 REF p1\n1");
    assert_eq!(last(&server, "stream.orders.confirmed", paid), ["p1", "first", "2", "2"]);
    server.check("> SECKILL.CONFIRM 7 alice o2 REF p2 UNITS 1\n0");
    server.check("> SECKILL.CONFIRM 7 alice o2 REF p2 REFUND\n3");
    assert_eq!(last(&server, "stream.orders.confirmed", paid), ["p2", "late", "1", ""]);
    server.check("> SECKILL.CONFIRM 7 alice o1 REF p3 UNITS 5\n5");
    assert_eq!(last(&server, "stream.orders.confirmed", paid), ["p3", "duplicate", "5", "2"]);
    for request in ["alice o1 UNITS 2", "alice o1 REF p1 UNITS 0", "alice o1 REF p1 UNITS -1"] {
        server.refused(&format!("SECKILL.CONFIRM 7 {request}"), "ERR");
    }
    server.assert_book("7", [4, 3, 2]);
    server.assert_reload_changes_nothing();
}

#[test]
fn an_order_that_was_released_without_a_payment_takes_its_first_one() {
    let server = sale(&["o1", "o2"]);
    server.check("> SECKILL.CONFIRM 7 alice o1\n1\n> SECKILL.CANCEL 7 alice o1\n1");
    server.check("> SECKILL.CONFIRM 7 alice o1\n3\n> SECKILL.CONFIRM 7 alice o1 REF p1 UNITS 3\n4");
    let paid = ["ref", "payment", "paid", "units"];
    assert_eq!(last(&server, "stream.orders.confirmed", paid), ["p1", "released", "3", "3"]);
    server.check("> SECKILL.CONFIRM 7 alice o1 REF p1\n4\n> SECKILL.CONFIRM 7 alice o1 REF p2\n3");
    assert_eq!(last(&server, "stream.orders.confirmed", paid), ["p2", "late", "", "3"]);
    // Nobody has had the units of a hold that was cancelled.
    server.check("> SECKILL.CANCEL 7 alice o2\n1\n> SECKILL.CONFIRM 7 alice o2 REF p3\n3");
    server.assert_book("7", [9, 0, 0]);
    server.assert_reload_changes_nothing();
}

#[test]
fn the_release_of_a_rejected_entry_names_it() {
    let server = sale(&["o1"]);
    server.run("SET seckill:stock:8 1");
    server.check("> SECKILL.TRY 8 alice u1\n0");
    server.run("XGROUP CREATE stream.orders g 0");
    server.run("XREADGROUP GROUP g c STREAMS stream.orders >");
    for (id, _) in entries(&server, "stream.orders") {
        server.check(&format!("> SECKILL.REJECT stream.orders g {id}\n1"));
        let named = last(&server, "stream.orders.released", ["reason", "entry"]);
        assert_eq!(named, ["rejected".to_owned(), id]);
    }
}

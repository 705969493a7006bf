//! `seckill-worker check`: which orders differ, and what it writes.

use redis::Value;

use crate::databases::Database;
use crate::harness::{Server, text};
use crate::shop::Shop;

/// Runs the check; returns its exit code and its output.
pub fn checked(shop: &Shop, options: &[&str]) -> (Option<i32>, String) {
    shop.asked(&[&["check"], options].concat(), "")
}

pub fn expect(shop: &Shop, options: &[&str], code: i32, words: &[&str]) -> String {
    let (found, text) = checked(shop, options);
    assert_eq!(found, Some(code), "{options:?}: {text}");
    for word in words {
        assert!(text.contains(word), "{word}: {text}");
    }
    text
}

#[test]
fn rows_are_compared_with_the_server() {
    for shop in Shop::on_each("phone 200") {
        shop.buy_many("phone", 0..200);
        shop.drain(&[]);
        let options = ["--voucher", "phone", "--stock", "200"];
        expect(&shop, &options, 0, &["\nPROVED: 200 units sold in Redis, 200 orders in "]);
        shop.sql("DELETE FROM seckill_orders WHERE units = 1");
        let words =
            ["orders                           200          0  DIFFERS", "and 180 more: --json"];
        expect(&shop, &options, 1, &words);
        // Repaired from the entries of the stream, with the sums as before.
        let repaired = [&options[..], &["--repair"]].concat();
        expect(&shop, &repaired, 1, &["wrote 200 orders", "DIFFERENT: units in the sums\n"]);
        shop.sql("UPDATE seckill_voucher_sales SET units = 200");
        expect(&shop, &options, 0, &["PROVED: 200 units"]);
        shop.check();
    }
}

/// Orders that the streams no longer have are in the book of a managed voucher.
#[test]
fn a_managed_sale_is_repaired_from_its_book() {
    for shop in Shop::on_each("tea 10 LIMIT 3 HOLD 600000") {
        for (user, order) in [("ann", "o1"), ("ben", "o2"), ("cid", "o3"), ("dan", "o4")] {
            shop.buy("tea", user, order);
        }
        shop.drain(&[]);
        shop.run("SECKILL.CONFIRM tea ann o1");
        shop.run("SECKILL.CANCEL tea ben o2");
        shop.buy("tea", "eve", "o5");
        for stream in ["stream.orders", "stream.orders.confirmed", "stream.orders.released"] {
            shop.run(&format!("XTRIM {stream} MAXLEN 0"));
        }
        let told = expect(
            &shop,
            &["--voucher", "tea"],
            1,
            &[
                "o1 of ann for voucher tea: sold on the server, held in the rows",
                "o2 of ben for voucher tea: cancelled on the server, held in the rows",
                "o5 of eve for voucher tea: held on the server, missing in the rows",
            ],
        );
        assert!(!told.contains("o3 of") && told.contains("\nDIFFERENT: 3 orders\n"), "{told}");
        let words = ["wrote 3 orders", "PROVED: 4 units sold in Redis, 4 orders in "];
        expect(&shop, &["--voucher", "tea", "--repair"], 0, &words);
        let rows = shop.rows();
        let state = |order: &str| rows[&("tea".to_owned(), order.to_owned())].state.clone();
        assert_eq!(["o1", "o2", "o3", "o5"].map(state), ["sold", "cancelled", "held", "held"]);
        // What it could not read is in the book.
        shop.once(&[]).summary_with(5);
        expect(&shop, &["--voucher", "tea"], 0, &["PROVED: 4 units"]);
    }
}

/// An entry that no worker has read yet is written once, by the repair or by the worker.
#[test]
fn entries_that_come_after_a_repair_change_nothing() {
    let shop = Shop::of("phone 50, tea 10 LIMIT 1 HOLD 600000");
    shop.buy("phone", "ann", "o1");
    shop.buy("tea", "ann", "t1");
    shop.drain(&[]);
    shop.buy("phone", "ben", "o2");
    shop.buy("tea", "ben", "t2");
    shop.run("SECKILL.CONFIRM tea ben t2");
    for (voucher, unread) in [("phone", 1), ("tea", 2)] {
        let unread = format!("{unread} entries of voucher {voucher} are not read or not");
        expect(&shop, &["--voucher", voucher], 1, &[&unread, "DIFFERENT: 1 orders"]);
        let options = ["--voucher", voucher, "--repair"];
        expect(&shop, &options, 3, &["wrote 1 orders", &unread, "UNPROVED: nothing differs"]);
    }
    let summary = shop.drain(&[]);
    for voucher in ["phone", "tea"] {
        expect(&shop, &["--voucher", voucher], 0, &["\nPROVED: 2 units"]);
    }
    assert_eq!((&summary["rows_inserted"], &summary["rows_repeated"]), (&0.into(), &2.into()));
    shop.check();
    // A later release is also applied once.
    shop.run("SECKILL.CANCEL tea ben t2");
    shop.drain(&[]);
    shop.check();
    expect(&shop, &["--voucher", "tea"], 0, &["PROVED: 1 units"]);
}

/// A person has to decide about these.
#[test]
fn what_was_sold_is_never_released() {
    let shop = Shop::of("phone 50, tea 10 LIMIT 1");
    for voucher in ["phone", "tea"] {
        shop.buy(voucher, "ann", &format!("{voucher}-1"));
    }
    shop.drain(&[]);
    shop.run("SECKILL.CANCEL phone ann phone-1");
    shop.run("SECKILL.CANCEL tea ann tea-1");
    let sql = "INSERT INTO seckill_orders SELECT voucher_id, sale_id, 'x', 'eve', units, state, \
               deadline_ms, NULL, entry_id, released_id, confirmed_id, NULL, NULL, NULL, 0, 0 FROM \
               seckill_orders WHERE voucher_id = 'tea'";
    shop.sql(sql);
    let words = ["phone-1 of ann for voucher phone: cancelled on the server, sold in"];
    expect(
        &shop,
        &["--voucher", "phone", "--repair"],
        1,
        &[&words[..], &["wrote 0 orders"]].concat(),
    );
    let words = [
        "tea-1 of ann for voucher tea: cancelled on the server, sold in the rows",
        "x of eve for voucher tea: unknown on the server, sold in the rows",
    ];
    expect(&shop, &["--voucher", "tea"], 1, &words);
    // The book says that the order was cancelled; of the other, the server knows nothing.
    let words = ["wrote 1 orders", "x of eve", "disputed rows                                 1"];
    let told = expect(&shop, &["--voucher", "tea", "--repair"], 1, &words);
    assert!(!told.contains("tea-1 of ann"), "{told}");
    let sold = shop.rows().into_values().filter(|row| row.state == "sold").count();
    assert_eq!(sold, 2);
}

#[test]
fn all_shards_of_a_sale_are_compared() {
    let server = Server::with().config("seckill.hash-tags yes").start();
    let mut shop = Shop::on(server, Database::sqlite(), &["7#0", "7#1"]);
    // The key that seckill-shards makes when it opens a sale.
    for shard in ["7#0", "7#1"] {
        shop.run(&format!("HSET seckill:shard:{{{shard}}} sale 2:100:x"));
        shop.sell(shard, 50);
    }
    for number in 0..6 {
        shop.buy(&format!("7#{}", number % 2), &format!("u{number}"), &format!("o{number}"));
    }
    shop.drain(&[]);
    let told = expect(&shop, &["--voucher", "7"], 0, &["PROVED: 6 units sold"]);
    assert!(told.contains("orders                             6          6  ok"), "{told}");
    shop.sql("DELETE FROM seckill_orders WHERE order_id = 'o3'");
    let words = ["o3 of u3 for voucher 7#1: sold on the server, missing in the rows"];
    expect(&shop, &["--voucher", "7"], 1, &words);
    let (code, json) = checked(&shop, &["--voucher", "7", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((code, &json["agrees"]), (Some(1), &false.into()));
    assert_eq!(json["differences"][0]["order"], "o3", "{json}");
}

/// One sentence, exit code 2, and nothing is created.
#[test]
fn what_can_not_be_compared_is_told() {
    let shop = Shop::of("phone 50");
    let no_file = ["--voucher", "phone"];
    let told = expect(&shop, &no_file, 2, &["no such file"]);
    assert_eq!(told.lines().count(), 1, "{told}");
    shop.drain(&[]);
    expect(&shop, &["--voucher", "other"], 2, &["NOVOUCHER"]);
    expect(&shop, &["--voucher", "phone", "--table-prefix", "x_"], 2, &["not those of this"]);
    expect(&shop, &[], 2, &["--voucher"]);
}

/// SECKILL.EXTEND appends no entry: the row has the later deadline once it is written again.
#[test]
fn a_later_deadline_is_in_the_row_when_it_is_written_again() {
    for shop in Shop::on_each("tea 10 HOLD 600000 LIMIT 3") {
        assert_eq!(shop.run("SECKILL.TRY tea ann o1 UNITS 3"), Value::Int(0));
        shop.drain(&[]);
        let in_row = || shop.database.numbers(["deadline_ms"], "FROM seckill_orders")[0][0];
        let in_book = || {
            let entry = text(&shop.run("HGET seckill:book:tea o1"));
            entry.split(':').nth(2).and_then(|ms| ms.parse::<i64>().ok()).expect("a deadline")
        };
        let first = in_book();
        assert_eq!(in_row(), first);
        assert_eq!(shop.run("SECKILL.EXTEND tea ann o1 3600000"), Value::Int(1));
        shop.drain(&[]);
        let later = in_book();
        assert!(in_row() == first && first < later, "{first} {later}");
        expect(&shop, &["--voucher", "tea"], 0, &["PROVED: 3 units"]);
        shop.run("SECKILL.CANCEL tea ann o1 KEEP 1");
        shop.drain(&[]);
        assert_eq!(in_row(), later);
        shop.run("SECKILL.CONFIRM tea ann o1");
        shop.drain(&[]);
        assert_eq!(in_row(), later, "a sold order keeps its last deadline");
    }
}

/// Another program's word in a row is not taken for anything: no command goes on.
#[test]
fn a_state_that_is_none_is_named() {
    let shop = Shop::of("tea 10 HOLD 600000");
    shop.buy("tea", "ann", "o1");
    shop.buy("tea", "ben", "o2");
    shop.drain(&[]);
    let spoil = "PRAGMA ignore_check_constraints = ON; UPDATE seckill_orders SET state = 'paid' \
                 WHERE order_id = 'o1'";
    shop.sql(spoil);
    let words =
        ["the row of order o1 of voucher tea, sale ", ", has the state paid, which is none"];
    expect(&shop, &["--voucher", "tea"], 2, &words);
    let (code, told) = shop.asked(&["settle", "o1", "--release"], "");
    assert!(code == Some(1) && told.contains(words[1]), "{told}");
    // Its entries stay pending; those of other orders are written.
    for (user, order) in [("ann", "o1"), ("ben", "o2")] {
        assert_eq!(shop.run(&format!("SECKILL.CONFIRM tea {user} {order}")), Value::Int(1));
    }
    let mut worker = shop.once(&[]);
    assert_eq!(worker.ended().code(), Some(3), "{}", worker.log());
    assert!(worker.log().contains(words[1]), "{}", worker.log());
    let states: Vec<_> = shop.rows().into_values().map(|row| row.state).collect();
    assert_eq!(states, ["paid", "sold"]);
    // Other rows that are disputed are not looked at, and the log says so.
    let dispute = "UPDATE seckill_orders SET disputed = 'held', disputed_ms = 1";
    shop.sql(&format!("PRAGMA ignore_check_constraints = ON; {dispute}"));
    let mut worker = shop.once(&[]);
    worker.ended();
    let words = "not looked at until later: rows that are disputed: ";
    assert!(worker.log().contains(words), "{}", worker.log());
}

//! `seckill-worker check`: which orders differ, and what it writes.

use redis::Value;

use crate::databases::Database;
use crate::harness::{Server, text};
use crate::shop::{GROUP, STREAMS, Shop};

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
        expect(&shop, &options, 0, &["200 buyers of unmanaged vouchers with 200 units"]);
        shop.sql("DELETE FROM seckill_orders WHERE units = 1");
        let words = ["\n201. ", "DIFFERENT: 200 orders that check --repair writes"];
        expect(&shop, &options, 1, &words);
        // Repaired from the entries of the stream. The sums are added to, not counted anew.
        let repaired = [&options[..], &["--repair"]].concat();
        expect(&shop, &repaired, 1, &["wrote 200 orders", "200 units of orders, 400 in the sum"]);
        shop.sql("UPDATE seckill_voucher_sales SET units = 200");
        expect(&shop, &options, 0, &["CONSISTENT: "]);
        shop.check();
        expect(&shop, &["--voucher", "phone", "--stock", "199"], 1, &["0 left of 199"]);
    }
}

/// What README's first check shows: units can't be compared without --stock.
#[test]
fn orders_of_several_units_of_an_unmanaged_voucher_agree() {
    let shop = Shop::of("7 3");
    shop.buy("7", "alice", "1001");
    assert_eq!(shop.run("SECKILL.TRY 7 bob 1003 UNITS 2"), Value::Int(0));
    shop.drain(&[]);
    expect(&shop, &["--voucher", "7"], 0, &["2 buyers of unmanaged vouchers with 3 units"]);
    expect(&shop, &["--voucher", "7", "--stock", "3"], 0, &["CONSISTENT: "]);
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
        for stream in STREAMS {
            shop.run(&format!("XTRIM {stream} MAXLEN 0"));
        }
        let told = expect(
            &shop,
            &["--voucher", "tea"],
            1,
            &[
                "order o1 of ann for voucher tea: held, 1 units in the database; sold, 1 units",
                "order o2 of ben for voucher tea: held, 1 units in the database; released",
                "order o5 of eve for voucher tea: missing in the database; held, 1 units",
            ],
        );
        assert!(!told.contains("order o3 of"), "{told}");
        assert!(told.contains("\nDIFFERENT: 3 orders that check --repair writes\n"), "{told}");
        let words = ["wrote 3 orders", "CONSISTENT: 4 orders with 4 units"];
        expect(&shop, &["--voucher", "tea", "--repair"], 0, &words);
        let rows = shop.rows();
        let state = |order: &str| rows[&("tea".to_owned(), order.to_owned())].state.clone();
        assert_eq!(["o1", "o2", "o3", "o5"].map(state), ["sold", "cancelled", "held", "held"]);
        // The worker sees that entries went unread, and checks by itself.
        let summary = shop.drain(&[]);
        assert!(summary["deleted"].as_u64() >= Some(3), "{summary}");
        expect(&shop, &["--voucher", "tea"], 0, &["CONSISTENT: 4 orders"]);
        expect(&shop, &[], 0, &["CONSISTENT: 4 orders"]);
    }
}

/// Its sale is dropped, its entries were deleted unread, and the database never had it.
#[test]
fn a_voucher_that_payments_alone_name_is_looked_at() {
    let shop = Shop::of("tea 10 LIMIT 1 HOLD 600000, cup 5 LIMIT 1 HOLD 600000");
    shop.drain(&[]);
    shop.run("SECKILL.DROP cup FORCE");
    shop.buy("tea", "ann", "o1");
    assert_eq!(shop.run("SECKILL.CONFIRM cup ben o2 REF wx-1 UNITS 1"), Value::Int(0));
    shop.run("XTRIM stream.orders.confirmed MAXLEN 0");
    shop.drain(&[]);
    expect(&shop, &["--voucher", "tea"], 0, &["CONSISTENT: 1 orders"]);
    expect(&shop, &[], 3, &["of voucher cup is not on the server", "\nINCOMPLETE: "]);
}

/// An order of which an entry is not read yet is left to the worker.
#[test]
fn what_is_not_read_yet_is_not_repaired() {
    let shop = Shop::of("phone 50, tea 10 LIMIT 1 HOLD 600000");
    shop.buy("phone", "ann", "o1");
    shop.buy("tea", "ann", "t1");
    shop.drain(&[]);
    shop.buy("phone", "ben", "o2");
    shop.buy("tea", "ben", "t2");
    shop.run("SECKILL.CONFIRM tea ben t2");
    for (voucher, unread) in [("phone", 1), ("tea", 2)] {
        let unread = format!("{unread} entries of voucher {voucher} are not read or not");
        let options = ["--voucher", voucher, "--repair"];
        expect(&shop, &options, 3, &[&unread, "INCOMPLETE: nothing differs"]);
    }
    let summary = shop.drain(&[]);
    for voucher in ["phone", "tea"] {
        expect(&shop, &["--voucher", voucher], 0, &["\nCONSISTENT: "]);
    }
    assert_eq!((&summary["rows_inserted"], &summary["rows_repeated"]), (&2.into(), &0.into()));
    shop.check();
}

/// Each once, whoever has it. One that names no voucher may be of any.
#[test]
fn entries_that_are_not_done_are_counted_by_voucher() {
    let shop = Shop::of("phone 50, tea 10 LIMIT 1");
    shop.drain(&[]);
    for (voucher, user) in [("phone", "ann"), ("tea", "ann"), ("phone", "ben"), ("phone", "cid")] {
        shop.buy(voucher, user, &format!("{voucher}-{user}"));
    }
    shop.run(&format!("XREADGROUP GROUP {GROUP} dead COUNT 3 STREAMS {} >", STREAMS[0]));
    shop.run(&format!("XADD {} * a b", STREAMS[0]));
    for (voucher, entries) in [("phone", 4), ("tea", 2)] {
        let words = format!("\n{entries} entries of voucher {voucher} are not read");
        expect(&shop, &["--voucher", voucher], 3, &[&words]);
        expect(&shop, &[], 3, &[&words]);
    }
}

/// A check of all vouchers finds those that nobody has written yet in what it lists anyway.
#[test]
fn what_is_not_done_is_listed_once_per_look() {
    let shop = Shop::of("tea 10 LIMIT 1");
    shop.buy("tea", "ann", "o1");
    shop.drain(&[]);
    let listed = |options: &[&str]| {
        shop.run("CONFIG RESETSTAT");
        expect(&shop, options, 0, &["CONSISTENT: 1 orders"]);
        let stats = text(&shop.run("INFO commandstats"));
        let calls = stats.lines().find_map(|line| line.strip_prefix("cmdstat_xrange:calls="));
        calls.and_then(|calls| calls.split(',').next()).map(str::to_owned)
    };
    let of_one = listed(&["--voucher", "tea"]);
    assert!(of_one.is_some() && listed(&[]) == of_one, "{of_one:?}");
}

/// A row that nobody on the server knows is asked about; nothing sold is released.
#[test]
fn what_was_sold_is_never_released() {
    let shop = Shop::of("tea 10 LIMIT 1");
    shop.buy("tea", "ann", "tea-1");
    shop.drain(&[]);
    let columns: Vec<[String; 1]> =
        shop.database.texts(["name"], "FROM pragma_table_info('seckill_orders')");
    let columns: Vec<&str> = columns.iter().map(|[name]| &**name).collect();
    let values = columns.join(", ").replace("order_id", "'x'").replace("user_id", "'eve'");
    let names = columns.join(", ");
    shop.sql(&format!("INSERT INTO seckill_orders ({names}) SELECT {values} FROM seckill_orders"));
    shop.sql("UPDATE seckill_voucher_sales SET units = 2");
    let words = ["order x of eve for voucher tea: sold, 1 units", "no such order on the server"];
    for options in [&["--voucher", "tea"][..], &["--voucher", "tea", "--repair"]] {
        expect(&shop, options, 1, &words);
    }
    let sold = shop.rows().into_values().filter(|row| row.state == "sold").count();
    assert_eq!(sold, 2);
}

#[test]
fn all_shards_of_a_sale_are_compared() {
    let server = Server::with().config("seckill.hash-tags yes").start();
    let mut shop = Shop::on(server, Database::sqlite(), &["7#0", "7#1"]);
    // The key that seckill-shards makes when it opens a sale.
    for shard in ["7#0", "7#1"] {
        shop.run(&format!("HSET seckill:shard:{{{shard}}} sale 2:100:x units 50"));
        shop.sell(shard, 50);
    }
    for number in 0..6 {
        shop.buy(&format!("7#{}", number % 2), &format!("u{number}"), &format!("o{number}"));
    }
    shop.drain(&[]);
    expect(&shop, &["--voucher", "7"], 0, &["6 buyers of unmanaged vouchers with 6 units"]);
    shop.sql("DELETE FROM seckill_orders WHERE order_id = 'o3'");
    let words = ["order o3 of u3 for voucher 7#1: missing in the database"];
    expect(&shop, &["--voucher", "7"], 1, &words);
    let (code, json) = checked(&shop, &["--voucher", "7", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((code, &json["verdict"]), (Some(1), &"DIFFERENT".into()));
    let first = &json["questions"][0];
    assert_eq!((&first["order"], &first["kind"]), (&"o3".into(), &"repair".into()), "{json}");
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
}

/// Another program's value in a row is not taken for anything: no command goes on.
#[test]
fn a_value_that_no_worker_writes_is_an_error() {
    let shop = Shop::of("tea 10 HOLD 600000");
    shop.buy("tea", "ann", "o1");
    shop.buy("tea", "ben", "o2");
    shop.drain(&[]);
    let paid = "UPDATE seckill_orders SET joined = REPLACE(joined, 'held', 'paid')";
    shop.sql(&format!("{paid} WHERE order_id = 'o1'"));
    let words = "a column of the worker's tables is not a join: unknown variant `paid`";
    expect(&shop, &["--voucher", "tea"], 2, &[words]);
    let (code, told) = shop.asked(&["resolve", "o1", "--release", "--yes"], "");
    assert!(code == Some(1) && told.contains(words), "{told}");
    // Its entries stay pending; those of other orders are written.
    for (user, order) in [("ann", "o1"), ("ben", "o2")] {
        assert_eq!(shop.run(&format!("SECKILL.CONFIRM tea {user} {order}")), Value::Int(1));
    }
    let mut worker = shop.once(&[]);
    assert_eq!(worker.ended().code(), Some(3), "{}", worker.log());
    assert!(worker.log().contains(words), "{}", worker.log());
    let states: Vec<_> = shop.rows().into_values().map(|row| row.state).collect();
    assert_eq!(states, ["held", "sold"]);
}

/// While entries are unread, the buyers of an unmanaged voucher are not compared: what only a later
/// look can see is no less a difference.
#[test]
fn what_the_first_look_can_not_see_is_found_by_another() {
    let shop = Shop::of("phone 9");
    shop.buy("phone", "ann", "o1");
    shop.drain(&[]);
    shop.run("SADD seckill:order:phone ghost");
    shop.read_again();
    shop.run(&format!("XREADGROUP GROUP {GROUP} other STREAMS stream.orders >"));
    let entry = shop.stream_field("stream.orders", "last-generated-id");
    // None has read the buyers before.
    let has_looked = || shop.server.info("cmdstat_sscan").is_some();
    assert!(!has_looked());
    std::thread::scope(|scope| {
        let check = scope.spawn(|| expect(&shop, &["--voucher", "phone"], 1, &["user ghost"]));
        shop.server.until("the first look has read the buyers", has_looked);
        shop.run(&format!("XACK stream.orders {GROUP} {entry}"));
        check.join().expect("its verdict");
    });
}

/// A check of all vouchers finds those that no row and no rules name, by entries that are unread.
#[test]
fn vouchers_without_a_row_are_looked_at() {
    let mut shop = Shop::of("tea 5 LIMIT 1");
    shop.buy("tea", "ann", "o1");
    shop.drain(&[]);
    shop.sell("phone", 5);
    shop.buy("phone", "ben", "o2");
    let unread = "1 entries of voucher phone are not read or not written";
    expect(&shop, &[], 3, &[unread, "INCOMPLETE: "]);
    shop.run("DEL seckill:stock:phone seckill:order:phone");
    shop.run("SECKILL.CREATE milk 5");
    shop.buy("milk", "cid", "o3");
    shop.run("SECKILL.DROP milk FORCE");
    expect(&shop, &[], 3, &[unread, "1 entries of voucher milk are not read or not written"]);
    shop.drain(&[]);
    expect(&shop, &[], 3, &["of voucher milk is not on the server, and no check has found it"]);
}

/// All that is left of the orders is the book, which does not tell how many units an order had when
/// it was paid.
#[test]
fn reduced_orders_are_written_again_from_the_book_alone() {
    let shop = Shop::of("tea 30 LIMIT 3, milk 30 LIMIT 3 HOLD 600000");
    let mut number = 0;
    let mut order = |voucher: &str, words: &[&str]| {
        number += 1;
        let order = format!("{voucher} u{number} o{number}");
        assert_eq!(shop.run(&format!("SECKILL.TRY {order} UNITS 3")), Value::Int(0));
        for word in words {
            let command = match *word {
                "paid" => format!("SECKILL.CONFIRM {order} REF p{number}"),
                "done" => format!("SECKILL.CONFIRM {order}"),
                word => format!("SECKILL.CANCEL {order} {word}"),
            };
            shop.run(&command);
        }
    };
    order("tea", &["KEEP 2"]);
    order("tea", &["KEEP 2", "IF sold"]);
    for paid in ["paid", "done"] {
        for voucher in ["tea", "milk"] {
            order(voucher, &[paid, "KEEP 2"]);
            order(voucher, &["KEEP 2", paid]);
            order(voucher, &[paid, "KEEP 2", "IF sold"]);
        }
    }
    shop.drain(&[]);
    let states = || -> Vec<_> {
        let rows = shop.rows().into_iter();
        rows.map(|(id, row)| (id, row.state, row.units)).collect()
    };
    let before = states();
    for table in ["orders", "payments", "refunds", "order_changes", "voucher_sales"] {
        shop.sql(&format!("DELETE FROM seckill_{table}"));
    }
    for stream in STREAMS {
        shop.run(&format!("XTRIM {stream} MAXLEN 0"));
    }
    expect(&shop, &["--repair"], 0, &["wrote 14 orders", "\nCONSISTENT: "]);
    assert_eq!(states(), before);
    // Of those that were released as a whole all is due that they had then, and of no other one.
    let lines = shop.database.numbers(["first_unit", "last_unit"], "FROM seckill_refunds");
    assert_eq!(lines, [[1, 2]; 2]);
}

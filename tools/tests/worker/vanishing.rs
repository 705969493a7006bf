//! Entries, consumers, groups and streams that others delete: an order becomes a row, or somebody
//! is told that it is lost.

use redis::Value;

use crate::check::expect;
use crate::databases::Database;
use crate::harness::{Port, Server};
use crate::http::{http_get, metric};
use crate::removed::proxy;
use crate::shop::{GROUP, Shop, entries, pairs};
use crate::worker::Worker;

const ORDERS: &str = "stream.orders";

impl Shop {
    /// How many entries are known to have been deleted unread, and why the group is not checked.
    fn gone(&self) -> (i64, String) {
        let columns = ["deleted", "COALESCE(unchecked, '')"];
        let [deleted, why] = self.database.texts(columns, "FROM seckill_groups").remove(0);
        (deleted.parse().expect("a number"), why)
    }

    /// A consumer that read this many orders, and died.
    fn left_by_the_dead(&self, count: u32) {
        let read = format!("XREADGROUP GROUP {GROUP} dead COUNT {count} STREAMS {ORDERS} >");
        self.run(&read);
    }

    pub fn delete_consumers(&self) {
        let Value::Array(all) = self.run(&format!("XINFO CONSUMERS {ORDERS} {GROUP}")) else {
            panic!("no consumers")
        };
        for consumer in all {
            let name = &pairs(consumer)["name"];
            self.run(&format!("XGROUP DELCONSUMER {ORDERS} {GROUP} {name}"));
        }
    }

    /// A worker that has two orders in flight, since its database is locked while `meanwhile`.
    fn with_two_in_flight(&mut self, meanwhile: impl FnOnce(&Self)) -> Worker {
        self.sell("phone", 9);
        self.buy("phone", "eve", "o0");
        let worker = self.worker(&["--retry", "5ms", "--claim-after", "50ms"]);
        worker.wait("its first row", || self.row_count() == 1);
        let locked = self.database.held("BEGIN EXCLUSIVE");
        let both = ["MULTI", "SECKILL.TRY phone ann o1", "SECKILL.TRY phone ben o2", "EXEC"];
        both.iter().for_each(|command| _ = self.run(command));
        self.wait_for_pending(&worker, 2);
        meanwhile(self);
        locked.end("COMMIT");
        worker
    }
}

#[test]
fn orders_in_flight_are_written_though_their_consumer_is_deleted() {
    let mut shop = Shop::open(Database::sqlite());
    let mut worker = shop.with_two_in_flight(Shop::delete_consumers);
    worker.wait("all rows", || shop.row_count() == 3);
    shop.wait_until_drained(&mut worker);
    assert!(worker.terminate().success(), "{}", worker.log());
}

#[test]
fn orders_in_flight_are_written_though_their_stream_is_deleted() {
    for command in ["DEL stream.orders", "XGROUP DESTROY stream.orders seckill-worker"] {
        let mut shop = Shop::open(Database::sqlite());
        let mut worker = shop.with_two_in_flight(|shop| _ = shop.run(command));
        worker.wait("all rows", || shop.row_count() == 3);
        shop.buy("phone", "cid", "o3");
        shop.wait_until_drained(&mut worker);
        assert_eq!(shop.row_count(), 4);
        worker.wait_for_word("is to be checked: the stream or its group was missing");
        assert!(worker.terminate().success(), "{}", worker.log());
    }
}

/// An unmanaged voucher has no book: what was in the entry is not known, but its buyer is.
#[test]
fn an_entry_that_is_deleted_while_it_is_pending_makes_the_group_unchecked() {
    let shop = Shop::of("phone 9");
    shop.drain(&[]);
    shop.buy_many("phone", 0..3);
    shop.left_by_the_dead(1);
    let deleted = shop.pending().remove(0);
    assert_eq!(shop.run(&format!("XDEL {ORDERS} {deleted}")), Value::Int(1));
    let worker = shop.once(&["--quiet"]);
    worker.wait_for_word("entries were deleted while they were pending, 1 at least");
    let summary = worker.summary_with(5);
    assert_eq!((&summary["deleted"], &summary["rows_inserted"]), (&1.into(), &2.into()));
    assert_eq!(shop.gone().0, 1);
    let words = ["user u0 of voucher phone: no order in the database; a buyer on the server"];
    expect(&shop, &["--voucher", "phone"], 1, &words);
    shop.once(&[]).summary_with(5);
}

/// Of a managed voucher the book tells what was deleted: the worker writes it by itself.
#[test]
fn what_is_deleted_before_it_is_read_comes_from_the_book() {
    let shop = Shop::of("tea 100 LIMIT 1");
    shop.drain(&[]);
    shop.buy_many("tea", 0..8);
    shop.run(&format!("XTRIM {ORDERS} MAXLEN 3"));
    let summary = shop.drain(&["--batch", "2"]);
    assert_eq!(summary["deleted"], 5, "{summary}");
    assert_eq!((shop.row_count(), shop.gone()), (8, (5, String::new())));
    // What is trimmed after it was read is not missing.
    shop.run(&format!("XTRIM {ORDERS} MAXLEN 0"));
    shop.buy_many("tea", 8..12);
    assert_eq!(shop.drain(&["--batch", "1"])["rows_inserted"], 4);
    assert_eq!(shop.gone().0, 5);
    // Some in the middle, of which only the greatest id is known, and all.
    shop.buy_many("tea", 12..18);
    let ids: Vec<_> = entries(&shop.server, ORDERS).into_iter().map(|(id, _)| id).collect();
    shop.run(&format!("XDEL {ORDERS} {} {}", ids[5], ids[8]));
    assert!(shop.drain(&["--batch", "1"])["deleted"].as_u64() >= Some(1));
    shop.buy_many("tea", 18..20);
    shop.run(&format!("XTRIM {ORDERS} MAXLEN 0"));
    assert_eq!(shop.drain(&[])["deleted"], 2);
    assert_eq!(shop.drain(&[])["deleted"], 0, "told once");
    // A group passes what is gone with the next entry.
    shop.buy_many("tea", 20..21);
    shop.drain(&[]);
    assert_eq!(shop.row_count(), 21);
    shop.check();
}

#[test]
fn the_lag_does_not_count_what_is_gone() {
    let shop = Shop::of("phone 100");
    shop.drain(&[]);
    shop.buy_many("phone", 0..8);
    shop.run(&format!("XTRIM {ORDERS} MAXLEN 3"));
    let port = Port::free();
    let address = format!("127.0.0.1:{}", port.number);
    let mut worker = shop.worker(&["--metrics", &address]);
    shop.wait_until_drained(&mut worker);
    let of = |words: &str| metric(&http_get(port.number)?, words);
    worker.wait("no lag", || of("seckill_worker_lag{stream=\"stream.orders\"}") == Some(0.0));
    assert_eq!(of("seckill_worker_deleted_total"), Some(5.0));
    shop.run(&format!("XTRIM {ORDERS} MAXLEN 0"));
    shop.let_pass(1_500);
    assert_eq!(of("seckill_worker_lag{stream=\"stream.orders\"}"), Some(0.0));
    assert!(worker.terminate().success(), "{}", worker.log());
}

#[test]
fn once_takes_over_what_the_dead_have_left_or_says_that_it_is_pending() {
    let shop = Shop::of("phone 9");
    shop.run(&format!("XGROUP CREATE {ORDERS} {GROUP} 0 MKSTREAM"));
    shop.buy_many("phone", 0..3);
    shop.left_by_the_dead(1);
    let worker = shop.worker(&["--once", "--json", "--claim-after", "1h"]);
    worker.wait_for_word("1 entries of stream.orders are pending for other consumers");
    assert_eq!(worker.summary_with(3)["rows_inserted"], 2);
    let worker = shop.worker(&["--once", "--json", "--claim-after", "1s"]);
    assert_eq!(worker.summary()["rows_inserted"], 1);
    shop.check();
}

/// A group acknowledges its last entry between the two looks at it.
#[test]
fn a_group_that_acknowledges_meanwhile_still_bounds_the_trimming() {
    let shop =
        Shop::on(Server::with().port().start(), Database::sqlite(), &[""]).selling("phone 9");
    shop.run(&format!("XGROUP CREATE {ORDERS} mail 0 MKSTREAM"));
    shop.buy_many("phone", 0..4);
    let ids: Vec<_> = entries(&shop.server, ORDERS).into_iter().map(|(id, _)| id).collect();
    shop.run(&format!("XREADGROUP GROUP mail m COUNT 1 STREAMS {ORDERS} >"));

    let first = ids[0].clone();
    let client = std::sync::Arc::new(std::sync::Mutex::new(shop.server.client()));
    let ours = proxy(shop.server.port(), move |bytes: &[u8]| {
        let has = |word: &str| bytes.windows(word.len()).any(|part| part == word.as_bytes());
        if has("XPENDING") && has("mail") {
            let mut client = client.lock().expect("nobody panicked");
            client.call(&["XACK", ORDERS, "mail", &first]);
        }
    });

    let options = ["--trim-after", "1ms"];
    let mut worker = shop.worker_at(&format!("redis://127.0.0.1:{ours}/"), &options);
    worker.wait("the first to be trimmed", || entries(&shop.server, ORDERS).len() < 4);
    shop.let_pass(300);
    let left: Vec<_> = entries(&shop.server, ORDERS).into_iter().map(|(id, _)| id).collect();
    assert_eq!(left, ids[1..], "the group mail has not read these");
    assert!(worker.terminate().success(), "{}", worker.log());
}

/// Orders whose ids no database can store end with their release; other vouchers go on.
#[test]
fn an_order_that_no_row_can_have_ends_with_its_release() {
    let shop = Shop::of("phone 9, tea 40 HOLD 600000 LIMIT 5");
    let call = |words: &[&[u8]]| shop.server.call(words);
    for number in 0..20 {
        let id = format!("\0{number}").into_bytes();
        assert_eq!(call(&[b"SECKILL.TRY", b"tea", &id, &id]), Value::Int(0));
        if number % 2 == 0 {
            assert_eq!(call(&[b"SECKILL.CANCEL", b"tea", &id, &id]), Value::Int(1));
        }
    }
    assert_eq!(call(&[b"SECKILL.TRY", b"phone", b"ann", b"\xff"]), Value::Int(0));
    let mut worker = shop.worker(&["--quiet"]);
    shop.wait_for_pending(&worker, 11);
    worker.wait_for_word("holds a NUL");
    // Before they are tried again, and of a voucher without a book.
    for number in (1..20).step_by(2) {
        let id = format!("\0{number}").into_bytes();
        assert_eq!(call(&[b"SECKILL.CANCEL", b"tea", &id, &id]), Value::Int(1));
    }
    assert_eq!(call(&[b"SECKILL.CANCEL", b"phone", b"ann", b"\xff"]), Value::Int(1));
    shop.buy("phone", "ben", "o1");
    shop.wait_until_drained(&mut worker);
    shop.check();
    assert_eq!(shop.dead_letters().len(), 0);
    assert!(worker.terminate().success(), "{}", worker.log());
}

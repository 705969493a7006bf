//! Trimming, which removes nothing that a group still needs; and the streams of a cluster.

use redis::Value;

use crate::check::expect;
use crate::databases::Database;
use crate::harness::{Server, text};
use crate::shop::{GROUP, STREAMS, Shop, entries, random};
use crate::worker::{Worker, until};

const TRIMMING: [&str; 2] = ["--trim-after", "10ms"];
/// The worker trims ten times within this time: entries that it must keep are still there then.
const TEN_TIMES_MS: i64 = 200;

fn ids(shop: &Shop) -> Vec<String> {
    entries(&shop.server, "stream.orders").into_iter().map(|(id, _)| id).collect()
}

fn wait_for_length(shop: &Shop, worker: &Worker, length: usize) {
    worker.wait(&format!("a stream of {length}"), || ids(shop).len() == length);
}

#[test]
fn trimming_removes_only_what_every_group_has_acknowledged() {
    let shop = Shop::of("phone 100");
    shop.buy_many("phone", 0..10);
    let all = ids(&shop);
    shop.run("XGROUP CREATE stream.orders mail 0");
    let mut worker = shop.worker(&TRIMMING);
    shop.wait_until_drained(&mut worker);
    shop.let_pass(TEN_TIMES_MS);
    assert_eq!(ids(&shop), all, "the group mail has read nothing yet");

    // Read but not acknowledged: acknowledged entries after the first pending one must stay too.
    shop.run("XREADGROUP GROUP mail m1 COUNT 6 STREAMS stream.orders >");
    for done in [0, 1, 3, 4] {
        shop.run(&format!("XACK stream.orders mail {}", all[done]));
    }
    wait_for_length(&shop, &worker, 8);
    shop.let_pass(TEN_TIMES_MS);
    assert_eq!(ids(&shop), all[2..], "the third is pending");

    for done in &all[2..6] {
        shop.run(&format!("XACK stream.orders mail {done}"));
    }
    worker.wait("the stream to be trimmed", || ids(&shop).first() == Some(&all[6]));
    shop.run("XGROUP DESTROY stream.orders mail");
    wait_for_length(&shop, &worker, 0);
    assert!(worker.terminate().success(), "{}", worker.log());
    shop.check();
}

#[test]
fn what_is_young_stays_and_releases_are_trimmed_too() {
    let shop = Shop::of("phone 100");
    shop.buy("phone", "alice", "a1");
    shop.run("SECKILL.CANCEL phone alice a1");
    let summary = shop.drain(&["--trim-after", "1h"]);
    assert_eq!(summary["trimmed"], 0, "{summary}");
    shop.let_pass(10);
    shop.drain(&TRIMMING);
    for stream in ["stream.orders", "stream.orders.released"] {
        assert_eq!(shop.count(&format!("XLEN {stream}")), 0, "{stream}");
    }
    shop.check();
}

/// A cluster of one node that owns every slot.
fn cluster() -> Server {
    let server = Server::with().cluster().start();
    assert_eq!(server.call(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]), Value::Okay);
    let state = || text(&server.call(&["CLUSTER", "INFO"]));
    until("cluster_state:ok", || state().contains("cluster_state:ok"));
    server
}

#[test]
fn the_streams_of_all_tags_of_a_cluster_are_read() {
    let mut shop = Shop::on(cluster(), Database::sqlite(), &["7", "shop3"]).selling("7 1000");
    let mut random = random();
    shop.sell("{shop3}:9", 50);
    shop.sell_managed("{shop3}:10", 1_000, "LIMIT 1");
    let options = ["--tag", "7", "--tag", "shop3", "--retry", "5ms"];
    let mut worker = shop.worker(&options);
    for round in 0..4 {
        shop.rush(&format!("r{round}"), 100, &mut random);
    }
    for (voucher, user) in [("7", "alice"), ("{shop3}:10", "bob")] {
        shop.buy(voucher, user, &format!("a-{user}"));
        let cancel = format!("SECKILL.CANCEL {voucher} {user} a-{user}");
        assert_eq!(shop.run(&cancel), Value::Int(1));
    }
    shop.wait_until_drained(&mut worker);
    shop.check();
    assert_eq!(shop.row_count(), shop.accepted_count());
    let cancelled = shop.rows().into_values().filter(|row| row.state == "cancelled").count();
    assert_eq!(cancelled, 2);
    assert!(worker.terminate().success(), "{}", worker.log());
    assert!(shop.group("stream.orders:{7}", GROUP).is_some());

    // Also by a worker with --once, which has nothing left to do.
    let summary = shop.drain(&["--tag", "7", "--tag", "shop3"]);
    assert_eq!(summary["rows_inserted"], 0, "{summary}");
}

/// Each stream tells of its own vouchers alone.
#[test]
fn vouchers_of_several_streams_of_a_cluster_are_checked() {
    let mut shop = Shop::on(cluster(), Database::sqlite(), &["7", "shop3"]);
    shop.sell("7", 9);
    shop.sell("{shop3}:1", 9);
    shop.sell_managed("{shop3}:2", 9, "LIMIT 1");
    for (voucher, order) in [("7", "o1"), ("{shop3}:1", "o2"), ("{shop3}:2", "o3")] {
        shop.buy(voucher, "ann", order);
    }
    shop.drain(&[]);
    expect(&shop, &[], 0, &["CONSISTENT: 1 orders with 1 units; 2 buyers"]);
    shop.buy("{shop3}:1", "ben", "o4");
    let told = expect(&shop, &[], 3, &["\n1 entries of voucher {shop3}:1 are not read"]);
    assert_eq!(told.matches("are not read").count(), 1, "{told}");
    shop.sql("DELETE FROM seckill_orders WHERE voucher_id <> '{shop3}:1'");
    let words = ["order o1 of ann for voucher 7: missing", "order o3 of ann for voucher {shop3}:2"];
    expect(&shop, &[], 1, &words);
    let one = ["--stream", "stream.orders:{7}"];
    let told = expect(&shop, &one, 1, &words[..1]);
    assert!(!told.contains("shop3"), "{told}");
    let other = [&one[..], &["--voucher", "{shop3}:2"]].concat();
    expect(&shop, &other, 2, &["none of these vouchers is in --stream stream.orders:{7}"]);
}

#[test]
fn hash_tags_are_found_and_new_ones_too() {
    let mut shop = Shop::on(cluster(), Database::sqlite(), &["7", "shop3", "9"]);
    // There is no stream yet, and that is not an error.
    assert_eq!(shop.drain(&[])["orders"], 0);
    let mut worker = shop.worker(&[]);
    shop.sell("7", 1_000);
    shop.buy("7", "ann", "o1");
    worker.wait("a group of the tag", || shop.group("stream.orders:{7}", GROUP).is_some());
    // Streams that are not for orders are left alone.
    shop.run("XADD stream.orders:{x}:other * a b");
    shop.sell("{shop3}:1", 50);
    shop.buy("{shop3}:1", "ben", "o2");
    shop.sell("9", 50);
    shop.buy("9", "cid", "o3");
    shop.wait_until_drained(&mut worker);
    shop.check();
    assert_eq!(shop.row_count(), 3);
    assert!(worker.terminate().success(), "{}", worker.log());
    assert_eq!(shop.count("EXISTS stream.orders.released:{x}:other"), 0);
    // Also by a worker with --once.
    shop.buy("9", "dan", "o4");
    assert_eq!(shop.drain(&[])["rows_inserted"], 1);
    shop.check();
    let dead_letter = ["dead-letter", "1-1", "--yes"];
    shop.ends(&dead_letter, 1, "name that of the entry by --stream, as stream.orders:{TAG}");
    let named = [&dead_letter[..], &["--stream", "stream.orders:{9}"]].concat();
    shop.ends(&named, 1, "entry 1-1 of stream.orders:{9} is not pending");
}

#[test]
fn a_tag_that_nobody_writes_is_told() {
    let shop = Shop::open(Database::sqlite());
    for once in [&["--tag", "7"][..], &["--tag", "7", "--once"]] {
        shop.ends(once, 1, "stream.orders:{7} never gets an order");
    }
    assert_eq!(shop.count("EXISTS stream.orders:{7}"), 0);
}

/// The number of the database is missing at the end of `--redis`.
#[test]
fn a_sale_in_another_database_is_told() {
    for (tags, tag) in [("auto", ""), ("yes", "phone")] {
        let server = Server::with().config(format!("seckill.hash-tags {tags}")).start();
        let mut shop = Shop::on(server, Database::sqlite(), &[tag]);
        let mut client = shop.server.client();
        client.call(&["SELECT", "3"]);
        assert_eq!(client.call(&["SECKILL.CREATE", "phone", "10"]), Value::Okay);
        assert_eq!(client.call(&["SECKILL.TRY", "phone", "ann", "o1"]), Value::Int(0));
        let told = "db0 has nothing of a sale, and db3 has keys";
        shop.ends(&["--once"], 1, told);
        // Nor does a stream say anything that never had an entry.
        let tagged = if tag.is_empty() { String::new() } else { format!(":{{{tag}}}") };
        for stream in STREAMS {
            shop.run(&format!("XGROUP CREATE {stream}{tagged} {GROUP} 0 MKSTREAM"));
        }
        shop.ends(&["--once"], 1, told);
        assert_eq!(shop.count("DBSIZE"), 3, "there is no pairing");
        shop.run("FLUSHDB");
        // A worker goes on once there is a sale.
        let mut worker = shop.worker(&[]);
        worker.wait_for_word(told);
        shop.sell_managed("phone", 10, "");
        shop.buy("phone", "ben", "o2");
        shop.wait_until_drained(&mut worker);
        assert_eq!(shop.row_count(), 1);
        assert!(worker.terminate().success(), "{}", worker.log());
    }
}

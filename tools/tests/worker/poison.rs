//! Entries that can't become rows. Entries that no try has written become dead letters; orders stay
//! pending until an operator gives them up, which releases their units once. Other orders go on.

use std::collections::BTreeSet;

use redis::Value;

use crate::databases::Database;
use crate::harness::Server;
use crate::shop::{GROUP, Shop, databases, random};

const IMPATIENT: [&str; 4] = ["--retry", "2ms", "--claim-after", "20ms"];

/// Entries that no command has written, with nothing to release.
const MALFORMED: [&[&str]; 9] = [
    &["hello", "world"],
    &["", ""],
    &["userId", "eve", "voucherId", "phone"],
    &["voucherId", "phone", "id", "x2"],
    &["userId", "eve", "id", "x3"],
    &["userId", "eve", "userId", "eve", "voucherId", "phone", "id", "x4"],
    &["userId", "eve", "voucherId", "phone", "id", "x5", "units", "0"],
    &["userId", "eve", "voucherId", "phone", "id", "x6", "units", "many"],
    &["userId", "eve", "voucherId", "phone", "id", "x7", "deadline", "tomorrow"],
];

/// Users and order ids that the server accepts, and that some databases can't store or confuse with
/// each other. The database decides, but each becomes a row or a dead letter.
fn odd_ids() -> Vec<(Vec<u8>, Vec<u8>)> {
    let long = "l".repeat(5_000);
    let pairs: [(&[u8], &[u8]); 14] = [
        (b"\xff\xfe", b"o-not-utf-8"),
        (b"not-utf-8", b"\xc3\x28"),
        (b"nul\0user", b"o-nul"),
        (b"nul", b"o\0nul"),
        (b"case", b"o-case"),
        (b"CASE", b"O-CASE"),
        (b"room", b"o-room"),
        (b"room ", b"o-room "),
        ("accent\u{e9}".as_bytes(), "o-\u{e9}".as_bytes()),
        ("accente\u{301}".as_bytes(), "o-e\u{301}".as_bytes()),
        ("\u{1f600}".as_bytes(), "\u{1f602}".as_bytes()),
        (b"'; DROP TABLE orders; --", b"%s\\'\"`$1?"),
        (long.as_bytes(), b"o-long"),
        (b"long", long.as_bytes()),
    ];
    pairs.iter().map(|(user, id)| (user.to_vec(), id.to_vec())).collect()
}

/// The odd ids that no database can store.
const UNWRITABLE: usize = 6;

/// Good orders, malformed entries and odd orders, mixed.
fn poisoned(database: Database) -> Shop {
    let mut shop = Shop::open(database);
    let mut random = random();
    // Then the module accepts longer ids than a table does.
    shop.run("CONFIG SET seckill.name-bytes-max 65536");
    shop.sell("phone", 500);
    for entry in MALFORMED {
        shop.rush(&format!("before{}", shop.accepted_count()), 8, &mut random);
        shop.server.call(&[&["XADD", "stream.orders", "*"], entry].concat());
    }
    for (user, id) in odd_ids() {
        let outcome = shop.server.call(&[b"SECKILL.TRY", b"phone".as_slice(), &user, &id]);
        assert_eq!(outcome, Value::Int(0));
        let [user, id] = [user, id].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        shop.accept("phone", &user, &id, 1);
    }
    // An unmanaged voucher does not know order ids: two users get the same one.
    shop.buy("phone", "alice", "same");
    shop.buy("phone", "bob", "same");
    shop.rush("last", 50, &mut random);
    shop
}

fn check_dead_letters(shop: &Shop) {
    let letters = shop.dead_letters();
    let entries: BTreeSet<_> = letters.iter().map(|letter| &letter["dlqId"]).collect();
    assert_eq!(entries.len(), letters.len(), "an entry is a dead letter twice");
    for letter in &letters {
        assert_eq!(letter["dlqGroup"], GROUP);
        assert!(letter["dlqReason"].len() > 5, "{letter:?}");
        assert!(letter["dlqDeliveries"].parse::<u64>().is_ok_and(|count| count > 0), "{letter:?}");
    }
    let unknown = letters.iter().filter(|letter| letter["dlqOrder"] == "unknown");
    assert_eq!(unknown.count(), MALFORMED.len(), "{letters:#?}");
}

/// An operator gives up each pending order.
fn give_up_what_is_pending(shop: &Shop) {
    for entry in shop.pending() {
        let (code, said) = shop.dead_letter(&entry, &["--yes"], "");
        assert_eq!(code, Some(0), "{said}");
    }
}

#[test]
fn poison_is_a_dead_letter_once_though_workers_die() {
    for database in databases() {
        let shop = poisoned(database);
        let mut random = random();
        let mut workers = [shop.worker(&IMPATIENT), shop.worker(&IMPATIENT)];
        for round in 0..12 {
            workers[round % 2].kill9_somewhen(&mut random, || shop.has_pending());
            workers[round % 2] = shop.worker(&IMPATIENT);
        }
        shop.wait_for_pending(&workers[0], UNWRITABLE);
        assert_eq!(shop.dead_letters().len(), MALFORMED.len());
        assert_eq!(shop.run("EXISTS stream.orders.released"), Value::Int(1));
        assert_eq!(shop.count("XLEN stream.orders.released"), 0, "something was released");
        give_up_what_is_pending(&shop);
        for worker in &mut workers {
            shop.wait_until_drained(worker);
        }
        shop.check();
        check_dead_letters(&shop);
        for worker in &mut workers {
            assert!(worker.terminate().success(), "{}", worker.log());
        }
    }
}

#[test]
fn once_ends_though_there_is_poison() {
    let shop = poisoned(Database::sqlite());
    let summary = shop.once(&[]).summary_with(3);
    assert_eq!(summary["parked"], UNWRITABLE, "{summary}");
    assert_eq!(summary["dead_letters"], MALFORMED.len(), "{summary}");
    give_up_what_is_pending(&shop);
    let summary = shop.drain(&[]);
    assert_eq!(summary["parked"], 0, "{summary}");
    shop.check();
    check_dead_letters(&shop);
    assert_eq!(shop.run("EXISTS stream.orders.released.dlq"), Value::Int(0));
}

/// The server refuses the command that delivers entries again.
#[test]
fn what_could_not_be_tried_again_is_tried_later() {
    let shop = Shop::of("phone 9");
    shop.drain(&[]);
    shop.refuse("NEW.voucher_id <> ''");
    shop.buy_many("phone", 0..3);
    let mut worker = shop.worker(&["--retry", "100ms"]);
    worker.wait_for_word("can't be written and stay pending");
    shop.run("ACL SETUSER default -xclaim");
    worker.wait_for_word("'xclaim' command");
    shop.run("ACL SETUSER default +xclaim");
    shop.refuse_no_more();
    shop.wait_until_drained(&mut worker);
    assert!(worker.terminate().success(), "{}", worker.log());
    shop.check();
    assert_eq!(shop.row_count(), 3);
}

/// The streams of a shop that sells with the scripts, without the module.
#[test]
fn without_the_module_good_orders_become_rows_and_poison_leaves() {
    let server = Server::with().without_module().start();
    let shop = Shop::on(server, Database::sqlite(), &[""]);
    for number in 0..20 {
        shop.run(&format!("XADD stream.orders * userId u{number} voucherId 7 id o{number}"));
        if number % 5 == 0 {
            shop.run("XADD stream.orders * hello world");
        }
    }
    let mut worker = shop.worker(&IMPATIENT);
    shop.wait_until_drained(&mut worker);
    assert_eq!(shop.row_count(), 20);
    assert_eq!(shop.dead_letters().len(), 4);
    let once = "this server runs without the module";
    worker.wait_for_word(once);
    assert!(worker.terminate().success(), "{}", worker.log());
    assert_eq!(worker.log().matches(once).count(), 1, "{}", worker.log());
}

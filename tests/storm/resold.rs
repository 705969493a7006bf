//! One voucher, dropped and created again and again, with the same order ids each time, while
//! payments and consumers of earlier sales are late: the sales are independent.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use redis::Value;

use crate::harness::{Client, Server, text};
use crate::length::{Tally, histories};
use crate::world::{Entry, run, stream};

const CLIENTS: usize = 4;
const SALES: usize = 12;
const STOCK: i64 = 20;
/// Few, so that every sale has orders with the same users and ids.
const IDS: u8 = 30;

/// The id of a sale, and an order id in it.
type Key = (String, String);

/// The successful commands of a client, counted.
#[derive(Default)]
struct Done {
    confirmed: BTreeMap<Key, usize>,
    cancelled: BTreeMap<Key, usize>,
    commands: usize,
}

fn tell(client: &mut Client, command: &str) -> Value {
    client.call(&command.split(' ').collect::<Vec<_>>())
}

/// Tries, reads the entries of orders, and settles them late, by the sale that they name.
fn trade(mut client: Client, seed: u64, who: usize, stop: &AtomicBool) -> Done {
    let mut random = fastrand::Rng::with_seed(seed ^ who as u64);
    let (mut done, mut entries) = (Done::default(), Vec::new());
    while !stop.load(Ordering::Relaxed) {
        done.commands += 1;
        match random.u8(0..10) {
            0..4 => {
                let id = random.u8(0..IDS);
                // Between two sales, no sale exists.
                tell(&mut client, &format!("SECKILL.TRY 7 u{id} o{id}"));
            }
            4..6 => {
                let read = format!("XREADGROUP GROUP g c{who} COUNT 5 STREAMS stream.orders >");
                type Streams = Option<Vec<(String, Vec<(String, Vec<String>)>)>>;
                let read: Streams =
                    redis::from_redis_value(tell(&mut client, &read)).expect("streams");
                entries.extend(read.into_iter().flatten().flat_map(|(_, entries)| entries));
            }
            how => {
                let Some((entry, fields)) = random.choice(&entries).cloned() else { continue };
                let of = |name: &str| {
                    let found = fields.chunks(2).find(|pair| pair[0] == name);
                    found.expect("a field")[1].clone()
                };
                let (sale, id) = (of("sale"), of("id"));
                let order = format!("7 {} {id}", of("userId"));
                let command = match how {
                    6 => format!("SECKILL.REJECT stream.orders g {entry}"),
                    7 => format!("SECKILL.CANCEL {order} SALE {sale}"),
                    8 => format!("SECKILL.EXTEND {order} 900000 SALE {sale}"),
                    _ => format!("SECKILL.CONFIRM {order} SALE {sale} REF {sale}:{id}"),
                };
                let answer = tell(&mut client, &command);
                let counts = match how {
                    7 => &mut done.cancelled,
                    9 => &mut done.confirmed,
                    _ => continue,
                };
                if answer == Value::Int(1) {
                    *counts.entry((sale, id)).or_default() += 1;
                }
            }
        }
    }
    done
}

/// Entries by sale and order id. Fails on an order with two entries.
fn by_order(entries: Vec<Entry>) -> BTreeMap<Key, Entry> {
    let mut found = BTreeMap::new();
    for entry in entries {
        let key = (entry.of("sale").to_owned(), entry.of("id").to_owned());
        let before = found.insert(key, entry.clone());
        assert!(before.is_none(), "twice: {before:?}, {entry:?}");
    }
    found
}

/// Fails unless each sale sold what it had, and every order agrees with its clients' answers.
fn check(server: &Server, done: &[Done]) {
    let orders = by_order(stream(server, "stream.orders"));
    let released = by_order(stream(server, "stream.orders.released"));
    let mut paid = stream(server, "stream.orders.confirmed");
    // Others are payments to be refunded.
    paid.retain(|entry| entry.of("payment") == "first");
    let confirmed = by_order(paid);
    let rejected = stream(server, "stream.orders.dlq");
    let rejected: Vec<_> =
        rejected.iter().filter(|letter| letter.of("dlqOrder") == "rejected").collect();
    let mut live: BTreeMap<&str, i64> = BTreeMap::new();
    for key in released.keys().chain(confirmed.keys()) {
        assert!(orders.contains_key(key), "of no order: {key:?}");
    }
    for (key, order) in &orders {
        let back = released.get(key);
        *live.entry(&key.0).or_default() += i64::from(back.is_none());
        // Ended sales have no held orders: DROP has released them.
        assert!(back.is_some() || confirmed.contains_key(key), "still held: {order:?}");
        for entry in [back, confirmed.get(key)].into_iter().flatten() {
            assert_eq!(entry.of("userId"), order.of("userId"), "{key:?}");
        }
        let reason = back.map_or("", |back| back.of("reason"));
        let letters = rejected.iter().filter(|letter| {
            (letter.of("sale"), letter.of("id")) == (key.0.as_str(), key.1.as_str())
        });
        assert_eq!(letters.count(), usize::from(reason == "rejected"), "{key:?}");
        let times = |of: fn(&Done) -> &BTreeMap<Key, usize>| -> usize {
            done.iter().filter_map(|done| of(done).get(key)).sum()
        };
        assert_eq!(times(|done| &done.confirmed), usize::from(confirmed.contains_key(key)));
        // DROP cancels too.
        let cancelled = times(|done| &done.cancelled);
        assert!(cancelled <= usize::from(reason == "cancelled"), "{key:?}: {cancelled}");
        if let (Some(back), Some(paid)) = (back, confirmed.get(key)) {
            assert_eq!((back.of("was"), back.of("ref")), ("sold", paid.of("ref")), "{key:?}");
        }
    }
    for (sale, units) in live {
        assert!(units <= STOCK, "{units} of {STOCK} units sold by {sale}");
    }
}

#[test]
fn what_is_late_from_an_earlier_sale_touches_no_other() {
    histories("sold again", 2, |seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let server = Server::start();
        run(&server, "XGROUP CREATE stream.orders g 0 MKSTREAM");
        let stop = Arc::new(AtomicBool::new(false));
        let threads = (0..CLIENTS).map(|who| {
            let (client, stop) = (server.client(), Arc::clone(&stop));
            thread::spawn(move || trade(client, seed, who, &stop))
        });
        let threads: Vec<_> = threads.collect();
        for _ in 0..SALES {
            // Fewer than are on sale, counted from before the first one can be sold.
            let accepted = |server: &Server| server.info_number("seckill_tries_accepted");
            let enough = accepted(&server) + random.i64(5..STOCK);
            let create = format!("SECKILL.CREATE 7 {STOCK} HOLD 600000");
            assert_eq!(run(&server, &create), Value::Okay);
            server.until("orders", || accepted(&server) >= enough);
            assert_eq!(text(&run(&server, "SECKILL.DROP 7 FORCE")), "1");
        }
        stop.store(true, Ordering::Relaxed);
        let done: Vec<_> =
            threads.into_iter().map(|thread| thread.join().expect("a client")).collect();
        check(&server, &done);
        let commands = done.iter().map(|done| done.commands).sum();
        Tally { commands, answered: commands, ends: SALES, ..Tally::default() }
    });
}

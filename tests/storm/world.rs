//! The keys that the scripts work on: how they are made, and their contents afterwards.

use std::collections::{BTreeMap, BTreeSet};

use crate::harness::{Server, text};
use domain::book;
use redis::{FromRedisValue, Value};

/// Units of the bare stocks and of the unmanaged vouchers at the start.
pub const BARE: i64 = 100_000;
pub const UNMANAGED: i64 = 2_000;
/// Units of the managed vouchers at the start, and their limits: first those whose orders are held.
pub const MANAGED: [(&str, i64, i64); 5] =
    [("m", 30, 3), ("h", 40, 9), ("i", 50, 7), ("s", 400, 50), ("c", 300, 40)];
/// The vouchers of a cart: of held orders, and of orders that are sold at once.
pub const CARTS: [[&str; 2]; 2] = [["h", "i"], ["s", "c"]];
const CODES: usize = 300;

pub fn ask<T: FromRedisValue>(server: &Server, command: &str) -> T {
    let reply = server.run(command);
    let shown = format!("{command}: {reply:?}");
    redis::from_redis_value(reply).unwrap_or_else(|error| panic!("{error}: {shown}"))
}

/// Creates everything that is on sale. Held orders are held for `hold_ms`.
pub fn make(server: &Server, hold_ms: i64) {
    let sales = MANAGED.map(|(it, stock, limit)| {
        let hold = if CARTS[1].contains(&it) { "" } else { &format!(" HOLD {hold_ms}") };
        format!("SECKILL.CREATE {it} {stock} LIMIT {limit}{hold}")
    });
    let codes: Vec<_> = codes().into_iter().collect();
    let others = [
        format!("MSET seckill:stock:u {UNMANAGED} k.stock {UNMANAGED} b.stock {UNMANAGED}"),
        format!("SET bare {BARE}"),
        format!("RPUSH seckill:codes:p {}", codes.join(" ")),
        "XGROUP CREATE stream.orders g $ MKSTREAM".to_owned(),
    ];
    for command in sales.into_iter().chain(others) {
        let reply = server.run(&command);
        assert!(!matches!(reply, Value::ServerError(_)), "{command}: {reply:?}");
    }
}

pub fn codes() -> BTreeSet<String> {
    (0..CODES).map(|code| format!("code{code}")).collect()
}

/// Waits until no hold is due, and the queue is promoted. Holds of minutes are not waited for.
pub fn wait_for_holds(server: &Server, hold_ms: i64) {
    server.until("all holds to end", || {
        let holds = "EXISTS seckill:hold:m seckill:hold:h seckill:hold:i";
        let is_held = hold_ms < 1000 && ask::<i64>(server, holds) > 0;
        !is_held && !has_idle_units(server)
    });
}

/// Are there enough units of the voucher m for the first in the queue?
pub fn has_idle_units(server: &Server) -> bool {
    let first: Vec<String> = ask(server, "ZRANGE seckill:wait:m 0 0");
    let Some(first) = first.first() else { return false };
    let entry: Option<String> = ask(server, &format!("HGET seckill:book:m {first}"));
    // They can be promoted in between.
    let entry = entry.unwrap_or_else(|| panic!("{first} is in the queue and not in the book"));
    let order = order(&entry);
    order.state != "waiting" || ask::<i64>(server, "GET seckill:stock:m") >= order.units
}

/// Deletes all locks, or waits for their ends if writes are refused: otherwise leases would end
/// while servers are compared.
pub fn free_locks(server: &Server) {
    server.run("DEL lock0 lock1 lock2");
    server
        .until("the locks' leases to end", || ask::<i64>(server, "EXISTS lock0 lock1 lock2") == 0);
}

/// An entry of a stream. No field occurs twice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    pub id: String,
    pub fields: BTreeMap<String, String>,
}

impl Entry {
    /// The value of a field, or "" if there is none.
    pub fn of(&self, field: &str) -> &str {
        self.fields.get(field).map_or("", String::as_str)
    }

    pub fn units(&self) -> i64 {
        self.fields.get("units").map_or(1, |units| units.parse().expect("units"))
    }
}

pub fn stream(server: &Server, key: &str) -> Vec<Entry> {
    let entries: Vec<(String, Vec<String>)> = ask(server, &format!("XRANGE {key} - +"));
    let entry = |(id, fields): (String, Vec<String>)| {
        let pairs: BTreeMap<_, _> =
            fields.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
        assert_eq!(pairs.len() * 2, fields.len(), "a field twice in {fields:?}");
        Entry { id, fields: pairs }
    };
    entries.into_iter().map(entry).collect()
}

/// An order in the book.
#[derive(Clone, Debug)]
pub struct Order {
    pub state: String,
    pub units: i64,
    pub user: String,
    /// The reference of the payment, or "".
    pub reference: String,
    /// It waits in the queue, or did so until it was released: it never had units.
    pub had_no_units: bool,
}

/// The contents of the keys. Read them while nothing changes.
#[derive(Clone, Debug)]
pub struct State {
    /// The streams, from the first entry to the last.
    pub orders: Vec<Entry>,
    pub released: Vec<Entry>,
    pub confirmed: Vec<Entry>,
    pub letters: Vec<Entry>,
    pub draws: Vec<Entry>,
    pub by_keys: Vec<Entry>,
    /// Voucher to order id to order.
    pub books: BTreeMap<String, BTreeMap<String, Order>>,
    /// The orders that wait for units of the voucher m, the first in the queue first.
    pub queue: Vec<String>,
    /// Voucher to reference to what the payment is on record for.
    pub payments: BTreeMap<String, BTreeMap<String, String>>,
    pub buyers: BTreeSet<String>,
    pub winners: BTreeMap<String, String>,
    pub codes: Vec<String>,
    pub pending: BTreeSet<String>,
    /// The id of the last entry that was delivered to the group of consumers.
    pub delivered: String,
}

pub const STREAMS: [&str; 6] = [
    "stream.orders", "stream.orders.released", "stream.orders.confirmed", "stream.orders.dlq",
    "stream.draws", "k.orders",
];

impl State {
    /// The entries that say of an order that it is sold, and not of payments to be refunded.
    pub fn confirmations(&self) -> impl Iterator<Item = &Entry> {
        self.confirmed.iter().filter(|entry| ["", "first"].contains(&entry.of("payment")))
    }

    pub fn read(server: &Server) -> Self {
        let [orders, released, confirmed, letters, draws, by_keys] =
            STREAMS.map(|name| stream(server, name));
        let books = MANAGED.map(|(voucher, ..)| (voucher.to_owned(), book(server, voucher)));
        let mut pending: Vec<(String, String, i64, i64)> = Vec::new();
        let mut delivered = "0-0".to_owned();
        if ask::<i64>(server, "EXISTS stream.orders") == 1 {
            pending = ask(server, "XPENDING stream.orders g - + 1000000");
            let groups: Vec<BTreeMap<String, Value>> = ask(server, "XINFO GROUPS stream.orders");
            delivered = text(&groups[0]["last-delivered-id"]);
        }
        Self {
            orders,
            released,
            confirmed,
            letters,
            draws,
            by_keys,
            books: books.into(),
            queue: ask(server, "ZRANGE seckill:wait:m 0 -1"),
            payments: MANAGED
                .map(|(voucher, ..)| (voucher.to_owned(), payments(server, voucher)))
                .into(),
            buyers: ask(server, "SMEMBERS seckill:order:u"),
            winners: ask(server, "HGETALL seckill:winners:p"),
            codes: ask(server, "LRANGE seckill:codes:p 0 -1"),
            pending: pending.into_iter().map(|row| row.0).collect(),
            delivered,
        }
    }
}

fn payments(server: &Server, voucher: &str) -> BTreeMap<String, String> {
    let fields: BTreeMap<String, String> =
        ask(server, &format!("HGETALL seckill:payments:{voucher}"));
    let outcome = |text: String| text.split(':').next().unwrap_or_default().to_owned();
    fields.into_iter().map(|(reference, text)| (reference, outcome(text))).collect()
}

fn book(server: &Server, voucher: &str) -> BTreeMap<String, Order> {
    let fields: BTreeMap<String, String> = ask(server, &format!("HGETALL seckill:book:{voucher}"));
    fields.into_iter().map(|(id, text)| (id, order(&text))).collect()
}

fn order(text: &str) -> Order {
    let entry = book::Entry::parse(text.as_bytes()).expect("an order");
    let name = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Order {
        state: entry.state.word().to_owned(),
        units: entry.units.get(),
        user: name(entry.user),
        reference: entry.reference.map_or_else(String::new, name),
        had_no_units: !entry.has_had_units(),
    }
}

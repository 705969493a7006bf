//! A storm of deletions: entries, consumers, groups and streams go, beside kills of workers and of
//! the server. In the end every accepted order is a row or a dead
//! letter, or the group was not checked, and a check names its buyer.

use domain::entry_id::EntryId;

use crate::check::checked;
use crate::databases::{Database, Kind};
use crate::harness::Server;
use crate::shop::{GROUP, OrderId, Shop, entries, random};
use crate::worker::Worker;

const ORDERS: &str = "stream.orders";
const VOUCHER: &str = "phone";
const ROUNDS: usize = 16;
const TRIES: usize = 25;

fn entry_id(text: &str) -> EntryId {
    EntryId::parse(text.as_bytes()).expect("an entry id")
}

const HARMS: [&str; 7] = [
    "kill a worker", "kill the server", "delete consumers", "delete entries", "trim",
    "destroy the group", "delete the stream",
];

struct Storm {
    shop: Shop,
    random: fastrand::Rng,
    workers: Vec<Worker>,
    /// Every accepted order, with the entry that the server made of it.
    accepted: Vec<(OrderId, EntryId)>,
    /// What was done when, for messages.
    history: Vec<String>,
}

impl Storm {
    fn new(database: Database) -> Self {
        let server = Server::with().aof().config("appendfsync always").start();
        let mut shop = Shop::on(server, database, &[""]);
        shop.sell(VOUCHER, 1_000_000);
        let mut storm = Self {
            shop,
            random: random(),
            workers: Vec::new(),
            accepted: Vec::new(),
            history: Vec::new(),
        };
        storm.start_workers();
        // Nobody can know of what went before the first look.
        storm.buy();
        storm.shop.wait_until_drained(&mut storm.workers[0]);
        storm
    }

    fn start_workers(&mut self) {
        while self.workers.len() < 2 {
            let batch = self.random.choice(["1", "7", "256"]).expect("one");
            let options = ["--claim-after", "50ms", "--retry", "5ms", "--batch", batch];
            self.workers.push(self.shop.worker(&options));
        }
    }

    fn buy(&mut self) {
        let number = self.accepted.len();
        let (user, id) = (format!("u{number}"), format!("o{number}"));
        self.shop.buy(VOUCHER, &user, &id);
        let last = self.shop.stream_field(ORDERS, "last-generated-id");
        self.accepted.push(((VOUCHER.to_owned(), id), entry_id(&last)));
    }

    /// Orders in between of which anything may happen to a stream, a group or a process.
    fn round(&mut self) {
        let when = self.random.usize(0..TRIES);
        for number in 0..TRIES {
            self.buy();
            if number == when {
                // Half of the time with nothing in flight.
                if self.random.bool() {
                    self.shop.wait_until_drained(&mut self.workers[0]);
                }
                self.harm();
            }
        }
        self.start_workers();
    }

    fn harm(&mut self) {
        let what = self.random.u8(0..7);
        let last = self.accepted.last().map(|(_, entry)| *entry);
        self.history.push(format!("{} after {last:?}", HARMS[usize::from(what)]));
        match what {
            0 => {
                let at = self.random.usize(0..self.workers.len());
                let mut worker = self.workers.swap_remove(at);
                worker.kill9_somewhen(&mut self.random, || self.shop.has_pending());
                self.history.push(worker.log());
            }
            1 => {
                self.shop.server.kill9();
                self.shop.server.start_again();
            }
            2 => {
                // What the dead have pending goes with them, as docs/worker.md says.
                self.shop.wait_until_drained(&mut self.workers[0]);
                (0..6).for_each(|_| self.buy());
                self.shop.delete_consumers();
                self.shop.wait_until_drained(&mut self.workers[0]);
            }
            3 => {
                // In between nobody counts, as docs/worker.md says: the group was made again.
                self.shop.wait_until_drained(&mut self.workers[0]);
                (0..6).for_each(|_| self.buy());
                let last = entries(&self.shop.server, ORDERS).into_iter().rev().take(6);
                let some: Vec<_> = last.filter(|_| self.random.bool()).collect();
                self.history.extend(some.iter().map(|(id, _)| format!("entry {id}")));
                some.iter().for_each(|(id, _)| _ = self.shop.run(&format!("XDEL {ORDERS} {id}")));
            }
            4 => _ = self.shop.run(&format!("XTRIM {ORDERS} MAXLEN 3")),
            5 => _ = self.shop.run(&format!("XGROUP DESTROY {ORDERS} {GROUP}")),
            _ => _ = self.shop.run(&format!("DEL {ORDERS}")),
        }
    }

    fn check(mut self) {
        // The last entry may have been deleted, which no group passes.
        self.buy();
        self.shop.wait_until_drained(&mut self.workers[0]);
        for worker in &mut self.workers {
            assert!(worker.terminate().success(), "{}", worker.log());
        }
        let mut worker = self.shop.once(&[]);
        let code = worker.ended().code();
        assert!(matches!(code, Some(0 | 5)), "{code:?}: {}", worker.log());
        let (rows, letters) = (self.shop.rows(), self.shop.dead_letters());
        let (_, json) = checked(&self.shop, &["--voucher", VOUCHER, "--json"]);
        let found: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let questions = found["questions"].as_array().expect("questions");
        let (mut written, mut told) = (0, 0);
        for (order, entry) in &self.accepted {
            if rows.contains_key(order) || letters.iter().any(|letter| letter["id"] == order.1) {
                written += 1;
                continue;
            }
            let user = order.1.replacen('o', "u", 1);
            let is_told = questions.iter().any(|one| one["user"] == *user);
            assert!(
                is_told && code == Some(5),
                "{order:?} of entry {entry:?} vanished: {code:?} {json}\n{}",
                self.history.join("\n")
            );
            told += 1;
        }
        println!("{} accepted: {written} written, {told} named", self.accepted.len());
        assert!(written > self.accepted.len() / 4, "only {written} were written");
    }
}

fn no_order_vanishes_in_a_storm_of_deletions(kind: Kind) {
    let Some(database) = Database::open(kind) else { return };
    let mut storm = Storm::new(database);
    (0..ROUNDS).for_each(|_| storm.round());
    storm.check();
}

on_databases! {
    no_order_vanishes_in_a_storm_of_deletions:
        sqlite Sqlite, postgres Postgres, mariadb MariaDb, mysql MySql
}

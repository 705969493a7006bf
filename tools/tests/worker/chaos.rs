//! Random orders, payments and cancellations, while workers die or hang, the server loses
//! the end of its log, and a replica that lags takes over.
//!
//! A row never says less than what was in it, what the server contradicts is shown, and without
//! losses the rows are the book. `CHAOS_ROUNDS` is how many faults a run has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};

use domain::book::{Entry, Reason, State};
use redis::Value;

use crate::check::checked;
use crate::databases::{Database, Kind};
use crate::harness::{Server, last_appended, wait_for};
use crate::shop::{OrderId, Shop, pairs, random};
use crate::statements::documented;
use crate::worker::{Worker, until};

/// The first is held until it is paid, the second is sold at once.
const VOUCHERS: [(u32, &str); 2] = [(1, "LIMIT 1000 HOLD 300"), (2, "LIMIT 1000")];
/// This one has no rules, and is only on sale where nothing is lost.
const UNMANAGED: u32 = 3;
const COMMANDS: usize = 40;

/// What a row says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    state: State,
    units: i64,
    reference: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Losses {
    None,
    Many,
}

impl Losses {
    /// The units of each voucher: so few, if nothing is lost, that the shop's own stock is nearly
    /// always used up.
    fn stock(self) -> Vec<(u32, i64)> {
        match self {
            Self::None => [1, 2, UNMANAGED].map(|voucher| (voucher, 40)).into(),
            Self::Many => [1, 2].map(|voucher| (voucher, 1_000_000)).into(),
        }
    }
}

struct Chaos {
    shop: Shop,
    random: fastrand::Rng,
    statements: String,
    losses: Losses,
    workers: Vec<Worker>,
    replica: Server,
    /// Voucher and user, by order id less a thousand.
    orders: Vec<(u32, u32)>,
    /// User and order id of what was bought of the unmanaged voucher, and tries of it so far.
    bought: Vec<(u32, u32)>,
    unmanaged_tries: u32,
    /// Ends of the server's log in this round, each between two commands.
    marks: Vec<u64>,
    seen: BTreeMap<OrderId, Said>,
}

fn server() -> crate::harness::Builder {
    Server::with().aof().port()
}

fn replica(of: &Server) -> Server {
    let replica = Server::with().aof().replica_of(of).start();
    of.wait_for_replica(&replica);
    // Only then are its files all that it has.
    let written = wait_for("the log of the replica", || {
        let is_one = |name| replica.info_number(name) == 1;
        let is_busy = is_one("aof_rewrite_in_progress") || is_one("aof_rewrite_scheduled");
        (is_one("aof_enabled") && !is_busy).then_some(())
    });
    written.unwrap_or_else(|late| panic!("{late}"));
    replica
}

impl Chaos {
    fn new(database: Database, losses: Losses) -> Self {
        let mut shop = Shop::on(server().start(), database, &[""]);
        let stock = losses.stock();
        let statements = shop.with_statements(&stock, &documented(shop.database.kind));
        for (voucher, units) in stock {
            match VOUCHERS.iter().find(|(managed, _)| *managed == voucher) {
                Some((_, rules)) => shop.sell_managed(&voucher.to_string(), units, rules),
                None => shop.sell(&voucher.to_string(), units),
            }
        }
        let replica = replica(&shop.server);
        let mut chaos = Self {
            shop,
            random: random(),
            statements,
            losses,
            workers: Vec::new(),
            replica,
            orders: Vec::new(),
            bought: Vec::new(),
            unmanaged_tries: 0,
            marks: Vec::new(),
            seen: BTreeMap::new(),
        };
        chaos.drain();
        chaos.shop.server.wait_for_replica(&chaos.replica);
        chaos.start_workers();
        chaos
    }

    fn start_workers(&mut self) {
        while self.workers.len() < 2 {
            let batch = self.random.choice(["1", "7", "256"]).expect("one");
            let waits = ["--claim-after", "50ms", "--retry", "5ms", "--batch", batch];
            let statements = ["--statements", &self.statements];
            self.workers.push(self.shop.worker(&[&waits[..], &statements].concat()));
        }
    }

    fn kill_workers(&mut self) {
        for mut worker in self.workers.drain(..) {
            worker.kill9_somewhen(&mut self.random, || self.shop.has_pending());
        }
    }

    /// A worker that hangs is considered dead. When it resumes, its orders are rows already; but it
    /// may hold a lock of the database, and then nothing proceeds until it does.
    fn hang_worker(&mut self) {
        self.workers[0].freeze();
        (0..COMMANDS).for_each(|_| self.command());
        self.shop.let_pass(self.random.i64(0..100));
        self.workers[0].thaw();
    }

    /// A random command of a buyer, of the payment service or of the shop's staff.
    fn command(&mut self) {
        if self.losses == Losses::None && self.random.u32(0..4) == 0 {
            return self.command_unmanaged();
        }
        let random = &mut self.random;
        if self.orders.is_empty() || random.u32(0..10) < 4 {
            let (voucher, _) = *random.choice(&VOUCHERS).expect("one");
            self.orders.push((voucher, random.u32(1..50)));
            let (units, id) = (random.u32(1..4), 999 + self.orders.len());
            let user = self.orders[self.orders.len() - 1].1;
            self.shop.run(&format!("SECKILL.TRY {voucher} {user} {id} UNITS {units}"));
            return;
        }
        // Mostly one of the last orders, while it is held.
        let last = self.orders.len().min(if random.bool() { 8 } else { usize::MAX });
        let at = self.orders.len() - 1 - random.usize(0..last);
        let ((voucher, user), id) = (self.orders[at], 1_000 + at);
        let order = format!("{voucher} {user} {id}");
        let command = match random.u32(0..12) {
            0 => format!("SECKILL.TRY {order} UNITS 2"),
            1 => format!("SECKILL.CANCEL {order}"),
            2 => format!("SECKILL.CANCEL {order} KEEP 1"),
            3 => format!("SECKILL.EXTEND {order} 500"),
            4 => format!("SECKILL.CONFIRM {order}"),
            // The order's own reference, or, seldom, that of another payment.
            more => {
                format!("SECKILL.CONFIRM {order} REF p{id}{}", if more == 5 { "b" } else { "" })
            }
        };
        self.shop.run(&command);
    }

    /// A try or a cancellation. Without rules, only what a user has bought can be cancelled.
    fn command_unmanaged(&mut self) {
        let at = self.random.usize(0..2 * self.bought.len() + 1);
        if at < self.bought.len() {
            let (user, id) = self.bought.swap_remove(at);
            self.shop.run(&format!("SECKILL.CANCEL {UNMANAGED} {user} {id}"));
            return;
        }
        let (user, id) = (self.random.u32(1..50), 1_000_000 + self.unmanaged_tries);
        self.unmanaged_tries += 1;
        if self.shop.run(&format!("SECKILL.TRY {UNMANAGED} {user} {id}")) == Value::Int(0) {
            self.bought.push((user, id));
        }
    }

    fn round(&mut self) {
        self.marks.clear();
        let log = last_appended(self.shop.server.dir());
        for _ in 0..COMMANDS {
            self.marks.push(fs::metadata(&log).expect("its log").len());
            self.command();
        }
        // Half of the time, the rows are ahead of what will be left.
        match (self.random.bool(), self.losses) {
            (false, _) => {}
            // Where units are few, an order may wait until the release of another is read.
            (true, Losses::None) => self.shop.wait_until_drained(&mut self.workers[0]),
            (true, Losses::Many) => self.drain(),
        }
        match self.random.u32(0..5) {
            0 => self.fail_over(),
            1 | 2 => self.kill_server(),
            3 => self.kill_workers(),
            _ => self.hang_worker(),
        }
        self.start_workers();
        self.look();
    }

    fn kill_server(&mut self) {
        let log = last_appended(self.shop.server.dir());
        self.shop.server.kill9();
        if self.losses == Losses::Many {
            let end = *self.random.choice(&self.marks).expect("a mark");
            let file = File::options().write(true).open(log).expect("its log");
            file.set_len(end).expect("a cut");
            self.shop.server.fix_aof();
        }
        self.shop.server.start_again();
        self.replica = replica(&self.shop.server);
    }

    /// The replica is cut off while the primary goes on, and then takes its place.
    fn fail_over(&mut self) {
        if self.losses == Losses::None {
            self.kill_workers();
            self.shop.server.wait_for_replica(&self.replica);
        }
        assert_eq!(self.replica.call(&["REPLICAOF", "NO", "ONE"]), Value::Okay);
        if self.losses == Losses::Many {
            (0..COMMANDS / 2).for_each(|_| self.command());
            if self.random.bool() {
                self.drain();
            }
            self.kill_workers();
        }
        // Started once more from its files, it is a primary whenever it starts again.
        self.replica.kill9();
        self.shop.server = server().data_of(&self.replica).start();
        self.statements = self.shop.statements(&documented(self.shop.database.kind));
        self.replica = replica(&self.shop.server);
    }

    fn rows(&self) -> BTreeMap<OrderId, Said> {
        // Of some orders only a payment is known.
        let columns = ["voucher_id", "order_id", "state", "COALESCE(ref, '')", "units"];
        let rows = "FROM seckill_orders WHERE state <> 'unknown'";
        let rows = self.shop.database.texts(columns, rows).into_iter();
        rows.map(|[voucher, order, state, reference, units]| {
            let state = State::parse(state.as_bytes()).expect("a state");
            let units = units.parse().expect("units");
            ((voucher, order), Said { state, units, reference })
        })
        .collect()
    }

    /// No row says less than when it was looked at before.
    fn look(&mut self) {
        let rows = self.rows();
        for (order, before) in &self.seen {
            let Some(now) = rows.get(order) else { panic!("the row of {order:?} is gone") };
            let is_later = match (before.state, now.state) {
                (State::Sold, State::Held | State::Released(Reason::Expired)) => false,
                (State::Released(_), State::Released(_)) => true,
                (State::Released(_), _) => false,
                _ => true,
            };
            // What two branches of a server's history say contradicts itself.
            if self.losses == Losses::Many {
                let is_later = (before.state, now.state) != (State::Sold, State::Held);
                assert!(is_later, "{order:?}: {before:?} was overwritten by {now:?}");
                continue;
            }
            let has_reference = before.reference.is_empty() || before.reference == now.reference;
            let is_kept = before.state.is_live() || before.units == now.units;
            let is_right = is_later && has_reference && is_kept && now.units <= before.units;
            assert!(is_right, "{order:?}: {before:?} was overwritten by {now:?}");
        }
        self.seen = rows;
    }

    /// The orders whose row is not what the book says.
    fn contradicted(&self, voucher: &str) -> BTreeSet<String> {
        let book = pairs(self.shop.run(&format!("HGETALL seckill:book:{voucher}")));
        let rows = self.rows();
        let its = rows.iter().filter(|((of, _), _)| of == voucher);
        let its: BTreeMap<&String, &Said> = its.map(|((_, order), said)| (order, said)).collect();
        let mut found = BTreeSet::new();
        for (order, said) in &its {
            let entry = book.get(*order).map(|entry| Entry::parse(entry.as_bytes()).expect("one"));
            // A released order owes nobody anything but the payment.
            let is_right = entry.map_or(!said.state.is_live(), |entry| {
                let are_released = !entry.state.is_live() && !said.state.is_live();
                let units = if entry.state.is_live() { entry.units.get() } else { 0 };
                let is_same = (entry.state, units) == (said.state, said.units);
                let reference = entry.reference.unwrap_or_default();
                (is_same || are_released) && reference == said.reference.as_bytes()
            });
            if !is_right {
                found.insert((*order).clone());
            }
        }
        for (order, entry) in &book {
            let is_live = Entry::parse(entry.as_bytes()).expect("one").state.is_live();
            if is_live && !its.contains_key(order) {
                found.insert(order.clone());
            }
        }
        found
    }

    /// Everything that was read is written, and no order is held any more.
    fn end_orders(&mut self) {
        until("the holds to end", || self.shop.count("EXISTS seckill:hold:1") == 0);
        if self.losses == Losses::None {
            self.shop.wait_until_drained(&mut self.workers[0]);
        }
        self.kill_workers();
        self.drain();
        self.look();
    }

    /// Another worker writes what can be written.
    fn drain(&self) {
        let mut worker = self.shop.once(&["--statements", &self.statements]);
        let code = worker.ended().code();
        let is_right = |code| code == 0 || self.losses == Losses::Many && [3, 4, 5].contains(&code);
        assert!(code.is_some_and(is_right), "{code:?}: {}", worker.log());
    }

    /// Every order whose row is not what the book says is listed by `check`.
    fn check(&self) {
        for (voucher, _) in VOUCHERS {
            let voucher = voucher.to_string();
            let contradicted = self.contradicted(&voucher);
            let (code, told) = checked(&self.shop, &["--voucher", &voucher, "--json"]);
            let told: serde_json::Value = serde_json::from_str(&told).expect(&told);
            let listed = told["questions"].as_array().expect("a list");
            let listed: BTreeSet<_> =
                listed.iter().map(|one| one["order"].as_str().expect("an id").to_owned()).collect();
            let rows = self.rows();
            let both = |order: &String| {
                let row = rows.get(&(voucher.clone(), order.clone()));
                let entry = self.shop.run(&format!("HGET seckill:book:{voucher} {order}"));
                format!("{order}: {row:?}, {entry:?}")
            };
            let unseen = contradicted.difference(&listed);
            let unseen: Vec<_> = unseen.map(both).collect();
            assert!(unseen.is_empty(), "nobody is told of {unseen:#?}");
            let all: Vec<_> = contradicted.iter().map(both).collect();
            assert!(all.is_empty() || self.losses == Losses::Many, "no loss, but {all:#?}");
            assert!(contradicted.is_empty() || code == Some(1), "{voucher}: {told}");
            let its = rows.iter().filter(|((of, _), row)| *of == voucher && row.state.is_live());
            let units: i64 = its.map(|(_, row)| row.units).sum();
            assert_eq!(self.shop.units_sold(&voucher), units, "{voucher}");
        }
        // A row that began with a contradiction is not in the shop's tables.
        if self.losses == Losses::None {
            let stock = self.losses.stock();
            self.shop.check_shop(&stock);
            self.shop.check_voucher(&UNMANAGED.to_string(), stock[0].1);
            assert_eq!(self.shop.dead_letters().len(), 0);
        }
    }

    /// What is missing is written: nothing is overwritten.
    fn repair(&mut self) {
        for (voucher, _) in VOUCHERS {
            let voucher = voucher.to_string();
            let options = ["--voucher", &voucher, "--repair", "--statements", &self.statements];
            let (code, told) = checked(&self.shop, &options);
            assert_ne!(code, Some(2), "{told}");
        }
        self.look();
        self.check();
    }
}

fn chaos(kind: Kind, losses: Losses) {
    let Some(database) = Database::open(kind) else { return };
    let rounds = std::env::var("CHAOS_ROUNDS").map_or(12, |count| count.parse().expect("a number"));
    let mut chaos = Chaos::new(database, losses);
    (0..rounds).for_each(|_| chaos.round());
    chaos.end_orders();
    chaos.check();
    chaos.repair();
}

fn rows_are_the_book(kind: Kind) {
    chaos(kind, Losses::None);
}

fn losses_are_shown(kind: Kind) {
    chaos(kind, Losses::Many);
}

on_databases! { rows_are_the_book: sqlite Sqlite, postgres Postgres, mariadb MariaDb, mysql MySql }
on_databases! { losses_are_shown: sqlite Sqlite, postgres Postgres, mariadb MariaDb, mysql MySql }

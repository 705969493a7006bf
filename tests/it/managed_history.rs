//! Random histories of a managed sale, with time, retries and crashes, against a small model.
//!
//! A failing history is repeated with the seed that its message names: `SEED=<n> cargo test`.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::thread;

use crate::differential::seed;
use crate::harness::{Client, Server, text};
use crate::observe::{integer, words};
use crate::sales::ms;
use crate::transcript::argv;
use redis::Value;

const LIMIT: i64 = 3;
const HOLD_MS: i64 = 25;
/// So long that a user has units on hold at the next step, on a busy machine too.
const LONG_HOLD_MS: i64 = 2000;

/// An order in the book: state, units, deadline, user.
type Order = (String, i64, i64, String);

/// The expected state of a sale. Only `now` decides which holds are due. A hold that is due is
/// ended by the timer at any time, by any request about its order, by a try that finds too little
/// stock, or by a try whose user has too many units.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    total: i64,
    hold_ms: i64,
    book: BTreeMap<String, Order>,
    /// Entries of the stream of orders: user and order id.
    entries: BTreeMap<String, (String, String)>,
    /// Entries that the consumer has not acknowledged.
    pending: BTreeSet<String>,
}

impl Model {
    /// Units of all live orders, or of one user's.
    fn units(&self, of: Option<&str>) -> i64 {
        let live = self.book.values().filter(|order| order.0 == "held" || order.0 == "sold");
        live.filter(|order| of.is_none_or(|user| order.3 == user)).map(|order| order.1).sum()
    }

    /// The state of a user's order; "" when there is none, "over" when its hold is due.
    fn state(&self, user: &str, id: &str, now: i64) -> &str {
        match self.book.get(id) {
            Some((state, _, until, of)) if of == user => {
                if state == "held" && *until <= now {
                    "over"
                } else {
                    state
                }
            }
            _ => "",
        }
    }

    fn end(&mut self, id: &str, state: &str, outcome: i64) -> i64 {
        let order = self.book.get_mut(id).expect("an order");
        (order.0, order.2) = (state.to_owned(), 0);
        outcome
    }

    fn sell(&mut self, user: &str, id: &str, units: i64, now: i64) -> i64 {
        match self.state(user, id, now) {
            "" if self.book.contains_key(id) => return -1,
            "" => {}
            "held" | "sold" => return if self.book[id].1 == units { 0 } else { -1 },
            "over" => return self.end(id, "expired", 5),
            _ => return 5,
        }
        if self.units(Some(user)) + units > LIMIT {
            self.expire(now, |of| of == user);
        }
        if self.units(Some(user)) + units > LIMIT {
            return 2;
        } else if self.units(None) + units > self.total {
            self.expire(now, |_| true);
        }
        if self.units(None) + units > self.total {
            return 1;
        }
        let order = ("held".to_owned(), units, now + self.hold_ms, user.to_owned());
        self.book.insert(id.to_owned(), order);
        0
    }

    /// Ends the holds that are due, of some users.
    fn expire(&mut self, now: i64, of: impl Fn(&str) -> bool) {
        let over = self.book.values_mut().filter(|order| order.0 == "held" && order.2 <= now);
        let over = over.filter(|order| of(&order.3));
        over.for_each(|order| (order.0, order.2) = ("expired".to_owned(), 0));
    }

    fn reject(&mut self, entry: &str, now: i64) -> i64 {
        if !self.pending.remove(entry) {
            return 0;
        }
        let (user, id) = self.entries[entry].clone();
        match self.state(&user, &id, now) {
            "over" => self.end(&id, "expired", 1),
            "held" | "sold" => self.end(&id, "rejected", 1),
            _ => 1,
        }
    }

    fn settle(&mut self, command: &str, user: &str, id: &str, now: i64) -> i64 {
        match (command, self.state(user, id, now)) {
            (_, "") => 0,
            ("CANCEL", "over") => self.end(id, "expired", 2),
            ("CANCEL", "held" | "sold") => self.end(id, "cancelled", 1),
            (_, "held") => self.end(id, "sold", 1),
            ("CANCEL", _) | (_, "sold") => 2,
            (_, "over") => self.end(id, "expired", 3),
            _ => 3,
        }
    }
}

/// What a server replies about a sale at some moment.
struct Seen {
    now: i64,
    model: Model,
    left: i64,
}

/// Runs a command between two observations in a transaction, so that no timer fires in between. The
/// clock of the first is not later than the command's, and that of the second is not earlier.
fn step(client: &mut Client, command: &str) -> (Seen, Value, Seen) {
    let looks = ["HGETALL seckill:book:7", "GET seckill:stock:7"];
    let commands = ["MULTI", "TIME", looks[0], looks[1], command, looks[0], looks[1]];
    for command in &commands {
        client.send(&argv(command));
    }
    commands.iter().for_each(|_| drop(client.receive()));
    let Value::Array(mut replies) = client.run("EXEC") else { panic!("no replies to {command}") };
    let end = client.clock_ms();
    let mut next = || replies.remove(0);
    let begin = ms(next());
    let before = seen(begin, next(), &next());
    (before, next(), seen(end, next(), &next()))
}

fn number(text: &str) -> i64 {
    text.parse().unwrap_or_else(|_| panic!("no number: {text}"))
}

fn seen(now: i64, book: Value, stock: &Value) -> Seen {
    let entry = |pair: &[String]| {
        let parts: Vec<_> = pair[1].splitn(4, ':').collect();
        let [state, units, deadline, user] = parts[..] else { panic!("{pair:?}") };
        let deadline = number(deadline.trim_end_matches(",sold"));
        let order = (state.to_owned(), number(units), deadline, user.to_owned());
        (pair[0].clone(), order)
    };
    let book = words(book).chunks(2).map(entry).collect();
    let model = Model { book, ..Model::default() };
    Seen { now, model, left: number(&text(stock)) }
}

/// Applies what the timer has ended since the last step, and nothing else.
fn let_time_pass(model: &mut Model, seen: &Seen, at: &str) {
    for (id, order) in &seen.model.book {
        let known = model.book.get(id).unwrap_or_else(|| panic!("{at}: a new order {id}"));
        if known != order {
            let state = model.state(&order.3, id, seen.now);
            assert_eq!(state, "over", "{at}: {id} was {known:?}, is {order:?}");
            model.end(id, "expired", 0);
        }
    }
    assert_eq!(model.book, seen.model.book, "{at}");
}

/// Runs one command on the model; returns the outcome that the server would reply, -1 for ORDERID.
fn expected(model: &mut Model, words: &[&str], now: i64) -> i64 {
    match *words {
        ["SECKILL.TRY", _, user, id, _, units] => {
            model.sell(user, id, units.parse().expect("units"), now)
        }
        ["SECKILL.CONFIRM", _, user, id] => model.settle("CONFIRM", user, id, now),
        ["SECKILL.CANCEL", _, user, id] => model.settle("CANCEL", user, id, now),
        ["SECKILL.REJECT", _, _, entry] => model.reject(entry, now),
        ["SECKILL.RESTOCK", _, delta] => {
            let delta: i64 = delta.parse().expect("a delta");
            if model.total - model.units(None) + delta < 0 {
                return -1;
            }
            model.total += delta;
            model.total - model.units(None)
        }
        _ => panic!("{words:?}"),
    }
}

/// Reads the new entries of the stream of orders as its consumer.
fn consume(client: &mut Client, model: &mut Model) {
    let reply = client.run("XREADGROUP GROUP g c STREAMS stream.orders >");
    type Streams = Option<Vec<(String, Vec<(String, Vec<String>)>)>>;
    let streams: Streams = redis::from_redis_value(reply).expect("streams");
    for (id, fields) in streams.into_iter().flatten().flat_map(|(_, entries)| entries) {
        model.pending.insert(id.clone());
        model.entries.insert(id, (fields[1].clone(), fields[5].clone()));
    }
}

/// The command of a step. Ids change with the steps, so that most are used a few times.
fn random_command(random: &mut fastrand::Rng, number: u32, model: &Model) -> String {
    let (user, id) = (random.u32(0..6), number / 3 + random.u32(0..8));
    let mut latest = model.entries.keys().rev().take(6);
    match random.u8(0..24) {
        20.. => {
            let entry = latest.nth(random.usize(0..6)).map_or("5-5", String::as_str);
            format!("SECKILL.REJECT stream.orders g {entry}")
        }
        0..11 => format!("SECKILL.TRY 7 u{} o{id} UNITS {}", id % 6, random.u8(1..4)),
        11 => format!("SECKILL.TRY 7 u{user} o{id} UNITS 1"),
        12..16 => format!("SECKILL.CONFIRM 7 u{} o{id}", id % 6),
        16..18 => format!("SECKILL.CANCEL 7 u{} o{id}", id % 6),
        18 => format!("SECKILL.CANCEL 7 u{user} o{id}"),
        _ => format!("SECKILL.RESTOCK 7 {}", random.i8(-2..3)),
    }
}

/// A history of a few hundred steps. Returns how often each outcome of a try occurred.
fn history(seed: u64) -> [usize; 6] {
    let mut random = fastrand::Rng::with_seed(seed);
    let hold_ms = if seed.is_multiple_of(3) { LONG_HOLD_MS } else { HOLD_MS };
    let mut server = Server::with().aof().start();
    server.run(&format!("SECKILL.CREATE 7 6 LIMIT {LIMIT} HOLD {hold_ms}"));
    server.run("XGROUP CREATE stream.orders g $ MKSTREAM");
    let mut client = server.client();
    let mut model = Model { total: 6, hold_ms, ..Model::default() };
    let mut outcomes = [0; 6];
    for number in 0..250 {
        let command = random_command(&mut random, number, &model);
        let at = format!("SEED={seed} step {number}: {command}");
        let (before, reply, after) = step(&mut client, &command);
        let_time_pass(&mut model, &before, &at);
        let got = match reply {
            Value::Int(outcome) => outcome,
            error => {
                let error = text(&error);
                assert!(["ORDERID", "STOCK"].iter().any(|w| error.starts_with(w)), "{at}: {error}");
                -1
            }
        };
        // The command read the clock between our two readings: one moment must explain everything.
        let spelled: Vec<_> = command.split(' ').collect();
        let explained = (before.now..=after.now).find_map(|now| {
            let mut model = model.clone();
            let outcome = expected(&mut model, &spelled, now);
            (outcome == got && model.book == after.model.book).then_some(model)
        });
        let shown = || format!("{at} gave {got}: {model:?} became {:?}", after.model.book);
        model = explained.unwrap_or_else(|| panic!("{}", shown()));
        assert_eq!(after.left + model.units(None), model.total, "{at}");
        if let ("SECKILL.TRY", Ok(outcome)) = (spelled[0], usize::try_from(got)) {
            outcomes[outcome] += 1;
        }
        consume(&mut client, &mut model);
        match random.u8(0..100) {
            0..8 => server.wait_until(after.now + random.i64(0..2 * HOLD_MS)),
            8 => {
                server.kill9();
                server.start_again();
                client = server.client();
            }
            9 => client.check("> DEBUG RELOAD\nOK"),
            _ => {}
        }
        let differences = words(client.field("SECKILL.AUDIT 7", "differences"));
        assert_eq!(differences, Vec::<String>::new(), "{at}");
    }
    let copy = Server::with().aof().without_module();
    server.wait_until(server.clock_ms() + 2 * hold_ms);
    let over = crate::harness::wait_for("all holds to end", || {
        (server.run("EXISTS seckill:hold:7") == Value::Int(0)).then_some(())
    });
    over.unwrap_or_else(|late| panic!("SEED={seed}: {late}"));
    assert_eq!(server.differences("7"), Vec::<String>::new(), "SEED={seed}");
    let letters = model.entries.len() - model.pending.len();
    let kept = integer(&server.run("XLEN stream.orders.dlq"));
    assert_eq!(usize::try_from(kept), Ok(letters), "SEED={seed}");
    assert_eq!(copy.data_of(&server).start().digest(), server.digest(), "SEED={seed}");
    server.assert_reload_changes_nothing();
    outcomes
}

#[test]
fn histories_are_those_of_the_model() {
    let first = seed();
    println!("SEED={first}");
    let threads: Vec<_> =
        (0..6).map(|number| thread::spawn(move || history(first.wrapping_add(number)))).collect();
    let mut outcomes = [0; 6];
    for thread in threads {
        let some = thread.join().expect("a history that is that of the model");
        outcomes.iter_mut().zip(some).for_each(|(sum, count)| *sum += count);
    }
    for outcome in [0, 1, 2, 5] {
        // A history in which one outcome never occurs would prove little.
        assert!(outcomes[outcome] > 0, "SEED={first}: {outcomes:?}");
    }
}

/// Random commands in a pipeline: everything but time is random.
fn rush(mut client: Client, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..12 {
        let commands = 60;
        for _ in 0..commands {
            let id = random.u32(0..900);
            let command = match random.u8(0..10) {
                0..6 => format!("SECKILL.TRY 7 u{} o{id} UNITS {}", id % 40, id % 3 + 1),
                6..8 => format!("SECKILL.CONFIRM 7 u{} o{id}", id % 40),
                8 => format!("SECKILL.CANCEL 7 u{} o{id}", id % 40),
                _ => format!("SECKILL.STATUS 7 u{}", id % 40),
            };
            client.send(&argv(&command));
        }
        for _ in 0..commands {
            let reply = client.receive();
            assert!(!matches!(reply, Value::ServerError(_)), "SEED={seed}: {reply:?}");
        }
    }
}

/// The order ids of a stream's entries.
fn ids(server: &Server, stream: &str) -> Vec<String> {
    let entries = server.run(&format!("XRANGE {stream} - +"));
    let entries: Vec<(String, Vec<String>)> = redis::from_redis_value(entries).expect("entries");
    entries.into_iter().map(|(_, fields)| fields[5].clone()).collect()
}

#[test]
fn many_clients_never_oversell() {
    let first = seed();
    println!("SEED={first}");
    let server = Server::with().aof().start();
    server.run(&format!("SECKILL.CREATE 7 60 LIMIT {LIMIT} HOLD 20"));
    let clients: Vec<_> = (0..6).map(|_| server.client()).collect();
    let threads: Vec<_> = clients
        .into_iter()
        .zip(0..)
        .map(|(client, number)| thread::spawn(move || rush(client, first.wrapping_add(number))))
        .collect();
    while threads.iter().any(|thread| !thread.is_finished()) {
        assert_eq!(server.differences("7"), Vec::<String>::new(), "SEED={first}");
    }
    threads.into_iter().for_each(|thread| thread.join().expect("a client with all its replies"));
    let over = crate::harness::wait_for("all holds to end", || {
        (server.run("EXISTS seckill:hold:7") == Value::Int(0)).then_some(())
    });
    over.expect("no holds");
    assert_eq!(server.differences("7"), Vec::<String>::new(), "SEED={first}");
    let (sold, released) = (ids(&server, "stream.orders"), ids(&server, "stream.orders.released"));
    let unique = |ids: &[String]| ids.iter().collect::<HashSet<_>>().len() == ids.len();
    assert!(unique(&sold) && unique(&released), "SEED={first}: an id came twice");
    let orders = integer(&server.field("SECKILL.AUDIT 7", "orders"));
    assert_eq!(usize::try_from(orders), Ok(sold.len()), "SEED={first}");
    assert!(!released.is_empty() && released.iter().all(|id| sold.contains(id)));
    for units in words(server.run("HVALS seckill:units:7")) {
        let units: i64 = units.split(':').next().and_then(|n| n.parse().ok()).expect("units");
        assert!((1..=LIMIT).contains(&units), "SEED={first}: {units}");
    }
    server.assert_reload_changes_nothing();
    let copy = Server::with().aof().without_module().data_of(&server).start();
    assert_eq!(copy.digest(), server.digest(), "SEED={first}");
}

//! The promises of the answers, compared with the keys after ends that must not lose anything.

use std::collections::{BTreeMap, BTreeSet};

use crate::evidence::Evidence;
use crate::harness::Server;
use crate::load::{Log, Sent};
use crate::world::{BARE, MANAGED, State, ask};
use crate::{locks, orders, queues, rejected};
use redis::Value;

/// Fails unless every answered effect is there, and no effect that no client asked for.
pub fn check(server: &Server, state: &State, logs: &[Log]) {
    check_sales(server, state, logs);
    locks::check(logs);
}

/// Like [`check`], without locks: leases are shorter when the clock is set forward.
pub fn check_sales(server: &Server, state: &State, logs: &[Log]) {
    let mut evidence = Evidence::of(state);
    for sent in logs.iter().flatten() {
        assert_ne!(evidence.is_there(sent), Some(false), "lost: {sent:?}");
    }
    orders::check(state, logs);
    queues::check(state, logs);
    rejected::check(state, logs);
    entries_were_asked_for(state, logs);
    sums(server, logs);
    ids(logs);
    prizes(state, logs);
    sales(server, logs);
}

/// Entries of unmanaged sales and of draws belong to commands that were accepted or got no answer.
fn entries_were_asked_for(state: &State, logs: &[Log]) {
    let mut asked = BTreeSet::new();
    let mut draws: BTreeMap<&str, usize> = BTreeMap::new();
    for sent in logs.iter().flatten().filter(|sent| sent.is_open() || sent.outcome() == Some(0)) {
        match sent.words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["SECKILL.TRY", "u", user, id, ..] => drop(asked.insert((user, id))),
            ["SECKILL.TRYKEYS", "k.stock", _, _, _, user, id, ..] => {
                asked.insert((user, id));
            }
            ["SECKILL.DRAW", _, user] => *draws.entry(user).or_default() += 1,
            _ => {}
        }
    }
    for entry in crate::whole::of(&state.orders, "u").chain(&state.by_keys) {
        assert!(asked.contains(&(entry.of("userId"), entry.of("id"))), "nobody asked: {entry:?}");
    }
    for entry in &state.draws {
        let left = draws.get_mut(entry.of("userId")).filter(|left| **left > 0);
        *left.unwrap_or_else(|| panic!("nobody drew: {entry:?}")) -= 1;
    }
}

/// Stocks and totals are those of the answered commands and of some of the open ones.
fn sums(server: &Server, logs: &[Log]) {
    let mut bare = Sums::from(BARE);
    let mut total = Sums::from(MANAGED[0].1);
    for sent in logs.iter().flatten() {
        let number = || sent.words[2].parse::<i64>().expect("a number");
        match (sent.words[0].as_str(), sent.outcome()) {
            ("SECKILL.DEDUCT", outcome) => {
                bare.add(-number(), outcome.map(|outcome| outcome > 0), sent);
            }
            ("SECKILL.RETURN", outcome) => bare.add(number(), outcome.map(|_| true), sent),
            ("SECKILL.RESTOCK", outcome) => total.add(number(), outcome.map(|_| true), sent),
            _ => {}
        }
    }
    bare.assert_has(ask(server, "GET bare"), "the bare stock");
    let audited = server.field("SECKILL.INFO m", "total");
    total.assert_has(redis::from_redis_value(audited).expect("a total"), "the total");
}

/// All possible values of a number, when some commands may have run or not.
struct Sums(BTreeSet<i64>);

impl Sums {
    fn from(start: i64) -> Self {
        Self([start].into())
    }

    /// `happened` is None for a command without an answer, or with an error.
    fn add(&mut self, delta: i64, happened: Option<bool>, sent: &Sent) {
        match happened {
            Some(true) => self.0 = self.0.iter().map(|sum| sum + delta).collect(),
            None if sent.is_open() => {
                let more: Vec<_> = self.0.iter().map(|sum| sum + delta).collect();
                self.0.extend(more);
            }
            _ => {}
        }
    }

    fn assert_has(&self, number: i64, what: &str) {
        assert!(self.0.contains(&number), "{what} is {number}, not one of {:?}", self.0);
    }
}

/// Generated ids, including the ranges of SECKILL.NEXTID with a count, are given once.
fn ids(logs: &[Log]) {
    let mut ranges = Vec::new();
    for sent in logs.iter().flatten().filter(|sent| sent.is("SECKILL.NEXTID")) {
        if let Some(Value::BulkString(_)) = sent.answer() {
            let first: i64 =
                crate::harness::text(sent.answer().expect("an id")).parse().expect("an id");
            ranges.push((first, sent.words[3].parse::<i64>().expect("a count")));
        }
    }
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        assert!(pair[0].0 + pair[0].1 <= pair[1].0, "ids given twice: {pair:?}");
    }
}

/// The latest answer about each user's prize is right, unless a command without an answer followed.
fn prizes(state: &State, logs: &[Log]) {
    let mut latest: BTreeMap<&str, Option<Option<String>>> = BTreeMap::new();
    for sent in logs.iter().flatten() {
        let heard = match (sent.words[0].as_str(), sent.outcome()) {
            ("SECKILL.DRAW", Some(0 | 2)) => Some(sent.second()),
            ("SECKILL.DRAW", Some(_)) | ("SECKILL.UNDRAW", Some(_)) => Some(None),
            ("SECKILL.DRAW" | "SECKILL.UNDRAW", None) => None,
            _ => continue,
        };
        latest.insert(&sent.words[2], heard);
    }
    for (user, code) in latest {
        if let Some(code) = code {
            assert_eq!(state.winners.get(user), code.as_ref(), "the code of {user}");
        }
    }
}

/// Vouchers that only one connection uses are as its last answers say.
fn sales(server: &Server, logs: &[Log]) {
    let mut latest: BTreeMap<&str, Option<(&str, &str)>> = BTreeMap::new();
    for sent in logs.iter().flatten() {
        let name = sent.words[0].as_str();
        if ["SECKILL.CREATE", "SECKILL.ALTER", "SECKILL.DROP"].contains(&name) {
            let limit = sent.words.last().map_or("", String::as_str);
            let is_done = matches!(sent.answer(), Some(Value::Okay | Value::Int(1)));
            match sent.answer() {
                None => drop(latest.insert(&sent.words[1], None)),
                Some(_) if is_done => drop(latest.insert(&sent.words[1], Some((name, limit)))),
                Some(_) => {}
            }
        }
    }
    for (voucher, heard) in latest {
        let Some((name, limit)) = heard else { continue };
        let kinds = ["stock", "order", "voucher", "book", "units", "hold", "wait"];
        let keys = kinds.map(|kind| format!("seckill:{kind}:{voucher}"));
        match name {
            "SECKILL.DROP" => {
                assert_eq!(
                    ask::<i64>(server, &format!("EXISTS {}", keys.join(" "))),
                    0,
                    "{voucher}"
                );
            }
            _ => {
                let info = server.field(&format!("SECKILL.INFO {voucher}"), "limit");
                assert_eq!(crate::harness::text(&info), limit, "{voucher} after {name}");
                assert_eq!(server.audited(voucher).differences(), [""; 0], "{voucher}");
            }
        }
    }
}

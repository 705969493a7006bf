//! Finds vouchers by their stock keys, a bounded piece of the server's keys at a time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use redis::{Cmd, RedisError, Value, from_redis_value};

use crate::key_names::KeyNames;

/// Keys that one SCAN looks at.
const KEYS_A_STEP: u32 = 500;
/// More vouchers than this are not remembered.
const VOUCHERS_MAX: usize = 10_000;
/// Stocks that one look asks for.
const STOCKS_A_LOOK: usize = 250;

/// Goes round the keys again and again, so that new vouchers appear and dropped ones go.
pub struct Finder {
    pattern: Vec<u8>,
    cursor: Vec<u8>,
    this_round: BTreeSet<Vec<u8>>,
    last_round: BTreeSet<Vec<u8>>,
    rounds: u32,
    /// By voucher, and the look that has seen another one than the look before.
    stocks: BTreeMap<Vec<u8>, (i64, u64)>,
    looks: u64,
    /// The last voucher that was looked at.
    looked_until: Vec<u8>,
}

/// Whether all keys have been looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    GoesOn,
    Ended,
}

impl Finder {
    pub fn new(key_names: &KeyNames) -> Self {
        Self {
            pattern: key_names.stock_pattern(),
            cursor: b"0".to_vec(),
            this_round: BTreeSet::new(),
            last_round: BTreeSet::new(),
            rounds: 0,
            stocks: BTreeMap::new(),
            looks: 0,
            looked_until: Vec::new(),
        }
    }

    /// Does it look for keys of these names?
    pub fn is_for(&self, key_names: &KeyNames) -> bool {
        self.pattern == key_names.stock_pattern()
    }

    /// Has it been round once?
    pub fn is_whole(&self) -> bool {
        self.rounds > 0
    }

    /// All vouchers that it knows of, by name.
    pub fn vouchers(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.last_round.union(&self.this_round)
    }

    /// The vouchers whose stocks are to be asked for next, in turn: those that sell are found so.
    pub fn next_stocks(&self) -> Vec<Vec<u8>> {
        let is_before = |voucher: &&Vec<u8>| **voucher <= self.looked_until;
        let after = self.vouchers().skip_while(is_before);
        let all = after.chain(self.vouchers().take_while(is_before));
        all.take(STOCKS_A_LOOK).cloned().collect()
    }

    /// Takes how many units these have left. What can't be read has not changed.
    pub fn take_stocks(&mut self, vouchers: &[Vec<u8>], left: Vec<Option<i64>>) {
        self.looks += 1;
        self.looked_until = vouchers.last().cloned().unwrap_or_default();
        for (voucher, left) in vouchers.iter().zip(left) {
            let Some(left) = left else { continue };
            let (known, look) = self.stocks.entry(voucher.clone()).or_insert((left, 0));
            if *known != left {
                (*known, *look) = (left, self.looks);
            }
        }
    }

    /// At most so many vouchers, by name: those that have sold last, and then the first by name.
    pub fn selling(&self, max: usize) -> Vec<Vec<u8>> {
        let mut all: Vec<_> = self.vouchers().collect();
        let sold = |voucher: &Vec<u8>| self.stocks.get(voucher).map_or(0, |(_, look)| *look);
        all.sort_by_key(|voucher| Reverse(sold(voucher)));
        all.truncate(max);
        all.sort();
        all.into_iter().cloned().collect()
    }

    /// Asks for the next piece of the keys.
    pub fn next_scan(&self) -> Cmd {
        let mut scan = redis::cmd("SCAN");
        scan.arg(&self.cursor).arg("MATCH").arg(&self.pattern);
        scan.arg("COUNT").arg(KEYS_A_STEP).arg("TYPE").arg("string");
        scan
    }

    /// Takes the answer to that. The code of the server's error when it refuses.
    pub fn take(&mut self, key_names: &KeyNames, reply: Value) -> Result<Round, String> {
        let read = reply.extract_error().and_then(|reply| Ok(from_redis_value(reply)?));
        let (cursor, keys): (Vec<u8>, Vec<Vec<u8>>) = read.map_err(|error: RedisError| {
            error.code().unwrap_or("SCAN returned an unexpected reply").to_owned()
        })?;
        for voucher in keys.iter().filter_map(|key| key_names.voucher_of(key)) {
            if self.this_round.len() < VOUCHERS_MAX {
                self.this_round.insert(voucher);
            }
        }
        let is_round = cursor == b"0";
        self.cursor = cursor;
        if !is_round {
            return Ok(Round::GoesOn);
        }
        self.last_round = std::mem::take(&mut self.this_round);
        self.stocks.retain(|voucher, _| self.last_round.contains(voucher));
        self.rounds = self.rounds.saturating_add(1);
        Ok(Round::Ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(cursor: &str, keys: &[&str]) -> Value {
        let text = |text: &&str| Value::BulkString(text.as_bytes().to_vec());
        Value::Array(vec![text(&cursor), Value::Array(keys.iter().map(text).collect())])
    }

    #[test]
    fn vouchers_come_and_go_with_the_rounds() {
        let key_names = KeyNames::from_info("", false);
        let mut finder = Finder::new(&key_names);
        let mut replies = vec![
            reply("0", &["seckill:stock:c"]),
            reply("9", &["seckill:stock:b", "other"]),
            reply("0", &["seckill:stock:b"]),
            reply("5", &["seckill:stock:a"]),
        ];
        let mut look = |finder: &mut Finder, steps| {
            for _ in 0..steps {
                if finder.take(&key_names, replies.pop().unwrap()) == Ok(Round::Ended) {
                    break;
                }
            }
            finder.vouchers().flatten().copied().collect::<Vec<u8>>()
        };
        assert_eq!(look(&mut finder, 1), b"a");
        assert!(!finder.is_whole());
        assert_eq!(look(&mut finder, 9), b"ab");
        assert!(finder.is_whole());
        assert_eq!(look(&mut finder, 1), b"ab");
        assert_eq!(look(&mut finder, 1), b"bc", "a was not found again");
    }
    #[test]
    fn those_that_sell_come_before_the_first_by_name() {
        let key_names = KeyNames::from_info("", false);
        let mut finder = Finder::new(&key_names);
        let keys = ["seckill:stock:a", "seckill:stock:b", "seckill:stock:c", "seckill:stock:d"];
        finder.take(&key_names, reply("0", &keys)).unwrap();
        let look = |finder: &mut Finder, left: [i64; 4]| {
            let next = finder.next_stocks();
            assert_eq!(next.concat(), b"abcd");
            finder.take_stocks(&next, left.map(Some).into());
            finder.selling(2).concat()
        };
        assert_eq!(look(&mut finder, [9, 9, 9, 9]), b"ab");
        assert_eq!(look(&mut finder, [9, 9, 9, 8]), b"ad");
        assert_eq!(look(&mut finder, [9, 9, 9, 8]), b"ad", "it sold last");
        assert_eq!(look(&mut finder, [9, 8, 7, 8]), b"bc");
        finder.take(&key_names, reply("0", &keys[..2])).unwrap();
        assert_eq!(finder.stocks.len(), 2, "those that are gone are forgotten");
    }

    #[test]
    fn all_stocks_are_looked_at_in_turn() {
        let key_names = KeyNames::from_info("", false);
        let mut finder = Finder::new(&key_names);
        let all: Vec<_> = (0..600).map(|number| format!("{number:04}")).collect();
        finder.last_round = all.iter().map(|name| name.clone().into_bytes()).collect();
        let mut seen = BTreeSet::new();
        for _ in 0..3 {
            let next = finder.next_stocks();
            assert_eq!(next.len(), STOCKS_A_LOOK);
            finder.take_stocks(&next, vec![None; next.len()]);
            seen.extend(next);
        }
        assert_eq!(seen.len(), all.len());
    }
}

//! Finds vouchers by their stock keys, a bounded piece of the server's keys at a time.

use std::collections::BTreeSet;

use redis::{Cmd, RedisError, Value, from_redis_value};

use crate::key_names::KeyNames;

/// Keys that one SCAN looks at.
const KEYS_A_STEP: u32 = 500;
/// More vouchers than this are not remembered.
const VOUCHERS_MAX: usize = 10_000;

/// Goes round the keys again and again, so that new vouchers appear and dropped ones go.
pub struct Finder {
    pattern: Vec<u8>,
    cursor: Vec<u8>,
    this_round: BTreeSet<Vec<u8>>,
    last_round: BTreeSet<Vec<u8>>,
    rounds: u32,
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
    pub fn vouchers(&self) -> Vec<Vec<u8>> {
        self.last_round.union(&self.this_round).cloned().collect()
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
            finder.vouchers().concat()
        };
        assert_eq!(look(&mut finder, 1), b"a");
        assert!(!finder.is_whole());
        assert_eq!(look(&mut finder, 9), b"ab");
        assert!(finder.is_whole());
        assert_eq!(look(&mut finder, 1), b"ab");
        assert_eq!(look(&mut finder, 1), b"bc", "a was not found again");
    }
}

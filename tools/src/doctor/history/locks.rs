//! The histories of locks, and of stocks to which units return.

use super::{History, IDS, Ids, STOCKS, Step, UNITS, Writer, in_pieces};
use crate::call::Role;
use crate::learn::{Lock, Return};
use crate::wire::Words;

impl Writer<'_> {
    pub fn of_lock(&mut self, lock: &Lock) -> Vec<History> {
        // From some seconds on, so that none ends meanwhile, up to a day.
        let (mut leases, range) = match lock.lease {
            Some((_, true)) => (vec![20, 40, 100, 800, 5_000, 20_000, 80_000], 10..80_000),
            _ => (
                vec![20_000, 30_000, 45_000, 80_000, 800_000, 5_000_000, 80_000_000],
                10_000..80_000_000,
            ),
        };
        let numbers = self.numbers().into_iter().map(i64::unsigned_abs);
        leases.extend(numbers.filter(|number| range.contains(number)));
        let mut all = Vec::new();
        for ids in IDS {
            let mut steps = Vec::new();
            for number in 0..24 {
                let (user, name) = (self.rng.u64(..3), self.rng.u64(..2));
                let mut values = self.values(ids, name, user, number);
                let lease = leases[self.rng.usize(..leases.len())];
                for role in self.others().into_iter().chain([Role::Lease]) {
                    values.insert(role, lease.to_string().into_bytes());
                }
                let (key, own) = (self.text(&lock.lock, &values), self.text(&lock.token, &values));
                let before = match self.rng.u32(..8) {
                    0 => vec![vec![b"DEL".to_vec(), key]],
                    1 => vec![held(key, own, true)],
                    2 => vec![held(key, own, false)],
                    3 => vec![held(key, [&*own, b"0"].concat(), true)],
                    4 => vec![held(key, [b"0", &*own].concat(), false)],
                    5 => vec![held(key, Vec::new(), false)],
                    6 => vec![held(key, own.to_ascii_uppercase(), true)],
                    _ => Vec::new(),
                };
                steps.push(Step::new(before, values));
            }
            let about = "locks that are free, held, and held by others, with and without an end";
            all.push(History::same(about, steps));
        }
        let mut steps = Vec::new();
        for role in self.others().into_iter().chain([Role::Token]) {
            for (at, constant) in self.words().into_iter().enumerate() {
                let mut values = self.values(Ids::Small, 1, at as u64, 1);
                values.insert(role, constant);
                for holder in [b"another".to_vec(), self.text(&lock.token, &values)] {
                    let before = vec![held(self.text(&lock.lock, &values), holder, true)];
                    steps.push(Step::new(before, values.clone()));
                }
            }
        }
        steps.extend(self.equals().into_iter().map(|values| {
            let key = self.text(&lock.lock, &values);
            Step::new(vec![held(key, b"another".to_vec(), true)], values)
        }));
        all.extend(in_pieces("each constant of the script as an argument", &steps));
        let key = self.text(&lock.lock, &self.values(Ids::Small, 1, 1, 1));
        all.extend(self.damaged(&vec![key], |writer, values| {
            held(writer.text(&lock.lock, values), writer.text(&lock.token, values), true)
        }));
        all
    }

    pub fn of_return(&mut self, stock: &Return) -> Vec<History> {
        let set = |key: Vec<u8>, value: &str| vec![b"SET".to_vec(), key, value.into()];
        let mut steps = Vec::new();
        for number in 0..60 {
            let (ids, voucher) = (IDS[self.rng.usize(..3)], self.rng.u64(..2));
            let mut values = self.values(ids, voucher, 1, number);
            let units = UNITS[self.rng.usize(..UNITS.len())].to_string();
            for role in self.others().into_iter().chain([Role::Units]) {
                values.insert(role, units.clone().into_bytes());
            }
            let key = self.text(&stock.stock, &values);
            let before = match self.rng.u32(..5) {
                0 => vec![vec![b"DEL".to_vec(), key]],
                1 => vec![vec![b"PEXPIRE".to_vec(), key, b"600000".to_vec()]],
                2 => vec![set(key, &STOCKS[self.rng.usize(..STOCKS.len())].to_string())],
                _ => Vec::new(),
            };
            steps.push(Step::new(before, values));
        }
        let about = "stocks of every size, missing ones, and times to live";
        let key = self.text(&stock.stock, &self.values(Ids::Small, 1, 1, 1));
        let plant = |writer: &Self, values: &_| set(writer.text(&stock.stock, values), "5");
        let damaged = self.damaged(&vec![key], plant);
        std::iter::once(History::same(about, steps)).chain(damaged).collect()
    }
}

fn held(key: Vec<u8>, holder: Vec<u8>, expires: bool) -> Words {
    let mut words = vec![b"SET".to_vec(), key, holder];
    if expires {
        words.extend([b"PX".to_vec(), b"500000".to_vec()]);
    }
    words
}

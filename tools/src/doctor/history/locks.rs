//! The histories of locks, and of stocks to which units return.

use super::{History, IDS, Ids, Rigor, STOCKS, Step, UNITS, Writer, in_pieces};
use crate::call::Role;
use crate::learn::{Lock, Return};
use crate::wire::Words;

impl Writer<'_> {
    pub fn of_lock(&mut self, lock: &Lock) -> Vec<History> {
        let mut all = Vec::new();
        let set = |key: Vec<u8>, value: Vec<u8>, ttl: Option<u64>| {
            let mut words: Words = vec![b"SET".to_vec(), key, value];
            if let Some(ms) = ttl {
                words.extend([b"PX".to_vec(), ms.to_string().into_bytes()]);
            }
            words
        };
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
        for ids in IDS {
            let mut steps = Vec::new();
            for number in 0..24_u64 {
                let (user, name) = (self.rng.u64(..3), self.rng.u64(..2));
                let mut values = self.values(ids, name, user, number);
                let lease = leases[self.rng.usize(..leases.len())];
                for role in self.others().into_iter().chain([Role::Lease]) {
                    values.insert(role, lease.to_string().into_bytes());
                }
                let key = self.text(&lock.lock, &values);
                let own = self.text(&lock.token, &values);
                let before = match self.rng.u32(..8) {
                    0 => vec![vec![b"DEL".to_vec(), key]],
                    1 => vec![set(key, own, Some(500_000))],
                    2 => vec![set(key, own, None)],
                    3 => vec![set(key, [own.as_slice(), b"0"].concat(), Some(500_000))],
                    4 => vec![set(key, [b"0", own.as_slice()].concat(), None)],
                    5 => vec![set(key, Vec::new(), None)],
                    6 => vec![set(key, own.to_ascii_uppercase(), Some(500_000))],
                    _ => Vec::new(),
                };
                steps.push(Step::new(before, values));
            }
            let about = "locks that are free, held, and held by others, with and without an end";
            all.push(History { about, rigor: Rigor::Same, steps });
        }
        let mut steps = Vec::new();
        for role in self.others().into_iter().chain([Role::Token]) {
            for (at, constant) in self.words().into_iter().enumerate() {
                let mut values = self.values(Ids::Small, 1, at as u64, 1);
                values.insert(role, constant);
                let key = self.text(&lock.lock, &values);
                let own = self.text(&lock.token, &values);
                for holder in [b"another".to_vec(), own] {
                    let before = vec![set(key.clone(), holder, Some(500_000))];
                    steps.push(Step::new(before, values.clone()));
                }
            }
        }
        steps.extend(self.equals().into_iter().map(|values| {
            let key = self.text(&lock.lock, &values);
            Step::new(vec![set(key, b"another".to_vec(), Some(500_000))], values)
        }));
        all.extend(in_pieces("each constant of the script as an argument", &steps));
        let values = self.values(Ids::Small, 1, 1, 1);
        let key = self.text(&lock.lock, &values);
        all.extend(self.wrong_types(&vec![key], &[], &values));
        all.extend(self.odd_arguments(|writer, values| {
            let (key, own) = (writer.text(&lock.lock, values), writer.text(&lock.token, values));
            vec![set(key, own, Some(500_000))]
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
        let mut all = vec![History {
            about: "stocks of every size, missing ones, and times to live",
            rigor: Rigor::Same,
            steps,
        }];
        let values = self.values(Ids::Small, 1, 1, 1);
        let key = self.text(&stock.stock, &values);
        all.extend(self.wrong_types(&vec![key], &[], &values));
        all.extend(
            self.odd_arguments(|writer, values| vec![set(writer.text(&stock.stock, values), "5")]),
        );
        all
    }
}

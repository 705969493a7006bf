//! The oracles on seeds, on random changes of them, and on random bytes.

use std::fs;
use std::path::Path;

use crate::{ORACLES, Oracle, oracle};

const RUNS: usize = 4_000;

/// The seeds of an oracle, sorted by name.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("domain/fuzz/seeds").join(name);
    let files = fs::read_dir(&root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
    let mut paths: Vec<_> = files.flatten().map(|file| file.path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} is empty", root.display());
    paths.iter().map(|path| fs::read(path).expect("a seed")).collect()
}

/// Inserts, removes, flips and duplicates some bytes.
fn mutate(random: &mut fastrand::Rng, bytes: &mut Vec<u8>) {
    for _ in 0..random.usize(1..5) {
        let index = random.usize(..=bytes.len());
        match random.u8(0..5) {
            0 => bytes.insert(index, random.u8(..)),
            1 => bytes.insert(index, *random.choice(b"0-:{}|\"n").expect("one")),
            2 if index < bytes.len() => drop(bytes.remove(index)),
            3 if index < bytes.len() => bytes[index] ^= 1 << random.u8(0..8),
            4 => bytes.extend_from_within(index..),
            _ => {}
        }
    }
    bytes.truncate(2000);
}

fn run(name: &str) {
    let seed = std::env::var("SEED")
        .map_or_else(|_| fastrand::u64(..), |seed| seed.parse().expect("SEED is a number"));
    println!("SEED={seed} {name}");
    let mut random = fastrand::Rng::with_seed(seed);
    let (oracle, seeds) = (oracle(name), seeds(name));
    seeds.iter().for_each(|seed| oracle(seed));
    for _ in 0..RUNS {
        let mut bytes = match random.bool() {
            true => random.choice(&seeds).expect("a seed").clone(),
            false => (0..random.usize(..200)).map(|_| random.u8(..)).collect(),
        };
        mutate(&mut random, &mut bytes);
        if std::panic::catch_unwind(|| oracle(&bytes)).is_err() {
            panic!("{name} on \"{}\"", bytes.escape_ascii());
        }
    }
}

macro_rules! tests {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            run(stringify!($name));
        }
    )*

    #[test]
    fn every_oracle_is_tested() {
        assert_eq!([$(stringify!($name)),*], ORACLES.map(|(name, _)| name));
    }
    };
}

tests! {
    audit book entry_id ids integer queues numbers order_entry prefixes rules scripts
    sessions tags unit_sets
}

/// A model that is wrong on purpose must be noticed.
#[test]
fn the_oracles_can_fail() {
    fn wrong(bytes: &[u8]) {
        let read = domain::integer::parse(bytes);
        assert_eq!(read, std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()));
    }
    let wrong: Oracle = wrong;
    wrong(b"17");
    assert!(std::panic::catch_unwind(|| wrong(b"017")).is_err());
}

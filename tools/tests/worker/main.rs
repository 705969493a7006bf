//! `seckill-worker` on real servers and real databases: every accepted order becomes one row, or
//! one dead letter whose units were released, whatever dies in between.
//! Each file says at its top what is in it.
//!
//! Programs are started in `harness`, `databases` and `worker` only. A test on a database that is
//! not installed is left out and reported. Random tests print their seed; `SEED=<n>` repeats it.

use kit::{databases, harness};

/// A test for each of these databases of a function that takes its kind.
macro_rules! on_databases {
    ($name:ident: $($test:ident $kind:ident),*) => {
        mod $name {$(
            #[test]
            fn $test() {
                super::$name($crate::databases::Kind::$kind);
            }
        )*}
    };
}

mod away;
mod blocks;
mod chaos;
mod check;
mod defaults;
mod deletions;
mod docs;
mod drill;
mod http;
mod listed;
mod losses;
mod moving;
mod pairing;
mod poison;
mod policy;
mod pooled;
mod released;
mod removed;
mod resolve;
mod restored;
mod rows;
mod sentinels;
mod shards;
mod shop;
mod spared;
mod statements;
mod streams;
mod tables;
mod texts;
mod tls;
mod typed;
mod vanishing;
mod worker;

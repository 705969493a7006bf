//! `seckill-worker` on real servers and real databases: every accepted order becomes one row, or
//! one dead letter whose units were released, whatever dies in between.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `worker` | the worker as a process |
//! | `shop` | a server that sells, a database, and `Shop::check`: what must be true |
//! | `rows` | orders become rows; summary, signals, two workers at once |
//! | `check` | rows compared with the server, and repaired |
//! | `http` | slow clients of its port; health |
//! | `crashes` | workers that hang, at any moment |
//! | `chaos` | servers and workers that are killed at random, in the middle of a sale |
//! | `drill` | losses, and any answer to what a check asks, to the end |
//! | `resolve` | what an operator resolves after a loss, and wrong options |
//! | `listed` | the provider's list, and payments of carts and of several orders |
//! | `losses` | servers that lose orders, confirmations or releases |
//! | `away` | databases, groups and streams that disappear and return |
//! | `deletions` | a storm of deletions of entries, consumers, groups and streams |
//! | `released` | cancelled, expired, bought again, in any order of reading |
//! | `removed` | consumers that read while they are removed from the group |
//! | `defaults` | what an administrator has set for all sessions of a database |
//! | `pairing` | first starts, of many workers at once and interrupted, and what is none |
//! | `poison` | entries that can't become rows |
//! | `pooled` | PgBouncer between the worker and PostgreSQL |
//! | `policy` | what the worker does about errors: it releases nothing that was sold |
//! | `spared` | held orders that wait for their statements to be fixed |
//! | `tables` | the worker's tables next to an application's; two sales of one voucher |
//! | `shards` | shards of a sale that lose everything |
//! | `statements` | the shop's own statements |
//! | `blocks` | the shop's own statements, for many orders at once |
//! | `sentinels` | a server that is found through Sentinels |
//! | `streams` | trimming, and the streams of a cluster |
//! | `texts` | the shop's own statements on MySQL and MariaDB, many orders in one text |
//! | `tls` | encrypted connections; passwords |
//! | `vanishing` | entries, consumers, groups and streams that others delete |
//! | `docs` | the worker's page |
//! | `typed` | what pages let an operator type, run |
//! | `moving` | the guide from seckill.lua and consumer to the worker, and back |
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
mod crashes;
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

//! `seckill-worker` on real servers and real databases: every accepted order ends as one row, or as
//! one dead letter whose units were released, whatever dies in between.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `harness` | starts and ends Redis servers; shared with the tests of the module |
//! | `databases` | starts and ends PostgreSQL and MariaDB; SQLite files |
//! | `worker` | the worker as a process |
//! | `shop` | a server that sells, a database for the rows, and `Shop::check`: what must hold |
//! | `rows` | orders become rows; summary, signals, two workers at once, metrics |
//! | `check` | rows that are compared with the server, and repaired |
//! | `http` | slow clients of its port; health |
//! | `crashes` | workers and servers that are killed or hang, at any moment |
//! | `away` | databases, groups and streams that go away and come back |
//! | `released` | cancelled, expired, bought again, in any order of reading |
//! | `poison` | what can't be made a row |
//! | `policy` | what the worker does about errors: it releases nothing that was sold |
//! | `tables` | the worker's tables beside an application's; sales of one voucher apart |
//! | `statements` | the shop's own statements |
//! | `blocks` | these, for many orders at once |
//! | `sentinels` | a server that Sentinels tell of |
//! | `streams` | trimming, and the streams of a cluster |
//! | `tls` | encrypted connections; passwords |
//! | `docs` | the worker's page |
//!
//! Programs are started in `harness`, `databases` and `worker` only. A test on a database that is
//! not installed is left out, and says so. Random tests print their seed; `SEED=<n>` repeats it.

mod away;
mod blocks;
mod check;
mod crashes;
mod databases;
mod docs;
#[path = "../../../tests/it/harness.rs"]
mod harness;
mod http;
mod poison;
mod policy;
mod released;
mod rows;
mod sentinels;
mod shop;
mod statements;
mod streams;
mod tables;
mod tls;
mod worker;

//! `seckill-shards` and `seckill-rush --shards` on real servers: whatever dies in between, no unit
//! is lost and none is doubled.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `harness`, `nodes` | servers and clusters; shared with the tests of the module |
//! | `program` | the programs as processes |
//! | `shop` | a sale over shards, and `Shop::check`: what must be true |
//! | `deaths` | programs that die at every step or at random, or resume too late |
//! | `drops` | sales that are dropped, by the program and by another client |
//! | `outages` | `level` when its server disappears, and when it is asked to end |
//! | `rush` | `seckill-rush` with a rate, and on servers with other sales |
//! | `sales` | whole sales over shards, on a server and on a cluster |
//!
//! Random tests print their seed; `SEED=<n>` repeats it.

mod deaths;
mod drops;
#[path = "../../../tests/it/harness.rs"]
mod harness;
#[path = "../../../tests/cluster/nodes.rs"]
#[allow(dead_code, reason = "the tests of the module use the rest of it")]
mod nodes;
mod outages;
mod program;
mod rush;
mod sales;
mod shop;

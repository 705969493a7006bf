//! `seckill-shards` and `seckill-rush --shards` on real servers: whatever dies in between, no unit
//! is lost and none is doubled.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `harness`, `nodes` | servers and clusters; shared with the tests of the module |
//! | `program` | the programs as processes |
//! | `shop` | a sale over shards, and `Shop::check`: what must hold |
//! | `deaths` | programs that die at every step, at random moments, or come back from the dead |
//! | `drops` | sales that are dropped, by the program and by somebody else |
//! | `outages` | `level` when its server goes away, and when it is told to end |
//! | `rush` | `seckill-rush` with a rate, and where others sell |
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

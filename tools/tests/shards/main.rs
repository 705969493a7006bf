//! `seckill-shards` and `seckill-rush --shards` on real servers: whatever dies in between, no unit
//! is lost and none is doubled.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `program` | the programs as processes |
//! | `gallows` | a port that kills a program before or after it has changed a shard |
//! | `shop` | a sale over shards, and `Shop::check`: what must be true |
//! | `deaths` | programs that die at every step or at random, or resume too late |
//! | `losses` | shards that have lost everything |
//! | `drops` | sales that are dropped, by the program and by another client |
//! | `mistakes` | one sentence for one mistake, in all programs |
//! | `outages` | `level` when its server disappears, and when it is asked to end |
//! | `rush` | `seckill-rush` with a rate, and on servers with other sales |
//! | `sales` | whole sales over shards, on a server and on a cluster |
//!
//! Random tests print their seed; `SEED=<n>` repeats it.

use kit::{harness, nodes};

mod deaths;
mod drops;
mod gallows;
mod losses;
mod mistakes;
mod outages;
mod program;
mod rush;
mod sales;
mod shop;

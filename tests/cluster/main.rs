//! A real cluster of six nodes: every command, slots that move under load, and a primary that dies.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `harness`, `nodes` | servers; six of them as a cluster |
//! | `cli` | `redis-cli` as a process |
//! | `commands` | every command, by a cluster client and by `redis-cli -c` |
//! | `buyers` | users of three kinds of vouchers, and what must be true afterwards |
//! | `moves` | slots that move, key by key and by `redis-cli`; what a client sees meanwhile |
//! | `whole` | slots that move whole, moves that are cancelled or lose a node |
//! | `failover` | SIGKILL of a primary in the middle of a sale |
//!
//! What each command does on a node is in `tests/it`; so are slots that move key by key, without
//! load.

mod buyers;
mod cli;
mod commands;
mod failover;
#[path = "../it/harness.rs"]
mod harness;
mod moves;
mod nodes;
mod whole;
#[path = "../it/whole_slots.rs"]
mod whole_slots;

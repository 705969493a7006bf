//! A real cluster of six nodes: every command, slots that move under load, and a primary that dies.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `cli` | `redis-cli` as a process |
//! | `commands` | every command, by a cluster client and by `redis-cli -c` |
//! | `buyers` | users of three kinds of vouchers, and what must be true afterwards |
//! | `moves` | slots that move, key by key and by `redis-cli`; what a client sees meanwhile |
//! | `whole` | slots that move whole, moves that are cancelled or lose a node |
//! | `failover` | SIGKILL of a primary in the middle of a sale |
//!
//! What each command does on a node is in `tests/it`; so are slots that move key by key, without
//! load.

use kit::{harness, nodes, slots, whole_slots};

mod buyers;
mod cli;
mod commands;
mod failover;
mod moves;
mod whole;

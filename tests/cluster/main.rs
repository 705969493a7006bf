//! A real cluster of six nodes: every command, slots that move under load, and a primary that dies.
//! Each file says at its top what is in it.
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

//! seckill: a module for Redis and Valkey that runs flash sales.
//!
//! Read in this order: the crate [`domain`] decides, [`keyspace`] holds the facts in ordinary keys,
//! [`memory`] is everything remembered, [`commands`] bring them together, [`background`] works
//! without a command, [`server`] is the only part that talks to the server's API, and [`entry`] is
//! where the server comes in. docs/ARCHITECTURE.md has the whole picture.

#![deny(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::dbg_macro,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::todo,
        clippy::unimplemented,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]
// The unit tests of the pure parts run without a server, so nothing enters by `entry` there.
#![cfg_attr(test, allow(dead_code, unused_imports))]

mod args;
mod background;
mod commands;
mod config;
mod effect;
mod entry;
mod error;
mod keyspace;
mod memory;
mod metrics;
mod reply;
#[allow(unsafe_code)]
mod server;
mod typed;

//! The module on real servers, seen from outside: what its commands answer, write and leave alone.
//! Each file says at its top what is in it.
//!
//! Each test starts its own server. `Server::silent` and `Server::refused` check that a command
//! leaves no trace, which is half of this module's promise: prefer them to comparing replies.

use kit::{
    aof, commands, declared, faketime, harness, locks_queue, observe, slots, transcript,
    whole_slots, written,
};

mod arguments;
mod arriving;
mod audit_steps;
mod bounds;
mod carts;
mod carts_written;
mod cluster;
mod cluster_databases;
mod config;
mod config_names;
mod context;
mod cuts;
mod deduct;
mod differential;
mod docs;
mod docs_tables;
mod dropped;
mod effects;
mod events;
mod foreign_stock;
mod functions;
mod holds;
mod holds_fixed;
mod hostile;
mod leaks;
mod limits;
mod loading;
mod locks_acquire;
mod locks_bounds;
mod locks_places;
mod locks_server;
mod locks_session;
mod locks_session_server;
mod locks_turns;
mod locks_wake;
mod managed;
mod managed_cluster;
mod managed_effects;
mod managed_odd;
mod managed_refused;
mod memory;
mod metadata;
mod mtry;
mod mtry_differential;
mod nextid;
mod nextid_slots;
mod outside;
mod own_names;
mod pages;
mod payments;
mod prizes;
mod reject;
mod reject_cluster;
mod replayed;
mod retries;
mod rewritten;
mod sale_ids;
mod scripts;
mod scripts_busy;
mod scripts_primary;
mod scripts_seen;
mod security;
mod server_settings;
mod shipped;
mod shops;
mod slots_move;
mod spoiled;
mod status;
mod survival;
mod r#try;
mod trykeys;
mod users;
mod users_load;
mod waiting;
mod waiting_odd;
mod words;

//! Shared by the module, the programs around it and the fuzz targets: the product's decisions, the
//! names of keys and fields, slots, ids, and the pure structures behind holds and waiters.
//!
//! Pure: no server, no clock, no input or output. Every function is total, whatever bytes it gets.

#![forbid(unsafe_code)]
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

pub mod account;
pub mod audit;
pub mod book;
pub mod carts;
pub mod confirm;
pub mod conflicts;
pub mod counts;
pub mod db_key;
pub mod deduction;
pub mod draw;
pub mod due;
pub mod entry_id;
pub mod facts;
pub mod few;
pub mod fields;
pub mod flat_map;
pub mod hash_tag;
pub mod homes;
pub mod info;
pub mod integer;
pub mod key_names;
pub mod lock;
pub mod order_id;
pub mod orders;
pub mod overlay;
pub mod payments;
pub mod plan;
pub mod references;
pub mod rejection;
pub mod repair;
pub mod resolve;
pub mod rows;
pub mod rules;
pub mod ruling;
pub mod rulings;
pub mod sale;
pub mod sales;
pub mod scripts;
mod selling;
pub mod server_state;
pub mod sessions;
pub mod slot;
pub mod stream_entry;
pub mod tries;
pub mod unit_set;
pub mod unmatched;
pub mod waitlist;
pub mod whole;

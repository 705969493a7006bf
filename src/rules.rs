//! The product's decisions: pure functions of the facts. No server, no clock, no keys.
#![forbid(unsafe_code)]

pub(crate) mod audit;
pub(crate) mod book;
pub(crate) mod due;
pub(crate) mod entry_id;
pub(crate) mod fencing;
pub(crate) mod hash_tag;
pub(crate) mod integer;
pub(crate) mod managed;
pub(crate) mod order_id;
pub(crate) mod rejection;
pub(crate) mod sale;
pub(crate) mod slot;
pub(crate) mod terms;

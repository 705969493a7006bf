//! The product's decisions: pure functions of the facts. No server, no clock, no keys.
#![forbid(unsafe_code)]

pub(crate) mod fencing;
pub(crate) mod hash_tag;
pub(crate) mod integer;
pub(crate) mod sale;

//! What tests and benchmarks share: real servers, and how they are seen from outside.
//! Each file says at its top what is in it.
//!
//! It depends on nothing of the module's code: what it reads is what any client can read.

pub mod aof;
pub mod audit;
pub mod commands;
#[cfg(feature = "databases")]
pub mod databases;
pub mod declared;
pub mod faketime;
pub mod harness;
pub mod locks_queue;
pub mod nodes;
pub mod observe;
pub mod pages;
pub mod program;
pub mod sales;
pub mod slots;
pub mod slow;
pub mod transcript;
pub mod whole_slots;
pub mod written;

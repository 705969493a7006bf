//! What tests and benchmarks share: real servers, and how they are seen from outside.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `harness` | starts and ends servers; waiting with a deadline; the library of functions |
//! | `transcript` | sessions as redis-cli shows them, run and compared |
//! | `commands` | the table of all commands, from which tests are made that concern each of them |
//! | `declared` | the module's commands as COMMAND DOCS declares them, written out as calls |
//! | `observe`, `aof` | visible effects: keys, events, WATCH, invalidations, append-only file |
//! | `written` | sessions that show which plain commands a command writes |
//! | `databases` | database servers and SQLite files; only with the feature of this name |
//! | `program` | programs under test, and their output |
//! | `sales`, `audit` | queries of managed sales: orders, the book, the clock |
//! | `locks_queue` | clients in the queue for a lock |
//! | `faketime` | servers whose clock is set while they run |
//! | `nodes`, `slots`, `whole_slots` | clusters; slots that move key by key, and whole |
//! | `pages` | the pages of docs/, and the tables of options on them |
//! | `slow` | clients that stop in the middle of a request |
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

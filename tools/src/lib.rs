//! What the programs around the module share.
//!
//! `server` is how a program is told where a server is, and how it gets there.

pub mod server;

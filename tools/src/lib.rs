//! What the programs around the module share.
//!
//! `server` has the options that say where a server is, and connects to it, `sentinel` by way of
//! Sentinels; `nodes` finds the node of a key in a cluster, `connection` is a connection to a
//! server or to a whole cluster; `server_info` reads INFO, `server_errors` says what to do about an
//! error and `back_off` how long to wait. `voucher_keys` and `sharding` name what is on sale there,
//! `sale_info` says how it stands, `sharded_sale` how a sale over shards does, `scan` looks for it.
//! `http` serves metrics and asks for health, `command_line` reads options, `duration` those that
//! are a time, `latency` counts times, `signals` says when to end, `sanitize` prints what others
//! wrote, `address` a URL.

pub mod address;
pub mod back_off;
pub mod command_line;
pub mod connection;
pub mod duration;
pub mod http;
pub mod latency;
pub mod nodes;
pub mod sale_info;
pub mod sanitize;
pub mod scan;
pub mod sentinel;
pub mod server;
pub mod server_errors;
pub mod server_info;
pub mod sharded_sale;
pub mod sharding;
pub mod signals;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(not(feature = "tls"))]
#[path = "no_tls.rs"]
pub mod tls;
pub mod tls_options;
pub mod voucher_keys;

/// The consumer group of seckill-worker, unless it is given another one.
pub const WORKERS_GROUP: &str = "seckill-worker";

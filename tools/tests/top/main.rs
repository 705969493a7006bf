//! `seckill-top` on real servers: what it shows is what was sold.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `harness` | starts and ends servers; shared with the tests of the module |
//! | `program` | seckill-top as a process, in a terminal of its own where it draws |
//! | `frames` | one frame: its figures, rights, configurations, servers without the module |
//! | `terminal` | the dashboard: drawn, through a restart of the server, ended by a key |
//! | `metrics` | what is served for Prometheus, and the dashboard that asks for it |
//! | `alerts` | the alerts: rules, page, and a Prometheus in which they fire |
//! | `serving` | slow clients, health, its end |
//! | `docs` | the page says what the program says of itself |
//!
//! Programs are started in `harness` and `program` only.

mod alerts;
mod docs;
mod frames;
#[path = "../../../tests/it/harness.rs"]
mod harness;
mod metrics;
mod program;
mod serving;
mod terminal;

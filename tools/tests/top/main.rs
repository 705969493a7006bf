//! `seckill-top` on real servers: its figures are those of the sale.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `harness` | starts and ends servers; shared with the tests of the module |
//! | `program` | seckill-top as a process; the dashboard in its own terminal |
//! | `frames` | one frame: its figures, rights, configurations, servers without the module |
//! | `terminal` | the dashboard: drawn, through a restart of the server, ended by a key |
//! | `metrics` | the metrics for Prometheus, and the dashboard that queries them |
//! | `alerts` | the alerts: rules, page, and a Prometheus in which they fire |
//! | `serving` | slow clients, health, SIGTERM |
//! | `docs` | the page agrees with the program |
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

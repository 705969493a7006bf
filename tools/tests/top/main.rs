//! `seckill-top` on real servers: its figures are those of the sale.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `program` | seckill-top as a process; the dashboard in its own terminal |
//! | `frames` | one frame: its figures, rights, configurations, servers without the module |
//! | `terminal` | the dashboard: drawn, through a restart of the server, ended by a key |
//! | `metrics` | the metrics for Prometheus, and the dashboard that queries them |
//! | `browser` | what is served to browsers, besides `scripts/browser` |
//! | `alerts` | the alerts: rules, page, and a Prometheus in which they fire |
//! | `serving` | health, SIGTERM |
//! | `docs` | the page agrees with the program |
//!
//! Programs that serve are started by `kit::program`, the others by `program`.

use kit::harness;

mod alerts;
mod browser;
mod docs;
mod frames;
mod metrics;
mod program;
mod serving;
mod terminal;

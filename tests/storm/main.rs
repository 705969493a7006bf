//! Storms: random histories of all commands under load, with crashes, failovers and hostile
//! company, and a check of every acknowledged reply against the keys that are left.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `length` | seeds, and how long a storm goes on: a few histories, or STORM_MINUTES of them |
//! | `script` | the commands of a connection: all of them, at random |
//! | `load` | many connections that send their scripts, and their answers |
//! | `world` | the keys that the scripts work on: made, and read afterwards |
//! | `whole` | what is true of the keys alone: nothing sold twice, nothing half done |
//! | `acknowledged` | the promises of the replies, compared with the keys |
//! | `orders`, `queues`, `locks` | the promises about managed orders, waiting lists and locks |
//! | `rejected` | the promises about entries that consumers read and rejected |
//! | `evidence` | what a lossy end may lose: the end of the history, and whole commands |
//! | `crash`, `files`, `disk` | SIGKILL at any moment; files that are cut, disks that are full |
//! | `replicas` | replicas with and without the module; promotion in the middle |
//! | `waited` | retries with WAIT after them, on replicas that stall and are promoted |
//! | `failover` | Sentinels, and clients that follow them |
//! | `grammar`, `company`, `fuzz` | the module's commands from COMMAND DOCS, others, and the mix |
//! | `hostile` | the users of SECURITY.md, taken over, on a server with little memory |
//! | `work` | how much a command makes the server do, as the server counts it |
//! | `recorded`, `linear` | recorded histories; is a history linearizable? |
//! | `tampered` | the checks, when keys or answers are wrong |
//!
//! `tests/it` shows what each command does. Here the commands are random, so the checks are of what
//! is true after any history. A history is repeated with the seed that it has printed:
//! `SEED=<n> cargo test --test storm <test>`. The seed fixes what is sent, not when the server
//! dies.

use kit::harness;

mod acknowledged;
mod company;
mod crash;
mod disk;
mod evidence;
mod failover;
mod files;
mod fuzz;
mod grammar;
mod hostile;
mod length;
mod linear;
mod load;
mod locks;
mod orders;
mod queues;
mod recorded;
mod rejected;
mod replicas;
mod script;
mod tampered;
mod waited;
mod whole;
mod work;
mod world;

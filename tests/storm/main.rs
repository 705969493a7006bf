//! Storms: random histories of all commands under load, with crashes, failovers and hostile
//! company, and a check of every acknowledged reply against the keys that are left.
//! Each file says at its top what is in it.
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

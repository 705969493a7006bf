//! `seckill-doctor` on scripts with a fault or a habit each: its findings, its proposals, and that
//! a proposal has the same effect on a server that the doctor has not seen.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `doctor` | the doctor as a process |
//! | `manners` | exit codes, options, what it leaves behind |
//! | `corpus` | scripts of every kind, and the facts about each |
//! | `independent` | its promises for the corpus, on servers that it has not seen |
//! | `docs` | the doctor's page |
//!
//! The scripts are in `corpus/`; the usual ones are those of the module's tests.

use kit::harness;

mod corpus;
mod docs;
mod doctor;
mod hostile;
mod independent;
mod manners;

//! `seckill-doctor` on scripts with a fault or a habit each: its verdicts, and that what it shows
//! is the same on servers that it has not seen.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `doctor` | the doctor as a process |
//! | `manners` | exit codes, options, what it leaves behind |
//! | `corpus` | one script for each rule, and the verdict of each |
//! | `independent` | its replacements and sessions, on servers that it has not seen |
//! | `hostile` | scripts that attack |
//! | `strings` | scripts in the strings of other languages |
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
mod strings;

//! Bytes from libFuzzer for the oracle that the variable ORACLE names.
#![no_main]

use std::sync::LazyLock;

use seckill_fuzz::{Oracle, oracle};

static NAMED: LazyLock<Oracle> =
    LazyLock::new(|| oracle(&std::env::var("ORACLE").expect("ORACLE=<name>")));

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| NAMED(bytes));

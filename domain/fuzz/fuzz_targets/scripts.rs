//! The oracle `scripts` on bytes from libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| seckill_fuzz::oracle("scripts")(bytes));

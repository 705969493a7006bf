//! The oracle `entry_id` on bytes from libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| seckill_fuzz::oracle("entry_id")(bytes));

//! The oracle `tags` on bytes from libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| seckill_fuzz::oracle("tags")(bytes));

//! The oracle `batch` on the bytes that libFuzzer comes up with.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| seckill_fuzz::oracle("batch")(bytes));

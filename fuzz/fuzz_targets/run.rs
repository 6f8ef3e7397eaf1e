#![no_main]
//! Any bytes, read as the history of a run.

libfuzzer_sys::fuzz_target!(|data: &[u8]| picklock_fuzz::run(data));

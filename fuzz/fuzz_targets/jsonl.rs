#![no_main]
//! Any bytes, read as a history in this format.

use histories::reading::Notation;

libfuzzer_sys::fuzz_target!(|data: &[u8]| picklock_fuzz::entries(data, Notation::Jsonl));

//! See `entries::importers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| waterline_fuzz::entries::importers(data));

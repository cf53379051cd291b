//! See `entries::bodies`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| waterline_fuzz::entries::bodies(data));

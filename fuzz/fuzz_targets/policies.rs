//! See `entries::policies`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| waterline_fuzz::entries::policies(data));

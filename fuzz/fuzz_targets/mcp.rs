//! See `entries::mcp`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| waterline_fuzz::entries::mcp(data));

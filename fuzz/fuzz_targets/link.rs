//! libFuzzer's entry: see `core_relo_fuzz::link`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| core_relo_fuzz::link(data));

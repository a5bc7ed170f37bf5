//! libFuzzer's entry: see `core_relo_fuzz::load_plan`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| core_relo_fuzz::load_plan(data));

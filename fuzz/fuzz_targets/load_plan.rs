//! The libFuzzer entry point of the target `load_plan`. See `core_relo_fuzz::TARGETS`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| core_relo_fuzz::run("load_plan", data));

//! The libFuzzer entry point of the target `repository`. See `core_relo_fuzz::TARGETS`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| core_relo_fuzz::run("repository", data));

//! The libFuzzer entry point of the target `btf_ids`. See `core_relo_fuzz::TARGETS`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| core_relo_fuzz::run("btf_ids", data));

//! Property of user-space binaries: offsets of functions and probes lie within the file.

use crate::scratch::Scratch;
use core_relo_loader::attach::fuzzing::{self, Offsets};

/// The maximum number of arguments of a USDT probe (`BPF_USDT_MAX_ARG_CNT`).
const USDT_ARGUMENTS: usize = 12;

/// Looks up functions and probes of a binary.
pub fn check(data: &[u8]) {
    let file = Scratch::new("binary", data);
    let is_within = |found: Offsets| assert!(found.functions.iter().all(|at| *at < data.len() as u64));
    match fuzzing::look_up(file.path(), "f1", "test", "probe") {
        Ok(found) => is_within(found),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    match fuzzing::look_up_member(file.path(), b"m", "f1") {
        Ok(found) => is_within(found),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    assert!(fuzzing::count_arguments(data) <= USDT_ARGUMENTS);
}

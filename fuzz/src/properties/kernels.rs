//! Kernels that `--btf` names: what is read of a file stays within the limit.

use core_relo_cli::fuzzing;
use std::path::Path;

/// Reads all kernels of a file.
pub fn check(path: &Path, max_bytes: u64) {
    for kernel in fuzzing::read_kernels(path, max_bytes) {
        match kernel {
            Ok(bytes) => assert!(bytes as u64 <= max_bytes, "{bytes} bytes were read, {max_bytes} allowed"),
            Err(error) => assert!(is_one_line(&error), "{error:?}"),
        }
    }
}

/// An error is one line that a terminal shows and does not obey.
fn is_one_line(error: &str) -> bool {
    !error.is_empty() && !error.chars().any(char::is_control)
}

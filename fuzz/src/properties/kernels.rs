//! Property of kernel files: no kernel exceeds the byte limit, and errors are one line.

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

/// Returns true if an error is one line without control characters.
fn is_one_line(error: &str) -> bool {
    !error.is_empty() && !error.chars().any(char::is_control)
}

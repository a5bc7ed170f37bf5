//! Properties of repositories: names in indexes stay in the store and on the mirror, and specifications and
//! lock files are read as they are written.

use core_relo_kernels::fetch::fuzzing;

/// Reads bytes as an index of each format, as a lock file, and its first line as a specification.
pub fn check(data: &[u8]) {
    let kernels = fuzzing::parse_indexes(data);
    let text = String::from_utf8_lossy(data);
    fuzzing::parse_lock_file(&text);
    let line = text.lines().next().unwrap_or("");
    fuzzing::parse_spec(line, &kernels);
    fuzzing::parse_spec(&format!("debian:12/{line}"), &kernels);
}

//! Reports of skipped tests: on standard output, and in the file from which `cargo xtask test` counts them.

use std::{env, fs::OpenOptions, io::Write as _};

/// Reports that `test` does not run on this machine, with the reason.
pub fn skip(test: &str, reason: &str) {
    println!("SKIP {test}: {reason}");
    let Some(path) = env::var_os("CORE_RELO_SKIPS") else { return };
    if let Ok(mut file) = OpenOptions::new().append(true).create(true).open(path) {
        let _ = writeln!(file, "SKIP {test}: {reason}");
    }
}

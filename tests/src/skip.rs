//! A test that cannot run says so: on standard output, and in the file that the runner counts from.

use std::{env, fs::OpenOptions, io::Write as _};

/// Says that `test` does not run here, and why.
pub fn skip(test: &str, reason: &str) {
    println!("SKIP {test}: {reason}");
    let Some(path) = env::var_os("CORE_RELO_SKIPS") else { return };
    if let Ok(mut file) = OpenOptions::new().append(true).create(true).open(path) {
        let _ = writeln!(file, "SKIP {test}: {reason}");
    }
}

//! Programs that make packages and repositories.

use std::{env, fs, path::Path, process::Command};

/// Returns whether a program is installed.
pub(crate) fn is_installed(tool: &str) -> bool {
    let paths = env::var_os("PATH");
    paths.is_some_and(|paths| env::split_paths(&paths).any(|dir| dir.join(tool).is_file()))
}

/// Writes a file, and its directory.
pub(crate) fn write(path: &Path, content: &[u8]) {
    let dir = path.parent().expect("a path with a directory");
    fs::create_dir_all(dir).expect("a directory");
    fs::write(path, content).expect("a file");
}

/// Returns what a command that succeeds prints.
pub(crate) fn output(command: &mut Command) -> Vec<u8> {
    let output = command.output().expect("a tool that runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

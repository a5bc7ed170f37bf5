//! Runs of the command `core-relo`, for what only some kernels can do. `cli/tests` has all other tests of the
//! command.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
};

/// The output and the exit status of a run.
#[derive(Debug)]
pub struct CommandRun {
    pub out: String,
    pub err: String,
    pub exit: Option<i32>,
}

/// Runs the command in a directory, with the keyrings and mounts of this thread.
pub fn run_command<S: AsRef<OsStr>>(dir: &Path, args: impl IntoIterator<Item = S>) -> CommandRun {
    let command = command_path().expect("the test needs `Need::Command`");
    let mut command = Command::new(command);
    command.args(args).current_dir(dir).env_remove("RUST_LOG").env_remove("CLICOLOR_FORCE");
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    CommandRun { out: text(output.stdout), err: text(output.stderr), exit: output.status.code() }
}

/// Returns the path of the command: `CORE_RELO_COMMAND`, which `cargo xtask vm` sets, or the one that cargo
/// built beside this test.
pub fn command_path() -> Result<PathBuf, String> {
    if let Some(path) = env::var_os("CORE_RELO_COMMAND") {
        return Ok(path.into());
    }
    let own = env::current_exe().map_err(|e| e.to_string())?;
    // Tests are in the subdirectory `deps`.
    let built = own.ancestors().nth(2).map(|dir| dir.join("core-relo"));
    let built = built.filter(|path| path.is_file());
    built.ok_or_else(|| "the command is not built: cargo build -p core-relo-cli".to_owned())
}

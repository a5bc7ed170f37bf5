//! Directories of the workspace, external programs, and the result of a task.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use core_relo_vm::VmError;

/// The reason why a task did not succeed.
#[derive(Debug, Clone)]
pub enum Failure {
    /// The arguments are wrong.
    Usage(String),
    /// The task ran and found a problem.
    Failed(String),
    /// The task could not run, because a tool or file is missing.
    CannotRun(String),
}

pub type Outcome<T = ()> = Result<T, Failure>;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(what) => write!(f, "{what} (see cargo xtask --help)"),
            Self::Failed(what) | Self::CannotRun(what) => f.write_str(what),
        }
    }
}

/// The parts that were left out, as printed.
static SKIPS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Prints that a part is left out and why, and remembers it.
pub fn report_skip(part: &str, reason: &str) {
    let line = format!("SKIP {part}: {reason}");
    println!("{line}");
    SKIPS.lock().unwrap_or_else(PoisonError::into_inner).push(line);
}

/// Returns the lines of all parts that this process left out.
pub fn reported_skips() -> Vec<String> {
    SKIPS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl From<String> for Failure {
    fn from(what: String) -> Self {
        Self::Failed(what)
    }
}

impl From<VmError> for Failure {
    fn from(error: VmError) -> Self {
        Self::CannotRun(error.to_string())
    }
}

impl From<&str> for Failure {
    fn from(what: &str) -> Self {
        Self::Failed(what.to_owned())
    }
}

/// Returns the exit code of a failure.
pub fn exit_code(error: &Failure) -> u8 {
    match error {
        Failure::Usage(_) | Failure::CannotRun(_) => 2,
        Failure::Failed(_) => 1,
    }
}

/// Returns the workspace's root directory.
pub fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map_or(package.clone(), Path::to_path_buf)
}

/// Returns cargo's target directory.
pub fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) if !dir.is_empty() => root().join(dir),
        _ => root().join("target"),
    }
}

/// Returns the directory of built test programs: `CORE_RELO_PROGS`, or `target/bpf-progs`.
pub fn progs_dir() -> PathBuf {
    from_env("CORE_RELO_PROGS", "target/bpf-progs")
}

/// Returns the directory of kernels' BTF: `CORE_RELO_KERNELS`, or `target/kernels/btf`.
pub fn kernels_dir() -> PathBuf {
    from_env("CORE_RELO_KERNELS", "target/kernels/btf")
}

fn from_env(variable: &str, default: &str) -> PathBuf {
    match std::env::var_os(variable) {
        Some(path) if !path.is_empty() => root().join(path),
        _ => root().join(default),
    }
}

/// Returns a command for the cargo that started this task.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs a command with its output shown. An exit code other than 0 is a failure.
pub fn check(command: &mut Command) -> Outcome {
    let name = describe(command);
    eprintln!("+ {name}");
    let status = command.status().map_err(|error| format!("{name}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{name}: {status}").into()) }
}

/// Returns the output of a command, if the command runs and succeeds.
pub fn output(command: &mut Command) -> Option<String> {
    let out = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).into_owned())
}

/// Returns whether a program of this name is in `PATH`.
pub fn is_installed(program: &str) -> bool {
    find(program).is_some()
}

/// Returns the file that a program name resolves to.
pub fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// Returns whether the standard library of a Rust target is installed.
pub fn has_target(triple: &str) -> bool {
    let mut libdir = Command::new("rustc");
    libdir.args(["--print", "target-libdir", "--target", triple]);
    output(&mut libdir).is_some_and(|path| Path::new(path.trim()).is_dir())
}

/// Returns whether the standard library of a Rust target is installed, if necessary by rustup.
pub fn add_target(triple: &str) -> bool {
    has_target(triple)
        || (check(Command::new("rustup").args(["target", "add", triple])).is_ok() && has_target(triple))
}

/// Returns every file below a directory, sorted. A missing directory has no files.
pub fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut dirs = vec![dir.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => dirs.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files.sort();
    files
}

/// Reads a text file. An error names the file.
pub fn read(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// Returns a value of `[workspace.package]` in the root manifest.
pub fn workspace_value(key: &str) -> Outcome<String> {
    let manifest = read(&root().join("Cargo.toml"))?;
    let line = manifest.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='));
    let value = line.map(|value| value.trim().trim_matches('"').to_owned());
    value.ok_or_else(|| format!("Cargo.toml: no `{key}` in [workspace.package]").into())
}

fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

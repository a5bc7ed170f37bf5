//! The machine: the workspace's folders, other programs, and how a task ends.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Why a task did not succeed.
#[derive(Debug, Clone)]
pub enum Failure {
    /// It was called in a way it does not know.
    Usage(String),
    /// It ran and found something wrong.
    Failed(String),
    /// Something it needs is not there, so nothing was found out.
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

impl From<String> for Failure {
    fn from(what: String) -> Self {
        Self::Failed(what)
    }
}

impl From<&str> for Failure {
    fn from(what: &str) -> Self {
        Self::Failed(what.to_owned())
    }
}

/// The exit code a failure asks for.
pub fn failed(why: &Failure) -> u8 {
    match why {
        Failure::Usage(_) | Failure::CannotRun(_) => 2,
        Failure::Failed(_) => 1,
    }
}

/// The workspace's root folder.
pub fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or(here.clone(), Path::to_path_buf)
}

/// Where the built test programs go: `CORE_RELO_PROGS`, or `target/bpf-progs`.
pub fn progs_dir() -> PathBuf {
    from_env("CORE_RELO_PROGS", "target/bpf-progs")
}

/// Where kernels' BTF goes: `CORE_RELO_KERNELS`, or `target/kernels/btf`.
pub fn kernels_dir() -> PathBuf {
    from_env("CORE_RELO_KERNELS", "target/kernels/btf")
}

fn from_env(variable: &str, otherwise: &str) -> PathBuf {
    match std::env::var_os(variable) {
        Some(path) if !path.is_empty() => root().join(path),
        _ => root().join(otherwise),
    }
}

/// The cargo that started this task.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs a command whose output people are to see; an exit code other than 0 is a failure.
pub fn check(command: &mut Command) -> Outcome {
    let name = describe(command);
    eprintln!("+ {name}");
    let status = command.status().map_err(|why| format!("{name}: {why}"))?;
    if status.success() { Ok(()) } else { Err(format!("{name}: {status}").into()) }
}

/// What a command prints, if it can be run and succeeds.
pub fn output(command: &mut Command) -> Option<String> {
    let out = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).into_owned())
}

/// Is there a program of this name in `PATH`?
pub fn have(program: &str) -> bool {
    find(program).is_some()
}

/// The file a program name stands for.
pub fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Every file below a folder, sorted; nothing if there is no such folder.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files.sort();
    files
}

/// Reads a text file; the error names it.
pub fn read(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()).into())
}

fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

//! The versions of clang on this machine that compile for BPF.

use std::{
    env, fmt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

/// The oldest version of clang whose output is tested.
pub const OLDEST_CLANG: u32 = 14;
/// The newest version that is looked for by name.
const NEWEST_CLANG: u32 = 40;

/// A clang that compiles for BPF.
#[derive(Clone, Debug)]
pub struct Clang {
    path: PathBuf,
    version: u32,
}

impl Clang {
    /// Returns the clang at a path, if it is at least version 14 and compiles for BPF.
    pub fn probe(path: &Path) -> Option<Self> {
        let version = parse_version(&output(Command::new(path).arg("--version"))?)?;
        let targets = output(Command::new(path).arg("--print-targets"))?;
        let has_bpf = targets.lines().any(|line| line.trim_start().starts_with("bpfel "));
        (version >= OLDEST_CLANG && has_bpf).then(|| Self { path: path.to_path_buf(), version })
    }

    /// Returns the path of the program.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the major version.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Returns a command of this clang.
    pub fn command(&self) -> Command {
        Command::new(&self.path)
    }
}

impl fmt::Display for Clang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "clang {}", self.version)
    }
}

/// Returns the clang with which tests compile: `CLANG`, `clang`, or the newest `clang-NN` in `PATH`.
pub fn clang() -> Option<&'static Clang> {
    static CLANG: OnceLock<Option<Clang>> = OnceLock::new();
    CLANG.get_or_init(|| names().iter().find_map(|name| Clang::probe(&find(name)?))).as_ref()
}

/// Returns one clang of each version on this machine: the one of [`clang`] first, then the newest first.
pub fn find_clangs() -> Vec<Clang> {
    let mut found: Vec<Clang> = Vec::new();
    for clang in names().iter().filter_map(|name| Clang::probe(&find(name)?)) {
        if found.iter().all(|known| known.version != clang.version) {
            found.push(clang);
        }
    }
    found
}

/// Returns the names in the order of preference.
fn names() -> Vec<String> {
    let own = env::var("CLANG").ok().filter(|name| !name.is_empty());
    let numbered = (OLDEST_CLANG..=NEWEST_CLANG).rev().map(|version| format!("clang-{version}"));
    own.into_iter().chain(["clang".to_owned()]).chain(numbered).collect()
}

/// Returns the file of a program: a path, or a name in `PATH`.
fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// Returns the output of a command, if the command runs and succeeds.
fn output(command: &mut Command) -> Option<String> {
    let out = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).into_owned())
}

/// Parses the major version in the output of `clang --version`, such as `Debian clang version 19.1.7 (3)`.
fn parse_version(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once("clang version ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(parse_version("Debian clang version 16.0.6 (15~deb12u1)\nTarget: x"), Some(16));
        assert_eq!(parse_version("clang version 21.0.0git (https://…)"), Some(21));
        assert_eq!(parse_version("gcc (Debian 12.2.0-14) 12.2.0"), None);
    }

    /// Distributions install versions beside each other, and some only `clang-22`.
    #[test]
    fn all_versions_have_a_name() {
        let names = names();
        assert!(names.contains(&"clang".to_owned()) && names.contains(&"clang-22".to_owned()));
        assert!(find_clangs().iter().all(|clang| clang.version() >= OLDEST_CLANG));
    }
}

//! The compilers that can build BPF objects: every clang from 14 on, and GCC for BPF.

use std::path::{Path, PathBuf};
use std::process::Command;

use core_relo_test_support::{Clang, find_clangs};

use crate::system::{find, is_installed, output};

/// A compiler found on this machine.
#[derive(Debug, Clone)]
pub struct Compiler {
    pub path: PathBuf,
    /// `clang` or `gcc`.
    pub family: &'static str,
    pub version: u32,
}

/// A byte order to compile for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

/// The directory that GCC records in .BTF. GCC takes the directory from `PWD`, and prefix maps do not change
/// it.
const RECORDED_DIR: &str = "/proc/self/cwd";

impl Order {
    pub const BOTH: [Self; 2] = [Self::Little, Self::Big];

    /// Returns the name of the directory of its objects.
    pub fn dir(self) -> &'static str {
        match self {
            Self::Little => "el",
            Self::Big => "eb",
        }
    }
}

impl Compiler {
    /// Returns the compiler's name and version, which is the directory of its objects: `clang-19`, `gcc-12`.
    pub fn name(&self) -> String {
        format!("{}-{}", self.family, self.version)
    }

    /// Returns the compiler at a path, if it is usable.
    pub fn probe(path: &Path) -> Option<Self> {
        if let Some(clang) = Clang::probe(path) {
            return Some(clang.into());
        }
        let text = output(Command::new(path).arg("--version"))?;
        let version = gcc_version(&text).filter(|_| !text.contains("clang version "))?;
        Some(Self { path: path.to_path_buf(), family: "gcc", version })
    }

    /// Returns the command that compiles for `order`, without the file names. The command runs in `dir`, and
    /// paths inside the object are relative to it.
    pub fn command(&self, order: Order, dir: &Path) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(dir);
        if self.family == "clang" {
            let target = if order == Order::Little { "bpfel" } else { "bpfeb" };
            command.args([
                "-target",
                target,
                "-mcpu=v3",
                "-g",
                "-fdebug-compilation-dir=.",
                "-no-canonical-prefixes",
            ]);
        } else {
            let order = if order == Order::Little { "-mlittle-endian" } else { "-mbig-endian" };
            command.args([order, "-gbtf", "-mco-re", "-Werror=implicit-function-declaration"]);
            command.env("PWD", RECORDED_DIR);
        }
        command.args(["-O2", "-nostdinc", "-Iinclude", "-Wall", "-Werror", "-Wno-unused-value", "-c"]);
        command
    }
}

impl From<Clang> for Compiler {
    fn from(clang: Clang) -> Self {
        Self { path: clang.path().to_path_buf(), family: "clang", version: clang.version() }
    }
}

/// Returns one usable compiler of each version: the newest clang first, GCC last.
pub fn find_all() -> Vec<Compiler> {
    let mut found: Vec<Compiler> = find_clangs().into_iter().map(Compiler::from).collect();
    found.sort_by_key(|compiler| std::cmp::Reverse(compiler.version));
    let gcc = std::env::var("BPF_GCC").unwrap_or_else(|_| "bpf-gcc".to_owned());
    for name in [gcc.as_str(), "bpf-unknown-none-gcc"] {
        if let Some(compiler) = find(name).and_then(|path| Compiler::probe(&path)) {
            found.push(compiler);
            break;
        }
    }
    found
}

/// Returns the host's C compiler with these flags, if it can write BTF with them.
pub fn host_cc(flags: &[String], dir: &Path) -> Option<Command> {
    let name = ["gcc", "cc"].into_iter().find(|name| is_installed(name))?;
    let mut probe = Command::new(name);
    probe.args(flags).args(["-gbtf", "-x", "c", "-c", "-o", "/dev/null", "/dev/null"]);
    output(&mut probe)?;
    let mut command = Command::new(name);
    command.current_dir(dir).args(flags).args(["-gbtf", "-O2", "-nostdinc", "-Iinclude", "-c"]);
    command.env("PWD", RECORDED_DIR);
    Some(command)
}

/// Returns the major version from the first line of `gcc --version`.
fn gcc_version(text: &str) -> Option<u32> {
    text.lines().next()?.split_whitespace().last()?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(gcc_version("bpf-gcc (12.2.0-14+deb12u1+) 12.2.0\nCopyright"), Some(12));
        assert_eq!(gcc_version("nothing"), None);
    }
}

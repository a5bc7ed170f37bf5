//! The compilers that can build BPF objects: every clang from 14 on, and GCC for BPF.

use std::path::{Path, PathBuf};
use std::process::Command;

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

/// The oldest usable clang.
pub const OLDEST_CLANG: u32 = 14;
const NEWEST_CLANG: u32 = 26;
/// The directory that GCC records in .BTF. GCC takes the directory from `PWD`, and prefix maps do not change it.
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
        let text = output(Command::new(path).arg("--version"))?;
        let family = if text.contains("clang version") { "clang" } else { "gcc" };
        let version = version(&text, family)?;
        Some(Self { path: path.to_path_buf(), family, version })
    }

    /// Returns the command that compiles for `order`, without the file names. The command runs in `dir`, and paths inside the
    /// object are relative to it.
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

/// Returns one usable compiler of each version: the newest clang first, GCC last.
pub fn find_all() -> Vec<Compiler> {
    let mut found: Vec<Compiler> = Vec::new();
    for new in clang_names().iter().filter_map(|name| Compiler::probe(&find(name)?)) {
        let known = found.iter().any(|old| old.version == new.version);
        if new.family == "clang" && new.version >= OLDEST_CLANG && !known && can_bpf(&new) {
            found.push(new);
        }
    }
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

fn clang_names() -> Vec<String> {
    let own = std::env::var("CLANG").ok();
    let numbered = (OLDEST_CLANG..=NEWEST_CLANG).rev().map(|n| format!("clang-{n}"));
    own.into_iter().chain(std::iter::once("clang".to_owned())).chain(numbered).collect()
}

/// Returns whether a clang has the BPF backend.
fn can_bpf(clang: &Compiler) -> bool {
    let targets = output(Command::new(&clang.path).arg("--print-targets"));
    targets.is_some_and(|text| text.lines().any(|line| line.trim_start().starts_with("bpfel ")))
}

/// Returns the major version from the first line of `--version`.
fn version(text: &str, family: &str) -> Option<u32> {
    let line = text.lines().find(|line| family == "gcc" || line.contains("clang version"))?;
    let words = line.split_whitespace();
    let number =
        if family == "clang" { words.skip_while(|word| *word != "version").nth(1)? } else { words.last()? };
    number.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(version("Debian clang version 16.0.6 (15~deb12u1)\nTarget: x", "clang"), Some(16));
        assert_eq!(version("bpf-gcc (12.2.0-14+deb12u1+) 12.2.0\n", "gcc"), Some(12));
        assert_eq!(version("nothing", "clang"), None);
    }
}

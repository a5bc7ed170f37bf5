//! Compiles the programs of the tests.

use core_relo_test_support::{Clang, find_clangs, skip};
use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

/// One clang of each version on this machine.
pub(crate) static CLANGS: LazyLock<Vec<Clang>> = LazyLock::new(find_clangs);

/// A compilation of a BPF program with all warnings, for a byte order and a machine.
pub(crate) struct Compilation<'a> {
    pub(crate) clang: &'a Clang,
    pub(crate) source: PathBuf,
    /// `bpfel`, `bpfeb`, or `bpf` for the byte order of this machine.
    pub(crate) target: &'a str,
    /// The machine in `__TARGET_ARCH_…`.
    pub(crate) machine: &'a str,
    /// More arguments, before the directory of the headers.
    pub(crate) arguments: Vec<String>,
}

impl<'a> Compilation<'a> {
    /// Returns the compilation of a program in `programs/`, by its name.
    pub(crate) fn new(clang: &'a Clang, name: &str, target: &'a str, machine: &'a str) -> Self {
        let source = programs().join(format!("{name}.bpf.c"));
        Self { clang, source, target, machine, arguments: Vec::new() }
    }

    /// Returns the object, or `None` if the compiler lacks the target.
    pub(crate) fn run(&self) -> Option<Vec<u8>> {
        let Self { clang, source, target, machine, .. } = self;
        let result = self.try_run()?;
        Some(result.unwrap_or_else(|e| panic!("{clang} {} {target} {machine}: {e}", source.display())))
    }

    /// Returns the object or clang's messages, or `None` as [`run`](Self::run) does.
    pub(crate) fn try_run(&self) -> Option<Result<Vec<u8>, String>> {
        let Self { clang, source, target, machine, arguments } = self;
        let dir = tempfile::tempdir().unwrap();
        let object = dir.path().join("program.o");
        let mut command = clang.command();
        command.args(["-g", "-O2", "-mcpu=v3", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]);
        command.args(["-target", target, &format!("-D__TARGET_ARCH_{machine}"), "-c"]);
        command.args(arguments).arg("-I").arg(include()).arg("-I").arg(programs());
        let output = command.arg(source).arg("-o").arg(&object).output().ok()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        if errors.contains("unknown target triple") || errors.contains("unable to create target") {
            return None;
        }
        if !output.status.success() {
            return Some(Err(errors.into_owned()));
        }
        Some(Ok(fs::read(&object).unwrap()))
    }
}

/// Returns the object of a program in `programs/`, or `None` as [`Compilation::run`] does.
pub(crate) fn compile(clang: &Clang, name: &str, target: &str, machine: &str) -> Option<Vec<u8>> {
    Compilation::new(clang, name, target, machine).run()
}

/// The directory of this crate's headers.
pub(crate) fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

/// The directory of the machine's own headers (`asm/errno.h`), which the kernel's headers include.
pub(crate) fn multiarch() -> String {
    format!("/usr/include/{}-linux-gnu", env::consts::ARCH)
}

/// Reports that no compiler was there, if none was.
pub(crate) fn skip_without(compiled: usize) {
    if compiled == 0 {
        skip!(Clang, "no clang that compiles BPF programs");
    }
}

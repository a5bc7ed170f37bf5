//! Compiles a source to a BPF object.

use crate::{
    clang::Clang, dep_file, environment::Environment, error::BuildError, output::Temporary, runner::Runner,
};
use alloc::borrow::Cow;
use std::{
    ffi::OsString,
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A source to compile.
pub(crate) struct Compilation<'a> {
    pub(crate) clang: &'a Clang,
    pub(crate) environment: &'a Environment,
    /// The directory of this crate's headers.
    pub(crate) include: &'a Path,
    /// The directory of the `vmlinux.h` that this crate has written.
    pub(crate) vmlinux: Option<&'a Path>,
    /// The caller's arguments.
    pub(crate) arguments: &'a [OsString],
    pub(crate) source: &'a Path,
    pub(crate) object: &'a Path,
}

/// The result of a compilation.
pub(crate) struct Compiled {
    /// What clang printed.
    pub(crate) warnings: String,
    /// The files that clang read.
    pub(crate) dependencies: Vec<PathBuf>,
}

impl Compilation<'_> {
    /// Returns a command of clang with all arguments but the source and the kind of output.
    fn command(&self) -> Command {
        let Self { clang, environment, include, vmlinux, arguments, .. } = self;
        let mut command = clang.command();
        command.args(["-g", "-O2", "-Wall", "-mcpu=v3", "-target", environment.target()]);
        if let Some(arch) = environment.header_arch() {
            command.arg(format!("-D__TARGET_ARCH_{arch}"));
        }
        // The directory of this crate's headers may have a `vmlinux.h` of the user.
        for directory in [*vmlinux, Some(*include)].into_iter().flatten() {
            command.arg("-I").arg(directory);
        }
        if let Some(directory) = environment.multiarch_headers() {
            command.arg("-idirafter").arg(directory);
        }
        command.args(*arguments);
        command
    }
}

/// Returns the path of a source as an argument of clang, which takes a name with another first character for
/// an option or for a file with further arguments.
fn source_argument(source: &Path) -> Cow<'_, Path> {
    match source.as_os_str().as_bytes().first() {
        Some(b'-' | b'@') => Path::new(".").join(source).into(),
        _ => source.into(),
    }
}

/// Returns the text of a source after the preprocessor.
pub(crate) fn preprocess(request: &Compilation<'_>, runner: Runner<'_>) -> Result<Vec<u8>, BuildError> {
    let Compilation { clang, source, .. } = request;
    let mut command = request.command();
    command.arg("-E").arg(&*source_argument(source));
    let output = runner.output(&mut command, b"").map_err(BuildError::io(clang.path(), "start it"))?;
    let output = output.ok_or(BuildError::Cancelled)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let diagnostics = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(BuildError::Compile { source_file: source.to_path_buf(), diagnostics })
}

/// Compiles a source. The object takes its name when it is complete.
pub(crate) fn compile(request: &Compilation<'_>) -> Result<Compiled, BuildError> {
    let Compilation { clang, source, object, .. } = request;
    let temporary = Temporary::beside(object);
    let rule = Temporary::beside(&object.with_extension("d"));
    let mut command = request.command();
    command.arg("-MD").arg("-MF").arg(rule.path());
    command.arg("-c").arg(&*source_argument(source)).arg("-o").arg(temporary.path());
    let output = command.stdin(Stdio::null()).output().map_err(BuildError::io(clang.path(), "start it"))?;
    let diagnostics = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(BuildError::Compile { source_file: source.to_path_buf(), diagnostics });
    }
    let text = fs::read_to_string(rule.path()).map_err(BuildError::io(rule.path(), "read it"))?;
    let dependencies = dep_file::parse(&text).ok_or_else(|| BuildError::Dependencies {
        path: rule.path().to_path_buf(),
        problem: "it is no rule of make",
    })?;
    strip(clang, temporary.path());
    temporary.rename(object)?;
    Ok(Compiled { warnings: diagnostics, dependencies })
}

/// Removes DWARF from an object, which would be part of the executable. Without a program that can, DWARF
/// stays.
fn strip(clang: &Clang, object: &Path) {
    let strips = |program: &PathBuf| {
        let mut command = Command::new(program);
        command.arg("-g").arg(object).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    // Whether one succeeded makes no difference to the caller.
    let _is_stripped = clang.strip_programs().iter().any(strips);
}

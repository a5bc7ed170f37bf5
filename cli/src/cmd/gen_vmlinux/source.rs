//! Sources of BPF programs, after clang's preprocessor.

use crate::{
    args::gen_vmlinux::GenVmlinuxArgs,
    error::{BadInput, escape_path},
    process::signals::{self, TerminationSignals},
};
use core_relo::{
    Name,
    btf::{Btf, HeaderRoots},
};
use core_relo_build::{BuildError, Builder, Preprocessed};
use core_relo_loader::target::find_architecture;
use std::{
    env,
    fs::{File, Permissions},
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::Path,
};

/// What sources see of `vmlinux.h`, also of one beside them: nothing. Its types are not needed to find their
/// names, and the names must not depend on the header of an earlier run.
const WITHOUT_VMLINUX: [&str; 2] = ["-D__VMLINUX_H__", "-D__bpf_fastcall="];

/// Adds the types that a source names to the roots. The source sees the registers of the kernel's
/// architecture, if its types tell that.
pub(super) fn add(
    roots: &mut HeaderRoots,
    path: &Path,
    kernel: &Btf<'_>,
    args: &GenVmlinuxArgs,
) -> Result<(), BadInput> {
    // clang takes the name of a missing file for the fault of its arguments.
    File::open(path).map_err(|e| BadInput::for_path(path, format_args!("cannot be read: {e}")))?;
    let mut builder = Builder::new().source(path);
    if let Some(machine) = find_architecture(kernel) {
        builder = builder.machine(machine, kernel.endian());
    }
    for argument in WITHOUT_VMLINUX.into_iter().chain(args.clang_arg.iter().map(String::as_str)) {
        builder = builder.clang_arg(argument);
    }
    let sources = preprocess(path, builder)?;
    let library = sources.headers.as_os_str().as_bytes().to_vec();
    roots.add_source(&sources.text, |file| file.starts_with(&library) || is_vmlinux(file));
    Ok(())
}

/// The number of names in a note.
const NOTED_NAMES: usize = 3;

/// Returns a note on a source that defines names which the header has, too.
pub(super) fn redefinition_note(path: &Path, names: &[Name<'_>]) -> String {
    let shown: Vec<_> = names.iter().take(NOTED_NAMES).map(|name| format!("`{name}`")).collect();
    let more = match names.len().checked_sub(shown.len()) {
        None | Some(0) => String::new(),
        Some(count) => format!(" and {count} more"),
    };
    format!(
        "{}: defines {}{more}, as the header does, because another source or a type of the kernel needs the kernel's: \
         if the source includes the header, make a header of its own for it, or rename its types",
        escape_path(path),
        shown.join(", ")
    )
}

/// Returns whether a file is a header with a kernel's types that has another guard than `__VMLINUX_H__`.
fn is_vmlinux(file: &[u8]) -> bool {
    file.rsplit(|c| *c == b'/').next() == Some(b"vmlinux.h")
}

/// Runs the preprocessor. A signal stops clang, and ends the process after the directory of headers has been
/// removed.
fn preprocess(path: &Path, builder: Builder) -> Result<Preprocessed, BadInput> {
    let caught = TerminationSignals::catch_all()?;
    let mut directory = tempfile::Builder::new();
    let directory = directory.prefix("core-relo-headers-").permissions(Permissions::from_mode(0o700));
    let result = match directory.tempdir() {
        Ok(directory) => {
            let builder = builder.out_dir(directory.path());
            builder.preprocess_until("", &signals::has_arrived).map_err(|e| bad_input(path, &e))
        }
        Err(e) => {
            Err(BadInput::for_path(&env::temp_dir(), format_args!("create a directory for headers: {e}")))
        }
    };
    // The directory does not exist any more.
    caught.release()?;
    result
}

fn bad_input(path: &Path, error: &BuildError) -> BadInput {
    // The help of the error is for build scripts.
    let BuildError::Compile { diagnostics, .. } = error else { return BadInput::for_path(path, error) };
    let bad = BadInput::for_path(path, "clang reports errors").details(diagnostics.as_str());
    if diagnostics.contains("'asm/") && diagnostics.contains("file not found") {
        bad.help("install the kernel's headers of the machine, or give their directory by --clang-arg=-I…")
    } else if diagnostics.contains("file not found") {
        bad.help("give the directory of the header by --clang-arg=-I…")
    } else if diagnostics.contains("#error") {
        bad.help("define what the source asks for by --clang-arg=-D…")
    } else {
        bad
    }
}

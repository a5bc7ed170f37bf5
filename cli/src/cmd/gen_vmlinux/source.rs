//! Sources of BPF programs, after clang's preprocessor.

use crate::{args::gen_vmlinux::GenVmlinuxArgs, error::BadInput};
use core_relo::btf::HeaderRoots;
use core_relo_build::{BuildError, Builder};
use std::{
    env,
    fs::{self, DirBuilder},
    io,
    os::unix::{ffi::OsStrExt as _, fs::DirBuilderExt as _},
    path::{Path, PathBuf},
    process,
};

/// What sources see of `vmlinux.h`, also of one beside them: nothing. Its types are not needed to find their names, and the names must not depend
/// on the header of an earlier run.
const WITHOUT_VMLINUX: [&str; 2] = ["-D__VMLINUX_H__", "-D__bpf_fastcall="];

/// The names that are tried for a directory.
const ATTEMPTS: u32 = 100;

/// Adds the types that a source names to the roots.
pub(super) fn add(roots: &mut HeaderRoots, path: &Path, args: &GenVmlinuxArgs) -> Result<(), BadInput> {
    let directory = PrivateDirectory::create().map_err(|e| {
        BadInput::for_path(&env::temp_dir(), format_args!("create a directory for headers: {e}"))
    })?;
    let mut builder = Builder::new().source(path).out_dir(&directory.0);
    for argument in WITHOUT_VMLINUX.into_iter().chain(args.clang_arg.iter().map(String::as_str)) {
        builder = builder.clang_arg(argument);
    }
    let sources = builder.preprocess("").map_err(|e| bad_input(path, &e))?;
    let library = sources.headers.as_os_str().as_bytes().to_vec();
    roots.add_source(&sources.text, |file| file.starts_with(&library) || is_vmlinux(file));
    Ok(())
}

/// Returns whether a file is a header with a kernel's types that has another guard than `__VMLINUX_H__`.
fn is_vmlinux(file: &[u8]) -> bool {
    file.rsplit(|c| *c == b'/').next() == Some(b"vmlinux.h")
}

fn bad_input(path: &Path, error: &BuildError) -> BadInput {
    BadInput::for_path(path, error).help("give clang what it needs by --clang-arg=-I… and --clang-arg=-D…")
}

/// A directory that only the user can read, removed when the value is dropped.
struct PrivateDirectory(PathBuf);

impl PrivateDirectory {
    fn create() -> io::Result<Self> {
        let mut number = 0u32;
        loop {
            let path = env::temp_dir().join(format!("core-relo-headers-{}-{number}", process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                // A directory of a process that was killed.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && number < ATTEMPTS => {
                    number = number.saturating_add(1);
                }
                created => return created.map(|()| Self(path)),
            }
        }
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        // A directory that stays harms nobody, and a destructor has nobody to tell.
        let _removed = fs::remove_dir_all(&self.0);
    }
}

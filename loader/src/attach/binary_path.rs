//! The search for a program or library by its file name.

use super::{error::AttachError, pmu::resolve_pid, process_files::ProcessFiles};
use crate::target::open_file;
use std::{
    env,
    ffi::OsString,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::{Path, PathBuf},
};

/// The multiarch library directory of Debian for this architecture, or an empty string (libbpf: `arch_specific_lib_paths`).
const ARCH_LIBRARIES: &str = if cfg!(target_arch = "x86_64") {
    "/lib/x86_64-linux-gnu"
} else if cfg!(target_arch = "x86") {
    "/lib/i386-linux-gnu"
} else if cfg!(target_arch = "s390x") {
    "/lib/s390x-linux-gnu"
} else if cfg!(target_arch = "arm") {
    "/lib/arm-linux-gnueabihf"
} else if cfg!(target_arch = "aarch64") {
    "/lib/aarch64-linux-gnu"
} else if cfg!(target_arch = "powerpc64") && matches!(core_relo::Endian::native(), core_relo::Endian::Little)
{
    "/lib/powerpc64le-linux-gnu"
} else if cfg!(target_arch = "riscv64") {
    "/lib/riscv64-linux-gnu"
} else {
    ""
};

/// The usual directories of libraries. The last one is that of this architecture.
const LIBRARY_DIRECTORIES: [&str; 2] = ["/usr/lib64:/usr/lib", ARCH_LIBRARIES];

/// The usual directories of programs.
const PROGRAM_DIRECTORIES: [&str; 2] = ["/usr/bin:/usr/sbin", ""];

/// Returns the path of a binary for probes of one process, or of all (libbpf: `resolve_full_path`). A name with a `/` is a path already.
///
/// The search for a library (`.so` in its name) covers `LD_LIBRARY_PATH` and the usual library directories, the search for a program
/// covers `PATH` and the usual directories of programs. With a process, the files that it maps come first, and a process in a container
/// has its own directories.
pub(super) fn resolve(name: &Path, pid: Option<u32>, label: &str) -> Result<PathBuf, AttachError> {
    let files = resolve_pid(pid).and_then(ProcessFiles::open);
    if name.as_os_str().as_bytes().contains(&b'/') {
        let own = files.and_then(|files| files.find_path(name));
        return Ok(own.unwrap_or_else(|| name.to_path_buf()));
    }
    if let Some(path) = files.as_ref().and_then(|files| files.find_mapped(name)) {
        return Ok(path);
    }
    let is_library = is_library(name);
    let defaults = if is_library { LIBRARY_DIRECTORIES } else { PROGRAM_DIRECTORIES }.map(OsString::from);
    if let Some(files) = files.filter(ProcessFiles::has_other_root) {
        let found = search(name, is_library, defaults.into_iter(), |path| files.in_root(&path));
        return found.ok_or_else(|| {
            let (name, root) = (name.display(), files.root().display().to_string());
            let problem = format!(
                "the process does not map `{name}`, and the default directories in {root} do not have it: pass a \
                 path with a `/`"
            );
            AttachError::target(label, problem)
        });
    }
    let variable = if is_library { "LD_LIBRARY_PATH" } else { "PATH" };
    let lists = env::var_os(variable).into_iter().chain(defaults);
    search(name, is_library, lists, Some).ok_or_else(|| {
        let problem = format!(
            "`{}` is neither in {variable} nor in the default directories: pass a path with a `/`",
            name.display()
        );
        AttachError::target(label, problem)
    })
}

/// Returns whether a file name is that of a library.
fn is_library(name: &Path) -> bool {
    let bytes = name.as_os_str().as_bytes();
    bytes.ends_with(b".so") || bytes.windows(4).any(|w| w == b".so.")
}

/// Returns the first readable file of that name in `:`-separated lists of directories. A program must have an execute permission.
/// `locate` returns the path by which this process opens a file.
fn search(
    name: &Path,
    is_library: bool,
    lists: impl Iterator<Item = OsString>,
    locate: impl Fn(PathBuf) -> Option<PathBuf>,
) -> Option<PathBuf> {
    for list in lists {
        for dir in env::split_paths(&list).filter(|dir| !dir.as_os_str().is_empty()) {
            let Some(path) = locate(dir.join(name)) else { continue };
            let Ok((_file, meta)) = open_file(&path) else { continue };
            if is_library || meta.permissions().mode() & 0o111 != 0 {
                return Some(path);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{super::test_support::elf::TempFile, *};

    #[test]
    fn a_path_is_returned_unchanged_and_a_name_is_searched_for() {
        assert_eq!(resolve(Path::new("/no/such"), None, "x"), Ok(PathBuf::from("/no/such")));
        assert_eq!(resolve(Path::new("./x"), None, "x"), Ok(PathBuf::from("./x")));
        let e = resolve(Path::new("no_such.so.6"), None, "uprobe/no_such.so.6").unwrap_err();
        assert!(e.to_string().contains("LD_LIBRARY_PATH"), "{e}");
    }

    #[test]
    fn the_search_for_a_program_skips_files_without_execute_permission() {
        let file = TempFile::new("so", b"");
        let name = Path::new(file.path().file_name().unwrap());
        let dir = file.path().parent().unwrap().to_str().unwrap();
        let dirs = || [OsString::new(), OsString::from(format!(":/no/such:{dir}"))].into_iter();
        assert_eq!(search(name, false, dirs(), Some).as_deref(), Some(file.path()));
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(search(name, false, dirs(), Some), None);
        assert_eq!(search(name, true, dirs(), Some).as_deref(), Some(file.path()));
        assert_eq!(search(Path::new("no-such"), true, dirs(), Some), None);
    }
}

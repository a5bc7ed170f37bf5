//! The search for a program or library by its file name.

use super::error::AttachError;
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

/// Returns the path of a binary (libbpf: `resolve_full_path`). A name with a `/` is a path already.
///
/// The search for a library (`.so` in its name) covers `LD_LIBRARY_PATH` and the usual library directories, the search for a program
/// covers `PATH` and the usual directories of programs.
pub(super) fn resolve(name: &Path, label: &str) -> Result<PathBuf, AttachError> {
    let bytes = name.as_os_str().as_bytes();
    if bytes.contains(&b'/') {
        return Ok(name.to_path_buf());
    }
    let is_library = bytes.ends_with(b".so") || bytes.windows(4).any(|w| w == b".so.");
    let variable = if is_library { "LD_LIBRARY_PATH" } else { "PATH" };
    let defaults =
        if is_library { ["/usr/lib64:/usr/lib", ARCH_LIBRARIES] } else { ["/usr/bin:/usr/sbin", ""] };
    let lists = env::var_os(variable).into_iter().chain(defaults.map(OsString::from));
    search(name, is_library, lists).ok_or_else(|| {
        let problem = format!(
            "`{}` is neither in {variable} nor in the default directories: pass a path with a `/`",
            name.display()
        );
        AttachError::target(label, problem)
    })
}

/// Returns the first readable file of that name in `:`-separated lists of directories. A program must have an execute permission.
fn search(name: &Path, is_library: bool, lists: impl Iterator<Item = OsString>) -> Option<PathBuf> {
    for list in lists {
        for dir in env::split_paths(&list).filter(|dir| !dir.as_os_str().is_empty()) {
            let path = dir.join(name);
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
        assert_eq!(resolve(Path::new("/no/such"), "x"), Ok(PathBuf::from("/no/such")));
        assert_eq!(resolve(Path::new("./x"), "x"), Ok(PathBuf::from("./x")));
        let e = resolve(Path::new("no_such.so.6"), "uprobe/no_such.so.6").unwrap_err();
        assert!(e.to_string().contains("LD_LIBRARY_PATH"), "{e}");
    }

    #[test]
    fn the_search_for_a_program_skips_files_without_execute_permission() {
        let file = TempFile::new("so", b"");
        let name = Path::new(file.path().file_name().unwrap());
        let dir = file.path().parent().unwrap().to_str().unwrap();
        let dirs = || [OsString::new(), OsString::from(format!(":/no/such:{dir}"))].into_iter();
        assert_eq!(search(name, false, dirs()).as_deref(), Some(file.path()));
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(search(name, false, dirs()), None);
        assert_eq!(search(name, true, dirs()).as_deref(), Some(file.path()));
        assert_eq!(search(Path::new("no-such"), true, dirs()), None);
    }
}

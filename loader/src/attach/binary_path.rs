//! Which file a user-space binary's name means.

use super::error::AttachError;
use crate::target::open_file;
use std::{
    env,
    ffi::OsString,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::{Path, PathBuf},
};

/// Where the libraries of this architecture are on Debian (libbpf: `arch_specific_lib_paths`).
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

/// A path as it is; a mere name is searched for as the shell or the dynamic linker would (libbpf: `resolve_full_path`).
pub(super) fn resolve(name: &Path, what: &str) -> Result<PathBuf, AttachError> {
    let bytes = name.as_os_str().as_bytes();
    if bytes.contains(&b'/') {
        return Ok(name.to_path_buf());
    }
    let is_library = bytes.ends_with(b".so") || bytes.windows(4).any(|w| w == b".so.");
    let variable = if is_library { "LD_LIBRARY_PATH" } else { "PATH" };
    let given = env::var_os(variable).unwrap_or_default();
    let usual = if is_library { ["/usr/lib64:/usr/lib", ARCH_LIBRARIES] } else { ["/usr/bin:/usr/sbin", ""] };
    search(name, is_library, [given].into_iter().chain(usual.map(OsString::from))).ok_or_else(|| {
        let problem =
            format!("`{}` is not in {variable} nor in the usual folders: give its path", name.display());
        AttachError::target(what, problem)
    })
}

fn search(name: &Path, is_library: bool, lists: impl Iterator<Item = OsString>) -> Option<PathBuf> {
    for list in lists {
        for folder in env::split_paths(&list).filter(|folder| !folder.as_os_str().is_empty()) {
            let path = folder.join(name);
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
    use super::{super::testing_elf::TempFile, *};

    #[test]
    fn a_path_is_taken_as_it_is_and_a_name_is_searched() {
        assert_eq!(resolve(Path::new("/no/such"), "x"), Ok(PathBuf::from("/no/such")));
        assert_eq!(resolve(Path::new("./x"), "x"), Ok(PathBuf::from("./x")));
        let e = resolve(Path::new("no_such.so.6"), "uprobe/no_such.so.6").unwrap_err();
        assert!(e.to_string().contains("LD_LIBRARY_PATH"), "{e}");
    }

    #[test]
    fn a_name_is_searched_and_what_cannot_be_executed_is_no_program() {
        let file = TempFile::new("so", b"");
        let name = Path::new(file.path().file_name().unwrap());
        let folder = file.path().parent().unwrap().to_str().unwrap();
        let folders = || [OsString::new(), OsString::from(format!(":/no/such:{folder}"))].into_iter();
        assert_eq!(search(name, false, folders()).as_deref(), Some(file.path()));
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(search(name, false, folders()), None);
        assert_eq!(search(name, true, folders()).as_deref(), Some(file.path()));
        assert_eq!(search(Path::new("no-such"), true, folders()), None);
    }
}

//! The running kernel's BTF and its modules'.

use super::file::TargetFile;
use core_relo_object::target::TargetError;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Where the kernel shows its BTF and its modules'.
const SYSFS: &str = "sys/kernel/btf";

/// Where a vmlinux image may lie, in the order in which libbpf looks (`btf__load_vmlinux_btf`); `%r` is the release.
const IMAGES: [&str; 7] = [
    "boot/vmlinux-%r",
    "lib/modules/%r/vmlinux-%r",
    "lib/modules/%r/build/vmlinux",
    "usr/lib/modules/%r/kernel/vmlinux",
    "usr/lib/debug/boot/vmlinux-%r",
    "usr/lib/debug/boot/vmlinux-%r.debug",
    "usr/lib/debug/lib/modules/%r/vmlinux",
];

/// A module of the running kernel that has BTF; nothing of it was read yet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModuleFile {
    /// The module's name.
    pub name: String,
    /// Where its BTF is.
    pub path: PathBuf,
}

impl ModuleFile {
    /// Reads it. It is split from the kernel's BTF: give that to [`TargetFile::parse`].
    pub fn open(&self) -> Result<TargetFile, TargetError> {
        TargetFile::open(&self.path)
    }
}

/// The running kernel's BTF: `/sys/kernel/btf/vmlinux`, or else the first vmlinux image that has BTF.
pub fn kernel() -> Result<TargetFile, TargetError> {
    kernel_below(Path::new("/"), &release()?)
}

/// The modules of the running kernel that have BTF, in order of name; none if the kernel shows none.
///
/// libbpf tries modules in the order they were loaded, which files do not tell.
pub fn modules() -> Result<Vec<ModuleFile>, TargetError> {
    modules_below(Path::new("/"))
}

/// The running kernel's release, as `uname -r` prints it.
pub fn release() -> Result<String, TargetError> {
    let path = Path::new("/proc/sys/kernel/osrelease");
    let text = fs::read_to_string(path).map_err(|e| io_error(path, &e))?;
    Ok(text.trim_end().to_owned())
}

pub(super) fn kernel_below(root: &Path, release: &str) -> Result<TargetFile, TargetError> {
    let shown = root.join(SYSFS).join("vmlinux");
    if shown.exists() {
        return TargetFile::open(shown);
    }
    for image in IMAGES {
        let path = root.join(image.replace("%r", release));
        if !path.exists() {
            continue;
        }
        match TargetFile::open(path) {
            Ok(found) => return Ok(found),
            Err(e) => log::info!("no BTF of the running kernel: {e}"),
        }
    }
    Err(TargetError::NoKernelBtf { release: release.to_owned().into() })
}

pub(super) fn modules_below(root: &Path) -> Result<Vec<ModuleFile>, TargetError> {
    let folder = root.join(SYSFS);
    let entries = match fs::read_dir(&folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|e| io_error(&folder, &e))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| io_error(&folder, &e))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != "vmlinux" {
            found.push(ModuleFile { name, path: entry.path() });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn io_error(path: &Path, e: &io::Error) -> TargetError {
    TargetError::Io { path: path.to_path_buf(), kind: e.kind(), errno: e.raw_os_error() }
}

//! The BTF of the running kernel and its modules.

use super::{btf_file::BtfFile, open::io_error};
use core_relo_object::target::TargetError;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The directory with the BTF of the kernel and its modules.
const SYSFS: &str = "sys/kernel/btf";

/// Paths of vmlinux images in libbpf's order (`btf__load_vmlinux_btf`). `%r` stands for the release.
const IMAGES: [&str; 7] = [
    "boot/vmlinux-%r",
    "lib/modules/%r/vmlinux-%r",
    "lib/modules/%r/build/vmlinux",
    "usr/lib/modules/%r/kernel/vmlinux",
    "usr/lib/debug/boot/vmlinux-%r",
    "usr/lib/debug/boot/vmlinux-%r.debug",
    "usr/lib/debug/lib/modules/%r/vmlinux",
];

/// A module of the running kernel with BTF that has not been read yet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModuleFile {
    /// The module's name.
    pub name: String,
    /// The path of its BTF.
    pub path: PathBuf,
}

impl ModuleFile {
    /// Opens the BTF. It is split from the kernel's BTF, which [`BtfFile::parse`] takes as `base`.
    pub fn open(&self) -> Result<BtfFile, TargetError> {
        BtfFile::open(&self.path)
    }
}

/// Opens the running kernel's BTF: `/sys/kernel/btf/vmlinux`, or else the first vmlinux image with BTF.
pub fn kernel() -> Result<BtfFile, TargetError> {
    kernel_below(Path::new("/"), &release()?)
}

/// Lists the modules of the running kernel with BTF, in order of name. The list is empty without
/// `/sys/kernel/btf`.
///
/// libbpf searches modules in load order, which sysfs does not show.
pub fn modules() -> Result<Vec<ModuleFile>, TargetError> {
    modules_below(Path::new("/"))
}

/// Returns the running kernel's release, as `uname -r`.
pub fn release() -> Result<String, TargetError> {
    let path = Path::new("/proc/sys/kernel/osrelease");
    let text = fs::read_to_string(path).map_err(|e| io_error(path, &e))?;
    Ok(text.trim_end().to_owned())
}

pub(super) fn kernel_below(root: &Path, release: &str) -> Result<BtfFile, TargetError> {
    let sysfs = root.join(SYSFS).join("vmlinux");
    if sysfs.exists() {
        return BtfFile::open(sysfs);
    }
    for image in IMAGES {
        let path = root.join(image.replace("%r", release));
        if !path.exists() {
            continue;
        }
        match BtfFile::open(path) {
            Ok(file) => return Ok(file),
            Err(e) => log::info!("no BTF of the running kernel: {e}"),
        }
    }
    Err(TargetError::NoKernelBtf { release: release.to_owned().into() })
}

pub(super) fn modules_below(root: &Path) -> Result<Vec<ModuleFile>, TargetError> {
    let dir = root.join(SYSFS);
    let entries = match fs::read_dir(&dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|e| io_error(&dir, &e))?,
    };
    let mut modules = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| io_error(&dir, &e))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != "vmlinux" {
            modules.push(ModuleFile { name, path: entry.path() });
        }
    }
    modules.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(modules)
}

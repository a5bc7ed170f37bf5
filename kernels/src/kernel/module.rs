//! Split BTF of modules, and the kernels that it extends.

use crate::{
    btf_file,
    compression::format::Compression,
    error::{Defect, InputError, escape_path},
    limits::Limits,
};
use core_relo::btf::{Btf, BtfError};
use core_relo_loader::target::{BtfFile, TargetError};
use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Reads the BTF of a module of a kernel.
pub(crate) fn read_module(
    path: &Path,
    base: &Arc<Btf<'static>>,
    limits: Limits,
) -> Result<Arc<Btf<'static>>, InputError> {
    let file = btf_file::read(path, limits)?;
    parse_split(path, &file, base).map(Arc::new)
}

/// Parses split BTF.
pub fn parse_split(
    path: &Path,
    file: &BtfFile,
    base: &Arc<Btf<'static>>,
) -> Result<Btf<'static>, InputError> {
    file.parse(Some(base)).map_err(|e| InputError::new(path, Defect::ForeignModule(Box::new(e))))
}

/// Returns the name of a module: `veth` for `/lib/modules/…/veth.ko.xz`.
pub(crate) fn module_name(path: &Path) -> String {
    let file = escape_path(Path::new(path.file_name().unwrap_or(path.as_os_str())));
    let name = file.split_once('.').map_or(&*file, |(name, _)| name);
    name.replace('-', "_")
}

/// Returns the kernel in the same directory as a module's BTF: `vmlinux` or `vmlinux.btf`.
pub fn find_base(path: &Path) -> Option<PathBuf> {
    let dir = path.parent()?;
    let base = ["vmlinux", "vmlinux.btf"].iter().map(|name| dir.join(name)).find(|p| p.is_file())?;
    (base.file_name() != path.file_name()).then_some(base)
}

/// Returns the kernel, among the kernels of a directory, to which a module's BTF in the directory belongs by
/// its path.
///
/// That is `vmlinux` or `vmlinux.btf` in the module's directory, or the kernel with the name of the module's
/// directory: `6.1.0-18-amd64.btf` for `6.1.0-18-amd64/xfs.btf`. The kernel may be compressed.
pub(crate) fn owner_by_path<'k>(module: &Path, kernels: &'k HashSet<PathBuf>) -> Option<&'k Path> {
    let dir = module.parent()?;
    let with_ending = |path: &Path, ending: &str| {
        let mut path = path.as_os_str().to_owned();
        path.push(ending);
        PathBuf::from(path)
    };
    let candidates = [dir.join("vmlinux"), dir.join("vmlinux.btf"), with_ending(dir, ".btf")];
    let find = |path: &PathBuf| {
        let compressed = Compression::ENDINGS.iter().map(|ending| with_ending(path, ending));
        core::iter::once(path.clone()).chain(compressed).find_map(|path| kernels.get(&path))
    };
    candidates.iter().find_map(find).map(PathBuf::as_path)
}

/// Returns whether parsing failed because split BTF was parsed without its base.
pub fn is_split_without_base(e: &TargetError) -> bool {
    matches!(
        e,
        TargetError::Btf {
            cause: BtfError::Strings { split_without_base: true, .. }
                | BtfError::TypeRef { split_without_base: true, .. }
                | BtfError::NameRef { split_without_base: true, .. },
            ..
        }
    )
}

/// Creates the error for BTF that may be split and has no known base. `parse_error` is the error of parsing
/// the BTF without a base.
pub fn missing_base(path: &Path, parse_error: Option<&TargetError>) -> InputError {
    InputError::new(
        path,
        match parse_error {
            // The strings begin with an empty string, as those of BTF without a base do. But a reference is
            // out of range, so the BTF may be split or damaged.
            Some(e @ TargetError::Btf { cause: BtfError::TypeRef { .. } | BtfError::NameRef { .. }, .. }) => {
                Defect::ModuleOrDamaged(Box::new(e.clone()))
            }
            _ => Defect::ModuleWithoutBase,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_belong_to_the_kernel_of_their_directory() {
        let kernels = ["k/6.1.0.btf", "k/6.12.0.btf.xz", "k/host/vmlinux.zst"].map(PathBuf::from);
        let kernels = kernels.into_iter().collect();
        let owner = |module: &str| owner_by_path(Path::new(module), &kernels).and_then(Path::to_str);
        assert_eq!(owner("k/6.1.0/xfs.btf"), Some("k/6.1.0.btf"));
        assert_eq!(owner("k/6.12.0/xfs.ko.xz"), Some("k/6.12.0.btf.xz"));
        assert_eq!(owner("k/host/xfs.btf"), Some("k/host/vmlinux.zst"));
        assert_eq!(owner("k/6.6.0/xfs.btf"), None);
    }
}

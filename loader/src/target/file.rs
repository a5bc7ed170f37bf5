//! BTF from a file. Files that nobody else can change are mapped, other regular files are read.

use super::{
    open::{io_error, open_file},
    read::{copy_bytes, read_all},
};
use crate::{limits, sys::FileMapping};
use alloc::sync::Arc;
use core::ops::Range;
use core_relo::{
    ByteSize, Data,
    btf::{Btf, BtfError, ModuleFilter},
};
use core_relo_object::target::{BtfLocation, FileFormat, TargetError, locate, trust_kernel_order};
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

/// The BTF of a file, not parsed yet.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TargetFile {
    /// The file's path, for messages.
    pub path: PathBuf,
    /// The bytes of the BTF.
    pub btf: Data<'static>,
    /// The bytes of `.BTF.base`, if the file has this section.
    pub base: Option<Data<'static>>,
    /// The file's format.
    pub format: FileFormat,
    /// Whether the file is in `/sys/kernel/btf`. The kernel validated that BTF itself.
    is_of_kernel: bool,
}

impl TargetFile {
    /// Opens a file of raw BTF or an ELF file.
    ///
    /// Maps files in `/sys/kernel/btf`, and files on local file systems that only root and this process's user may write. Reads all
    /// other files. Of an ELF file only a copy of the types stays in memory.
    ///
    /// If somebody truncates a mapped file in place, the next access to the lost part ends the process with SIGBUS. Use
    /// [`read`](Self::read) to keep types for long where that can happen.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, TargetError> {
        let path = path.into();
        let (file, len) = open(&path)?;
        if len > limits::FILE_BYTES {
            return Err(TargetError::TooLarge { path });
        }
        if let Ok(map) = FileMapping::new_sysfs(&file, len) {
            return Self::from_kernel(path, map);
        }
        match FileMapping::new_trusted(&file, len) {
            Ok(map) => Self::from_bytes(path, Data::shared(map)),
            Err(e) => {
                log::debug!("{}: read, not mapped: {e}", path.display());
                let bytes = read_open(&path, file, len)?;
                Self::from_bytes(path, bytes)
            }
        }
    }

    /// Opens a file as [`open`](Self::open), but maps only files in `/sys/kernel/btf`.
    pub fn read(path: impl Into<PathBuf>) -> Result<Self, TargetError> {
        let path = path.into();
        let (file, len) = open(&path)?;
        match FileMapping::new_sysfs(&file, len) {
            Ok(map) => Self::from_kernel(path, map),
            Err(_) => Self::from_bytes(path.clone(), read_open(&path, file, len)?),
        }
    }

    fn from_kernel(path: PathBuf, map: FileMapping) -> Result<Self, TargetError> {
        Ok(Self { is_of_kernel: true, ..Self::from_bytes(path, Data::shared(map))? })
    }

    /// Finds the BTF in a file's bytes. `path` is only used in messages.
    pub fn from_bytes(
        path: impl Into<PathBuf>,
        bytes: impl Into<Data<'static>>,
    ) -> Result<Self, TargetError> {
        let (path, bytes) = (path.into(), bytes.into());
        let BtfLocation { btf, base, format, .. } = match locate(&bytes) {
            Ok(located) => located,
            Err(cause) => return Err(TargetError::Extract { path, cause }),
        };
        let copied =
            part(&bytes, btf).and_then(|btf| Ok((btf, base.map(|base| part(&bytes, base)).transpose()?)));
        let (btf, base) = copied.map_err(|e| io_error(&path, &e))?;
        Ok(Self { path, btf, base, format, is_of_kernel: false })
    }

    /// Returns the pointer size of the ELF class; `None` for raw BTF.
    pub const fn pointer_size(&self) -> Option<ByteSize> {
        self.format.pointer_size()
    }

    /// Returns whether the file may have a type with one of the names of `module_filter`, which was made for the kernel's BTF. Other files
    /// need not be parsed.
    ///
    /// A file with `.BTF.base` always may, because its names do not refer to the kernel's strings.
    pub fn may_have(&self, module_filter: &mut ModuleFilter<'_, '_>) -> bool {
        self.base.is_some() || module_filter.may_contain(&self.btf)
    }

    /// Parses the BTF. The BTF of a module needs the kernel's BTF as `base`.
    ///
    /// References in members, parameters and enumerators are validated when a relocation reads them
    /// ([`Btf::parse_unvalidated`]). BTF from sysfs that looks [sorted](Btf::trust_order) is trusted to be sorted.
    ///
    /// With `.BTF.base`, a module's BTF is relocated onto `base`, or split from `.BTF.base` if `base` is `None`. Without `.BTF.base`
    /// it is split from `base`.
    pub fn parse(&self, base: Option<&Arc<Btf<'static>>>) -> Result<Btf<'static>, TargetError> {
        self.parse_with(Btf::parse_unvalidated, base)
    }

    /// Parses the BTF as [`parse`](Self::parse) and validates everything at once, except BTF from sysfs: the kernel validated that.
    pub fn parse_validated(&self, base: Option<&Arc<Btf<'static>>>) -> Result<Btf<'static>, TargetError> {
        if self.is_of_kernel {
            return self.parse(base);
        }
        let parse_validated = |btf, base| match base {
            None => Btf::parse(btf),
            Some(base) => Btf::parse_split(btf, base),
        };
        self.parse_with(parse_validated, base)
    }

    fn parse_with(
        &self,
        parse: impl FnOnce(Data<'static>, Option<Arc<Btf<'static>>>) -> Result<Btf<'static>, BtfError>,
        base: Option<&Arc<Btf<'static>>>,
    ) -> Result<Btf<'static>, TargetError> {
        let btf = self.btf.clone();
        let parsed = match (&self.base, base) {
            (None, base) => parse(btf, base.cloned()),
            (Some(own), None) => Btf::parse(own.clone()).and_then(|own| parse(btf, Some(Arc::new(own)))),
            (Some(own), Some(base)) => Btf::relocate_split(btf, own.clone(), Arc::clone(base)),
        };
        let mut btf = parsed.map_err(|cause| TargetError::Btf { path: self.path.clone(), cause })?;
        if let Some(size) = self.pointer_size() {
            btf.set_pointer_size(size);
        }
        if self.is_of_kernel {
            trust_kernel_order(&mut btf);
        }
        Ok(btf)
    }
}

/// Returns the bytes of a file. Maps the kernel's BTF in sysfs if the kernel allows that, and reads other files.
pub fn read(path: &Path) -> Result<Data<'static>, TargetError> {
    let (file, len) = open(path)?;
    match map_kernel_btf(&file, len) {
        Some(map) => Ok(map),
        None => read_open(path, file, len),
    }
}

/// Maps a file in `/sys/kernel/btf`: the BTF of the running kernel or of a module. Returns `None` for any other file.
pub fn map_kernel_btf(file: &File, len: u64) -> Option<Data<'static>> {
    FileMapping::new_sysfs(file, len).ok().map(Data::shared)
}

/// Opens a regular file. Returns the file and its length.
fn open(path: &Path) -> Result<(File, u64), TargetError> {
    let (file, meta) = open_file(path)?;
    Ok((file, meta.len()))
}

fn read_open(path: &Path, file: File, len: u64) -> Result<Data<'static>, TargetError> {
    let bytes = read_all(file, len, limits::FILE_BYTES).map_err(|e| io_error(path, &e))?;
    bytes.ok_or_else(|| TargetError::TooLarge { path: path.to_path_buf() })
}

/// Returns a part of a file's bytes. The part is a copy unless it is the whole file, so that an ELF file can be unmapped.
fn part(whole: &Data<'static>, range: Range<usize>) -> io::Result<Data<'static>> {
    if range == (0..whole.len()) {
        return Ok(whole.clone());
    }
    let outside = || io::Error::other("broken invariant: the BTF reaches past the end of its file");
    copy_bytes(whole.get(range).ok_or_else(outside)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::{
        Endian, TypeId,
        btf::{Builder, Kind, Type},
    };
    use core_relo_object::target::MIN_TYPES_TO_CHECK_ORDER;

    /// A linear search finds a type that is out of order, a binary search does not.
    #[test]
    fn only_btf_from_sysfs_is_trusted_to_be_sorted() {
        for count in [MIN_TYPES_TO_CHECK_ORDER - 1, MIN_TYPES_TO_CHECK_ORDER] {
            let mut b = Builder::new(Endian::native());
            for n in 0..count {
                b.structure(&if n == 5001 { String::from("astray") } else { format!("s{n:05}") }, 0, &[]);
            }
            for is_of_kernel in [false, true] {
                let file = TargetFile { is_of_kernel, ..TargetFile::from_bytes("x", b.finish()).unwrap() };
                for btf in [file.parse(None).unwrap(), file.parse_validated(None).unwrap()] {
                    let find = |name: &str| btf.find(name.as_bytes(), Kind::Struct).map(Type::id);
                    assert_eq!(find("s05002"), Some(TypeId(5003)));
                    let is_trusted = is_of_kernel && count == MIN_TYPES_TO_CHECK_ORDER;
                    assert_eq!(
                        find("astray"),
                        (!is_trusted).then_some(TypeId(5002)),
                        "{count} {is_of_kernel}"
                    );
                }
            }
        }
    }
}

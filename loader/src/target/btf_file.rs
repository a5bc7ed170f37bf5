//! Files with BTF. Files that nobody else can change are mapped, other regular files are read.

use super::{
    open::{io_error, open_file},
    read::{copy_bytes, read_all, read_part},
};
use crate::{
    limits,
    sys::{FileMapping, is_vmlinux_btf},
};
use alloc::sync::Arc;
use core::ops::Range;
use core_relo::{
    ByteSize, Data,
    btf::{Btf, BtfError, ModuleFilter},
};
use core_relo_object::{
    InternalError,
    target::{BtfLocation, ExtractError, FileFormat, TargetError, locate, trust_kernel_order},
};
use std::{
    fs::File,
    path::{Path, PathBuf},
};

/// A file with BTF that has not been parsed: raw BTF, a vmlinux, a module.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BtfFile {
    /// The file's path, for messages.
    pub path: PathBuf,
    /// The bytes of the BTF.
    pub btf: Data<'static>,
    /// The bytes of `.BTF.base`, if the file has this section.
    pub base: Option<Data<'static>>,
    /// The file's format.
    pub format: FileFormat,
    /// Whether the file is `/sys/kernel/btf/vmlinux`, whose BTF the kernel validated.
    is_from_sysfs: bool,
}

impl BtfFile {
    /// Opens a file of raw BTF or an ELF file.
    ///
    /// Maps `/sys/kernel/btf/vmlinux`, and files on local file systems that only root and this process's user
    /// may write. Reads all other files. Of an ELF file only a copy of the types stays in memory.
    ///
    /// If somebody truncates a mapped file in place, the next access to the lost part ends the process with
    /// SIGBUS. Use [`read`](Self::read) to keep types for long where that can happen.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, TargetError> {
        let path = path.into();
        let (file, len) = open(&path)?;
        if len > limits::FILE_BYTES {
            return Err(TargetError::TooLarge { path });
        }
        if let Some(file) = Self::from_sysfs(&path, &file)? {
            return Ok(file);
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

    /// Opens a file as [`open`](Self::open), but maps only `/sys/kernel/btf/vmlinux`.
    pub fn read(path: impl Into<PathBuf>) -> Result<Self, TargetError> {
        let path = path.into();
        let (file, len) = open(&path)?;
        match Self::from_sysfs(&path, &file)? {
            Some(file) => Ok(file),
            None => Self::from_bytes(path.clone(), read_open(&path, file, len)?),
        }
    }

    /// Maps or reads `/sys/kernel/btf/vmlinux`, the running kernel's own BTF, whatever path led to this file.
    ///
    /// Returns `None` for any other file. `path` is only used in messages.
    pub fn from_sysfs(path: &Path, file: &File) -> Result<Option<Self>, TargetError> {
        let error = |e| io_error(path, &e);
        if !is_vmlinux_btf(file).map_err(error)? {
            return Ok(None);
        }
        let len = file.metadata().map_err(error)?.len();
        let bytes = match FileMapping::new_sysfs(file, len) {
            Ok(map) => Data::shared(map),
            Err(e) => {
                log::debug!("{}: read, not mapped: {e}", path.display());
                read_part(file, 0, len).map_err(error)?
            }
        };
        let file = Self::from_bytes(path, bytes)?;
        Ok(Some(Self { is_from_sysfs: true, ..file }))
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
        let btf = copy_part(&path, &bytes, btf)?;
        let base = base.map(|base| copy_part(&path, &bytes, base)).transpose()?;
        Ok(Self { path, btf, base, format, is_from_sysfs: false })
    }

    /// Returns the pointer size of the ELF class; `None` for raw BTF.
    pub const fn pointer_size(&self) -> Option<ByteSize> {
        self.format.pointer_size()
    }

    /// Returns whether the file may contain a type with one of the names of `module_filter`, a filter for the
    /// kernel's BTF. Other files need not be parsed.
    ///
    /// The result is `true` for every file with `.BTF.base`, because its names do not refer to the kernel's
    /// strings.
    pub fn may_contain(&self, module_filter: &mut ModuleFilter<'_, '_>) -> bool {
        self.base.is_some() || module_filter.may_contain(&self.btf)
    }

    /// Parses the BTF, so that every reference in it is valid. The BTF of a module needs the kernel's BTF as
    /// `base`.
    ///
    /// The BTF in `/sys/kernel/btf/vmlinux` is not validated again, because the kernel validated it. If this
    /// BTF looks [sorted](Btf::trust_order), it is trusted to be sorted.
    ///
    /// With `.BTF.base`, a module's BTF is relocated onto `base`, or split from `.BTF.base` if `base` is
    /// `None`. Without `.BTF.base` it is split from `base`.
    pub fn parse(&self, base: Option<&Arc<Btf<'static>>>) -> Result<Btf<'static>, TargetError> {
        // The kernel validated its BTF without a base.
        if self.is_from_sysfs && base.is_none() {
            return self.parse_unvalidated(base);
        }
        let parse = |btf, base| match base {
            None => Btf::parse(btf),
            Some(base) => Btf::parse_split(btf, base),
        };
        self.parse_with(parse, base)
    }

    /// Parses the BTF as [`parse`](Self::parse), but leaves references in members, parameters and enumerators
    /// to be validated by the relocations that read them ([`Btf::parse_unvalidated`]).
    pub fn parse_unvalidated(&self, base: Option<&Arc<Btf<'static>>>) -> Result<Btf<'static>, TargetError> {
        self.parse_with(Btf::parse_unvalidated, base)
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
        if self.is_from_sysfs {
            trust_kernel_order(&mut btf);
        }
        Ok(btf)
    }
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

/// Returns a part of a file's bytes. The part is a copy unless it is the whole file, so that an ELF file can
/// be unmapped.
fn copy_part(path: &Path, whole: &Data<'static>, range: Range<usize>) -> Result<Data<'static>, TargetError> {
    if range == (0..whole.len()) {
        return Ok(whole.clone());
    }
    let Some(part) = whole.get(range) else {
        let cause = InternalError::new("BTF lies within the bytes it was found in");
        return Err(TargetError::Extract { path: path.to_path_buf(), cause: ExtractError::Internal(cause) });
    };
    copy_bytes(part).map_err(|e| io_error(path, &e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::{
        Endian, TypeId,
        btf::{Builder, Kind, Type},
    };
    use core_relo_object::target::MIN_TYPES_TO_CHECK_ORDER;
    use core_relo_test_support::skip;
    use std::{fs, os::unix::fs::symlink};

    /// A linear search finds a type that is out of order, a binary search does not.
    #[test]
    fn only_btf_from_sysfs_is_trusted_to_be_sorted() {
        for count in [MIN_TYPES_TO_CHECK_ORDER - 1, MIN_TYPES_TO_CHECK_ORDER] {
            let mut b = Builder::new(Endian::native());
            for n in 0..count {
                b.structure(&if n == 5001 { String::from("astray") } else { format!("s{n:05}") }, 0, &[]);
            }
            for is_from_sysfs in [false, true] {
                let file = BtfFile { is_from_sysfs, ..BtfFile::from_bytes("x", b.finish()).unwrap() };
                for btf in [file.parse_unvalidated(None).unwrap(), file.parse(None).unwrap()] {
                    let find = |name: &str| btf.find(name.as_bytes(), Kind::Struct).map(Type::id);
                    assert_eq!(find("s05002"), Some(TypeId(5003)));
                    let is_trusted = is_from_sysfs && count == MIN_TYPES_TO_CHECK_ORDER;
                    assert_eq!(
                        find("astray"),
                        (!is_trusted).then_some(TypeId(5002)),
                        "{count} {is_from_sysfs}"
                    );
                }
            }
        }
    }

    #[test]
    fn only_the_kernels_own_btf_in_sysfs_is_trusted() {
        let path = Path::new("/sys/kernel/btf/vmlinux");
        let Ok(bytes) = fs::read(path) else { return skip!("no {}", path.display()) };
        let dir = std::env::temp_dir().join(format!("core-relo-sysfs-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let (link, copy) = (dir.join("link"), dir.join("copy"));
        symlink(path, &link).unwrap();
        fs::write(&copy, &bytes).unwrap();
        let is_trusted = |path: &Path| BtfFile::open(path).map(|file| file.is_from_sysfs);
        let found = [path, &link, &copy].map(is_trusted);
        fs::remove_dir_all(&dir).unwrap();
        assert_eq!(found, [Ok(true), Ok(true), Ok(false)]);
        let modules = fs::read_dir("/sys/kernel/btf").unwrap().map(|entry| entry.unwrap().path());
        for module in modules.filter(|module| module != path).take(3) {
            assert_eq!(is_trusted(&module), Ok(false), "{}", module.display());
        }
    }

    /// The kernel validated its BTF as BTF without a base, so that references beyond the base are not known
    /// to be valid.
    #[test]
    fn with_a_base_btf_from_sysfs_is_validated() {
        let mut b = Builder::new(Endian::native());
        b.structure("s", 4, &[("a", TypeId(99), 0)]);
        let file = BtfFile { is_from_sysfs: true, ..BtfFile::from_bytes("x", b.finish()).unwrap() };
        let base = Arc::new(Btf::parse(Builder::new(Endian::native()).finish()).unwrap());
        assert!(file.parse(None).is_ok());
        assert!(matches!(file.parse(Some(&base)), Err(TargetError::Btf { .. })));
    }
}

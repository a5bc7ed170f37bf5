//! BTF from a file: mapped if it is the kernel's in sysfs or nobody else may write it, read otherwise; never from a device or a
//! pipe.

use super::{
    open::{failed, open_file},
    read::read_all,
};
use crate::{limits, sys::Map};
use alloc::sync::Arc;
use core::ops::Range;
use core_relo::{
    ByteSize, Data,
    btf::{Btf, BtfError, ModuleFilter},
};
use core_relo_object::target::{BtfLocation, FileFormat, TargetError, locate, trust_kernel_order};
use std::{
    fs::File,
    path::{Path, PathBuf},
};

/// A file's BTF, not parsed yet.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TargetFile {
    /// Where it came from.
    pub path: PathBuf,
    /// The types.
    pub btf: Data<'static>,
    /// `.BTF.base`, if the file has it.
    pub base: Option<Data<'static>>,
    /// What kind of file it was.
    pub format: FileFormat,
    /// Whether it is the kernel's own, in sysfs, which the kernel validated before it took it.
    is_of_kernel: bool,
}

impl TargetFile {
    /// Maps or reads a file of raw BTF or an ELF.
    ///
    /// It is mapped if it is the kernel's in `/sys/kernel/btf`, or if it lies on this machine and nobody but root and who runs
    /// the process may write it; of an ELF only the types are kept, as a copy. A mapped file that is shortened, not replaced, ends
    /// the process at the next look at what is gone (SIGBUS): whoever keeps types for long and cannot exclude that
    /// [reads](Self::read) it.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, TargetError> {
        let path = path.into();
        let (file, len) = open(&path)?;
        if len > limits::FILE_BYTES {
            return Err(TargetError::TooLarge { path });
        }
        if let Ok(map) = Map::sysfs(&file, len) {
            return Self::of_kernel(path, map);
        }
        match Map::own(&file, len) {
            Ok(map) => Self::from_bytes(path, Data::shared(map)),
            Err(e) => {
                log::debug!("{}: read, not mapped: {e}", path.display());
                let bytes = read_open(&path, file, len)?;
                Self::from_bytes(path, bytes)
            }
        }
    }

    /// The same, mapped only if it is the kernel's in `/sys/kernel/btf`.
    pub fn read(path: impl Into<PathBuf>) -> Result<Self, TargetError> {
        let path = path.into();
        let (file, len) = open(&path)?;
        match Map::sysfs(&file, len) {
            Ok(map) => Self::of_kernel(path, map),
            Err(_) => Self::from_bytes(path.clone(), read_open(&path, file, len)?),
        }
    }

    fn of_kernel(path: PathBuf, map: Map) -> Result<Self, TargetError> {
        Ok(Self { is_of_kernel: true, ..Self::from_bytes(path, Data::shared(map))? })
    }

    /// Takes bytes that somebody else read (and perhaps decompressed) from a file.
    pub fn from_bytes(
        path: impl Into<PathBuf>,
        bytes: impl Into<Data<'static>>,
    ) -> Result<Self, TargetError> {
        let (path, bytes) = (path.into(), bytes.into());
        let BtfLocation { btf, base, format, .. } = match locate(&bytes) {
            Ok(found) => found,
            Err(cause) => return Err(TargetError::Extract { path, cause }),
        };
        let (btf, base) = (part(&bytes, btf), base.map(|base| part(&bytes, base)));
        Ok(Self { path, btf, base, format, is_of_kernel: false })
    }

    /// The pointer size that an ELF's class says.
    pub const fn pointer_size(&self) -> Option<ByteSize> {
        self.format.pointer_size()
    }

    /// Whether it may have a type of the names that `module_filter`, made for the kernel, is for; only then is it worth parsing.
    ///
    /// One with `.BTF.base` always may: its names do not refer to the kernel's.
    pub fn may_have(&self, module_filter: &mut ModuleFilter<'_, '_>) -> bool {
        self.base.is_some() || module_filter.may_contain(&self.btf)
    }

    /// Parses it, upon the kernel's BTF if it is a module's. What members, parameters and enumerators refer to is validated when
    /// a relocation reads it ([`Btf::parse_unvalidated`]). What the running kernel shows in sysfs is trusted to be
    /// [sorted](Btf::trust_order) if it seems to be.
    ///
    /// A module with `.BTF.base` is relocated onto `base`; without it, it is split from `base` as it stands. Without a
    /// `base`, a module with `.BTF.base` is split from that.
    pub fn parse(&self, base: Option<&Arc<Btf<'static>>>) -> Result<Btf<'static>, TargetError> {
        self.parse_by(Btf::parse_unvalidated, base)
    }

    /// The same, all of it validated now; but for what the running kernel shows in sysfs, which it has validated itself.
    pub fn parse_validated(&self, base: Option<&Arc<Btf<'static>>>) -> Result<Btf<'static>, TargetError> {
        if self.is_of_kernel {
            return self.parse(base);
        }
        let validated = |btf, base| match base {
            None => Btf::parse(btf),
            Some(base) => Btf::parse_split(btf, base),
        };
        self.parse_by(validated, base)
    }

    fn parse_by(
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

/// The bytes of a file: mapped if it is the kernel's BTF in sysfs and the kernel allows it, else read.
pub fn read(path: &Path) -> Result<Data<'static>, TargetError> {
    let (file, len) = open(path)?;
    match map_kernel_btf(&file, len) {
        Some(map) => Ok(map),
        None => read_open(path, file, len),
    }
}

/// Maps the BTF of the running kernel or of a module that the kernel shows in sysfs; `None` for any other file.
pub fn map_kernel_btf(file: &File, len: u64) -> Option<Data<'static>> {
    Map::sysfs(file, len).ok().map(Data::shared)
}

/// A regular file, and how long it is.
fn open(path: &Path) -> Result<(File, u64), TargetError> {
    let (file, meta) = open_file(path)?;
    Ok((file, meta.len()))
}

fn read_open(path: &Path, file: File, len: u64) -> Result<Data<'static>, TargetError> {
    let bytes = read_all(file, len, limits::FILE_BYTES).map_err(|e| failed(path, &e))?;
    bytes.ok_or_else(|| TargetError::TooLarge { path: path.to_path_buf() })
}

/// A part of a file's bytes: a copy unless it is all of them, so that an image can be dropped or unmapped.
fn part(whole: &Data<'static>, range: Range<usize>) -> Data<'static> {
    if range == (0..whole.len()) {
        return whole.clone();
    }
    Data::from(whole.get(range).unwrap_or_default().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::{
        Endian, TypeId,
        btf::{Builder, Kind, Type},
    };
    use core_relo_object::target::MIN_TYPES_TO_CHECK_ORDER;

    /// A type that is not where it belongs is found by who looks at all.
    #[test]
    fn only_what_the_kernel_shows_is_trusted_to_be_sorted() {
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

//! BTF from a file: mapped if it is the kernel's in sysfs, read otherwise; never from a device or a pipe.

use super::{
    error::TargetError,
    extract::{Form, Located, locate},
};
use crate::{limits, sys::Map};
use alloc::sync::Arc;
use core::ops::Range;
use core_relo::{
    ByteSize, Data,
    btf::{Btf, Sieve},
};
use std::{
    fs::OpenOptions,
    io::{self, Read},
    os::unix::fs::OpenOptionsExt as _,
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
    pub form: Form,
    /// Whether it is the kernel's own, in sysfs, which the kernel checked before it took it.
    is_of_kernel: bool,
}

impl TargetFile {
    /// Reads a file of raw BTF or an ELF.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, TargetError> {
        let path = path.into();
        let (bytes, is_of_kernel) = read_or_map(&path)?;
        Ok(Self { is_of_kernel, ..Self::from_bytes(path, bytes)? })
    }

    /// Takes bytes that somebody else read (and perhaps decompressed) from a file.
    pub fn from_bytes(
        path: impl Into<PathBuf>,
        bytes: impl Into<Data<'static>>,
    ) -> Result<Self, TargetError> {
        let (path, bytes) = (path.into(), bytes.into());
        let Located { btf, base, form } = match locate(&bytes) {
            Ok(found) => found,
            Err(cause) => return Err(TargetError::Extract { path, cause }),
        };
        let (btf, base) = (part(&bytes, btf), base.map(|base| part(&bytes, base)));
        Ok(Self { path, btf, base, form, is_of_kernel: false })
    }

    /// The pointer size that an ELF's class says.
    pub const fn pointer_size(&self) -> Option<ByteSize> {
        self.form.pointer_size()
    }

    /// Whether it may have a type of the names that `sieve`, made for the kernel, is for; only then is it worth parsing.
    ///
    /// One with `.BTF.base` always may: its names do not refer to the kernel's.
    pub fn may_have(&self, sieve: &mut Sieve<'_, '_>) -> bool {
        self.base.is_some() || sieve.passes(&self.btf)
    }

    /// Parses it, upon the kernel's BTF if it is a module's.
    ///
    /// A module with `.BTF.base` is relocated onto `base`; without it, it is split from `base` as it stands. Without a
    /// `base`, a module with `.BTF.base` is split from that.
    pub fn parse(&self, base: Option<&Arc<Btf<'static>>>) -> Result<Btf<'static>, TargetError> {
        let split = |base: &Arc<Btf<'static>>| Btf::parse_split(self.btf.clone(), Arc::clone(base));
        let parsed = match (&self.base, base) {
            (None, base) if self.is_of_kernel => Btf::parse_trusted(self.btf.clone(), base.cloned()),
            (None, None) => Btf::parse(self.btf.clone()),
            (None, Some(base)) => split(base),
            (Some(own), None) => Btf::parse(own.clone()).and_then(|own| split(&Arc::new(own))),
            (Some(own), Some(base)) => Btf::relocate_split(self.btf.clone(), own.clone(), Arc::clone(base)),
        };
        let mut btf = parsed.map_err(|cause| TargetError::Btf { path: self.path.clone(), cause })?;
        if let Some(size) = self.pointer_size() {
            btf.set_pointer_size(size);
        }
        Ok(btf)
    }
}

/// The bytes of a file: mapped if it is the kernel's BTF in sysfs and the kernel allows it, else read.
pub fn read(path: &Path) -> Result<Data<'static>, TargetError> {
    read_or_map(path).map(|(bytes, _)| bytes)
}

/// The same, and whether it was mapped.
fn read_or_map(path: &Path) -> Result<(Data<'static>, bool), TargetError> {
    let failed =
        |e: &io::Error| TargetError::Io { path: path.to_path_buf(), kind: e.kind(), errno: e.raw_os_error() };
    // Opening a named pipe that nobody writes would wait for ever.
    let open = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let file = open.map_err(|e| failed(&e))?;
    if !file.metadata().map_err(|e| failed(&e))?.is_file() {
        return Err(TargetError::NotAFile { path: path.to_path_buf() });
    }
    match Map::sysfs(&file) {
        Ok(map) => return Ok((Data::shared(map), true)),
        Err(e) => log::debug!("{}: read, not mapped: {e}", path.display()),
    }
    let bytes = read_at_most(file, limits::FILE_BYTES).map_err(|e| failed(&e))?;
    bytes
        .map(|bytes| (Data::from(bytes), false))
        .ok_or_else(|| TargetError::TooLarge { path: path.to_path_buf() })
}

/// All that there is, unless that is more than `most` bytes.
fn read_at_most(from: impl Read, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    let fits = u64::try_from(bytes.len()).is_ok_and(|len| len <= most);
    Ok(fits.then_some(bytes))
}

/// Most of a file's bytes, which keep the whole alive.
struct Part {
    whole: Data<'static>,
    range: Range<usize>,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        self.whole.get(self.range.clone()).unwrap_or_default()
    }
}

/// A part of a file's bytes: shared if it is most of them, else copied, so that a large image can be dropped.
fn part(whole: &Data<'static>, range: Range<usize>) -> Data<'static> {
    if range == (0..whole.len()) {
        return whole.clone();
    }
    match whole.get(range.clone()) {
        Some(bytes) if bytes.len() < whole.len() / 2 => Data::from(bytes.to_vec()),
        _ => Data::shared(Part { whole: whole.clone(), range }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_not_read() {
        for path in ["/dev/zero", "/proc/self/fd", "/"] {
            let path = PathBuf::from(path);
            assert_eq!(TargetFile::open(&path).unwrap_err(), TargetError::NotAFile { path });
        }
        let pipe = std::env::temp_dir().join(format!("core-relo-pipe-{}", std::process::id()));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        if made.is_ok_and(|status| status.success()) {
            let refused = read(&pipe).unwrap_err();
            std::fs::remove_file(&pipe).unwrap();
            assert_eq!(refused, TargetError::NotAFile { path: pipe });
        }
    }

    #[test]
    fn what_is_too_long_is_not_cut() {
        assert_eq!(read_at_most(&b"abc"[..], 3).unwrap().as_deref(), Some(&b"abc"[..]));
        assert_eq!(read_at_most(&b"abcd"[..], 3).unwrap(), None);
    }
}

//! The regular files of packages.

use crate::{
    compression::budget::Budget,
    error::{Defect, InputError},
    file::too_long,
    limits::Limits,
    package::{PackageDefect, stream::unreadable},
    tar_members::member_name,
};
use core_relo::Data;
use core_relo_loader::target;
use std::{
    fmt,
    io::{self, Read},
    path::{Component, Path, PathBuf},
};

/// The size of the first allocation for a file. A length in a header does not justify a large one.
const FIRST_BYTES: u64 = 16 << 20;

/// A regular file of a package. Reads return its content.
pub struct PackageFile<'r> {
    /// The path in the package, without a leading `/` and without `.` and `..`.
    pub path: PathBuf,
    /// The length in bytes.
    pub len: u64,
    /// The name for messages: `PACKAGE//PATH`.
    name: PathBuf,
    missing_bytes: u64,
    content: &'r mut dyn Read,
    budget: &'r Budget,
    limits: Limits,
}

impl fmt::Debug for PackageFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, len, .. } = self;
        f.debug_struct("PackageFile").field("path", path).field("len", len).finish_non_exhaustive()
    }
}

impl PackageFile<'_> {
    /// Returns the name for messages: `PACKAGE//PATH`.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Reads the whole file, of at most `limit` bytes and at most the limit of the package's
    /// [`Limits`].
    pub fn read_whole(self, limit: u64) -> Result<Data<'static>, InputError> {
        let (bytes, _budget) = self.read_with_budget(limit)?;
        Ok(bytes)
    }

    /// Reads the whole file, of at most `limit` bytes. Returns the budget for unpacking it as well.
    pub(crate) fn read_with_budget(mut self, limit: u64) -> Result<(Data<'static>, Budget), InputError> {
        let limit = limit.min(self.limits.bytes);
        if self.len > limit {
            return Err(too_long(&self.name, self.len, limit));
        }
        let budget = self.budget.for_member(self.limits, self.len);
        let expected = self.len.min(FIRST_BYTES);
        let bytes = target::read_all(&mut self, expected, limit).map_err(|e| unreadable(&self.name, &e))?;
        let bytes = bytes.ok_or_else(|| InputError::new(&self.name, Defect::Grew { limit }))?;
        Ok((bytes, budget))
    }
}

impl Read for PackageFile<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = (&mut *self.content).take(self.missing_bytes).read(buf)?;
        if n == 0 && !buf.is_empty() && self.missing_bytes > 0 {
            let message = format!("truncated: {} bytes are missing", self.missing_bytes);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
        }
        let missing = self.missing_bytes.checked_sub(u64::try_from(n).map_err(io::Error::other)?);
        self.missing_bytes = missing.ok_or_else(|| io::Error::other("broken invariant: too many bytes"))?;
        Ok(n)
    }
}

/// The package that files are from.
pub(super) struct FileSource<'p> {
    pub(super) package: &'p Path,
    pub(super) budget: &'p Budget,
    pub(super) limits: Limits,
}

impl FileSource<'_> {
    /// Returns a file of the package. `offset` is that of its header in the payload.
    pub(super) fn file<'r>(
        &'r self,
        raw_path: &Path,
        len: u64,
        offset: u64,
        content: &'r mut dyn Read,
    ) -> Result<PackageFile<'r>, InputError> {
        let unsafe_path = || {
            let path = raw_path.to_string_lossy().into_owned();
            InputError::new(self.package, PackageDefect::UnsafePath { offset, path }.into())
        };
        let path = relative_path(raw_path).ok_or_else(unsafe_path)?;
        let name = member_name(self.package, &path);
        let (budget, limits) = (self.budget, self.limits);
        Ok(PackageFile { path, len, name, missing_bytes: len, content, budget, limits })
    }
}

/// Returns a path below the root of the file system, without a leading `/` and without `.`. Returns `None`
/// for a path with `..` or NUL, and for no path.
fn relative_path(raw: &Path) -> Option<PathBuf> {
    if raw.as_os_str().as_encoded_bytes().contains(&0) {
        return None;
    }
    let mut path = PathBuf::new();
    for component in raw.components() {
        match component {
            Component::CurDir | Component::RootDir => {}
            Component::Normal(name) => path.push(name),
            Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    (!path.as_os_str().is_empty()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_the_package() {
        let relative = |path: &str| relative_path(Path::new(path)).map(|path| path.display().to_string());
        for path in ["boot/vmlinuz", "./boot/vmlinuz", "/boot/vmlinuz", "//boot/./vmlinuz"] {
            assert_eq!(relative(path).as_deref(), Some("boot/vmlinuz"), "{path}");
        }
        for path in ["../boot/vmlinuz", "boot/../../etc/passwd", "boot/..", "", ".", "/", "boot/a\0b"] {
            assert_eq!(relative(path), None, "{path}");
        }
    }
}

//! Packages that are compressed tar archives: those of apk (concatenated gzip streams whose contents are one
//! archive) and of pacman. The file `.PKGINFO` before the other files has the metadata.

use crate::{
    compression::budget::Budget,
    error::InputError,
    package::{
        PackageDefect, PackageFile, PackageKind, PackageMetadata, file::FileSource, payload::unpack,
        stream::read_up_to,
    },
    package_kind::PKGINFO,
    tar_members::{self, TarMemberKind, VisitEnd, member_name},
};
use std::{
    io::{self, BufRead, Cursor, Read},
    ops::ControlFlow,
    path::Path,
};

/// The largest text with metadata, in bytes.
const TEXT_BYTES: u64 = 1 << 20;

/// The maximum number of bytes up to the metadata. The list of files before it, `.MTREE`, has about 100 bytes
/// for each file.
const PREFIX_BYTES: usize = 32 << 20;

/// Reads a package up to its metadata. Returns the metadata and the whole archive.
pub(super) fn open<'r>(
    path: &Path,
    kind: PackageKind,
    stream: Box<dyn BufRead + 'r>,
    budget: &Budget,
) -> Result<(PackageMetadata, Box<dyn Read + 'r>), InputError> {
    let mut stream = unpack(path, stream, budget)?;
    let mut prefix = Vec::new();
    let copying = Copying { stream: &mut stream, copy: &mut prefix };
    let text = find_text(path, Box::new(copying), PKGINFO, budget)?;
    let missing = PackageDefect::Missing { kind, part: "file `.PKGINFO`" };
    let text = text.ok_or_else(|| InputError::new(path, missing.into()))?;
    Ok((PackageMetadata::from_pkginfo(&text), Box::new(Cursor::new(prefix).chain(stream))))
}

/// Passes each regular file of a tar archive to `visit`. `name` is the archive's name for messages.
pub(super) fn visit(
    source: &FileSource<'_>,
    name: &Path,
    stream: Box<dyn Read + '_>,
    visit: &mut dyn FnMut(PackageFile<'_>) -> ControlFlow<()>,
) -> Result<(), InputError> {
    let mut result = Ok(());
    let end = tar_members::visit(name, stream, source.budget, &mut |member| {
        if member.kind != TarMemberKind::File || is_metadata(&member.path) {
            return ControlFlow::Continue(());
        }
        let file = match member.take_holes(source.budget) {
            Ok(()) => source.file(&member.path, member.len, member.offset, member.content),
            Err(e) => Err(InputError::new(name, e.into())),
        };
        match file {
            Ok(file) => visit(file),
            Err(e) => {
                result = Err(e);
                ControlFlow::Break(())
            }
        }
    })?;
    match end {
        // A stream that is cut off between two members would otherwise look complete.
        VisitEnd::Unmarked(offset) => {
            let defect = PackageDefect::Truncated { offset, expected: "the end of the tar archive" };
            Err(InputError::new(name, defect.into()))
        }
        VisitEnd::Complete | VisitEnd::Stopped => result,
    }
}

/// Returns whether a member of the archive is no file of the package, but describes it: `.PKGINFO`, `.MTREE`
/// and the like.
fn is_metadata(path: &Path) -> bool {
    let is_at_the_root = path.parent().is_none_or(|dir| dir.as_os_str().is_empty());
    is_at_the_root && path.as_os_str().as_encoded_bytes().starts_with(b".")
}

/// Returns the text in a file of a tar stream; `None` if the stream has no such file.
pub(super) fn find_text(
    path: &Path,
    stream: Box<dyn Read + '_>,
    name: &str,
    budget: &Budget,
) -> Result<Option<String>, InputError> {
    let mut found = Ok(None);
    tar_members::visit(path, stream, budget, &mut |member| {
        if member.path != Path::new(name) {
            return ControlFlow::Continue(());
        }
        found = read_up_to(&member_name(path, &member.path), member.content, TEXT_BYTES).map(Some);
        ControlFlow::Break(())
    })?;
    Ok(found?.map(|text| String::from_utf8_lossy(&text).into_owned()))
}

/// A reader that keeps a copy of the bytes that it has read.
struct Copying<'a, 'r> {
    stream: &'a mut Box<dyn Read + 'r>,
    copy: &'a mut Vec<u8>,
}

impl Read for Copying<'_, '_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.copy.len() >= PREFIX_BYTES {
            let message = format!("no file `{PKGINFO}` in the first {PREFIX_BYTES} bytes");
            return Err(io::Error::other(message));
        }
        let n = self.stream.read(buf)?;
        self.copy.extend_from_slice(buf.get(..n).ok_or(io::ErrorKind::InvalidInput)?);
        Ok(n)
    }
}

//! The formats of packages.

use crate::{
    compression::{budget::Budget, format::Compression, streams::Streams},
    file_kind::is_tar,
    limits::Limits,
};
use std::{fmt, io::Read as _, path::Path};

/// The first bytes of a `.deb`: an ar archive whose first member is `debian-binary` (deb(5)).
const DEB_MAGIC: &[u8] = b"!<arch>\ndebian-binary";

/// The first bytes of the lead of an rpm.
const RPM_MAGIC: &[u8] = b"\xed\xab\xee\xdb";

/// The size of a tar header in bytes.
const TAR_HEADER_BYTES: u64 = 512;

/// The file with the metadata in packages of apk and pacman.
pub(crate) const PKGINFO: &str = ".PKGINFO";

/// The files before the content in packages of pacman, besides [`PKGINFO`].
const PACMAN_FILES: [&str; 3] = [".BUILDINFO", ".MTREE", ".INSTALL"];

/// The beginning of the names of signatures in packages of apk.
const APK_SIGNATURE: &str = ".SIGN.";

/// The format of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackageKind {
    /// `.deb`, `.ddeb` and `.udeb` of Debian and Ubuntu.
    Deb,
    /// `.rpm`.
    Rpm,
    /// `.apk` of Alpine, version 2.
    Apk,
    /// `.pkg.tar.zst` of Arch.
    Pacman,
}

impl PackageKind {
    /// Returns the format of a package from its first bytes, never from its name.
    ///
    /// 4 KiB show all formats except for some packages of pacman, whose first compressed block may have
    /// 128 KiB.
    pub fn detect(head: &[u8]) -> Option<Self> {
        if head.starts_with(DEB_MAGIC) {
            return Some(Self::Deb);
        }
        if head.starts_with(RPM_MAGIC) {
            return Some(Self::Rpm);
        }
        Self::detect_in_tar(Compression::detect(head)?, head)
    }

    /// Returns the format of a compressed tar archive from the name of its first member.
    fn detect_in_tar(compression: Compression, head: &[u8]) -> Option<Self> {
        let stored_bytes = u64::try_from(head.len()).ok()?;
        let budget = Budget::for_kernel(Limits::default(), stored_bytes);
        let mut header = Vec::new();
        let stream = Streams::first(compression, head, budget);
        let bytes_read = stream.take(TAR_HEADER_BYTES).read_to_end(&mut header).ok()?;
        if u64::try_from(bytes_read) != Ok(TAR_HEADER_BYTES) || !is_tar(&header) {
            return None;
        }
        let name = header.get(..100)?.split(|byte| *byte == 0).next()?;
        // The header before a pax header has the directory `PaxHeader`.
        let name = Path::new(std::str::from_utf8(name).ok()?).file_name()?.to_str()?;
        Self::from_first_member(compression, name)
    }

    /// Returns the format of a package that is a compressed tar archive, from the name of its first member.
    fn from_first_member(compression: Compression, name: &str) -> Option<Self> {
        if name.starts_with(APK_SIGNATURE) {
            Some(Self::Apk)
        } else if PACMAN_FILES.contains(&name) {
            Some(Self::Pacman)
        } else if name == PKGINFO {
            Some(if compression == Compression::Gzip { Self::Apk } else { Self::Pacman })
        } else {
            None
        }
    }
}

impl fmt::Display for PackageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deb => ".deb",
            Self::Rpm => ".rpm",
            Self::Apk => ".apk",
            Self::Pacman => "pacman",
        })
    }
}

//! Compression formats and their magic numbers.

use core_relo::Endian;
use std::fmt;

/// A compression format of kernels and modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// The format of gzip.
    Gzip,
    /// The format of xz.
    Xz,
    /// The format of zstd.
    Zstd,
    /// The legacy format of lz4, as in kernel images.
    Lz4Legacy,
    /// The frame format of lz4.
    Lz4,
    /// The legacy format of lzma.
    Lzma,
    /// The format of bzip2.
    Bzip2,
    /// Detected, but not supported.
    Lzo,
}

impl Compression {
    const ALL: [Self; 8] =
        [Self::Gzip, Self::Xz, Self::Zstd, Self::Lz4Legacy, Self::Lz4, Self::Lzma, Self::Bzip2, Self::Lzo];

    /// The endings of the names of compressed files.
    pub(crate) const ENDINGS: [&str; 6] = [".gz", ".xz", ".zst", ".lz4", ".lzma", ".bz2"];

    /// Returns the name of a file without the ending of a compressed file: `6.1.0.btf` for `6.1.0.btf.xz`.
    pub(crate) fn uncompressed_name(name: &str) -> &str {
        Self::ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
    }

    /// Returns the format of a stream from its first bytes.
    pub fn detect(bytes: &[u8]) -> Option<Self> {
        let bytes = skip_skippable_frames(bytes);
        Self::ALL.into_iter().find(|format| bytes.starts_with(format.magic()))
    }

    /// Returns the bytes at the start of a stream.
    pub(super) const fn magic(self) -> &'static [u8] {
        match self {
            Self::Gzip => b"\x1f\x8b\x08",
            Self::Xz => b"\xfd7zXZ\0",
            Self::Zstd => b"\x28\xb5\x2f\xfd",
            Self::Lz4Legacy => b"\x02\x21\x4c\x18",
            Self::Lz4 => b"\x04\x22\x4d\x18",
            Self::Lzma => b"\x5d\0\0",
            Self::Bzip2 => b"BZh",
            Self::Lzo => b"\x89LZO\0",
        }
    }

    /// Returns the formats whose magic number is long enough to search for it within a file.
    pub(crate) fn searchable() -> impl Iterator<Item = (Self, &'static [u8])> {
        let is_searchable = |format: &Self| !matches!(format, Self::Lzma | Self::Bzip2);
        Self::ALL.into_iter().filter(is_searchable).map(|format| (format, format.magic()))
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
            Self::Lz4Legacy | Self::Lz4 => "lz4",
            Self::Lzma => "lzma",
            Self::Bzip2 => "bzip2",
            Self::Lzo => "lzo",
        })
    }
}

/// Returns whether a magic number is that of a skippable frame of zstd and lz4, in which pzstd stores
/// lengths.
pub(super) fn is_skippable_frame(magic: &[u8]) -> bool {
    Endian::Little.u32(magic, 0).is_some_and(|magic| magic & !0xf == 0x184d_2a50)
}

/// Returns the bytes after the skippable frames at the start.
fn skip_skippable_frames(mut bytes: &[u8]) -> &[u8] {
    while is_skippable_frame(bytes)
        && let Some(len) = Endian::Little.u32(bytes, 4).and_then(|len| usize::try_from(len).ok())
        && let Some(rest) = len.checked_add(8).and_then(|len| bytes.get(len..))
    {
        bytes = rest;
    }
    bytes
}

//! Where in a kernel image the compressed kernel lies. Pure.

use super::{lz4_legacy, streams};
use core_relo::Endian;
use std::{fmt, ops::Range};

/// A compression that kernels and modules come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Xz,
    Zstd,
    Lz4Legacy,
    Lz4,
    Lzma,
    Bzip2,
    /// Recognised and not supported.
    Lzo,
}

pub(super) const MAGICS: [(&[u8], Compression); 8] = [
    (b"\x1f\x8b\x08", Compression::Gzip),
    (b"\xfd7zXZ\0", Compression::Xz),
    (b"\x28\xb5\x2f\xfd", Compression::Zstd),
    (lz4_legacy::MAGIC, Compression::Lz4Legacy),
    (b"\x04\x22\x4d\x18", Compression::Lz4),
    (b"\x5d\0\0", Compression::Lzma),
    (b"BZh", Compression::Bzip2),
    (b"\x89LZO\0", Compression::Lzo),
];

impl Compression {
    /// By the stream's first bytes.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let bytes = streams::after_skippable(bytes);
        MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, c)| *c)
    }

    /// Whether its magic is long enough to be looked for within a file.
    fn is_distinct(self) -> bool {
        !matches!(self, Self::Lzma | Self::Bzip2)
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

/// Where the compressed kernel lies in an x86 bzImage (`Documentation/arch/x86/boot.rst`) or an EFI zboot image
/// (`drivers/firmware/efi/libstub/zboot-header.S`), as their headers say; the file may be shorter.
pub(crate) fn payload(image: &[u8]) -> Option<Range<usize>> {
    bz_image(image).or_else(|| zboot(image))
}

fn bz_image(image: &[u8]) -> Option<Range<usize>> {
    if image.get(0x202..0x206)? != b"HdrS" || u16_at(image, 0x206)? < 0x208 {
        return None;
    }
    // 0 stands for 4, as it did when boot loaders came on floppies.
    let setup_sectors = match *image.get(0x1f1)? {
        0 => 4,
        n => u32::from(n),
    };
    let start = setup_sectors.checked_add(1)?.checked_mul(512)?.checked_add(u32_at(image, 0x248)?)?;
    range(start, u32_at(image, 0x24c)?)
}

fn zboot(image: &[u8]) -> Option<Range<usize>> {
    if !image.starts_with(b"MZ") || image.get(4..8)? != b"zimg" {
        return None;
    }
    range(u32_at(image, 8)?, u32_at(image, 12)?)
}

/// The streams that begin somewhere in an image, in order.
pub(crate) fn streams(image: &[u8]) -> impl Iterator<Item = (Compression, &[u8])> {
    let may_begin = may_begin();
    let begins =
        image.iter().enumerate().filter(move |(_, byte)| may_begin.get(usize::from(**byte)) == Some(&true));
    begins.filter_map(move |(at, _)| {
        let rest = image.get(at..)?;
        let how = Compression::of(rest).filter(|how| how.is_distinct())?;
        Some((how, rest))
    })
}

/// The bytes that a stream may begin with: an image has hundreds of millions.
fn may_begin() -> [bool; 256] {
    let mut may_begin = [false; 256];
    for (magic, _) in MAGICS.iter().filter(|(_, how)| how.is_distinct()) {
        if let Some(place) = magic.first().and_then(|byte| may_begin.get_mut(usize::from(*byte))) {
            *place = true;
        }
    }
    may_begin
}

fn range(start: u32, len: u32) -> Option<Range<usize>> {
    let start = usize::try_from(start).ok()?;
    Some(start..start.checked_add(usize::try_from(len).ok()?)?)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Endian::Little.u16(bytes, at)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Endian::Little.u32(bytes, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_tell_where_the_kernel_lies() {
        let mut image = vec![0; 0x800];
        image[0x1f1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x206..0x208].copy_from_slice(&0x20fu16.to_le_bytes());
        image[0x248..0x24c].copy_from_slice(&8u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&6u32.to_le_bytes());
        image[0x408..0x40e].copy_from_slice(b"kernel");
        assert_eq!(payload(&image).and_then(|at| image.get(at)), Some(&b"kernel"[..]));
        image[0x24c..0x250].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(payload(&image), Some(0x408..0x1_0000_0407));
        assert_eq!(payload(&image[..0x240]), None);
    }

    #[test]
    fn streams_are_found_anywhere() {
        let image = b"boot\x1f\x8b\x08gzip\xfd7zXZ\0\x04BZh9";
        let found: Vec<_> = streams(image).map(|(how, rest)| (how, image.len() - rest.len())).collect();
        assert_eq!(found, [(Compression::Gzip, 4), (Compression::Xz, 11)]);
    }
}

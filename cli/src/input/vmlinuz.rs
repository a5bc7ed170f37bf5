//! Where in a kernel image the compressed kernel lies, and how streams are unpacked. Pure.

use super::{file::Limits, streams};
use core_relo::Endian;
use std::{
    fmt,
    io::{self, Read},
    ops::Range,
};

/// What any input may unpack to, and how many times its own size a large one may, unless a limit was given.
const UNPACKED_LEAST: u64 = 64 << 20;
const RATIO: u64 = 64;

/// Bytes of a block in an lz4 legacy frame.
const LZ4_BLOCK: usize = 8 << 20;

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
    (b"\x02\x21\x4c\x18", Compression::Lz4Legacy),
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

/// Unpacks the stream at the beginning of `bytes`; what follows it does not matter.
pub(crate) fn unpack(how: Compression, mut bytes: &[u8], limits: Limits) -> io::Result<Vec<u8>> {
    let limit = most(bytes, limits);
    unpack_one(how, &mut bytes, limit)
}

/// Unpacks a file, to the end of the last of the streams that follow one another; what follows those does not matter.
pub(crate) fn unpack_all(how: Compression, mut bytes: &[u8], limits: Limits) -> io::Result<Vec<u8>> {
    let limit = most(bytes, limits);
    bytes = streams::after_skippable(bytes);
    let mut unpacked = unpack_one(how, &mut bytes, limit)?;
    for number in 2u64.. {
        let Some(next) = streams::next(how, bytes) else { break };
        bytes = next;
        let left = limit.saturating_sub(u64::try_from(unpacked.len()).unwrap_or(u64::MAX));
        let more = unpack_one(how, &mut bytes, left).map_err(|e| match e.kind() {
            io::ErrorKind::FileTooLarge => too_large(limit),
            kind => io::Error::new(kind, format!("stream {number} of it: {e}")),
        })?;
        unpacked.extend_from_slice(&more);
    }
    Ok(unpacked)
}

/// Bytes that a file may unpack to.
fn most(packed: &[u8], limits: Limits) -> u64 {
    let len = u64::try_from(packed.len()).unwrap_or(u64::MAX);
    match limits {
        Limits { given: true, bytes } => bytes,
        Limits { bytes, .. } => len.saturating_mul(RATIO).max(UNPACKED_LEAST).min(bytes),
    }
}

/// Unpacks a stream and leaves what follows it.
fn unpack_one(how: Compression, packed: &mut &[u8], limit: u64) -> io::Result<Vec<u8>> {
    match how {
        Compression::Lz4Legacy => lz4_legacy(packed, limit),
        _ => collect(streams::first(how, packed)?, limit),
    }
}

fn collect(stream: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    let len = stream.take(limit.saturating_add(1)).read_to_end(&mut unpacked)?;
    if u64::try_from(len).is_ok_and(|len| len <= limit) { Ok(unpacked) } else { Err(too_large(limit)) }
}

fn too_large(limit: u64) -> io::Error {
    let what = format!("unpacks to more than {limit} bytes");
    io::Error::new(io::ErrorKind::FileTooLarge, what)
}

/// Blocks, each after its length, until something follows that is none: the kernel's build appends the unpacked size.
fn lz4_legacy(bytes: &mut &[u8], limit: u64) -> io::Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    let rest = bytes;
    *rest = rest.get(4..).unwrap_or_default();
    let mut block = vec![0; LZ4_BLOCK];
    while let (Some(len), Some(after)) = (u32_at(rest, 0), rest.get(4..)) {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let Some((packed, after)) = after.split_at_checked(len) else { break };
        let n = lz4_flex::block::decompress_into(packed, &mut block).map_err(io::Error::other)?;
        unpacked.extend_from_slice(block.get(..n).unwrap_or_default());
        if u64::try_from(unpacked.len()).is_ok_and(|len| len > limit) {
            return Err(too_large(limit));
        }
        *rest = after;
        if n < LZ4_BLOCK {
            break;
        }
    }
    if unpacked.is_empty() { Err(io::Error::other("no block in it")) } else { Ok(unpacked) }
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
    use std::io::Write as _;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    #[test]
    fn a_bomb_is_refused() {
        let bomb = gzip(&vec![0; 65 << 20]);
        assert!(bomb.len() < 1 << 20);
        let unpacked = |limits| unpack(Compression::Gzip, &bomb, limits);
        let error = unpacked(Limits::default()).unwrap_err();
        assert_eq!(error.to_string(), "unpacks to more than 67108864 bytes");
        assert_eq!(unpacked(Limits::of(Some(65 << 20))).unwrap().len(), 65 << 20);
        assert!(unpacked(Limits::of(Some((65 << 20) - 1))).is_err());
    }

    #[test]
    fn streams_that_follow_one_another_are_one_file() {
        let zstd = |bytes: &[u8]| {
            let level = ruzstd::encoding::CompressionLevel::Fastest;
            ruzstd::encoding::compress_to_vec(bytes, level)
        };
        let skippable = b"\x5a\x2a\x4d\x18\x04\0\0\0size".to_vec();
        for (how, packed) in [
            (Compression::Gzip, [gzip(b"ker"), gzip(b""), gzip(b"nel"), b"\0\0".to_vec()].concat()),
            (Compression::Zstd, [zstd(b"ker"), skippable.clone(), zstd(b"nel"), b"\x06\0".to_vec()].concat()),
            (Compression::Zstd, [skippable.clone(), zstd(b"ker"), zstd(b"nel"), skippable].concat()),
        ] {
            let unpacked = |limits| unpack_all(how, &packed, limits);
            assert_eq!(Compression::of(&packed), Some(how));
            assert_eq!(unpacked(Limits::default()).unwrap(), b"kernel");
            assert_eq!(unpacked(Limits::of(Some(6))).unwrap(), b"kernel");
            assert_eq!(
                unpacked(Limits::of(Some(5))).unwrap_err().to_string(),
                "unpacks to more than 5 bytes"
            );
        }
        let cut = [gzip(b"ker"), gzip(b"nel")[..14].to_vec()].concat();
        let error = unpack_all(Compression::Gzip, &cut, Limits::default()).unwrap_err();
        assert!(error.to_string().starts_with("stream 2 of it: "), "{error}");
    }

    #[test]
    fn every_stream_may_be_followed_by_something() {
        let mut packed = gzip(b"kernel");
        packed.extend_from_slice(b"\x06\0\0\0");
        assert_eq!(unpack(Compression::Gzip, &packed, Limits::default()).unwrap(), b"kernel");
        let mut lz4 = b"\x02\x21\x4c\x18".to_vec();
        let block = lz4_flex::block::compress(b"kernel");
        lz4.extend(u32::try_from(block.len()).unwrap().to_le_bytes());
        lz4.extend(block);
        lz4.extend(b"\x06\0\0\0");
        assert_eq!(unpack(Compression::Lz4Legacy, &lz4, Limits::default()).unwrap(), b"kernel");
    }

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
        let image = [&b"boot"[..], &gzip(b"kernel")].concat();
        let (how, stream) = streams(&image).next().unwrap();
        assert_eq!(
            (how, unpack(how, stream, Limits::default()).unwrap()),
            (Compression::Gzip, b"kernel".to_vec())
        );
    }
}

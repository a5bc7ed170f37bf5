//! Where in a kernel image the compressed kernel lies, and how streams are unpacked. Pure.

use super::file::Limits;
use core_relo::Endian;
use std::{
    fmt,
    io::{self, Read},
    ops::Range,
};

/// What any input may unpack to, and how many times its own size a large one may, unless a limit was given.
const UNPACKED_LEAST: u64 = 64 << 20;
const RATIO: u64 = 64;

/// KiB that an xz or lzma stream's dictionary may take.
const DICTIONARY_KIB: u32 = 256 << 10;

/// Bytes that a zstd stream's window may take: the kernel's build uses 128 MiB.
const WINDOW: u64 = 256 << 20;

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

const MAGICS: [(&[u8], Compression); 8] = [
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
pub(crate) fn unpack(how: Compression, bytes: &[u8], limits: Limits) -> io::Result<Vec<u8>> {
    let len = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let limit = match limits {
        Limits { given: true, bytes } => bytes,
        Limits { bytes, .. } => len.saturating_mul(RATIO).max(UNPACKED_LEAST).min(bytes),
    };
    match how {
        Compression::Lz4Legacy => lz4_legacy(bytes, limit),
        _ => collect(stream(how, bytes)?, limit),
    }
}

/// Unpacks as it is read. It ends with its first stream: what follows that in a kernel image is none.
fn stream<'r>(how: Compression, packed: impl Read + 'r) -> io::Result<Box<dyn Read + 'r>> {
    Ok(match how {
        Compression::Gzip => Box::new(flate2::read::GzDecoder::new(packed)),
        Compression::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(packed, false, DICTIONARY_KIB)),
        _ => return any_stream(how, packed),
    })
}

/// Unpacks a whole file as it is read, to the end of the last of its streams.
pub(crate) fn streams_of<'r>(how: Compression, packed: impl Read + 'r) -> io::Result<Box<dyn Read + 'r>> {
    Ok(match how {
        Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(packed)),
        Compression::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(packed, true, DICTIONARY_KIB)),
        Compression::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(packed)),
        _ => return any_stream(how, packed),
    })
}

fn any_stream<'r>(how: Compression, packed: impl Read + 'r) -> io::Result<Box<dyn Read + 'r>> {
    Ok(match how {
        Compression::Lzma => Box::new(lzma_rust2::LzmaReader::new_mem_limit(packed, DICTIONARY_KIB, None)?),
        Compression::Zstd => {
            let decoder = ruzstd::decoding::StreamingDecoder::new_with_max_window_size(packed, WINDOW);
            Box::new(decoder.map_err(io::Error::other)?)
        }
        Compression::Lz4 => Box::new(lz4_flex::frame::FrameDecoder::new(packed)),
        Compression::Bzip2 => Box::new(bzip2::read::BzDecoder::new(packed)),
        _ => return Err(io::Error::other("not supported; unpack it first, with lzop -d")),
    })
}

fn collect(stream: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    let len = stream.take(limit.saturating_add(1)).read_to_end(&mut unpacked)?;
    if u64::try_from(len).is_ok_and(|len| len <= limit) { Ok(unpacked) } else { Err(too_large(limit)) }
}

fn too_large(limit: u64) -> io::Error {
    io::Error::other(format!("unpacks to more than {limit} bytes"))
}

/// Blocks, each after its length, until something follows that is none: the kernel's build appends the unpacked size.
fn lz4_legacy(bytes: &[u8], limit: u64) -> io::Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    let mut rest = bytes.get(4..).unwrap_or_default();
    let mut block = vec![0; LZ4_BLOCK];
    while let (Some(len), Some(after)) = (u32_at(rest, 0), rest.get(4..)) {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let Some((packed, after)) = after.split_at_checked(len) else { break };
        let n = lz4_flex::block::decompress_into(packed, &mut block).map_err(io::Error::other)?;
        unpacked.extend_from_slice(block.get(..n).unwrap_or_default());
        if u64::try_from(unpacked.len()).is_ok_and(|len| len > limit) {
            return Err(too_large(limit));
        }
        rest = after;
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
    let firsts = MAGICS.map(|(magic, _)| magic.first().copied());
    (0..image.len()).filter_map(move |at| {
        let rest = image.get(at..)?;
        if !firsts.contains(&rest.first().copied()) {
            return None;
        }
        let how = Compression::of(rest).filter(|how| how.is_distinct())?;
        Some((how, rest))
    })
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

//! Compressed streams: one, and those that follow one another in a file, as `cat`, pzstd, pigz and bgzip leave them.

use super::vmlinuz::{Compression, MAGICS};
use core_relo::Endian;
use std::io::{self, BufRead, BufReader, Read};

/// KiB that an xz or lzma stream's dictionary may take.
const DICTIONARY_KIB: u32 = 256 << 10;

/// Bytes that a zstd stream's window may take: the kernel's build uses 128 MiB.
const WINDOW: u64 = 256 << 20;

type Zstd<R> = ruzstd::decoding::StreamingDecoder<R, ruzstd::decoding::FrameDecoder>;

/// Unpacks the first stream as it is read, and leaves what follows it.
pub(super) fn first<'r>(how: Compression, packed: impl BufRead + 'r) -> io::Result<Box<dyn Read + 'r>> {
    Ok(match how {
        Compression::Gzip => Box::new(flate2::bufread::GzDecoder::new(packed)),
        Compression::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(packed, false, DICTIONARY_KIB)),
        Compression::Zstd => Box::new(zstd_frame(packed)?),
        Compression::Lz4 => Box::new(lz4_flex::frame::FrameDecoder::new(packed)),
        Compression::Bzip2 => Box::new(bzip2::bufread::BzDecoder::new(packed)),
        Compression::Lzma => Box::new(lzma_rust2::LzmaReader::new_mem_limit(packed, DICTIONARY_KIB, None)?),
        Compression::Lz4Legacy | Compression::Lzo => {
            return Err(io::Error::other(format!("not supported; unpack it first, with {how} -d")));
        }
    })
}

/// Unpacks all streams as they are read.
pub(super) fn all<'r>(how: Compression, packed: impl Read + 'r) -> io::Result<Box<dyn Read + 'r>> {
    let packed = BufReader::new(packed);
    Ok(match how {
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(packed)),
        Compression::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(packed, true, DICTIONARY_KIB)),
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(packed)),
        Compression::Zstd => Box::new(ZstdFrames::Between(packed)),
        Compression::Lz4 => Box::new(Lz4Frames(lz4_flex::frame::FrameDecoder::new(packed))),
        _ => return first(how, packed),
    })
}

/// What follows a stream, if that is another of its kind.
pub(super) fn next(how: Compression, rest: &[u8]) -> Option<&[u8]> {
    // What tapes and xz fill up with.
    let zeros = rest.iter().take_while(|byte| **byte == 0).count();
    let rest = match how {
        Compression::Gzip | Compression::Xz => rest.get(zeros..)?,
        _ => after_skippable(rest),
    };
    let is_next = |(magic, of): &(&[u8], Compression)| *of == how && rest.starts_with(magic);
    (how != Compression::Lzma && MAGICS.iter().any(is_next)).then_some(rest)
}

/// Without the frames that say something about those of zstd and lz4 (pzstd: how long they are).
pub(super) fn after_skippable(mut bytes: &[u8]) -> &[u8] {
    while let Some(len) = bytes.first_chunk().and_then(skippable)
        && let Some(rest) = bytes.get(len..)
    {
        bytes = rest;
    }
    bytes
}

/// The length of a frame that is to be skipped.
fn skippable(head: &[u8; 8]) -> Option<usize> {
    let magic = Endian::Little.u32(head, 0)?;
    let len = usize::try_from(Endian::Little.u32(head, 4)?).ok()?;
    (magic & !0xf == 0x184d_2a50).then(|| len.checked_add(8)).flatten()
}

fn zstd_frame<R: Read>(packed: R) -> io::Result<Zstd<R>> {
    Zstd::new_with_max_window_size(packed, WINDOW).map_err(io::Error::other)
}

/// Frames of zstd, one after the other.
enum ZstdFrames<R: Read> {
    Between(R),
    /// The beginning, by which the frame was known, and the rest.
    Within(Box<Zstd<io::Chain<io::Cursor<[u8; 4]>, R>>>),
    Ended,
}

impl<R: Read> Read for ZstdFrames<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            *self = match std::mem::replace(self, Self::Ended) {
                Self::Ended => return Ok(0),
                Self::Between(packed) => Self::begin(packed)?,
                Self::Within(mut frame) => match frame.read(buf)? {
                    0 if !buf.is_empty() => Self::Between(frame.into_inner().into_inner().1),
                    n => {
                        *self = Self::Within(frame);
                        return Ok(n);
                    }
                },
            };
        }
    }
}

impl<R: Read> ZstdFrames<R> {
    /// The next frame that is none to be skipped.
    fn begin(mut packed: R) -> io::Result<Self> {
        loop {
            let mut magic = Vec::new();
            packed.by_ref().take(4).read_to_end(&mut magic)?;
            let Ok(magic) = <[u8; 4]>::try_from(magic.as_slice()) else {
                return if magic.is_empty() { Ok(Self::Ended) } else { Err(cut_off()) };
            };
            if !(0x50..=0x5f).contains(&magic[0]) || !magic.ends_with(b"\x2a\x4d\x18") {
                let frame = zstd_frame(io::Cursor::new(magic).chain(packed))?;
                return Ok(Self::Within(Box::new(frame)));
            }
            let mut len = [0; 4];
            packed.read_exact(&mut len)?;
            let len = u64::from(u32::from_le_bytes(len));
            if io::copy(&mut packed.by_ref().take(len), &mut io::sink())? < len {
                return Err(cut_off());
            }
        }
    }
}

fn cut_off() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "cut off between two frames")
}

/// Frames of lz4, one after the other: the decoder stops after each, and goes on if it is asked again.
struct Lz4Frames<R: BufRead>(lz4_flex::frame::FrameDecoder<R>);

impl<R: BufRead> Read for Lz4Frames<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.0.read(buf)?;
            if n > 0 || buf.is_empty() || self.0.get_mut().fill_buf()?.is_empty() {
                return Ok(n);
            }
        }
    }
}

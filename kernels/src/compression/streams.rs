//! Compressed streams: one, or several in a row, as `cat`, pzstd, pigz and bgzip write them.
//!
//! A [`Budget`] limits the bytes that they unpack to.

use crate::compression::{
    budget::{Budget, Exceeded},
    decoder::{Compressed, Decoder, FromMagic, read_up_to},
    format::{Compression, is_skippable_frame},
    lz4_legacy::Lz4Legacy,
    zstd::ZstdFrame,
};
use core_relo::Data;
use core_relo_loader::target;
use std::io::{self, BufRead, Cursor, Read};

/// The maximum dictionary of an xz or lzma stream, in KiB.
const DICTIONARY_KIB: u32 = 256 << 10;

/// A reader that unpacks streams of one format.
pub(crate) struct Streams<'r> {
    format: Compression,
    state: State<'r>,
    /// The number of streams that have begun.
    count: u64,
    /// Whether the first stream is the only one to unpack.
    first_only: bool,
    budget: Budget,
}

/// Bytes to take from the budget for compressed bytes for a read of fewer bytes, in formats of
/// [`reads_blocks`].
///
/// The decoder of such a format reads a header in a few short reads, and the content of the block in one long
/// read. A block of a few bytes takes as long as a block of many, because the decoder rebuilds its tables.
const READ_COST: u64 = 256;

/// Returns whether the decoder of a format reads the content of a block at once.
const fn reads_blocks(format: Compression) -> bool {
    matches!(format, Compression::Xz | Compression::Zstd | Compression::Lz4)
}

/// A reader that takes compressed bytes from a budget.
struct Metered<R> {
    compressed: R,
    /// The number of bytes that a short read costs.
    read_cost: u64,
    budget: Budget,
}

impl<R: BufRead> BufRead for Metered<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.budget.check()?;
        self.compressed.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        self.budget.take_compressed(u64::try_from(n).unwrap_or(u64::MAX));
        self.compressed.consume(n);
    }
}

impl<R: BufRead> Read for Metered<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(buf)?;
        self.consume(n);
        let len = u64::try_from(n).map_err(io::Error::other)?;
        if let Some(missing_cost) = self.read_cost.checked_sub(len) {
            self.budget.take_compressed(missing_cost);
        }
        Ok(n)
    }
}

enum State<'r> {
    BetweenStreams(Compressed<'r>),
    InStream(Box<dyn Decoder<'r> + 'r>),
    Ended,
}

impl<'r> Streams<'r> {
    /// Creates a reader for one stream. The reader ignores the bytes after the stream.
    pub(crate) fn first(format: Compression, compressed: impl BufRead + 'r, budget: Budget) -> Self {
        Self { first_only: true, ..Self::concatenated(format, compressed, budget) }
    }

    /// Creates a reader for concatenated streams. The reader ignores other bytes after them.
    pub(crate) fn concatenated(format: Compression, compressed: impl BufRead + 'r, budget: Budget) -> Self {
        let read_cost = if reads_blocks(format) { READ_COST } else { 0 };
        let compressed = Metered { compressed, read_cost, budget: budget.clone() };
        let state = State::BetweenStreams(Box::new(compressed));
        Self { format, state, count: 0, first_only: false, budget }
    }

    /// Unpacks everything into memory. The memory grows as bytes are unpacked, so that a size in a header
    /// cannot exhaust it.
    pub(crate) fn read_all(self) -> io::Result<Data<'static>> {
        const FIRST_BYTES: u64 = 1 << 20;
        let unpacked = target::read_all(self, FIRST_BYTES, u64::MAX)?;
        unpacked.ok_or_else(|| io::Error::other("broken invariant: a stream of more than 2^64 bytes"))
    }

    /// Begins the next stream, unless the input has ended.
    fn begin_stream(&mut self, mut compressed: Compressed<'r>) -> io::Result<State<'r>> {
        let is_first = self.count == 0;
        if !is_first && self.first_only {
            return Ok(State::Ended);
        }
        let Some(magic) = read_magic(self.format, &mut compressed, is_first)? else {
            let missing = || io::Error::new(io::ErrorKind::UnexpectedEof, "no stream");
            return if is_first { Err(missing()) } else { Ok(State::Ended) };
        };
        self.count = self.count.saturating_add(1);
        self.budget.take_stream()?;
        let input = Cursor::new(magic).chain(compressed);
        Ok(State::InStream(match self.format {
            Compression::Gzip => Box::new(flate2::bufread::GzDecoder::new(input)),
            Compression::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(input, false, DICTIONARY_KIB)),
            Compression::Zstd => Box::new(ZstdFrame::new(input, self.budget.clone())?),
            Compression::Lz4 => Box::new(lz4_flex::frame::FrameDecoder::new(input)),
            Compression::Lz4Legacy => Box::new(Lz4Legacy::new(input, self.budget.clone())?),
            Compression::Bzip2 => Box::new(bzip2::bufread::BzDecoder::new(input)),
            Compression::Lzma => {
                Box::new(lzma_rust2::LzmaReader::new_mem_limit(input, DICTIONARY_KIB, None)?)
            }
            format @ Compression::Lzo => {
                return Err(io::Error::other(format!("not supported; unpack it first, with {format} -d")));
            }
        }))
    }

    /// Reads from the current stream, at most as many bytes as the budget has left. If none are left, reads
    /// one byte, which exceeds the budget.
    fn read_stream(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            self.state = match std::mem::replace(&mut self.state, State::Ended) {
                State::Ended => return Ok(0),
                State::BetweenStreams(compressed) => self.begin_stream(compressed)?,
                State::InStream(mut decoder) => {
                    let max = usize::try_from(self.budget.remaining()).unwrap_or(usize::MAX).max(1);
                    let len = buf.len().min(max);
                    let room = buf.get_mut(..len).ok_or(io::ErrorKind::InvalidInput)?;
                    match decoder.read(room) {
                        Ok(0) => State::BetweenStreams(decoder.into_rest()),
                        Ok(n) => {
                            self.state = State::InStream(decoder);
                            self.budget.take(u64::try_from(n).map_err(io::Error::other)?)?;
                            return Ok(n);
                        }
                        Err(e) if e.kind() == io::ErrorKind::Interrupted => {
                            self.state = State::InStream(decoder);
                            return Err(e);
                        }
                        Err(e) => {
                            self.budget.take(lost_bytes(self.format))?;
                            return Err(e);
                        }
                    }
                }
            };
        }
    }
}

impl Read for Streams<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        self.read_stream(buf).map_err(|e| match Exceeded::from_io(&e) {
            None if self.count > 1 => io::Error::new(e.kind(), format!("stream {} of it: {e}", self.count)),
            _ => e,
        })
    }
}

/// Returns the largest number of bytes that a decoder may have unpacked but not returned when it fails.
///
/// The decoders of zstd and legacy lz4 take such bytes from the budget themselves. The other unlisted
/// decoders return every byte.
const fn lost_bytes(format: Compression) -> u64 {
    match format {
        Compression::Lz4 => 4 << 20,
        Compression::Bzip2 => 900_000,
        _ => 0,
    }
}

/// Reads the magic number of the next stream, and padding and skippable frames before it. Returns `None` if
/// other bytes follow.
///
/// Zeros may precede only streams after the first one: tapes and xz pad with zeros.
fn read_magic(
    format: Compression,
    compressed: &mut Compressed<'_>,
    is_first: bool,
) -> io::Result<Option<Vec<u8>>> {
    match format {
        Compression::Gzip | Compression::Xz if !is_first => skip_zeros(compressed)?,
        Compression::Lzma if !is_first => return Ok(None),
        _ => {}
    }
    loop {
        let found = read_up_to(compressed, format.magic().len())?;
        if found == format.magic() {
            return Ok(Some(found));
        }
        if !matches!(format, Compression::Zstd | Compression::Lz4 | Compression::Lz4Legacy)
            || !is_skippable_frame(&found)
        {
            return Ok(None);
        }
        let mut len = [0; 4];
        compressed.read_exact(&mut len)?;
        let len = u64::from(u32::from_le_bytes(len));
        if io::copy(&mut compressed.by_ref().take(len), &mut io::sink())? < len {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "cut off between two frames"));
        }
    }
}

fn skip_zeros(compressed: &mut Compressed<'_>) -> io::Result<()> {
    loop {
        let buffer = compressed.fill_buf()?;
        let zeros = buffer.iter().take_while(|byte| **byte == 0).count();
        let is_all = !buffer.is_empty() && zeros == buffer.len();
        compressed.consume(zeros);
        if !is_all {
            return Ok(());
        }
    }
}

/// Implements [`Decoder`] for the decoders of other crates, which return their input.
macro_rules! decoders {
    ($($decoder:ty),+) => {
        $(impl<'r> Decoder<'r> for $decoder {
            fn into_rest(self: Box<Self>) -> Compressed<'r> {
                self.into_inner().into_inner().1
            }
        })+
    };
}

decoders!(
    flate2::bufread::GzDecoder<FromMagic<'r>>,
    lzma_rust2::XzReader<FromMagic<'r>>,
    lzma_rust2::LzmaReader<FromMagic<'r>>,
    lz4_flex::frame::FrameDecoder<FromMagic<'r>>,
    bzip2::bufread::BzDecoder<FromMagic<'r>>
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use std::io::Write as _;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    fn bzip2(bytes: &[u8]) -> Vec<u8> {
        let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    fn lz4(bytes: &[u8]) -> Vec<u8> {
        let mut packed = lz4_flex::frame::FrameEncoder::new(Vec::new());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    fn xz(bytes: &[u8]) -> Vec<u8> {
        let mut packed =
            lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    fn lzma(bytes: &[u8]) -> Vec<u8> {
        let options = lzma_rust2::LzmaOptions::with_preset(1);
        let len = Some(u64::try_from(bytes.len()).unwrap());
        let mut packed = lzma_rust2::LzmaWriter::new_use_header(Vec::new(), &options, len).unwrap();
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    /// As the kernel's build writes it.
    fn lz4_legacy(bytes: &[u8]) -> Vec<u8> {
        let mut packed = b"\x02\x21\x4c\x18".to_vec();
        for block in bytes.chunks(8 << 20) {
            let block = lz4_flex::block::compress(block);
            packed.extend(u32::try_from(block.len()).unwrap().to_le_bytes());
            packed.extend(block);
        }
        packed
    }

    type Pack = fn(&[u8]) -> Vec<u8>;

    const ALL: [(Compression, Pack); 7] = [
        (Compression::Gzip, gzip),
        (Compression::Xz, xz),
        (Compression::Zstd, zstd),
        (Compression::Lz4, lz4),
        (Compression::Lz4Legacy, lz4_legacy),
        (Compression::Bzip2, bzip2),
        (Compression::Lzma, lzma),
    ];

    fn budget(bytes: u64) -> Budget {
        Budget::for_kernel(Limits::new(Some(bytes)), 0)
    }

    #[test]
    fn unpacked_bytes_are_taken_from_the_budget() {
        let bytes: Vec<u8> = (0..300_000u32).map(|n| n.to_le_bytes()[usize::from(n % 7 == 0)]).collect();
        let len = u64::try_from(bytes.len()).unwrap();
        for (how, pack) in ALL {
            let packed = pack(&bytes);
            assert_eq!(Compression::detect(&packed), Some(how));
            let enough = budget(len + 5);
            assert_eq!(
                *Streams::concatenated(how, &*packed, enough.clone()).read_all().unwrap(),
                *bytes,
                "{how}"
            );
            assert_eq!(enough.remaining(), 5, "{how}");
            assert_eq!(
                *Streams::concatenated(how, &*packed, budget(len)).read_all().unwrap(),
                *bytes,
                "{how}"
            );
            let error = Streams::concatenated(how, &*packed, budget(len - 1)).read_all().unwrap_err();
            let expected =
                Exceeded::Bytes { scope: crate::compression::budget::Scope::Kernel, limit: len - 1 };
            assert_eq!(Exceeded::from_io(&error), Some(expected), "{how}");
        }
    }

    #[test]
    fn little_more_is_unpacked_than_the_budget_has() {
        /// Counts what was read.
        struct Counted<'c>(&'c [u8], &'c std::cell::Cell<usize>);
        impl Read for Counted<'_> {
            fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                let n = self.0.read(&mut buf[..1.min(self.0.len())])?;
                self.1.set(self.1.get() + n);
                Ok(n)
            }
        }
        // What is not unpacked is not read either.
        let noise: Vec<u8> =
            (0..6_000_000u64).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
        for (how, pack) in ALL.into_iter().filter(|(how, _)| *how != Compression::Lz4Legacy) {
            let packed = pack(&noise);
            let read = std::cell::Cell::new(0);
            let stream = std::io::BufReader::with_capacity(512, Counted(&packed, &read));
            let error = Streams::concatenated(how, stream, budget(1000)).read_all().unwrap_err();
            assert!(Exceeded::from_io(&error).is_some(), "{how}: {error}");
            assert!(read.get() < 5 << 20, "{how}: {} bytes read", read.get());
        }
    }

    #[test]
    fn streams_in_a_row_are_one_file() {
        let skippable = b"\x5a\x2a\x4d\x18\x04\0\0\0size".to_vec();
        for (how, packed) in [
            (Compression::Gzip, [gzip(b"ker"), gzip(b""), gzip(b"nel"), b"\0\0".to_vec()].concat()),
            (Compression::Xz, [xz(b"ker"), xz(b"nel"), vec![0; 4]].concat()),
            (Compression::Bzip2, [bzip2(b"ker"), bzip2(b"nel")].concat()),
            (Compression::Lz4, [lz4(b"ker"), skippable.clone(), lz4(b"nel")].concat()),
            (Compression::Zstd, [zstd(b"ker"), skippable.clone(), zstd(b"nel"), b"\x06\0".to_vec()].concat()),
            (Compression::Zstd, [skippable.clone(), zstd(b"ker"), zstd(b"nel"), skippable].concat()),
        ] {
            let unpacked = |bytes| Streams::concatenated(how, &*packed, budget(bytes)).read_all();
            assert_eq!(Compression::detect(&packed), Some(how));
            assert_eq!(*unpacked(6).unwrap(), *b"kernel", "{how}");
            assert_eq!(unpacked(5).unwrap_err().to_string(), "unpacks to more than 5 bytes", "{how}");
            let first = Streams::first(how, &*packed, budget(6)).read_all().unwrap();
            assert_eq!(*first, *b"ker", "{how}");
        }
        let cut = [gzip(b"ker"), gzip(b"nel")[..14].to_vec()].concat();
        let error = Streams::concatenated(Compression::Gzip, &*cut, budget(6)).read_all().unwrap_err();
        assert!(error.to_string().starts_with("stream 2 of it: "), "{error}");
    }

    #[test]
    fn streams_are_counted() {
        for (how, pack) in
            ALL.into_iter().filter(|(how, _)| *how != Compression::Lzma && *how != Compression::Lz4Legacy)
        {
            let packed = pack(b"").repeat(80);
            let error = Streams::concatenated(how, &*packed, budget(1000)).read_all().unwrap_err();
            assert_eq!(Exceeded::from_io(&error), Some(Exceeded::Streams { limit: 64 }), "{how}: {error}");
        }
    }

    /// A frame of zstd whose window is 128 MiB: nothing comes out of the decoder before so much is unpacked.
    #[test]
    fn buffered_bytes_count() {
        let mut frame = b"\x28\xb5\x2f\xfd\x00\x88".to_vec();
        // Blocks that repeat one byte 128 KiB times, and one that is cut off.
        (0..1000).for_each(|_| frame.extend([0x02, 0x00, 0x10, 0x00]));
        let small = budget(1 << 20);
        let error = Streams::concatenated(Compression::Zstd, &*frame, small.clone()).read_all().unwrap_err();
        assert!(Exceeded::from_io(&error).is_some(), "{error}");
        let large = budget(1 << 30);
        Streams::concatenated(Compression::Zstd, &*frame, large.clone()).read_all().unwrap_err();
        assert!((1 << 30) - large.remaining() >= 120 << 20, "{} bytes left", large.remaining());
    }

    #[test]
    fn bytes_after_a_stream_are_ignored() {
        for (how, pack) in ALL {
            let mut packed = pack(b"kernel");
            packed.extend_from_slice(b"\x06\0\0\0");
            assert_eq!(*Streams::first(how, &*packed, budget(6)).read_all().unwrap(), *b"kernel", "{how}");
        }
    }

    /// Returns an xz stream without an end, whose chunks of 12 bytes each rebuild the decoder and unpack to
    /// one byte.
    fn xz_of_tiny_chunks(count: usize) -> Vec<u8> {
        const CHUNK: [u8; 12] = [0xc0, 0, 0, 0, 5, 4, 0, 0, 0, 0, 0, 0];
        let mut packed = b"\xfd7zXZ\0\0\0\xff\x12\xd9\x41\x02\0\x21\x01\x16\0\0\0\x74\x2f\xe5\xa3".to_vec();
        packed.push(0xe0);
        packed.extend(&CHUNK[1..]);
        packed.extend(CHUNK.repeat(count));
        packed
    }

    #[test]
    fn blocks_of_a_few_bytes_cost_more_than_their_bytes() {
        let unpack = |count| {
            let packed = xz_of_tiny_chunks(count);
            let budget = Budget::for_kernel(Limits::default(), 0);
            Streams::concatenated(Compression::Xz, &*packed, budget).read_all().unwrap_err()
        };
        let error = unpack(1000);
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{error}");
        let error = unpack(20_000);
        assert_eq!(Exceeded::from_io(&error), Some(Exceeded::Compressed { limit: 8 << 20 }), "{error}");
    }

    #[test]
    fn bytes_that_do_not_compress_cost_little_more_than_their_number() {
        let mut state = 1u64;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        });
        let noise: Vec<u8> = noise.take(3 << 20).collect();
        for (how, pack) in ALL {
            let packed = pack(&noise);
            // The limit has 1 MiB for the overhead of 3 MiB.
            let spent = Budget::for_kernel(Limits::default(), 0);
            spent.take_compressed(4 << 20);
            assert_eq!(*Streams::concatenated(how, &*packed, spent).read_all().unwrap(), *noise, "{how}");
        }
    }
}

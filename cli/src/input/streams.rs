//! Compressed streams: one, and those that follow one another in a file, as `cat`, pzstd, pigz and bgzip leave them. Every byte that
//! comes out is taken from a [`Budget`].

use super::{
    budget::{Budget, Exceeded},
    lz4_legacy::Lz4Legacy,
    vmlinuz::{Compression, MAGICS},
    zstd::ZstdFrame,
};
use core_relo::Endian;
use std::io::{self, BufRead, Cursor, Read};

/// KiB that an xz or lzma stream's dictionary may take.
const DICTIONARY_KIB: u32 = 256 << 10;

/// Compressed bytes.
pub(super) type Packed<'r> = Box<dyn BufRead + 'r>;

/// The bytes from a stream's beginning on: its magic number was read to recognise it.
pub(super) type FromMagic<'r> = io::Chain<Cursor<Vec<u8>>, Packed<'r>>;

/// A stream that is being unpacked.
pub(super) trait Decoder<'r>: Read {
    /// Returns what follows the stream.
    fn into_rest(self: Box<Self>) -> Packed<'r>;
}

/// Unpacks streams of one compression as they are read.
pub(super) struct Streams<'r> {
    how: Compression,
    state: State<'r>,
    /// Streams begun.
    count: u64,
    is_one: bool,
    budget: Budget,
}

/// Compressed bytes that are taken from a budget as they are read.
struct Metered<R> {
    packed: R,
    budget: Budget,
}

impl<R: BufRead> BufRead for Metered<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.budget.check()?;
        self.packed.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        self.budget.take_packed(u64::try_from(n).unwrap_or(u64::MAX));
        self.packed.consume(n);
    }
}

impl<R: BufRead> Read for Metered<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(buf)?;
        self.consume(n);
        Ok(n)
    }
}

enum State<'r> {
    Between(Packed<'r>),
    Within(Box<dyn Decoder<'r> + 'r>),
    Ended,
}

impl<'r> Streams<'r> {
    /// Unpacks the stream at the beginning; what follows it does not matter.
    pub(super) fn first(how: Compression, packed: impl BufRead + 'r, budget: Budget) -> Self {
        Self { is_one: true, ..Self::all(how, packed, budget) }
    }

    /// Unpacks all streams that follow one another; what follows those does not matter.
    pub(super) fn all(how: Compression, packed: impl BufRead + 'r, budget: Budget) -> Self {
        let packed = Metered { packed, budget: budget.clone() };
        Self { how, state: State::Between(Box::new(packed)), count: 0, is_one: false, budget }
    }

    /// Unpacks them into memory, which is written step by step: no more of it than there are bytes is used.
    pub(super) fn collect(mut self) -> io::Result<Vec<u8>> {
        const STEP: u64 = 1 << 20;
        let mut unpacked = Vec::new();
        while self.by_ref().take(STEP).read_to_end(&mut unpacked)? > 0 {}
        Ok(unpacked)
    }

    /// Begins the next stream, if there is one.
    fn begin(&mut self, mut packed: Packed<'r>) -> io::Result<State<'r>> {
        let is_more = self.count > 0;
        if is_more && self.is_one {
            return Ok(State::Ended);
        }
        let Some(magic) = magic(self.how, &mut packed, is_more)? else {
            let missing = || io::Error::new(io::ErrorKind::UnexpectedEof, "no stream");
            return if is_more { Ok(State::Ended) } else { Err(missing()) };
        };
        self.count = self.count.saturating_add(1);
        self.budget.take_stream()?;
        let packed = Cursor::new(magic).chain(packed);
        Ok(State::Within(match self.how {
            Compression::Gzip => Box::new(flate2::bufread::GzDecoder::new(packed)),
            Compression::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(packed, false, DICTIONARY_KIB)),
            Compression::Zstd => Box::new(ZstdFrame::new(packed, self.budget.clone())?),
            Compression::Lz4 => Box::new(lz4_flex::frame::FrameDecoder::new(packed)),
            Compression::Lz4Legacy => Box::new(Lz4Legacy::new(packed, self.budget.clone())?),
            Compression::Bzip2 => Box::new(bzip2::bufread::BzDecoder::new(packed)),
            Compression::Lzma => {
                Box::new(lzma_rust2::LzmaReader::new_mem_limit(packed, DICTIONARY_KIB, None)?)
            }
            how @ Compression::Lzo => {
                return Err(io::Error::other(format!("not supported; unpack it first, with {how} -d")));
            }
        }))
    }

    /// Reads from the present stream, no more than the budget has and one byte.
    fn read_within(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            self.state = match std::mem::replace(&mut self.state, State::Ended) {
                State::Ended => return Ok(0),
                State::Between(packed) => self.begin(packed)?,
                State::Within(mut decoder) => {
                    let most = usize::try_from(self.budget.left()).unwrap_or(usize::MAX).max(1);
                    let len = buf.len().min(most);
                    match decoder.read(buf.get_mut(..len).unwrap_or_default()) {
                        Ok(0) => State::Between(decoder.into_rest()),
                        Ok(n) => {
                            self.state = State::Within(decoder);
                            self.budget.take(u64::try_from(n).map_err(io::Error::other)?)?;
                            return Ok(n);
                        }
                        Err(e) if e.kind() == io::ErrorKind::Interrupted => {
                            self.state = State::Within(decoder);
                            return Err(e);
                        }
                        Err(e) => {
                            self.budget.take(lost_bytes(self.how))?;
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
        self.read_within(buf).map_err(|e| match Exceeded::of(&e) {
            None if self.count > 1 => io::Error::new(e.kind(), format!("stream {} of it: {e}", self.count)),
            _ => e,
        })
    }
}

/// The most that a decoder may have unpacked and not given out when it fails: a block. Those of zstd and of lz4's older format take
/// that from the budget themselves; the others give out everything.
const fn lost_bytes(how: Compression) -> u64 {
    match how {
        Compression::Lz4 => 4 << 20,
        Compression::Bzip2 => 900_000,
        _ => 0,
    }
}

/// Reads the magic number of the next stream, and what may come before it; `None` if something else comes. One that `is_more` than
/// the first may come after zeros, as tapes and xz fill up with.
fn magic(how: Compression, packed: &mut Packed<'_>, is_more: bool) -> io::Result<Option<Vec<u8>>> {
    let Some((magic, _)) = MAGICS.iter().find(|(_, of)| *of == how) else { return Ok(None) };
    match how {
        Compression::Gzip | Compression::Xz if is_more => pass_zeros(packed)?,
        Compression::Lzma if is_more => return Ok(None),
        _ => {}
    }
    loop {
        let found = read_up_to(packed, magic.len())?;
        if found == *magic {
            return Ok(Some(found));
        }
        if !matches!(how, Compression::Zstd | Compression::Lz4 | Compression::Lz4Legacy)
            || !is_skippable(&found)
        {
            return Ok(None);
        }
        let mut len = [0; 4];
        packed.read_exact(&mut len)?;
        let len = u64::from(u32::from_le_bytes(len));
        if io::copy(&mut packed.by_ref().take(len), &mut io::sink())? < len {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "cut off between two frames"));
        }
    }
}

fn pass_zeros(packed: &mut Packed<'_>) -> io::Result<()> {
    loop {
        let buffer = packed.fill_buf()?;
        let zeros = buffer.iter().take_while(|byte| **byte == 0).count();
        let is_all = !buffer.is_empty() && zeros == buffer.len();
        packed.consume(zeros);
        if !is_all {
            return Ok(());
        }
    }
}

/// Reads so many bytes, or fewer if there are no more.
pub(super) fn read_up_to(packed: &mut impl Read, len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    packed.take(u64::try_from(len).map_err(io::Error::other)?).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether a frame is one that says something about those of zstd and lz4 (pzstd: how long they are).
fn is_skippable(magic: &[u8]) -> bool {
    Endian::Little.u32(magic, 0).is_some_and(|magic| magic & !0xf == 0x184d_2a50)
}

/// The bytes after the frames that are to be skipped.
pub(super) fn after_skippable(mut bytes: &[u8]) -> &[u8] {
    while is_skippable(bytes)
        && let Some(len) = Endian::Little.u32(bytes, 4).and_then(|len| usize::try_from(len).ok())
        && let Some(rest) = len.checked_add(8).and_then(|len| bytes.get(len..))
    {
        bytes = rest;
    }
    bytes
}

/// Decoders of other crates, which give back what they read from.
macro_rules! decoders {
    ($($decoder:ty),+) => {
        $(impl<'r> Decoder<'r> for $decoder {
            fn into_rest(self: Box<Self>) -> Packed<'r> {
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
    use crate::input::file::Limits;
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
        Budget::of_kernel(Limits::of(Some(bytes)), 0)
    }

    #[test]
    fn every_byte_that_comes_out_is_taken_from_the_budget() {
        let bytes: Vec<u8> = (0..300_000u32).map(|n| n.to_le_bytes()[usize::from(n % 7 == 0)]).collect();
        let len = u64::try_from(bytes.len()).unwrap();
        for (how, pack) in ALL {
            let packed = pack(&bytes);
            assert_eq!(Compression::of(&packed), Some(how));
            let enough = budget(len + 5);
            assert_eq!(Streams::all(how, &*packed, enough.clone()).collect().unwrap(), bytes, "{how}");
            assert_eq!(enough.left(), 5, "{how}");
            assert_eq!(Streams::all(how, &*packed, budget(len)).collect().unwrap(), bytes, "{how}");
            let error = Streams::all(how, &*packed, budget(len - 1)).collect().unwrap_err();
            let expected = Exceeded::Bytes { scope: crate::input::budget::Scope::Kernel, limit: len - 1 };
            assert_eq!(Exceeded::of(&error), Some(expected), "{how}");
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
            let error = Streams::all(how, stream, budget(1000)).collect().unwrap_err();
            assert!(Exceeded::of(&error).is_some(), "{how}: {error}");
            assert!(read.get() < 5 << 20, "{how}: {} bytes read", read.get());
        }
    }

    #[test]
    fn streams_that_follow_one_another_are_one_file() {
        let skippable = b"\x5a\x2a\x4d\x18\x04\0\0\0size".to_vec();
        for (how, packed) in [
            (Compression::Gzip, [gzip(b"ker"), gzip(b""), gzip(b"nel"), b"\0\0".to_vec()].concat()),
            (Compression::Xz, [xz(b"ker"), xz(b"nel"), vec![0; 4]].concat()),
            (Compression::Bzip2, [bzip2(b"ker"), bzip2(b"nel")].concat()),
            (Compression::Lz4, [lz4(b"ker"), skippable.clone(), lz4(b"nel")].concat()),
            (Compression::Zstd, [zstd(b"ker"), skippable.clone(), zstd(b"nel"), b"\x06\0".to_vec()].concat()),
            (Compression::Zstd, [skippable.clone(), zstd(b"ker"), zstd(b"nel"), skippable].concat()),
        ] {
            let unpacked = |bytes| Streams::all(how, &*packed, budget(bytes)).collect();
            assert_eq!(Compression::of(&packed), Some(how));
            assert_eq!(unpacked(6).unwrap(), b"kernel", "{how}");
            assert_eq!(unpacked(5).unwrap_err().to_string(), "unpacks to more than 5 bytes", "{how}");
            let first = Streams::first(how, &*packed, budget(6)).collect().unwrap();
            assert_eq!(first, b"ker", "{how}");
        }
        let cut = [gzip(b"ker"), gzip(b"nel")[..14].to_vec()].concat();
        let error = Streams::all(Compression::Gzip, &*cut, budget(6)).collect().unwrap_err();
        assert!(error.to_string().starts_with("stream 2 of it: "), "{error}");
    }

    #[test]
    fn streams_are_counted() {
        for (how, pack) in
            ALL.into_iter().filter(|(how, _)| *how != Compression::Lzma && *how != Compression::Lz4Legacy)
        {
            let packed = pack(b"").repeat(80);
            let error = Streams::all(how, &*packed, budget(1000)).collect().unwrap_err();
            assert_eq!(Exceeded::of(&error), Some(Exceeded::Streams { limit: 64 }), "{how}: {error}");
        }
    }

    /// A frame of zstd whose window is 128 MiB: nothing comes out of the decoder before so much is unpacked.
    #[test]
    fn what_a_decoder_keeps_back_counts() {
        let mut frame = b"\x28\xb5\x2f\xfd\x00\x88".to_vec();
        // Blocks that repeat one byte 128 KiB times, and one that is cut off.
        (0..1000).for_each(|_| frame.extend([0x02, 0x00, 0x10, 0x00]));
        let small = budget(1 << 20);
        let error = Streams::all(Compression::Zstd, &*frame, small.clone()).collect().unwrap_err();
        assert!(Exceeded::of(&error).is_some(), "{error}");
        let large = budget(1 << 30);
        Streams::all(Compression::Zstd, &*frame, large.clone()).collect().unwrap_err();
        assert!((1 << 30) - large.left() >= 120 << 20, "{} bytes left", large.left());
    }

    #[test]
    fn every_stream_may_be_followed_by_something() {
        for (how, pack) in ALL {
            let mut packed = pack(b"kernel");
            packed.extend_from_slice(b"\x06\0\0\0");
            assert_eq!(Streams::first(how, &*packed, budget(6)).collect().unwrap(), b"kernel", "{how}");
        }
    }
}

//! The interface of the decoders for one compressed stream.

use std::io::{self, BufRead, Cursor, Read};

/// Compressed bytes.
pub(super) type Compressed<'r> = Box<dyn BufRead + 'r>;

/// The bytes of a stream: its magic number, which has been read to detect the stream, and the rest.
pub(super) type FromMagic<'r> = io::Chain<Cursor<Vec<u8>>, Compressed<'r>>;

/// A decoder for one stream.
pub(super) trait Decoder<'r>: Read {
    /// Returns the bytes after the stream.
    fn into_rest(self: Box<Self>) -> Compressed<'r>;
}

/// Reads `len` bytes, or fewer at the end of the input.
pub(super) fn read_up_to(compressed: &mut impl Read, len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    compressed.take(u64::try_from(len).map_err(io::Error::other)?).read_to_end(&mut bytes)?;
    Ok(bytes)
}

//! The gzip streams in a file of apk: signatures, metadata and files are streams of their own.

use flate2::bufread::GzDecoder;
use std::io::{self, Read as _};

/// The beginning of the names of signatures.
const SIGNATURE: &[u8] = b".SIGN.";

/// A gzip stream at the start of some bytes.
#[derive(Debug)]
pub(super) struct GzipMember {
    /// The unpacked content.
    pub(super) content: Vec<u8>,
    /// The number of compressed bytes.
    pub(super) len: usize,
}

impl GzipMember {
    /// Unpacks the first stream, of at most `limit` unpacked bytes. Bytes that end early are an error of the
    /// kind `UnexpectedEof`.
    pub(super) fn first(bytes: &[u8], limit: u64) -> io::Result<Self> {
        let mut decoder = GzDecoder::new(bytes);
        let mut content = Vec::new();
        (&mut decoder).take(limit.saturating_add(1)).read_to_end(&mut content)?;
        if u64::try_from(content.len()).map_or(true, |len| len > limit) {
            return Err(io::Error::other(format!("has more than {limit} bytes, unpacked")));
        }
        let rest = decoder.into_inner().len();
        Ok(Self { content, len: bytes.len().saturating_sub(rest) })
    }

    /// Returns whether the stream is the one with signatures: its tar archive begins with one.
    pub(super) fn is_signature(&self) -> bool {
        self.content.starts_with(SIGNATURE)
    }
}

/// Returns whether the first stream is the one with signatures, without unpacking the whole of it.
pub(super) fn begins_with_signature(bytes: &[u8]) -> io::Result<bool> {
    let mut start = [0; SIGNATURE.len()];
    match GzDecoder::new(bytes).read_exact(&mut start) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| start == SIGNATURE),
    }
}

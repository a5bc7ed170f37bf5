//! Decompression of sections (`SHF_COMPRESSED`, `.zdebug_*`).

use crate::{error::SectionProblem, limits};
use alloc::borrow::Cow;
use object::{CompressedData, CompressionFormat};
use std::io::Read as _;

/// Decompresses a section of at most `limit` bytes.
pub(super) fn decompress(data: CompressedData<'_>, limit: u64) -> Result<Cow<'_, [u8]>, SectionProblem> {
    let bytes = data.uncompressed_size;
    if data.format == CompressionFormat::None {
        return Ok(Cow::Borrowed(data.data));
    }
    let stored = u64::try_from(data.data.len()).ok().ok_or(SectionProblem::Compressed)?;
    let possible =
        stored.saturating_mul(limits::SECTION_EXPANSION).saturating_add(limits::SECTION_SLACK_BYTES);
    let limit = limit.min(possible);
    if bytes > limit {
        return Err(SectionProblem::TooLarge { bytes, limit });
    }
    let capacity = usize::try_from(bytes).ok().ok_or(SectionProblem::TooLarge { bytes, limit })?;
    let mut out = Vec::with_capacity(capacity);
    // One byte more than expected, to notice that the data is longer.
    let read = bytes.saturating_add(1);
    let result = match data.format {
        CompressionFormat::Zlib => flate2::read::ZlibDecoder::new(data.data).take(read).read_to_end(&mut out),
        CompressionFormat::Zstandard => ruzstd::decoding::StreamingDecoder::new(data.data)
            .ok()
            .ok_or(SectionProblem::Compressed)?
            .take(read)
            .read_to_end(&mut out),
        _ => return Err(SectionProblem::UnknownCompression),
    };
    if result.is_err() || out.len() != capacity {
        return Err(SectionProblem::Compressed);
    }
    Ok(Cow::Owned(out))
}

//! The BTF header: byte order, and where the sections lie.

use super::{BtfError, kind::RecordShape};
use crate::{
    endian::Endian,
    ids::{to_u32, to_usize},
    limits,
};
use core::ops::Range;

/// Magic number of BTF and `.BTF.ext`.
pub(crate) const MAGIC: u16 = 0xeb9f;
/// Bytes of the header without the layout section's place.
const HEADER_LEN: u32 = 24;
/// Bytes of the header with it.
const HEADER_LEN_WITH_LAYOUT: u32 = 32;

/// A header, checked: each range lies within the data.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) endian: Endian,
    pub(crate) types: Range<usize>,
    pub(crate) strings: Range<usize>,
    pub(crate) layout: Range<usize>,
}

impl Header {
    /// Reads the header at the start of `data` (libbpf: `btf_parse_hdr`).
    pub(crate) fn parse(data: &[u8]) -> Result<Self, BtfError> {
        if data.len() > limits::BTF_BYTES {
            return Err(BtfError::TooLong { len: data.len() });
        }
        let short = |need| BtfError::TooShort { len: data.len(), need };
        let endian = endian_of(data).ok_or_else(|| match Endian::Little.u16(data, 0) {
            Some(found) => BtfError::Magic { found },
            None => short(HEADER_LEN),
        })?;
        let word = |at| endian.u32(data, at).ok_or_else(|| short(HEADER_LEN));
        let version = *data.get(2).ok_or_else(|| short(HEADER_LEN))?;
        if version != 1 {
            return Err(BtfError::Version { found: version });
        }
        let header_len = word(4)?;
        if header_len < HEADER_LEN || header_len % 4 != 0 {
            return Err(BtfError::HeaderLength { found: header_len });
        }
        let body = data.get(to_usize(header_len)..).ok_or_else(|| short(header_len))?;
        let (type_offset, type_len) = (word(8)?, word(12)?);
        let (string_offset, string_len) = (word(16)?, word(20)?);
        let section = |section, offset: u32, len: u32| {
            let bounds = BtfError::SectionBounds { section, offset, len, available: body.len() };
            let end = offset.checked_add(len).ok_or(bounds)?;
            if to_usize(end) > body.len() {
                return Err(bounds);
            }
            let start = to_usize(header_len).saturating_add(to_usize(offset));
            Ok(start..start.saturating_add(to_usize(len)))
        };
        let types = section("type", type_offset, type_len)?;
        let strings = section("string", string_offset, string_len)?;
        if type_offset % 4 != 0 || types.end > strings.start {
            return Err(BtfError::SectionOrder { type_offset, type_len, string_offset });
        }
        let layout = if header_len >= HEADER_LEN_WITH_LAYOUT {
            section("layout", word(24)?, word(28)?)?
        } else {
            0..0
        };
        Ok(Self { endian, types, strings, layout })
    }

    /// The record shape that the layout section gives for kind number `raw`: four bytes a kind, `info_sz`, `elem_sz`, flags.
    pub(crate) fn layout_of(&self, data: &[u8], raw: u8) -> Option<RecordShape> {
        let entry = data.get(self.layout.clone())?.chunks_exact(4).nth(usize::from(raw))?;
        match entry {
            [fixed, each, ..] => Some(RecordShape { fixed: *fixed, each: *each }),
            _ => None,
        }
    }

    /// Length of the string section.
    pub(crate) fn string_len(&self) -> u32 {
        to_u32(self.strings.len())
    }
}

/// The byte order in which `data` begins with the BTF magic.
pub(crate) fn endian_of(data: &[u8]) -> Option<Endian> {
    [Endian::Little, Endian::Big].into_iter().find(|e| e.u16(data, 0) == Some(MAGIC))
}

//! The BTF header: byte order, and the ranges of the sections.

use super::error::BtfError;
use crate::{
    endian::Endian,
    format::RecordSize,
    ids::{to_u32, to_usize},
    limits,
};
use core::ops::Range;

/// The magic number at the beginning of BTF and `.BTF.ext`.
pub const MAGIC: u16 = 0xeb9f;
/// Bytes of a header without a layout section.
pub(crate) const HEADER_LEN: u32 = 24;
/// Bytes of a header with a layout section.
pub(crate) const HEADER_LEN_WITH_LAYOUT: u32 = 32;

/// A parsed header, whose ranges lie within the data.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) endian: Endian,
    types: Range<usize>,
    strings: Range<usize>,
    layout: Range<usize>,
}

impl Header {
    /// Parses the header at the start of `data` (libbpf: `btf_parse_hdr`).
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
            let start = to_usize(header_len).checked_add(to_usize(offset));
            let range = start.and_then(|start| Some(start..start.checked_add(to_usize(len))?));
            let bounds = BtfError::SectionBounds { section, offset, len, available: body.len() };
            range.filter(|range| range.end <= data.len()).ok_or(bounds)
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

    /// Returns the type section of the data from which the header was parsed.
    #[inline]
    pub(crate) fn types_of<'d>(&self, data: &'d [u8]) -> &'d [u8] {
        section_of(data, &self.types)
    }

    /// Returns the string section.
    #[inline]
    pub(crate) fn strings_of<'d>(&self, data: &'d [u8]) -> &'d [u8] {
        section_of(data, &self.strings)
    }

    /// Returns the layout section.
    pub(crate) fn layout_of<'d>(&self, data: &'d [u8]) -> &'d [u8] {
        section_of(data, &self.layout)
    }

    /// Returns whether the BTF has a layout section that is not empty.
    pub(crate) fn has_layout(&self) -> bool {
        !self.layout.is_empty()
    }

    /// Returns the size of a kind's records by the layout section. The section has four bytes for each kind:
    /// `info_sz`, `elem_sz`, and two bytes of flags.
    pub(super) fn record_size(&self, data: &[u8], kind: u8) -> Option<RecordSize> {
        match self.layout_of(data).chunks_exact(4).nth(usize::from(kind))? {
            [fixed, element, ..] => Some(RecordSize { fixed: (*fixed).into(), element: (*element).into() }),
            _ => None,
        }
    }

    /// Returns the length of the string section.
    pub(crate) fn string_len(&self) -> u32 {
        // The header gives the length as 32 bits.
        to_u32(self.strings.len())
    }
}

/// Returns the byte order in which `data` begins with the [`MAGIC`] number.
pub fn endian_of(data: &[u8]) -> Option<Endian> {
    [Endian::Little, Endian::Big].into_iter().find(|e| e.u16(data, 0) == Some(MAGIC))
}

/// Returns a section, which is empty if the data has become shorter, as a mapped file can.
#[inline]
#[expect(clippy::disallowed_methods, reason = "the header was checked, and a file that changes has no error")]
fn section_of<'d>(data: &'d [u8], section: &Range<usize>) -> &'d [u8] {
    data.get(section.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{vec, vec::Vec};

    const ORDERS: [Endian; 2] = [Endian::Little, Endian::Big];

    /// Builds a header of `words` (its length, then the sections' ranges) with zeros up to `len` bytes.
    fn file(e: Endian, words: &[u32], len: usize) -> Vec<u8> {
        let mut out = Vec::new();
        e.put_u16(&mut out, MAGIC);
        out.extend_from_slice(&[1, 0]);
        for word in words {
            e.put_u32(&mut out, *word);
        }
        out.resize(len, 0);
        out
    }

    fn error(e: Endian, words: &[u32], len: usize) -> Option<BtfError> {
        Header::parse(&file(e, words, len)).err()
    }

    #[test]
    fn headers_of_every_length_give_the_sections() {
        for e in ORDERS {
            let header = Header::parse(&file(e, &[24, 0, 8, 8, 2], 34)).unwrap();
            assert_eq!(header.endian, e);
            assert_eq!((header.types, header.strings, header.layout), (24..32, 32..34, 0..0));
            let header = Header::parse(&file(e, &[32, 4, 8, 16, 2, 12, 4], 50)).unwrap();
            assert_eq!((header.types, header.strings, header.layout), (36..44, 48..50, 44..48));
            let header = Header::parse(&file(e, &[40, 0, 8, 12, 2, 8, 4, 7, 7], 60)).unwrap();
            assert_eq!((header.types, header.strings, header.layout), (40..48, 52..54, 48..52));
            // A header that ends within the layout section's range has no layout section.
            let header = Header::parse(&file(e, &[28, 0, 8, 8, 2, 9999], 38)).unwrap();
            assert_eq!((header.types, header.strings, header.layout), (28..36, 36..38, 0..0));
        }
    }

    #[test]
    fn data_that_ends_within_the_header_is_too_short() {
        for e in ORDERS {
            let whole = file(e, &[24, 0, 0, 0, 0], 24);
            for len in 0..24 {
                let got = Header::parse(&whole[..len]).err();
                assert_eq!(got, Some(BtfError::TooShort { len, need: 24 }), "{len} bytes");
            }
            assert!(Header::parse(&whole).is_ok());
            assert_eq!(error(e, &[32, 0, 0, 0, 0, 0], 31), Some(BtfError::TooShort { len: 31, need: 32 }));
            let need = u32::MAX - 3;
            assert_eq!(error(e, &[need, 0, 0, 0, 0], 24), Some(BtfError::TooShort { len: 24, need }));
        }
    }

    #[test]
    fn a_header_that_is_too_short_or_of_odd_length_is_refused() {
        for e in ORDERS {
            for found in [0, 4, 20, 23, 25, 30, 33, u32::MAX] {
                assert_eq!(error(e, &[found, 0, 0, 0, 0], 64), Some(BtfError::HeaderLength { found }));
            }
        }
    }

    #[test]
    fn the_magic_and_the_version_are_checked() {
        assert_eq!(Header::parse(b"\x7fELF").err(), Some(BtfError::Magic { found: 0x457f }));
        assert_eq!(Header::parse(&[0; 64]).err(), Some(BtfError::Magic { found: 0 }));
        assert_eq!(endian_of(&[0x9f, 0xeb]), Some(Endian::Little));
        assert_eq!(endian_of(&[0xeb, 0x9f]), Some(Endian::Big));
        assert_eq!(endian_of(&[0xeb]), None);
        for e in ORDERS {
            for found in [0, 2, 255] {
                let mut data = file(e, &[24, 0, 0, 0, 0], 24);
                data[2] = found;
                assert_eq!(Header::parse(&data).err(), Some(BtfError::Version { found }));
            }
        }
    }

    #[test]
    fn no_section_reaches_past_the_end() {
        for e in ORDERS {
            let bounds = |section, offset, len, available| {
                Some(BtfError::SectionBounds { section, offset, len, available })
            };
            for (offset, len) in [(0, 9), (12, 0), (8, 4), (4, u32::MAX), (u32::MAX - 3, 4)] {
                let types = error(e, &[24, offset, len, 8, 0], 32);
                assert_eq!(types, bounds("type", offset, len, 8));
                let strings = error(e, &[24, 0, 0, offset, len], 32);
                assert_eq!(strings, bounds("string", offset, len, 8));
                let layout = error(e, &[32, 0, 0, 0, 0, offset, len], 40);
                assert_eq!(layout, bounds("layout", offset, len, 8));
            }
            assert!(Header::parse(&file(e, &[32, 8, 0, 8, 0, 8, 0], 40)).is_ok(), "empty ones at the end");
        }
    }

    #[test]
    fn types_are_aligned_and_lie_before_the_strings() {
        for e in ORDERS {
            for (type_offset, type_len, string_offset) in [(2, 8, 12), (1, 0, 12), (0, 8, 7), (8, 8, 0)] {
                let got = error(e, &[24, type_offset, type_len, string_offset, 1], 48);
                assert_eq!(got, Some(BtfError::SectionOrder { type_offset, type_len, string_offset }));
            }
        }
    }

    #[test]
    fn the_layout_section_gives_sizes_of_whole_entries_only() {
        for e in ORDERS {
            let mut data = file(e, &[32, 0, 0, 0, 0, 0, 11], 32);
            data.extend(vec![0, 0, 9, 9, 4, 12, 9, 9, 8, 16, 9]);
            let header = Header::parse(&data).unwrap();
            assert_eq!(header.record_size(&data, 0), Some(RecordSize { fixed: 0, element: 0 }));
            assert_eq!(header.record_size(&data, 1), Some(RecordSize { fixed: 4, element: 12 }));
            assert_eq!(header.record_size(&data, 2), None);
            assert_eq!(header.record_size(&data, 127), None);
        }
    }
}

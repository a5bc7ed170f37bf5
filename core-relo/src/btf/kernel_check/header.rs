//! The header and the sections (kernel: `btf_parse_hdr`, `btf_parse_str_sec`).

use super::rule::BtfRule;
use crate::{
    btf::parse::{HEADER_LEN, MAGIC, endian_of},
    endian::{Endian, signed32},
    ids::{to_u32, to_usize},
    limits,
};

/// The sections of a BTF whose header the kernel accepts.
pub(super) struct SectionBytes<'d> {
    pub(super) endian: Endian,
    pub(super) types: &'d [u8],
    pub(super) strings: &'d [u8],
}

/// A section by the header. Offsets count from the end of the header.
#[derive(Clone, Copy)]
struct SectionRange {
    offset: u32,
    len: u32,
}

/// The end of the field `hdr_len`, without which nothing can be read.
const HEADER_START: u32 = 8;

/// Returns the sections, or the rule that the header violates.
///
/// The byte order is that of the magic number: a kernel of the other byte order refuses every BTF of this order.
pub(super) fn find_sections(data: &[u8]) -> Result<SectionBytes<'_>, BtfRule> {
    if data.len() > limits::KERNEL_BTF_BYTES {
        return Err(BtfRule::TooLong { found: data.len(), limit: limits::KERNEL_BTF_BYTES });
    }
    let truncated = |need| BtfRule::HeaderTruncated { need, len: data.len() };
    let endian = endian_of(data);
    let read_as = endian.unwrap_or(Endian::Little);
    let header_len = read_as.u32(data, 4).ok_or_else(|| truncated(HEADER_START))?;
    let header = data.get(..to_usize(header_len)).ok_or_else(|| truncated(header_len))?;
    if header.iter().skip(to_usize(HEADER_LEN)).any(|byte| *byte != 0) {
        return Err(BtfRule::HeaderFields);
    }
    // A shorter header counts as one whose other fields are 0.
    let mut fields = [0; 24];
    fields.iter_mut().zip(header).for_each(|(field, byte)| *field = *byte);
    let [.., version, flags] = *fields.first_chunk::<4>().unwrap_or(&[0; 4]);
    let magic = read_as.u16(&fields, 0).unwrap_or_default();
    if endian.is_none() || magic != MAGIC {
        return Err(BtfRule::Magic { found: magic });
    }
    if version != 1 {
        return Err(BtfRule::Version { found: version });
    }
    if flags != 0 {
        return Err(BtfRule::HeaderFlags { found: flags });
    }
    let word = |at| read_as.u32(&fields, at).unwrap_or_default();
    let body = data.get(to_usize(word(4))..).unwrap_or_default();
    if body.is_empty() {
        return Err(BtfRule::NoData);
    }
    let types = SectionRange { offset: word(8), len: word(12) };
    let strings = SectionRange { offset: word(16), len: word(20) };
    check_ranges(types, strings, to_u32(body.len()))?;
    let bytes = |range: SectionRange| {
        let rest = body.get(to_usize(range.offset)..).unwrap_or_default();
        rest.get(..to_usize(range.len)).unwrap_or_default()
    };
    check_strings(strings, bytes(strings), body)?;
    if !types.offset.is_multiple_of(4) {
        return Err(BtfRule::TypesUnaligned { offset: types.offset });
    }
    if types.len == 0 {
        return Err(BtfRule::NoTypes);
    }
    Ok(SectionBytes { endian: read_as, types: bytes(types), strings: bytes(strings) })
}

/// Checks that the sections follow each other without gaps and overlaps (kernel: `btf_check_sec_info`).
fn check_ranges(types: SectionRange, strings: SectionRange, body_len: u32) -> Result<(), BtfRule> {
    // The kernel sorts by differences that it reads as signed numbers (`btf_sec_info_cmp`).
    let difference = |a: u32, b: u32| signed32(a.wrapping_sub(b));
    let order = [difference(types.offset, strings.offset), difference(types.len, strings.len)];
    let sections = if order <= [0, 0] { [types, strings] } else { [strings, types] };
    let mut end = 0u32;
    for SectionRange { offset, len } in sections {
        if body_len < offset {
            return Err(BtfRule::SectionOffset { offset, available: body_len });
        }
        if end < offset {
            return Err(BtfRule::SectionGap { offset: end });
        }
        if end > offset {
            return Err(BtfRule::SectionOverlap { offset });
        }
        let available = body_len.saturating_sub(end);
        if available < len {
            return Err(BtfRule::SectionLength { len, available });
        }
        // The sum does not exceed the length of the body.
        end = end.saturating_add(len);
    }
    if end == body_len { Ok(()) } else { Err(BtfRule::SectionGap { offset: end }) }
}

/// Checks that the strings are the last section, and begin and end with NUL.
fn check_strings(range: SectionRange, strings: &[u8], body: &[u8]) -> Result<(), BtfRule> {
    if range.offset.saturating_add(range.len) != to_u32(body.len()) {
        return Err(BtfRule::StringsNotLast);
    }
    let is_terminated = strings.last() == Some(&0);
    let is_short = range.len.saturating_sub(1) <= limits::KERNEL_NAME_OFFSET;
    if is_terminated && is_short && strings.first() == Some(&0) { Ok(()) } else { Err(BtfRule::Strings) }
}

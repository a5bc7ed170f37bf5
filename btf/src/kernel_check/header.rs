//! The header and the sections (kernel: `btf_parse_hdr`, `btf_parse_str_sec`, `btf_parse_layout_sec`).

use super::{rule::BtfRule, rules::KernelBtfRules};
use crate::{
    endian::{Endian, signed32},
    ids::{to_u32, to_usize},
    limits,
    parse::{MAGIC, endian_of},
};
use core::cmp::Ordering;

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

/// The fields of a header.
struct Header<'d> {
    endian: Endian,
    types: SectionRange,
    strings: SectionRange,
    /// The layout section, if the kernel knows it and the header has its fields.
    layout: Option<SectionRange>,
    /// The data after the header.
    body: &'d [u8],
}

/// The end of the field `hdr_len`, without which nothing can be read.
const HEADER_START: u32 = 8;
/// The bytes of a header with a layout section.
const HEADER_BYTES: usize = 32;
/// The bytes of a header that a kernel without layout sections knows.
const OLD_HEADER_BYTES: usize = 24;
/// The bytes of a kind in the layout section (`struct btf_layout`).
const LAYOUT_BYTES: u32 = 4;

/// Returns the sections, or the rule that the header violates.
///
/// The byte order is that of the magic number: a kernel of the other byte order refuses every BTF of this
/// order.
pub(super) fn find_sections<'d>(data: &'d [u8], rules: &KernelBtfRules) -> Result<SectionBytes<'d>, BtfRule> {
    if data.len() > limits::KERNEL_BTF_BYTES {
        return Err(BtfRule::TooLong { found: data.len(), limit: limits::KERNEL_BTF_BYTES });
    }
    let Header { endian, types, strings, layout, body } = parse_header(data, rules)?;
    let used_layout = layout.filter(|layout| layout.len != 0);
    let mut sections = [Some(types), Some(strings), used_layout];
    check_ranges(&mut sections, to_u32(body.len()))?;
    let bytes = |SectionRange { offset, len }: SectionRange| {
        let rest = body.get(to_usize(offset)..);
        let available = to_u32(body.len());
        rest.and_then(|rest| rest.get(..to_usize(len))).ok_or(BtfRule::SectionLength { len, available })
    };
    let string_bytes = bytes(strings)?;
    let is_last = strings.offset.checked_add(strings.len) == Some(to_u32(body.len()));
    if layout.is_none() && !is_last {
        return Err(BtfRule::StringsNotLast);
    }
    let last = strings.len.checked_sub(1).filter(|last| *last <= limits::KERNEL_NAME_OFFSET);
    if last.is_none() || string_bytes.first() != Some(&0) || string_bytes.last() != Some(&0) {
        return Err(BtfRule::Strings);
    }
    used_layout.map_or(Ok(()), check_layout)?;
    if !types.offset.is_multiple_of(4) {
        return Err(BtfRule::TypesUnaligned { offset: types.offset });
    }
    if types.len == 0 {
        return Err(BtfRule::NoTypes);
    }
    Ok(SectionBytes { endian, types: bytes(types)?, strings: string_bytes })
}

/// Reads the header, as far as the kernel knows it.
fn parse_header<'d>(data: &'d [u8], rules: &KernelBtfRules) -> Result<Header<'d>, BtfRule> {
    let truncated = |need| BtfRule::HeaderTruncated { need, len: data.len() };
    let known_bytes = if rules.layout_sections { HEADER_BYTES } else { OLD_HEADER_BYTES };
    let endian = endian_of(data);
    let read_as = endian.unwrap_or(Endian::Little);
    let header_len = read_as.u32(data, 4).ok_or_else(|| truncated(HEADER_START))?;
    let header = data.get(..to_usize(header_len)).ok_or_else(|| truncated(header_len))?;
    if header.iter().skip(known_bytes).any(|byte| *byte != 0) {
        return Err(BtfRule::HeaderFields);
    }
    // A shorter header counts as one whose other fields are 0.
    let mut fields = [0; HEADER_BYTES];
    fields.iter_mut().zip(header).for_each(|(field, byte)| *field = *byte);
    let [first, second, version, flags, ..] = fields;
    let [low, high] = match read_as {
        Endian::Little => [first, second],
        Endian::Big => [second, first],
    };
    let magic = (u16::from(high) << 8) | u16::from(low);
    if endian.is_none() || magic != MAGIC {
        return Err(BtfRule::Magic { found: magic });
    }
    if version != 1 {
        return Err(BtfRule::Version { found: version });
    }
    if flags != 0 {
        return Err(BtfRule::HeaderFlags { found: flags });
    }
    let mut words = [0; HEADER_BYTES / 4];
    for (word, bytes) in words.iter_mut().zip(fields.as_chunks::<4>().0) {
        *word = read_as.word(*bytes);
    }
    let [_, copied_len, type_offset, type_len, string_offset, string_len, layout_offset, layout_len] = words;
    // Of a header that ends within the field, the kernel knows a part of its length.
    let body = data.get(to_usize(copied_len)..).ok_or_else(|| truncated(copied_len))?;
    if body.is_empty() {
        return Err(BtfRule::NoData);
    }
    let layout = SectionRange { offset: layout_offset, len: layout_len };
    Ok(Header {
        endian: read_as,
        types: SectionRange { offset: type_offset, len: type_len },
        strings: SectionRange { offset: string_offset, len: string_len },
        layout: (rules.layout_sections && header.len() >= HEADER_BYTES).then_some(layout),
        body,
    })
}

/// Checks that the sections follow each other without gaps and overlaps (kernel: `btf_check_sec_info`).
fn check_ranges(sections: &mut [Option<SectionRange>; 3], body_len: u32) -> Result<(), BtfRule> {
    sections.sort_by(|a, b| match (a, b) {
        (Some(a), Some(b)) => compare(*a, *b),
        _ => b.is_some().cmp(&a.is_some()),
    });
    let mut end = 0u32;
    for SectionRange { offset, len } in sections.iter().copied().flatten() {
        if body_len < offset {
            return Err(BtfRule::SectionOffset { offset, available: body_len });
        }
        if end < offset {
            return Err(BtfRule::SectionGap { offset: end });
        }
        if end > offset {
            return Err(BtfRule::SectionOverlap { offset });
        }
        // The section begins within the data.
        let available =
            body_len.checked_sub(end).ok_or(BtfRule::SectionOffset { offset, available: body_len })?;
        let too_long = BtfRule::SectionLength { len, available };
        if available < len {
            return Err(too_long);
        }
        end = end.checked_add(len).ok_or(too_long)?;
    }
    if end == body_len { Ok(()) } else { Err(BtfRule::SectionGap { offset: end }) }
}

/// Compares sections by their places. The kernel reads the differences as signed numbers
/// (`btf_sec_info_cmp`).
fn compare(a: SectionRange, b: SectionRange) -> Ordering {
    let difference = |a: u32, b: u32| signed32(a.wrapping_sub(b)).cmp(&0);
    difference(a.offset, b.offset).then(difference(a.len, b.len))
}

/// Checks the place and the length of the layout section.
fn check_layout(SectionRange { offset, len }: SectionRange) -> Result<(), BtfRule> {
    if !offset.is_multiple_of(4) {
        return Err(BtfRule::LayoutUnaligned { offset });
    }
    if !len.is_multiple_of(LAYOUT_BYTES) {
        return Err(BtfRule::LayoutLength { found: len });
    }
    Ok(())
}

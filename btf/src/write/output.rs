//! Assembly of a BTF from its sections.

use crate::{
    endian::Endian,
    ids::to_u32,
    parse::{HEADER_LEN, HEADER_LEN_WITH_LAYOUT, MAGIC},
};
use alloc::vec::Vec;

/// Returns a BTF of these sections, with a header of 32 bytes if there is a layout section, else of 24 bytes.
pub(super) fn assemble(endian: Endian, types: &[u8], layout: Option<&[u8]>, strings: &[u8]) -> Vec<u8> {
    let header_len = if layout.is_some() { HEADER_LEN_WITH_LAYOUT } else { HEADER_LEN };
    let layout_bytes = layout.unwrap_or(&[]);
    // The layout lies between types and strings, where its words are aligned. If a length exceeds 32 bits,
    // parsing rejects the BTF.
    let (types_len, layout_len) = (to_u32(types.len()), to_u32(layout_bytes.len()));
    let strings_offset = types_len.saturating_add(layout_len);
    let mut out = Vec::new();
    endian.put_u16(&mut out, MAGIC);
    out.extend_from_slice(&[1, 0]);
    for word in [header_len, 0, types_len, strings_offset, to_u32(strings.len())] {
        endian.put_u32(&mut out, word);
    }
    if layout.is_some() {
        endian.put_u32(&mut out, types_len);
        endian.put_u32(&mut out, layout_len);
    }
    for section in [types, layout_bytes, strings] {
        out.extend_from_slice(section);
    }
    out
}

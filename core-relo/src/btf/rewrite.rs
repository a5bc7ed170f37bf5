//! A copy of a BTF's own types with every id and name mapped to another.

use super::{
    Btf,
    header::MAGIC,
    reference::{self, Reference},
};
use crate::ids::{StrOffset, TypeId, to_u32};
use alloc::vec::Vec;
use core::ops::Range;

/// Bytes of the header with the layout section's place, and without.
const HEADER_LENS: [u32; 2] = [24, 32];

/// Copies `btf`'s own types, in order, with `id` and `name` applied to every reference. What `name` puts into the vector it is
/// given is appended to the strings.
///
/// Types of unknown kind are copied as they are: where their references lie is not known.
pub(super) fn rewrite(
    btf: &Btf<'_>,
    mut id: impl FnMut(TypeId) -> TypeId,
    mut name: impl FnMut(StrOffset, &mut Vec<u8>) -> StrOffset,
) -> Vec<u8> {
    let part = |range: &Range<usize>| btf.data.get(range.clone()).unwrap_or_default();
    let mut types = part(&btf.header.types).to_vec();
    let start = btf.header.types.start;
    let mut added = Vec::new();
    for (ty, at) in btf.types().zip(btf.offsets()) {
        let at = at.saturating_sub(start);
        reference::each(ty, btf.endian(), |offset, word| {
            let value = match word {
                Reference::Id(old) => id(old).0,
                Reference::Name(old) => name(old, &mut added).0,
            };
            let place = at.checked_add(offset).and_then(|at| types.get_mut(at..)?.first_chunk_mut::<4>());
            if let Some(place) = place {
                *place = btf.endian().u32_bytes(value);
            }
        });
    }
    let mut strings = part(&btf.header.strings).to_vec();
    strings.extend_from_slice(&added);
    assemble(btf, &types, part(&btf.header.layout), &strings)
}

fn assemble(btf: &Btf<'_>, types: &[u8], layout: &[u8], strings: &[u8]) -> Vec<u8> {
    let endian = btf.endian();
    let [short, long] = HEADER_LENS;
    let header_len = if layout.is_empty() { short } else { long };
    let strings_at = to_u32(types.len()).saturating_add(to_u32(layout.len()));
    let mut out = Vec::new();
    endian.put_u16(&mut out, MAGIC);
    out.extend_from_slice(&[1, 0]);
    for word in [header_len, 0, to_u32(types.len()), strings_at, to_u32(strings.len())] {
        endian.put_u32(&mut out, word);
    }
    if header_len == long {
        endian.put_u32(&mut out, to_u32(types.len()));
        endian.put_u32(&mut out, to_u32(layout.len()));
    }
    for part in [types, layout, strings] {
        out.extend_from_slice(part);
    }
    out
}

//! A copy of a BTF's own types with every id and name mapped to another.

use super::{Btf, Kind, Type, header::MAGIC};
use crate::ids::{StrOffset, TypeId, to_u32, to_usize};
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
    let start = to_u32(btf.header.types.start);
    let mut added = Vec::new();
    for (ty, at) in btf.types().zip(&btf.offsets) {
        let at = to_usize(at.saturating_sub(start));
        for (offset, word) in references(ty) {
            let value = match word {
                Reference::Id(old) => id(old).0,
                Reference::Name(old) => name(old, &mut added).0,
            };
            let place = at.checked_add(offset).and_then(|at| types.get_mut(at..)?.first_chunk_mut::<4>());
            if let Some(place) = place {
                *place = btf.endian().u32_bytes(value);
            }
        }
    }
    let mut strings = part(&btf.header.strings).to_vec();
    strings.extend_from_slice(&added);
    assemble(btf, &types, part(&btf.header.layout), &strings)
}

enum Reference {
    Id(TypeId),
    Name(StrOffset),
}

/// The words of a type's record that refer to a type or a name: their place in bytes, and what they refer to.
fn references(ty: Type<'_>) -> Vec<(usize, Reference)> {
    let mut found = Vec::from([(0, Reference::Name(ty.name_offset()))]);
    if let Some(target) = ty.target() {
        found.push((8, Reference::Id(target)));
    }
    if let Some(array) = ty.array() {
        found.push((12, Reference::Id(array.element)));
        found.push((16, Reference::Id(array.index)));
    }
    let each = if ty.kind() == Kind::Enum || ty.kind() == Kind::FuncProto { 8usize } else { 12 };
    let place =
        |index: usize, word: usize| index.saturating_mul(each).saturating_add(word).saturating_add(12);
    for (i, member) in ty.members().enumerate() {
        found.push((place(i, 0), Reference::Name(member.name_offset)));
        found.push((place(i, 4), Reference::Id(member.ty)));
    }
    for (i, variant) in ty.variants().enumerate() {
        found.push((place(i, 0), Reference::Name(variant.name_offset)));
    }
    for (i, param) in ty.params().enumerate() {
        found.push((place(i, 0), Reference::Name(param.name_offset)));
        found.push((place(i, 4), Reference::Id(param.ty)));
    }
    found.extend(ty.secinfos().enumerate().map(|(i, info)| (place(i, 0), Reference::Id(info.ty))));
    found
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

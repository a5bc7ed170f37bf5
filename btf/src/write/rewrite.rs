//! A copy of a BTF's own types with mapped type ids and name offsets.

use super::output::assemble;
use crate::{
    format::{References, WordMeaning},
    ids::{StrOffset, TypeId},
    parse::Btf,
};
use alloc::vec::Vec;

/// Copies the own types of `btf`, in order, and applies `map_id` and `map_name` to every reference. Strings
/// that `map_name` puts into its vector are appended to the string section.
///
/// In records of unknown kind only the name is mapped.
pub(super) fn rewrite(
    btf: &Btf<'_>,
    map_id: impl FnMut(TypeId) -> TypeId,
    map_name: impl FnMut(StrOffset, &mut Vec<u8>) -> StrOffset,
) -> Vec<u8> {
    rewrite_in_order(btf, 0..btf.table.len(), map_id, map_name)
}

/// As [`rewrite`], with the types in the order of these own indices.
pub(super) fn rewrite_in_order(
    btf: &Btf<'_>,
    order: impl IntoIterator<Item = usize>,
    mut map_id: impl FnMut(TypeId) -> TypeId,
    mut map_name: impl FnMut(StrOffset, &mut Vec<u8>) -> StrOffset,
) -> Vec<u8> {
    let section = btf.types_section();
    let (mut types, mut added) = (Vec::with_capacity(section.len()), Vec::new());
    for own_index in order {
        let Some(start) = btf.table.offset(own_index, section.len()) else { continue };
        let next = own_index.checked_add(1).and_then(|next| btf.table.offset(next, section.len()));
        let Some(record) = section.get(start..next.unwrap_or(section.len())) else { continue };
        let copy_start = types.len();
        types.extend_from_slice(record);
        let words = types.split_at_mut(copy_start).1.as_chunks_mut::<4>().0;
        let Some(kind) = btf.kind_of(btf.id_at(own_index)) else { continue };
        for (index, meaning) in References::new(kind, words.len()) {
            if let Some(word) = words.get_mut(index) {
                let old = btf.endian().word(*word);
                let new = match meaning {
                    WordMeaning::Name => map_name(StrOffset(old), &mut added).0,
                    WordMeaning::Id => map_id(TypeId(old)).0,
                    WordMeaning::Value => old,
                };
                *word = btf.endian().u32_bytes(new);
            }
        }
    }
    let strings = [btf.strings_section(), &added].concat();
    let layout = Some(btf.layout_section()).filter(|layout| !layout.is_empty());
    assemble(btf.endian(), &types, layout, &strings)
}

//! A copy of a BTF's own types with mapped type ids and name offsets.

use super::output::assemble;
use crate::{
    btf::{
        format::{References, WordMeaning},
        parse::Btf,
    },
    ids::{StrOffset, TypeId},
};
use alloc::vec::Vec;

/// Copies the own types of `btf`, in order, and applies `map_id` and `map_name` to every reference. Strings that `map_name`
/// puts into its vector are appended to the string section.
///
/// In records of unknown kind only the name is mapped.
pub(super) fn rewrite(
    btf: &Btf<'_>,
    mut map_id: impl FnMut(TypeId) -> TypeId,
    mut map_name: impl FnMut(StrOffset, &mut Vec<u8>) -> StrOffset,
) -> Vec<u8> {
    let mut types = btf.types_section().to_vec();
    let mut added = Vec::new();
    let section_len = types.len();
    let ends = btf.table.offsets(section_len).skip(1).chain([section_len]);
    for ((ty, start), end) in btf.types().zip(btf.table.offsets(section_len)).zip(ends) {
        let Some(record) = types.get_mut(start..end) else { continue };
        let words = record.as_chunks_mut::<4>().0;
        for (index, meaning) in References::new(ty.kind(), words.len()) {
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

//! Relocation of the debug sections of object files and modules.

use crate::error::SectionProblem;
use alloc::borrow::Cow;
use core_relo::Endian;
use object::{
    Object as _, ObjectSection as _, ObjectSymbol as _, ReadRef, Relocation, RelocationKind,
    RelocationTarget,
    read::elf::{ElfFile, ElfSection, FileHeader},
};

/// Applies the absolute relocations of a section.
///
/// Other relocations are differences of addresses, on which no type depends.
pub(super) fn relocate<'data, H: FileHeader, R: ReadRef<'data>>(
    file: &ElfFile<'data, H, R>,
    section: &ElfSection<'data, '_, H, R>,
    endian: Endian,
    data: &mut Cow<'_, [u8]>,
) -> Result<(), SectionProblem> {
    for (offset, relocation) in section.relocations() {
        let Some(symbol) = symbol_value(file, &relocation) else { continue };
        let outside = SectionProblem::Relocation { offset };
        let start = usize::try_from(offset).ok().ok_or(outside)?;
        let bytes = data.to_mut().get_mut(start..).ok_or(outside)?;
        let value = symbol.wrapping_add_signed(relocation.addend());
        match relocation.size() {
            32 => {
                let word = bytes.first_chunk_mut::<4>().ok_or(outside)?;
                let value = if relocation.has_implicit_addend() {
                    value.wrapping_add(endian.word(*word).into())
                } else {
                    value
                };
                *word = endian.u32_bytes(low32(value));
            }
            64 => {
                let word = bytes.first_chunk_mut::<8>().ok_or(outside)?;
                let implicit = endian.u64(word, 0).filter(|_| relocation.has_implicit_addend());
                *word = endian.u64_bytes(implicit.map_or(value, |implicit| value.wrapping_add(implicit)));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the value of the symbol or section of an absolute relocation.
fn symbol_value<'data, H: FileHeader, R: ReadRef<'data>>(
    file: &ElfFile<'data, H, R>,
    relocation: &Relocation,
) -> Option<u64> {
    if relocation.kind() != RelocationKind::Absolute {
        return None;
    }
    match relocation.target() {
        RelocationTarget::Symbol(index) => Some(file.symbol_by_index(index).ok()?.address()),
        RelocationTarget::Section(index) => Some(file.section_by_index(index).ok()?.address()),
        RelocationTarget::Absolute => Some(0),
        _ => None,
    }
}

/// Returns the low 32 bits.
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "the truncation is the purpose")]
const fn low32(value: u64) -> u32 {
    value as u32
}

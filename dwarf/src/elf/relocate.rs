//! Relocation of the debug sections of object files and modules.

use super::relocation_kinds::{RelocationEffect, effect};
use crate::error::SectionProblem;
use alloc::borrow::Cow;
use core_relo::Endian;
use object::{
    Object as _, ObjectSection as _, ObjectSymbol as _, ReadRef, Relocation, RelocationTarget,
    elf::{SHT_CREL, SHT_REL, SHT_RELA},
    read::elf::{CrelIterator, ElfFile, ElfSection, FileHeader, SectionHeader as _},
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
    check_tables(file, section)?;
    let machine = file.elf_header().e_machine(file.endian());
    for (offset, relocation) in section.relocations() {
        let kind = |kind| SectionProblem::RelocationKind { offset, kind };
        let bits = match effect(machine, &relocation).map_err(kind)? {
            RelocationEffect::None => continue,
            RelocationEffect::Absolute { bits } => bits,
        };
        let symbol = symbol_value(file, &relocation).ok_or(SectionProblem::RelocationTarget { offset })?;
        let outside = SectionProblem::Relocation { offset };
        let start = usize::try_from(offset).ok().ok_or(outside)?;
        let bytes = data.to_mut().get_mut(start..).ok_or(outside)?;
        let value = symbol.wrapping_add_signed(relocation.addend());
        if bits == 32 {
            let word = bytes.first_chunk_mut::<4>().ok_or(outside)?;
            let value = if relocation.has_implicit_addend() {
                value.wrapping_add(endian.word(*word).into())
            } else {
                value
            };
            *word = endian.u32_bytes(low32(value));
        } else {
            let word = bytes.first_chunk_mut::<8>().ok_or(outside)?;
            let implicit = endian.u64(word, 0).filter(|_| relocation.has_implicit_addend());
            *word = endian.u64_bytes(implicit.map_or(value, |implicit| value.wrapping_add(implicit)));
        }
    }
    Ok(())
}

/// Returns an error if a table of a section's relocations cannot be read: `relocations` leaves it out.
fn check_tables<'data, H: FileHeader, R: ReadRef<'data>>(
    file: &ElfFile<'data, H, R>,
    section: &ElfSection<'data, '_, H, R>,
) -> Result<(), SectionProblem> {
    let (endian, data) = (file.endian(), file.data());
    for table in file.elf_section_table().iter() {
        if usize::try_from(table.sh_info(endian)) != Ok(section.index().0) {
            continue;
        }
        let is_readable = match table.sh_type(endian) {
            SHT_REL => table.data_as_array::<H::Rel, R>(endian, data).is_ok(),
            SHT_RELA => table.data_as_array::<H::Rela, R>(endian, data).is_ok(),
            SHT_CREL => table.data(endian, data).and_then(CrelIterator::new).is_ok(),
            _ => true,
        };
        if !is_readable {
            return Err(SectionProblem::RelocationTable);
        }
    }
    Ok(())
}

/// Returns the value of the symbol or section of a relocation.
fn symbol_value<'data, H: FileHeader, R: ReadRef<'data>>(
    file: &ElfFile<'data, H, R>,
    relocation: &Relocation,
) -> Option<u64> {
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

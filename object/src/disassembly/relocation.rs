//! The ELF relocations of code and data, with their places and what they refer to.

use super::reference::{Reference, References};
use crate::index::SectionIndex;
use crate::object::{Object, ObjectError, Program, Reloc, calls::function_containing};
use core_relo::{
    InsnIndex, Name,
    insn::{INSN_BYTES, Insn, opcode},
};

/// An ELF relocation of code or data.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ElfRelocation<'o, 'd> {
    /// The record.
    pub reloc: Reloc<'d>,
    /// The addend in bytes: of the record, or of the section's bytes. For a call, the distance of the
    /// function from the symbol.
    pub addend: i64,
    /// The instruction or variable that the relocation changes.
    pub place: RelocPlace<'o, 'd>,
    /// The map, variable, function or kernel symbol that the relocation refers to.
    pub reference: Option<Reference<'d>>,
    /// Whether loaders apply the relocation. They skip those of data sections (libbpf:
    /// `bpf_object__collect_relos`).
    pub is_applied: bool,
}

/// The place of an ELF relocation in its section.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum RelocPlace<'o, 'd> {
    /// An instruction, and the function that contains it.
    Insn {
        /// The index of the instruction in its section.
        index: InsnIndex,
        /// The function.
        function: Option<&'o Program<'d>>,
    },
    /// A word of data, and the variable that contains it.
    Data {
        /// The name of the variable, and the offset of the word in it.
        variable: Option<(Name<'d>, u64)>,
    },
}

/// The ELF relocations of an object's code and data.
///
/// Relocations of other sections, such as `.BTF` and `.debug_info`, are not among them: loaders do not read
/// them.
#[derive(Debug)]
pub struct ElfRelocations<'o, 'd> {
    object: &'o Object<'d>,
    references: References<'o, 'd>,
}

impl<'o, 'd> ElfRelocations<'o, 'd> {
    /// Prepares the list of an object.
    pub fn new(object: &'o Object<'d>) -> Self {
        Self { object, references: References::new(object) }
    }

    /// Returns the relocations in the order of the sections.
    pub fn iter(&self) -> impl Iterator<Item = Result<ElfRelocation<'o, 'd>, ObjectError>> {
        let sections = self.object.sections().iter().filter(|section| section.is_allocated());
        sections.flat_map(move |section| {
            let is_applied = self.is_applied(section.index);
            let code = self.object.code_indices().binary_search(&section.index).ok();
            let relocs = self.object.elf_relocs_of(section.index);
            relocs.map(move |reloc| Ok(self.describe(reloc?, code, is_applied)))
        })
    }

    /// Returns whether loaders apply the relocations of a section.
    fn is_applied(&self, section: SectionIndex) -> bool {
        let data = self.object.data_sections();
        if let Ok(position) = data.binary_search_by_key(&section, |data| data.section_index) {
            return data.get(position).is_some_and(|data| !data.kind.has_skipped_relocs());
        }
        let is_code = self.object.code_indices().binary_search(&section).is_ok();
        let maps = self.object.maps();
        is_code || maps.binary_search_by_key(&section, |map| map.section_index).is_ok()
    }

    fn describe(&self, reloc: Reloc<'d>, code: Option<usize>, is_applied: bool) -> ElfRelocation<'o, 'd> {
        let insn = code.and_then(|position| self.insn(position, reloc.offset));
        if let Some((position, (index, insn))) = code.zip(insn) {
            let function = function_containing(self.object.programs(), reloc.section_index, index);
            return ElfRelocation {
                reloc,
                addend: reloc.addend.unwrap_or_else(|| insn_addend(insn)),
                place: RelocPlace::Insn { index: InsnIndex(index), function },
                reference: self.references.of_insn(position, (index, insn), Some(&reloc)),
                is_applied,
            };
        }
        let addend = reloc.addend.or_else(|| self.data_addend(&reloc)).unwrap_or(0);
        ElfRelocation {
            reloc,
            addend,
            place: RelocPlace::Data {
                variable: self.references.variable_at(reloc.section_index, reloc.offset),
            },
            reference: self.references.of_data(&reloc, addend),
            is_applied,
        }
    }

    /// Returns the instruction at an offset of a section of code, with its index.
    fn insn(&self, position: usize, offset: u64) -> Option<(u32, Insn)> {
        let code = self.object.code_sections().get(position)?.code;
        let index = usize::try_from(offset).ok()? / INSN_BYTES;
        let raw = code.get(index.checked_mul(INSN_BYTES)?..)?.first_chunk()?;
        Some((u32::try_from(index).ok()?, Insn::decode(self.object.endian(), *raw)))
    }

    /// Returns the addend in the bytes of a section of data; `None` for a `.bss`, which has no bytes.
    fn data_addend(&self, reloc: &Reloc<'_>) -> Option<i64> {
        reloc.addend_in(self.object.elf_section(reloc.section_index)?.data, self.object.endian())
    }
}

/// Returns the addend of an instruction in bytes. A call has the distance in instructions, less one.
fn insn_addend(insn: Insn) -> i64 {
    let imm = i64::from(insn.imm);
    if insn.code == opcode::CALL { imm.saturating_add(1).saturating_mul(8) } else { imm }
}

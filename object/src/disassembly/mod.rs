//! The instructions of an object with everything that the object says about them: functions, source lines,
//! CO-RE relocations, and the names of maps, variables and called functions. And its ELF relocations, with
//! what they refer to.
//!
//! Damaged code is listed, too. An instruction that cannot be decoded has an [`InsnDefect`] with the reason.
//! Time, memory and the number of instructions are in proportion to the code, however many functions share
//! it.

mod instruction;
mod reference;
mod relocation;
mod section;
#[cfg(test)]
mod tests;

pub use instruction::{Instruction, JumpTarget};
pub use reference::{Reference, ReferenceKind};
pub use relocation::{ElfRelocation, ElfRelocations, RelocPlace};
pub use section::SectionDisassembly;

use crate::object::{Object, ObjectError, Program, calls::functions_starting_at};
use core_relo::{Record, Relocs, SourceLines, insn::InsnDefect};
use hashbrown::HashMap;
use reference::References;

/// The disassembly of an object.
#[derive(Debug)]
pub struct Disassembly<'o, 'd> {
    object: &'o Object<'d>,
    relocs: Result<Relocs<'o>, ObjectError>,
    /// The positions of CO-RE records by code section and instruction.
    records: HashMap<(usize, u32), Vec<usize>>,
    lines: Option<SourceLines<'o>>,
    references: References<'o, 'd>,
}

impl<'o, 'd> Disassembly<'o, 'd> {
    /// Prepares the disassembly of an object.
    pub fn new(object: &'o Object<'d>) -> Self {
        let relocs = object.relocs_or_none();
        let mut records = HashMap::<_, Vec<_>>::new();
        for (position, record) in relocs.iter().flat_map(Relocs::records).enumerate() {
            if let Some((section, insn)) = record.section_position().zip(record.insn) {
                records.entry((section, insn.0)).or_default().push(position);
            }
        }
        let lines = object.btf().zip(object.ext()).map(|(btf, ext)| SourceLines::collect(btf, ext));
        Self { object, relocs, records, lines, references: References::new(object) }
    }

    /// Returns the object.
    pub fn object(&self) -> &'o Object<'d> {
        self.object
    }

    /// Returns the reason why no instruction has CO-RE relocations although the object may have some.
    pub fn relocs_error(&self) -> Option<&ObjectError> {
        self.relocs.as_ref().err()
    }

    /// Returns the sections of code in order.
    pub fn sections(&self) -> impl Iterator<Item = SectionDisassembly<'_, 'o, 'd>> {
        (0..self.object.code_sections().len()).filter_map(|position| SectionDisassembly::new(self, position))
    }

    /// Returns the CO-RE relocations of an instruction.
    fn records(&self, section: usize, insn: u32) -> impl Iterator<Item = &Record<'o>> {
        let positions = self.records.get(&(section, insn)).into_iter().flatten();
        let all = self.relocs.as_ref().map_or(&[][..], Relocs::records);
        positions.filter_map(|position| all.get(*position))
    }

    /// Returns the functions that begin at an instruction.
    fn functions_at(&self, section: usize, insn: u32) -> impl Iterator<Item = &'o Program<'d>> {
        let section = self.object.code_indices().get(section).copied();
        let programs = self.object.programs();
        section
            .into_iter()
            .flat_map(move |section| functions_starting_at(programs, (section, i64::from(insn))))
            .map(|(_, program)| program)
    }
}

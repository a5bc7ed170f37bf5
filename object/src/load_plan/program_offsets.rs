//! An object's programs by their position in the ELF file.

use crate::{
    index::{ProgramIndex, SectionIndex},
    object::{Object, Program},
};
use core_relo::InsnIndex;
use hashbrown::HashMap;

/// Programs by section and first instruction.
#[derive(Debug)]
pub(super) struct ProgramOffsets(HashMap<(SectionIndex, InsnIndex), ProgramIndex>);

impl ProgramOffsets {
    /// Indexes the functions of an object that `filter` accepts.
    pub(super) fn new(object: &Object<'_>, filter: impl Fn(&Program<'_>) -> bool) -> Self {
        let programs = ProgramIndex::enumerate(object.programs()).filter(|(_, program)| filter(program));
        Self(programs.map(|(index, program)| ((program.section_index, program.start()), index)).collect())
    }

    /// Finds the program that begins at a byte offset of a section.
    pub(super) fn find(&self, section: SectionIndex, offset: u64) -> Option<ProgramIndex> {
        let insn = u32::try_from(offset / 8).ok().filter(|_| offset.is_multiple_of(8))?;
        self.0.get(&(section, InsnIndex(insn))).copied()
    }
}

//! The instructions of one section.

use super::{Disassembly, InsnDefect, Instruction, JumpTarget};
use crate::index::SectionIndex;
use core::{iter, ops::Range};
use core_relo::{
    CodeSection, InsnIndex,
    insn::{Flow, INSN_BYTES, Slot},
};

/// The instructions of one section of code.
#[derive(Debug)]
pub struct SectionDisassembly<'r, 'o, 'd> {
    disassembly: &'r Disassembly<'o, 'd>,
    position: usize,
    code: &'o CodeSection<'d>,
    marks: Vec<Marks>,
}

/// Properties of a slot.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    begins_function: bool,
    begins_instruction: bool,
    is_jump_target: bool,
}

impl<'r, 'o, 'd> SectionDisassembly<'r, 'o, 'd> {
    pub(super) fn new(disassembly: &'r Disassembly<'o, 'd>, position: usize) -> Option<Self> {
        let code = disassembly.object().code_sections().get(position)?;
        let marks = vec![Marks::default(); code.code.len() / INSN_BYTES];
        let mut section = Self { disassembly, position, code, marks };
        for function in &code.functions {
            section.mark(function.start.0, |marks| marks.begins_function = true);
        }
        let mut next = Some(0);
        while let Some((index, slot)) = next.and_then(|index| section.decode(index)) {
            section.mark(index, |marks| marks.begins_instruction = true);
            if let Some(target) = slot.and_then(|slot| slot.first().jump_target(index)) {
                section.mark(target, |marks| marks.is_jump_target = true);
            }
            next = following(index, slot);
        }
        Some(section)
    }

    /// Returns the name of the section.
    pub fn name(&self) -> &'d [u8] {
        self.code.name
    }

    /// Returns the index of the section.
    pub fn index(&self) -> Option<SectionIndex> {
        self.disassembly.object().code_indices().get(self.position).copied()
    }

    /// Returns all instructions in order.
    pub fn instructions(&self) -> impl Iterator<Item = Instruction<'r, 'o, 'd>> {
        let mut next = Some(0);
        iter::from_fn(move || {
            let (index, slot) = self.decode(next?)?;
            next = following(index, slot);
            self.instruction(index, slot)
        })
    }

    fn mark(&mut self, index: u32, set: impl FnOnce(&mut Marks)) {
        if let Some(marks) = usize::try_from(index).ok().and_then(|index| self.marks.get_mut(index)) {
            set(marks);
        }
    }

    fn marks(&self, index: u32) -> Option<Marks> {
        self.marks.get(usize::try_from(index).ok()?).copied()
    }

    /// Decodes the instruction at an index. The slot is `None` if the section ends or a function begins
    /// within the instruction. The result is `None` at the end of the section.
    fn decode(&self, index: u32) -> Option<(u32, Option<Slot>)> {
        self.marks(index)?;
        let start = usize::try_from(index).ok()?.checked_mul(INSN_BYTES)?;
        let slot = Slot::decode(self.disassembly.object().endian(), self.code.code.get(start..)?);
        let is_cut = slot.is_some_and(|slot| slot.second().is_some())
            && index.checked_add(1).and_then(|next| self.marks(next)).is_none_or(|next| next.begins_function);
        Some((index, slot.filter(|_| !is_cut)))
    }

    fn instruction(&self, index: u32, slot: Option<Slot>) -> Option<Instruction<'r, 'o, 'd>> {
        let Self { disassembly, position, code, .. } = self;
        let marks = self.marks(index)?;
        let start = usize::try_from(index).ok()?.checked_mul(INSN_BYTES)?;
        let len = if slot.is_some_and(|slot| slot.second().is_some()) { 2 * INSN_BYTES } else { INSN_BYTES };
        let function = code.function_at(InsnIndex(index)).and_then(|function| code.functions.get(function));
        let lines = disassembly.lines.as_ref();
        Some(Instruction {
            section: code.name,
            index: InsnIndex(index),
            bytes: code.code.get(start..start.checked_add(len)?)?,
            slot,
            defect: slot.map_or(Some(InsnDefect::Truncated), Slot::defect),
            function: function.copied(),
            functions: if marks.begins_function {
                disassembly.functions_at(*position, index).collect()
            } else {
                Vec::new()
            },
            source: lines.and_then(|lines| lines.beginning_at(code.name, InsnIndex(index))),
            is_jump_target: marks.is_jump_target,
            jump: slot.and_then(|slot| self.jump(index, slot)),
            reference: slot.and_then(|slot| disassembly.references.find(*position, index, slot)),
            relocations: disassembly.records(*position, index).collect(),
        })
    }

    fn jump(&self, index: u32, slot: Slot) -> Option<JumpTarget> {
        if slot.defect().is_some() {
            return None;
        }
        let (Flow::Jump(distance) | Flow::Branch(distance)) = slot.first().flow() else { return None };
        let target = i64::from(index).checked_add(1)?.checked_add(distance.into())?;
        let is_inside = |target: &u32| self.bounds(index).contains(target);
        let inside = u32::try_from(target).ok().filter(is_inside);
        Some(match inside.map(|target| (target, self.marks(target))) {
            Some((target, Some(marks))) if marks.begins_instruction => {
                JumpTarget::Instruction(InsnIndex(target))
            }
            Some((target, Some(_))) => JumpTarget::SecondSlot(InsnIndex(target)),
            _ => JumpTarget::Outside(target),
        })
    }

    /// Returns the range of the function that contains an instruction, or of the section.
    fn bounds(&self, index: u32) -> Range<u32> {
        let function = self.code.function_at(InsnIndex(index));
        match function.and_then(|function| self.code.functions.get(function)) {
            // The object's parser has checked that functions lie within their sections.
            Some(function) => function.start.0..function.start.0.saturating_add(function.len),
            None => 0..self.code.insn_count(),
        }
    }
}

/// Returns the index of the next instruction.
fn following(index: u32, slot: Option<Slot>) -> Option<u32> {
    index.checked_add(if slot.is_some_and(|slot| slot.second().is_some()) { 2 } else { 1 })
}

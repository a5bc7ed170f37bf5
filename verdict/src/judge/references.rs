//! The references of a program's instructions.

use core_relo_object::{
    ExternIndex,
    link::{LinkedProgram, RefTarget},
};

/// Returns the reference of an instruction.
pub(super) fn find_reference(linked: &LinkedProgram, insn: u32) -> Option<&RefTarget> {
    // The references are in the order of their instructions.
    let found = linked.refs.binary_search_by_key(&insn, |(load, _)| *load).ok()?;
    linked.refs.get(found).map(|(_, target)| target)
}

/// Returns the extern that an instruction calls, or loads the address of.
pub(super) fn called_extern(linked: &LinkedProgram, insn: u32) -> Option<ExternIndex> {
    match find_reference(linked, insn) {
        Some(RefTarget::Extern(index)) => Some(*index),
        _ => None,
    }
}

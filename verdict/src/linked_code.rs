//! The instructions of a linked program.

use core_relo_object::link::LinkedProgram;

/// Returns the 64-bit loads of functions' addresses, with the first instruction of each function.
pub(crate) fn function_addresses(code: &LinkedProgram) -> impl Iterator<Item = (u32, u32)> {
    let loads = (0u32..).zip(&code.insns).filter(|(_, load)| load.is_function_address());
    loads.filter_map(|(insn, load)| {
        let start = i64::from(insn).checked_add(1)?.checked_add(load.imm.into())?;
        Some((insn, u32::try_from(start).ok()?))
    })
}

/// Returns the position of an instruction in memory.
pub(crate) fn usize_of(insn: u32) -> usize {
    core_relo::InsnIndex(insn).index()
}

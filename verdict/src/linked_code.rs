//! The instructions of a linked program.

use core_relo::insn::Insn;
use core_relo_object::link::LinkedProgram;

/// `BPF_PSEUDO_FUNC`: the source register of a 64-bit load of a function's address.
const PSEUDO_FUNC: u8 = 4;

/// Returns whether an instruction loads the address of a function of the program.
pub(crate) const fn is_function_address(insn: Insn) -> bool {
    insn.is_ld_imm64() && insn.src == PSEUDO_FUNC
}

/// Returns the 64-bit loads of functions' addresses, with the first instruction of each function.
pub(crate) fn function_addresses(code: &LinkedProgram) -> impl Iterator<Item = (u32, u32)> {
    let loads = (0u32..).zip(&code.insns).filter(|(_, load)| is_function_address(**load));
    loads.filter_map(|(insn, load)| {
        let start = i64::from(insn).checked_add(1)?.checked_add(load.imm.into())?;
        Some((insn, u32::try_from(start).ok()?))
    })
}

/// Returns the position of an instruction in memory.
pub(crate) fn usize_of(insn: u32) -> usize {
    core_relo::InsnIndex(insn).index()
}

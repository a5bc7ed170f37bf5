//! The requirements of single instructions.

use super::need::Need;
use crate::kernel::{InsnFeature, SleepableCode};
use core_relo::insn::{Class, Helper, Insn, POISON_IMM, alu, atomic, mode, opcode};
use core_relo_object::object::SecDef;

/// The register of arguments on the stack (kernel: `BPF_REG_PARAMS`).
pub(super) const STACK_ARGUMENTS: u8 = 11;

/// Returns whether an instruction calls `bpf_tail_call`.
pub(super) const fn is_tail_call(insn: Insn) -> bool {
    insn.is_helper_call() && matches!(Helper::of_call(insn.imm), Helper::TAIL_CALL)
}

/// Returns the requirements of an instruction, if older kernels do not know it.
pub(super) fn needs_of(insn: Insn, def: Option<&SecDef>, sleepable: SleepableCode) -> [Option<Need>; 2] {
    let need = need_of(insn, def, sleepable);
    // Kernels before all other atomic instructions refuse these two in dead code, too.
    let is_atomic = need == Some(Need::Instruction(InsnFeature::LoadAcquireStoreRelease));
    [need, is_atomic.then_some(Need::Instruction(InsnFeature::Atomics))]
}

/// Returns the instructions with their indices, without the second slots of 64-bit loads.
pub(super) fn decoded(insns: &[Insn]) -> impl Iterator<Item = (u32, Insn)> {
    let mut is_second_half = false;
    (0u32..).zip(insns).filter_map(move |(at, insn)| {
        let is_first = !is_second_half;
        is_second_half = is_first && insn.is_ld_imm64();
        is_first.then_some((at, *insn))
    })
}

/// Returns the part of the instruction set that an instruction belongs to, if every kernel with BTF knows the
/// part.
pub(super) fn old_feature(insn: Insn) -> Option<InsnFeature> {
    match insn.class() {
        Class::Alu if insn.operation() != alu::END && feature_of(insn).is_none() => Some(InsnFeature::Alu32),
        Class::Jmp if insn.is_function_call() => Some(InsnFeature::FunctionCall),
        _ => None,
    }
}

fn need_of(insn: Insn, def: Option<&SecDef>, sleepable: SleepableCode) -> Option<Need> {
    if insn.is_helper_call() {
        return (insn.imm != POISON_IMM).then(|| Need::Helper {
            helper: Helper::of_call(insn.imm),
            program_type: def.map(|def| def.program_type),
            attach_type: def.and_then(|def| def.attach_type),
            sleepable,
        });
    }
    feature_of(insn).map(Need::Instruction)
}

/// Returns the part of the instruction set that an instruction belongs to, if older kernels do not know it.
fn feature_of(insn: Insn) -> Option<InsnFeature> {
    const ADD: i32 = 0x00;
    match insn.class() {
        Class::Ldx | Class::St | Class::Stx if uses_stack_argument(insn) => Some(InsnFeature::StackArguments),
        Class::Ld if insn.is_function_address() => Some(InsnFeature::FunctionAddress),
        Class::Ldx if insn.mode() == mode::MEMSX => Some(InsnFeature::LoadSignExtended),
        // No older kernel knows an atomic operation of 8 or 16 bits.
        Class::Stx if insn.mode() == mode::ATOMIC && insn.access_bytes() < 4 => {
            Some(InsnFeature::LoadAcquireStoreRelease)
        }
        Class::Stx if insn.mode() == mode::ATOMIC => match insn.imm {
            ADD => None,
            atomic::LOAD_ACQUIRE | atomic::STORE_RELEASE => Some(InsnFeature::LoadAcquireStoreRelease),
            _ => Some(InsnFeature::Atomics),
        },
        Class::Alu | Class::Alu64 => match insn.operation() {
            // Offset 1 is for numbers with signs.
            alu::DIV | alu::MOD if insn.off == 1 => Some(InsnFeature::SignedDivision),
            // An offset extends the sign, or casts between address spaces.
            alu::MOV
                if insn.source_is_register()
                    && insn.off == 1
                    && insn.class() == Class::Alu64
                    && insn.imm != 0 =>
            {
                Some(InsnFeature::AddressSpaceCast)
            }
            alu::MOV if insn.source_is_register() && insn.off != 0 => Some(InsnFeature::MoveSignExtended),
            alu::END if insn.class() == Class::Alu64 => Some(InsnFeature::ByteSwap),
            _ => None,
        },
        Class::Jmp32 if insn.code == opcode::LONG_JUMP => Some(InsnFeature::LongJump),
        Class::Jmp32 => Some(InsnFeature::Jmp32),
        Class::Jmp if insn.code == opcode::INDIRECT_JUMP => Some(InsnFeature::IndirectJump),
        Class::Jmp if insn.code == opcode::MAY_GOTO => Some(InsnFeature::MayGoto),
        _ if is_backward_jump(insn) => Some(InsnFeature::BackwardJump),
        _ => None,
    }
}

/// Returns whether an instruction loads an argument on the stack, or stores one. Other instructions do not
/// have the register.
pub(super) fn uses_stack_argument(insn: Insn) -> bool {
    const LOAD: u8 = 0x79;
    const STORES: [u8; 2] = [0x7a, 0x7b];
    let is_slot = insn.off.checked_rem(8) == Some(0);
    match insn.code {
        LOAD => insn.src == STACK_ARGUMENTS && insn.off > 0 && is_slot,
        code if STORES.contains(&code) => insn.dst == STACK_ARGUMENTS && insn.off < 0 && is_slot,
        _ => false,
    }
}

/// Returns whether an instruction jumps backwards with a 16-bit offset. Newer jumps need newer kernels
/// anyway.
const fn is_backward_jump(insn: Insn) -> bool {
    matches!(insn.class(), Class::Jmp)
        && insn.off < 0
        && !matches!(insn.code, opcode::CALL | opcode::CALL_REGISTER | opcode::EXIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insn(code: u8, src: u8, off: i16, imm: i32) -> Insn {
        Insn { code, dst: 0, src, off, imm }
    }

    #[test]
    fn instructions_of_newer_kernels() {
        let features = [
            (insn(0x81, 1, 0, 0), InsnFeature::LoadSignExtended),
            (insn(0xbf, 1, 8, 0), InsnFeature::MoveSignExtended),
            (insn(0xbf, 1, 1, 0x10000), InsnFeature::AddressSpaceCast),
            (insn(0xd7, 0, 0, 64), InsnFeature::ByteSwap),
            (insn(0x3f, 1, 1, 0), InsnFeature::SignedDivision),
            (insn(0x06, 0, 0, 5), InsnFeature::LongJump),
            (insn(0x16, 0, 5, 1), InsnFeature::Jmp32),
            (insn(0xe5, 0, 5, 0), InsnFeature::MayGoto),
            (insn(0xdb, 1, 0, 0x01), InsnFeature::Atomics),
            (insn(0xdb, 1, 0, 0x100), InsnFeature::LoadAcquireStoreRelease),
            (insn(0xcb, 1, 0, 0), InsnFeature::LoadAcquireStoreRelease),
            (insn(0x18, 4, 0, 7), InsnFeature::FunctionAddress),
        ];
        for (insn, feature) in features {
            assert_eq!(
                need_of(insn, None, SleepableCode::None),
                Some(Need::Instruction(feature)),
                "{insn:?}"
            );
        }
        let [_, atomics] = needs_of(insn(0xdb, 1, 0, 0x110), None, SleepableCode::None);
        assert_eq!(atomics, Some(Need::Instruction(InsnFeature::Atomics)), "store-release");
        // *(u64 *)(r11 - 8) = r1, *(u64 *)(r11 - 8) = 7, r0 = *(u64 *)(r11 + 8).
        let stack_arguments = [
            Insn { code: 0x7b, dst: 11, src: 1, off: -8, imm: 0 },
            Insn { code: 0x7a, dst: 11, src: 0, off: -8, imm: 7 },
            Insn { code: 0x79, dst: 0, src: 11, off: 8, imm: 0 },
        ];
        for insn in stack_arguments {
            let need = need_of(insn, None, SleepableCode::None);
            assert_eq!(need, Some(Need::Instruction(InsnFeature::StackArguments)), "{insn:?}");
        }
        let backwards = insn(0x15, 0, -3, 0);
        assert_eq!(
            need_of(backwards, None, SleepableCode::None),
            Some(Need::Instruction(InsnFeature::BackwardJump))
        );
        // xadd, mov, byte swap to an order, division, ja, exit.
        for code in [0xdb, 0xbf, 0xdc, 0x3f, 0x05, 0x95] {
            assert_eq!(need_of(insn(code, 1, 0, 0), None, SleepableCode::None), None, "{code:#x}");
        }
    }

    #[test]
    fn helpers() {
        assert_eq!(
            need_of(insn(opcode::CALL, 0, 0, 181), None, SleepableCode::None),
            Some(Need::Helper {
                helper: Helper::LOOP,
                program_type: None,
                attach_type: None,
                sleepable: SleepableCode::None
            })
        );
        assert_eq!(
            need_of(insn(opcode::CALL, 1, 0, 181), None, SleepableCode::None),
            None,
            "a call of a subprogram"
        );
        assert_eq!(need_of(Insn::POISON, None, SleepableCode::None), None);
    }
}

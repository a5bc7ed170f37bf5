//! Advice on instructions that only newer kernels know.

use super::{
    fix::{Fix, FixLanguage, FixPlace},
    program,
};
use crate::kernel::InsnFeature;
use core_relo::insn::Insn;

/// `BPF_ADD | BPF_FETCH`: the operation of an atomic add that returns the old value.
const FETCH_ADD: i32 = 0x01;

/// Returns the fixes of an instruction that the kernel does not know. `insn` is the first such instruction of
/// the program.
pub(super) fn fixes(feature: InsnFeature, insn: Option<Insn>, section: Option<&str>, name: &str) -> Vec<Fix> {
    let older_set = "compile for an older instruction set";
    let mut fixes = match feature {
        InsnFeature::Jmp32 => vec![mcpu("v2", older_set)],
        InsnFeature::LoadSignExtended
        | InsnFeature::MoveSignExtended
        | InsnFeature::ByteSwap
        | InsnFeature::SignedDivision
        | InsnFeature::LongJump
        | InsnFeature::IndirectJump
        | InsnFeature::LoadAcquireStoreRelease => vec![mcpu("v3", older_set)],
        InsnFeature::Atomics if insn.is_some_and(|insn| insn.imm == FETCH_ADD) => {
            // Since LLVM 22, -mcpu=v3 has this instruction even if nothing uses the result.
            let text = "if nothing uses the result of __sync_fetch_and_add(), compile for an older instruction set, or with clang before 22";
            vec![mcpu("v2", text)]
        }
        _ => return without_older_set(feature, section, name),
    };
    fixes.extend(program::leave_out(name));
    fixes
}

/// Returns the option that selects an instruction set.
fn mcpu(version: &str, text: &str) -> Fix {
    Fix::new(FixLanguage::Shell, FixPlace::Compiler, text, format!("-mcpu={version}"))
}

/// Returns the fixes of instructions that no older instruction set replaces.
fn without_older_set(feature: InsnFeature, section: Option<&str>, name: &str) -> Vec<Fix> {
    let text = match feature {
        InsnFeature::Atomics => {
            "use __sync_fetch_and_add() with -mcpu=v2 and ignore its result: older kernels have no other atomic operation. Guards do not help, because the kernel checks opcodes in dead code, too"
        }
        InsnFeature::MayGoto => "use a `for` loop with a constant bound in place of can_loop or cond_break",
        InsnFeature::FunctionAddress => {
            "use a `for` loop with a constant bound in place of a helper with a callback. Guards do not help, because the kernel checks addresses in dead code, too"
        }
        InsnFeature::TailCallWithFunctions => {
            "declare every function that the program calls `static __always_inline`: then the program is one function"
        }
        InsnFeature::StackArguments => {
            "pass at most five arguments, such as a pointer to a struct, or declare the function `static __always_inline`"
        }
        InsnFeature::AddressSpaceCast => "no older instruction replaces casts of arena pointers",
        _ => "no older instruction set replaces these instructions",
    };
    let mut fixes = program::missing_fixes("instruction", section, name);
    fixes.insert(0, Fix::without_code(text));
    fixes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn atomic(imm: i32) -> Insn {
        Insn { code: 0xdb, dst: 2, src: 1, off: 0, imm }
    }

    #[test]
    fn an_atomic_add_with_a_result_is_compiled_for_an_older_set() {
        let fixes_of = |imm| fixes(InsnFeature::Atomics, Some(atomic(imm)), Some("socket"), "count");
        let [first, ..] = &*fixes_of(0x01) else { panic!("no fix") };
        assert_eq!((first.applies_to, first.code.as_deref()), (FixPlace::Compiler, Some("-mcpu=v2")));
        assert!(first.text.contains("nothing uses the result"), "{}", first.text);
        // A fetch-or has no form without the result in older sets.
        let [first, ..] = &*fixes_of(0x41) else { panic!("no fix") };
        assert_eq!((first.applies_to, first.code.as_deref()), (FixPlace::Nothing, None));
        assert!(first.text.contains("-mcpu=v2"), "{}", first.text);
    }

    #[test]
    fn an_optional_section_names_the_instruction() {
        let fixes = fixes(InsnFeature::MayGoto, None, Some("socket"), "count");
        let section = fixes.iter().find(|fix| fix.applies_to == FixPlace::Section);
        assert!(section.is_some_and(|fix| fix.text.ends_with("where the kernel has the instruction")));
    }
}

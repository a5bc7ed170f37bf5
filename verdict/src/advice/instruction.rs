//! Advice on instructions that only newer kernels know.

use super::{
    fix::{Fix, FixLanguage, FixPlace},
    program,
};
use crate::kernel::InsnFeature;

/// Returns the fixes of an instruction that the kernel does not know.
pub(super) fn fixes(feature: InsnFeature, section: Option<&str>, name: &str) -> Vec<Fix> {
    let mcpu = |version: &str| {
        let text = "compile for an older instruction set";
        vec![Fix::new(FixLanguage::Shell, FixPlace::Compiler, text, format!("-mcpu={version}"))]
    };
    let mut fixes = match feature {
        InsnFeature::Jmp32 => mcpu("v2"),
        InsnFeature::LoadSignExtended
        | InsnFeature::MoveSignExtended
        | InsnFeature::ByteSwap
        | InsnFeature::SignedDivision
        | InsnFeature::LongJump
        | InsnFeature::IndirectJump
        | InsnFeature::LoadAcquireStoreRelease => mcpu("v3"),
        _ => return without_older_set(feature, section, name),
    };
    fixes.extend(program::leave_out(name));
    fixes
}

/// Returns the fixes of instructions that no older instruction set replaces.
fn without_older_set(feature: InsnFeature, section: Option<&str>, name: &str) -> Vec<Fix> {
    let text = match feature {
        InsnFeature::Atomics => {
            "use __sync_fetch_and_add() and ignore its result: older kernels have no other atomic operation. Guards do not help, because the kernel checks opcodes in dead code, too"
        }
        InsnFeature::MayGoto => "use a `for` loop with a constant bound in place of can_loop or cond_break",
        InsnFeature::FunctionAddress => {
            "use a `for` loop with a constant bound in place of a helper with a callback. Guards do not help, because the kernel checks addresses in dead code, too"
        }
        InsnFeature::AddressSpaceCast => "no older instruction replaces casts of arena pointers",
        _ => "no older instruction set replaces these instructions",
    };
    let mut fixes = program::type_fixes(section, name);
    fixes.insert(0, Fix::without_code(text));
    fixes
}

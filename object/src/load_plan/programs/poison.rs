//! Poisoned references: instructions that need a map or a kernel function that does not exist.
//!
//! A poisoned instruction becomes a call of a helper that no kernel has. The verifier accepts poisoned
//! instructions that are unreachable. The number of the helper identifies the map or the function.

use crate::{
    index::{ExternIndex, MapIndex},
    internal::{InternalError, Invariant as _},
};
use core_relo::insn::{Insn, opcode};

/// The first helper number for poisoned references to maps (libbpf: `POISON_LDIMM64_MAP_BASE`).
///
/// A reference to map `n` that is not created becomes a call of helper `POISON_MAP + n`. No kernel has such a
/// helper.
pub const POISON_MAP: i32 = 2_001_000_000;
/// The first helper number for poisoned calls of kfuncs (libbpf: `POISON_CALL_KFUNC_BASE`).
///
/// A call of extern `n`, a kfunc that the kernel lacks, becomes a call of helper `POISON_KFUNC + n`. No
/// kernel has such a helper.
pub const POISON_KFUNC: i32 = 2_002_000_000;

/// Returns the call that replaces a reference to a map that is not created.
pub(super) fn map_poison(map: MapIndex) -> Result<Insn, InternalError> {
    poison(POISON_MAP, map.0)
}

/// Returns the call that replaces a call of a kfunc that the kernel lacks.
pub(super) fn kfunc_poison(kfunc: ExternIndex) -> Result<Insn, InternalError> {
    poison(POISON_KFUNC, kfunc.0)
}

/// Returns the call of the helper for item `n`. All items above the last number share that number.
fn poison(base: i32, n: usize) -> Result<Insn, InternalError> {
    const LAST: i32 = 999_999;
    let n = i32::try_from(n).map_or(LAST, |n| n.min(LAST));
    let helper = base.checked_add(n).invariant("the numbers of poisoned helpers fit 32 bits")?;
    Ok(Insn { code: opcode::CALL, dst: 0, src: 0, off: 0, imm: helper })
}

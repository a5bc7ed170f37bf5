//! Probes of instructions and of the verifier's limits.

use super::{
    answer::is_undecided,
    probe::{load_plain, load_plain_with_log, supported},
    program::{EXIT, Refusal, call, code, mov},
    token::Token,
};
use crate::{convert::before_nul, sys::Errno};
use core_relo::insn::{Insn, pseudo};

/// The limit on instructions before 5.2.
const OLD_LIMIT: usize = 4096;

/// The place on the stack that atomic instructions access.
const STACK_SLOT: i16 = -8;

/// Encodes `*(u64 *)(r10 - 8) = 0`.
const CLEAR_SLOT: Insn = Insn { code: 0x7a, dst: 10, src: 0, off: STACK_SLOT, imm: 0 };

/// Encodes `if r0 CODE 0 goto +off`.
const fn jump(code: u8, off: i16) -> Insn {
    Insn { code, dst: 0, src: 0, off, imm: 0 }
}

fn accepts(insns: &[Insn], token: Token<'_>) -> Result<bool, Errno> {
    supported(load_plain(&code(insns), token))
}

/// Loads a program that the verifier refuses, and returns the refusal.
fn refusal(insns: &[Insn], token: Token<'_>) -> Result<Refusal, Errno> {
    let mut log = vec![0; 1 << 14];
    match load_plain_with_log(&code(insns), &mut log, token) {
        // No kernel accepts the program.
        Ok(_) => Err(Errno(libc::EINVAL)),
        Err(errno) if is_undecided(errno) => Err(errno),
        Err(errno) => Ok(Refusal { errno, log: String::from_utf8_lossy(before_nul(&log)).into_owned() }),
    }
}

pub(super) fn large_programs(token: Token<'_>) -> Result<bool, Errno> {
    let mut insns = vec![mov(0, 1); OLD_LIMIT];
    insns.push(EXIT);
    accepts(&insns, token)
}

pub(super) fn bounded_loops(token: Token<'_>) -> Result<bool, Errno> {
    let decrement = Insn { code: 0x07, dst: 0, src: 0, off: 0, imm: -1 };
    accepts(&[mov(0, 10), decrement, jump(0x55, -2), EXIT], token)
}

/// Jumps if less than (`JLT`).
pub(super) fn isa_v2(token: Token<'_>) -> Result<bool, Errno> {
    accepts(&[mov(0, 0), jump(0xa5, 1), mov(0, 1), EXIT], token)
}

/// Compares 32 bits (`JMP32`).
pub(super) fn isa_v3(token: Token<'_>) -> Result<bool, Errno> {
    accepts(&[mov(0, 0), jump(0xa6, 1), mov(0, 1), EXIT], token)
}

/// Moves with sign extension: `r0 = (s8)r0`.
pub(super) fn isa_v4(token: Token<'_>) -> Result<bool, Errno> {
    accepts(&[mov(0, 1), Insn { code: 0xbf, dst: 0, src: 0, off: 8, imm: 0 }, EXIT], token)
}

/// `r1 = atomic_fetch_add((u64 *)(r10 - 8), r1)`.
pub(super) fn atomics(token: Token<'_>) -> Result<bool, Errno> {
    let fetch_add = Insn { code: 0xdb, dst: 10, src: 1, off: STACK_SLOT, imm: 1 };
    accepts(&[CLEAR_SLOT, mov(1, 1), fetch_add, mov(0, 0), EXIT], token)
}

/// `r0 = load_acquire((u64 *)(r10 - 8))`.
pub(super) fn load_acquire_store_release(token: Token<'_>) -> Result<bool, Errno> {
    let load_acquire = Insn { code: 0xdb, dst: 0, src: 10, off: STACK_SLOT, imm: 0x100 };
    accepts(&[CLEAR_SLOT, load_acquire, mov(0, 0), EXIT], token)
}

pub(super) fn may_goto(token: Token<'_>) -> Result<bool, Errno> {
    accepts(&[mov(0, 0), Insn { code: 0xe5, dst: 0, src: 0, off: 1, imm: 0 }, mov(0, 1), EXIT], token)
}

/// A program without BTF takes the address of a function. A verifier that knows the instruction misses the
/// BTF.
pub(super) fn callbacks(token: Token<'_>) -> Result<bool, Errno> {
    let address = [Insn { code: 0x18, dst: 1, src: pseudo::FUNC, off: 0, imm: 3 }, Insn::default()];
    let [first, second] = address;
    let refusal = refusal(&[first, second, mov(0, 0), EXIT, mov(0, 0), EXIT], token)?;
    Ok(refusal.log.contains("missing btf func_info"))
}

/// A program calls a type that is no function.
pub(super) fn kfunc_calls(token: Token<'_>) -> Result<bool, Errno> {
    let refusal = refusal(&[Insn { src: pseudo::KFUNC_CALL, ..call(1) }, mov(0, 0), EXIT], token)?;
    Ok(refusal.log.contains("is not a function"))
}

//! The instructions of a loader program.
//!
//! Register 6 is the context, 7 the result of the last request, 8 and 9 are addresses in the data, which
//! loads and stores share.

use crate::{
    internal::{InternalError, Invariant as _},
    loader_program::step::{LoaderStep, NAME_OFFSET, STEP_OFFSET, StepKind},
};
use core_relo::{
    Endian,
    insn::{Insn, LD_IMM64, opcode, pseudo},
};

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reg(u8);

pub(super) const R0: Reg = Reg(0);
pub(super) const R1: Reg = Reg(1);
pub(super) const R2: Reg = Reg(2);
pub(super) const R3: Reg = Reg(3);
pub(super) const R4: Reg = Reg(4);
/// The context.
pub(super) const CONTEXT: Reg = Reg(6);
/// The result of the last request: a descriptor, or a negative error number.
pub(super) const RESULT: Reg = Reg(7);
const R8: Reg = Reg(8);
const R9: Reg = Reg(9);

/// Numbers of helpers.
pub(super) mod helper {
    pub(in super::super) const PROBE_READ_KERNEL: i32 = 113;
    pub(in super::super) const COPY_FROM_USER: i32 = 148;
    pub(in super::super) const SYS_BPF: i32 = 166;
    pub(in super::super) const FIND_BY_NAME: i32 = 167;
    pub(in super::super) const SYS_CLOSE: i32 = 168;
    pub(in super::super) const KALLSYMS_LOOKUP: i32 = 179;
}

/// A condition of a jump, between a register and a constant.
#[derive(Clone, Copy, Debug)]
pub(super) enum Condition {
    Equal,
    NotEqual,
    NonNegative,
    Negative,
    HasBits,
    Always,
}

/// The size of a memory access.
#[derive(Clone, Copy, Debug)]
pub(super) enum Size {
    Word,
    Half,
    Byte,
    Long,
}

impl Size {
    const fn bits(self) -> u8 {
        match self {
            Self::Word => 0x00,
            Self::Half => 0x08,
            Self::Byte => 0x10,
            Self::Long => 0x18,
        }
    }
}

impl Condition {
    const fn code(self) -> u8 {
        match self {
            Self::Equal => 0x15,
            Self::NotEqual => 0x55,
            Self::NonNegative => 0x75,
            Self::Negative => 0xc5,
            Self::HasBits => 0x45,
            Self::Always => 0x05,
        }
    }
}

/// A forward jump whose target is not known yet, and the addresses in registers 8 and 9 at the jump.
#[derive(Debug)]
#[must_use = "the jump needs a target"]
pub(super) struct PendingJump {
    at: usize,
    bases: [Option<u32>; 2],
}

/// The instructions of a loader program.
#[derive(Debug, Default)]
pub(super) struct Code {
    insns: Vec<Insn>,
    /// The instruction to which failed requests jump.
    cleanup: usize,
    /// The offsets in the data to which registers 8 and 9 point.
    bases: [Option<u32>; 2],
}

/// The farthest jump to the cleanup. An instruction can jump 32,768 instructions back.
const RELAY_DISTANCE: usize = 32_000;

impl Code {
    /// Returns the bytes of the instructions.
    pub(super) fn finish(self) -> Vec<u8> {
        self.insns.iter().flat_map(|insn| insn.encode(Endian::native())).collect()
    }

    /// Returns the number of instructions.
    pub(super) fn len(&self) -> usize {
        self.insns.len()
    }

    fn emit(&mut self, code: u8, dst: Reg, src: u8, off: i16, imm: i32) {
        self.insns.push(Insn { code, dst: dst.0, src, off, imm });
    }

    fn emit_wide(&mut self, dst: Reg, src: u8, low: u32, high: u32) {
        self.emit(LD_IMM64, dst, src, 0, low.cast_signed());
        self.emit(0, R0, 0, 0, high.cast_signed());
    }

    /// Copies a register.
    pub(super) fn copy(&mut self, dst: Reg, src: Reg) {
        self.emit(0xbf, dst, src.0, 0, 0);
    }

    /// Sets a register to a constant.
    pub(super) fn set(&mut self, dst: Reg, value: i32) {
        self.emit(0xb7, dst, 0, 0, value);
    }

    /// Sets a register to a constant of 64 bits.
    pub(super) fn set_wide(&mut self, dst: Reg, low: u32, high: u32) {
        self.emit_wide(dst, 0, low, high);
    }

    /// Sets a register to the address of a byte of the data.
    pub(super) fn set_address(&mut self, dst: Reg, offset: u32) {
        // The only map of the program is the first one.
        self.emit_wide(dst, pseudo::MAP_IDX_VALUE, 0, offset);
    }

    /// Sets a register to the map.
    pub(super) fn set_map(&mut self, dst: Reg) {
        self.emit_wide(dst, pseudo::MAP_IDX, 0, 0);
    }

    /// Shifts a register to the right.
    pub(super) fn shift_right(&mut self, dst: Reg, bits: i32) {
        self.emit(0x77, dst, 0, 0, bits);
    }

    /// Calls a helper.
    pub(super) fn call(&mut self, helper: i32) {
        self.emit(opcode::CALL, R0, 0, 0, helper);
    }

    pub(super) fn exit(&mut self) {
        self.emit(opcode::EXIT, R0, 0, 0, 0);
    }

    /// Loads from the address in a register.
    pub(super) fn load_from(&mut self, size: Size, dst: Reg, src: Reg, offset: i16) {
        self.emit(0x61 | size.bits(), dst, src.0, offset, 0);
    }

    /// Stores to the address in a register.
    pub(super) fn store_to(&mut self, size: Size, dst: Reg, offset: i16, src: Reg) {
        self.emit(0x63 | size.bits(), dst, src.0, offset, 0);
    }

    /// Loads from the data.
    pub(super) fn load(&mut self, size: Size, dst: Reg, offset: u32) {
        let (base, offset) = self.base(R8, offset);
        self.load_from(size, dst, base, offset);
    }

    /// Stores to the data.
    pub(super) fn store(&mut self, size: Size, offset: u32, src: Reg) {
        let (base, offset) = self.base(R9, offset);
        self.store_to(size, base, offset, src);
    }

    /// Stores a constant to the data.
    pub(super) fn store_constant(&mut self, size: Size, offset: u32, value: i32) {
        let (base, offset) = self.base(R9, offset);
        self.emit(0x62 | size.bits(), base, 0, offset, value);
    }

    /// Stores the address of a byte of the data.
    pub(super) fn store_address(&mut self, offset: u32, target: u32) {
        self.set_address(R0, target);
        self.store(Size::Long, offset, R0);
    }

    /// Returns a register that points into the data near `offset`, and the distance. If neither register
    /// does, `preferred` is set.
    fn base(&mut self, preferred: Reg, offset: u32) -> (Reg, i16) {
        for (register, base) in [R8, R9].into_iter().zip(self.bases) {
            let distance = base.and_then(|base| i64::from(offset).checked_sub(base.into()));
            let distance = distance.and_then(|distance| i16::try_from(distance).ok());
            if let Some(distance) = distance {
                return (register, distance);
            }
        }
        self.set_address(preferred, offset);
        let [first, second] = &mut self.bases;
        *(if preferred == R8 { first } else { second }) = Some(offset);
        (preferred, 0)
    }

    /// Notes the step before a request.
    pub(super) fn mark(&mut self, kind: StepKind, index: usize, name: u32) -> Result<(), InternalError> {
        let index = u32::try_from(index).ok().and_then(|index| LoaderStep::number(kind, index));
        let step = index.invariant("the steps of a loader program are numbered")?;
        self.store_constant(Size::Word, STEP_OFFSET, step.cast_signed());
        self.store_constant(Size::Word, NAME_OFFSET, name.cast_signed());
        Ok(())
    }

    /// Makes a request (`bpf_sys_bpf`).
    pub(super) fn request(
        &mut self,
        command: i32,
        attributes: u32,
        bytes: usize,
    ) -> Result<(), InternalError> {
        let bytes = i32::try_from(bytes).invariant("attributes have less than 4 GiB")?;
        self.set(R1, command);
        self.set_address(R2, attributes);
        self.set(R3, bytes);
        self.call(helper::SYS_BPF);
        self.copy(RESULT, R0);
        Ok(())
    }

    /// Jumps forward if a register fulfils a condition.
    pub(super) fn jump(&mut self, condition: Condition, register: Reg, value: i32) -> PendingJump {
        let at = self.insns.len();
        self.emit(condition.code(), register, 0, 0, value);
        PendingJump { at, bases: self.bases }
    }

    /// Makes the next instruction the target of a jump.
    #[expect(clippy::needless_pass_by_value, reason = "a jump has one target")]
    pub(super) fn land(&mut self, jump: PendingJump) -> Result<(), InternalError> {
        const TOO_FAR: &str = "a jump over a few instructions is in range";
        let distance = self.insns.len().checked_sub(jump.at).and_then(|distance| distance.checked_sub(1));
        let distance = distance.and_then(|distance| i16::try_from(distance).ok()).invariant(TOO_FAR)?;
        self.insns.get_mut(jump.at).invariant(TOO_FAR)?.off = distance;
        for (base, at_jump) in self.bases.iter_mut().zip(jump.bases) {
            if *base != at_jump {
                *base = None;
            }
        }
        Ok(())
    }

    /// Makes the next instruction the one to which failed requests jump.
    pub(super) fn begin_cleanup(&mut self) {
        self.cleanup = self.insns.len();
        self.bases = [None; 2];
    }

    /// Jumps to the cleanup if the last request failed.
    pub(super) fn check_result(&mut self) -> Result<(), InternalError> {
        self.relay_cleanup()?;
        let off = self.cleanup_distance()?;
        self.emit(Condition::Negative.code(), RESULT, 0, off, 0);
        Ok(())
    }

    /// Jumps to the cleanup if two registers differ.
    pub(super) fn check_equal(&mut self, first: Reg, second: Reg) -> Result<(), InternalError> {
        /// `if first != second`.
        const NOT_EQUAL: u8 = 0x5d;
        self.relay_cleanup()?;
        let off = self.cleanup_distance()?;
        self.emit(NOT_EQUAL, first, second.0, off, 0);
        Ok(())
    }

    /// Places a jump to the cleanup here if the cleanup is almost out of reach. libbpf fails there.
    fn relay_cleanup(&mut self) -> Result<(), InternalError> {
        if self.insns.len().checked_sub(self.cleanup).is_some_and(|distance| distance > RELAY_DISTANCE) {
            let over = self.jump(Condition::Always, R0, 0);
            let relay = self.insns.len();
            let off = self.cleanup_distance()?;
            self.emit(Condition::Always.code(), R0, 0, off, 0);
            self.cleanup = relay;
            self.land(over)?;
        }
        Ok(())
    }

    /// Returns the offset of a jump from the next instruction to the cleanup.
    fn cleanup_distance(&self) -> Result<i16, InternalError> {
        let distance =
            self.insns.len().checked_sub(self.cleanup).and_then(|distance| distance.checked_add(1));
        let distance = distance.and_then(|distance| i16::try_from(distance).ok());
        distance.and_then(i16::checked_neg).invariant("the cleanup is in range")
    }

    /// Closes the descriptors of a table in the data, in which 0 stands for none.
    pub(super) fn close_all(&mut self, table: u32, count: usize) -> Result<(), InternalError> {
        const SHORT: &str = "a table of descriptors is short";
        self.set_address(R8, table);
        self.set(R9, i32::try_from(count).invariant(SHORT)?);
        self.bases = [None; 2];
        let start = self.insns.len();
        self.load_from(Size::Word, R1, R8, 0);
        let none = self.jump(Condition::Equal, R1, 0);
        self.call(helper::SYS_CLOSE);
        self.land(none)?;
        self.emit(0x07, R8, 0, 0, 4);
        self.emit(0x07, R9, 0, 0, -1);
        let distance = self.insns.len().checked_sub(start).and_then(|distance| distance.checked_add(1));
        let distance = distance.and_then(|distance| i16::try_from(distance).ok()?.checked_neg());
        self.emit(Condition::NotEqual.code(), R9, 0, distance.invariant(SHORT)?, 0);
        Ok(())
    }
}

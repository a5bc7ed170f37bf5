//! The types of functions.

use super::records::ExtRecord;
use crate::{ByteOffset, Endian, TypeId};

/// The type of the function that begins at an instruction (`struct bpf_func_info`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FuncInfo {
    /// The function's first instruction, in bytes from the start of the ELF section.
    pub insn_offset: ByteOffset,
    /// The function's FUNC type.
    pub ty: TypeId,
}

impl ExtRecord for FuncInfo {
    const SIZE: u32 = 8;

    fn read(endian: Endian, data: &[u8]) -> Option<Self> {
        Some(Self { insn_offset: ByteOffset(endian.u32(data, 0)?), ty: TypeId(endian.u32(data, 4)?) })
    }
}

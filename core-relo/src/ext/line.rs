//! The source lines of instructions.

use super::records::ExtRecord;
use crate::{ByteOffset, Endian, StrOffset};

/// The source line that begins at an instruction (`struct bpf_line_info`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LineInfo {
    /// The offset of the instruction, in bytes from the start of the ELF section.
    pub insn_offset: ByteOffset,
    /// The file's name, in the strings of the object's BTF.
    pub file: StrOffset,
    /// The line's text, in the strings of the object's BTF.
    pub text: StrOffset,
    /// Line number, from 1.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
}

impl ExtRecord for LineInfo {
    const SIZE: u32 = 16;

    fn read(endian: Endian, data: &[u8]) -> Option<Self> {
        let position = endian.u32(data, 12)?;
        Some(Self {
            insn_offset: ByteOffset(endian.u32(data, 0)?),
            file: StrOffset(endian.u32(data, 4)?),
            text: StrOffset(endian.u32(data, 8)?),
            line: position >> 10,
            column: position & 0x3ff,
        })
    }
}

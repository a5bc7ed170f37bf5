//! Disassembly of machine code.

mod arm64;
mod x86;

use std::env;

/// A machine instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MachineInsn {
    /// The offset in the code.
    pub(crate) offset: usize,
    /// The length in bytes.
    pub(crate) len: usize,
    pub(crate) text: String,
    /// The address that the instruction jumps to or calls.
    pub(crate) target: Option<u64>,
}

/// The architectures whose machine code can be disassembled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disassembler {
    X86,
    Arm64,
}

impl Disassembler {
    /// Returns the disassembler for the kernel's architecture; `None` if there is none.
    pub(crate) fn for_kernel() -> Option<Self> {
        match env::consts::ARCH {
            // A 32-bit process sees the code of its 64-bit kernel.
            "x86_64" => Some(Self::X86),
            "aarch64" => Some(Self::Arm64),
            _ => None,
        }
    }

    /// Disassembles code that begins at `address`. The instructions cover all bytes. Bytes that are no instruction become an
    /// instruction with the text `(bad)`.
    pub(crate) fn disassemble(self, code: &[u8], address: u64) -> Vec<MachineInsn> {
        match self {
            Self::X86 => x86::disassemble(code, address),
            Self::Arm64 => arm64::disassemble(code, address),
        }
    }
}

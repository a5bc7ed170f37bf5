//! Disassembly of machine code.

#[cfg(feature = "jit-disassembly")]
mod arm64;
#[cfg(feature = "jit-disassembly")]
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

/// A function that disassembles code, which begins at an address. The instructions cover all bytes. Bytes
/// that are no instruction become an instruction with the text `(bad)`.
pub(crate) type Disassemble = fn(code: &[u8], address: u64) -> Vec<MachineInsn>;

/// Returns the disassembler for the kernel's architecture; `None` if there is none, or none in this build.
pub(crate) fn disassembler() -> Option<Disassemble> {
    match env::consts::ARCH {
        // A 32-bit process sees the code of its 64-bit kernel.
        #[cfg(feature = "jit-disassembly")]
        "x86_64" => Some(x86::disassemble),
        #[cfg(feature = "jit-disassembly")]
        "aarch64" => Some(arm64::disassemble),
        _ => None,
    }
}

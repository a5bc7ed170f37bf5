//! BPF instructions: eight bytes, in the object's byte order.

mod disasm;
mod helpers;
mod instruction;
mod slot;

pub use helpers::helper_name;
pub use instruction::{Class, INSN_BYTES, Insn, LD_IMM64, POISON_IMM};
pub use slot::Slot;

pub(crate) use slot::imm64;

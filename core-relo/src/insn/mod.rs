//! BPF instructions: eight bytes, in the object's byte order.

mod blocks;
mod defect;
mod disasm;
mod flow;
mod helpers;
mod instruction;
mod numbers;
mod slot;

pub use blocks::{BasicBlock, BlockEdge};
pub use defect::InsnDefect;
pub use disasm::{InsnText, Notation};
pub use flow::Flow;
pub use helpers::Helper;
pub use instruction::{Class, FRAME_POINTER, INSN_BYTES, Insn, LD_IMM64, POISON_IMM};
pub use numbers::{alu, atomic, jump, mode, opcode, pseudo};
pub use slot::{Slot, Slots};

pub(crate) use slot::{imm64, low_imm};

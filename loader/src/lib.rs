//! BPF objects in ELF, and the kernel BTF to relocate them against.

extern crate alloc;

mod elf;
pub mod limits;
pub mod object;
mod sys;
pub mod target;

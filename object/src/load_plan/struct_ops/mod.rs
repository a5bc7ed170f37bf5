//! struct_ops maps: structs of programs that a kernel subsystem calls (libbpf:
//! `bpf_map__init_kern_struct_ops`).
//!
//! The struct of a map in the object is a *table*. A table is matched with the kernel's struct of the same
//! essential name, member by member. Values are copied to the kernel's offset of the member. A program is
//! loaded for the member that refers to the program.

mod kernel_structs;
mod kernel_table;
mod local_table;
mod member;
mod resolve;

pub use kernel_table::StructOpsMatcher;
pub use local_table::StructOpsTable;
pub(super) use resolve::{StructOpsTables, resolve};

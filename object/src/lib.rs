//! A reader, linker and load planner for BPF objects. No system calls, no unsafe code, no libc.
//!
//! | module | contents |
//! |---|---|
//! | [`object`] | reads ELF objects from clang and GCC: programs, maps, externs, relocations |
//! | [`link`] | links each program with the subprograms that it calls |
//! | [`load_plan`] | plans every map, program and BTF to load; printed as a dry run |
//! | [`map_limits`] | the limits of some kernels and machines for the definition of a map |
//! | [`map_rules`] | the rules of the kernel for the definition of a map, by map type |
//! | [`memory_nodes`] | the memory nodes of a machine |
//! | [`map_owner`] | the properties that the programs of a program array have in common, by kernel |
//! | `loader_program` | loader programs, which load an object from within the kernel (light skeletons), and their files; feature `loader-program` |
//! | `events` | types of the records of ring buffers and perf event arrays; feature `events` |
//! | `disassembly` | instructions with their functions, source lines, relocations and names; feature `inspection` |
//! | [`globals`] | global variables: names, offsets, types, initial values |
//! | `static_link` | links several objects into one, like `bpftool gen object`; feature `static-link` |
//! | `btf_ids` | the section `.BTF_ids` of kernels and modules: read, checked, resolved; feature `inspection` |
//! | [`target`] | finds BTF in kernel images; the BTF of a kernel and its modules |
//! | `archive` | archives of the BTF of many kernels, for kernels without BTF; feature `btf-archive` |
//! | [`features`] | kernel features |
//! | [`lockdown`] | the helpers that the kernel's lockdown closes |
//! | [`helper_maps`] | the types of maps that each helper accepts |
//!
//! The crate reads no file and makes no system call. A plan reads the running kernel through three traits:
//! [`ProbeKernel`](features::ProbeKernel), [`ReadKernelBtf`](target::ReadKernelBtf) and
//! [`ReadSystem`](load_plan::ReadSystem). `core-relo-loader` implements them and re-exports this crate.
//!
//! # Hostile input
//!
//! Objects and kernel images come from anywhere. No input makes this crate panic, and none makes it take more
//! memory than a small multiple of the input. The numbers that bound it are in [`limits`].

#![forbid(unsafe_code)]

extern crate alloc;

mod arch;
#[cfg(feature = "btf-archive")]
pub mod archive;
#[cfg(feature = "inspection")]
pub mod btf_ids;
#[cfg(feature = "inspection")]
pub mod disassembly;
mod elf;
mod errno;
#[cfg(feature = "events")]
pub mod events;
pub mod features;
pub mod globals;
pub mod helper_maps;
mod index;
mod kernel_version;
mod known_names;
pub mod limits;
pub mod link;
pub mod load_plan;
#[cfg(feature = "loader-program")]
pub mod loader_program;
pub mod lockdown;
pub mod map_flags;
pub mod map_limits;
pub mod map_owner;
pub mod map_rules;
pub mod memory_nodes;
pub mod object;
mod sha256;
#[cfg(feature = "static-link")]
pub mod static_link;
pub mod target;
#[cfg(any(test, feature = "test-support"))]
#[doc(hidden)]
pub mod test_support;

pub use core_relo::InternalError;
pub(crate) use core_relo::internal;
pub use elf::{ElfClass, ElfError, key as name_key, string_at, text as shown_name};
pub use errno::Errno;
pub use index::{ExternIndex, MapIndex, ModuleIndex, ProgramIndex, SectionIndex};
pub use kernel_version::{KernelVersion, KernelVersionError};

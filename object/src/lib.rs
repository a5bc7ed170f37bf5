//! BPF objects as pure data: read, linked, planned for a kernel. No system calls, no unsafe code, no libc.
//!
//! | module | contents |
//! |---|---|
//! | [`object`] | reads what clang or GCC compiled: programs, maps, externs, relocations |
//! | [`link`] | puts a program together from its functions |
//! | [`load_plan`] | decides everything that a load asks of the kernel; printed as a dry run |
//! | [`globals`] | global variables: their names, places and types |
//! | `static_link` | links several objects into one, as `bpftool gen object`; feature `static-link` |
//! | [`target`] | BTF in kernel images, and the types of a kernel and its modules |
//! | [`features`] | what a kernel can do |
//!
//! The crate reads no file and makes no system call. What a plan needs from a running kernel comes in through three traits:
//! [`ProbeKernel`](features::ProbeKernel), [`ReadKernelBtf`](target::ReadKernelBtf) and [`ReadSystem`](load_plan::ReadSystem).
//! `core-relo-loader` implements them and re-exports this crate.
//!
//! # Hostile input
//!
//! Objects and kernel images come from anywhere. No input makes this crate panic, and none makes it take more memory than a small
//! multiple of the input. The numbers that bound it are in [`limits`].

#![forbid(unsafe_code)]

extern crate alloc;

mod arch;
mod elf;
mod errno;
pub mod features;
pub mod globals;
mod index;
mod internal;
pub mod limits;
pub mod link;
pub mod load_plan;
mod near;
pub mod object;
#[cfg(feature = "static-link")]
pub mod static_link;
pub mod target;
#[cfg(any(test, feature = "test-support"))]
#[doc(hidden)]
pub mod test_support;

pub use elf::{Class, ElfError, string_at};
pub use errno::Errno;
pub use index::{ExternIndex, MapIndex, ModuleIndex, ProgramIndex, SectionIndex};
pub use internal::InternalError;

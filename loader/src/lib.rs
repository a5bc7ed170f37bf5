//! A loader for BPF objects: from the ELF that clang or GCC wrote to programs that are attached in the running kernel, without libbpf.
//!
//! [`Loader`] does it in a few lines; the [embedding guide](guide) begins there and goes through privileges, containers, kernels without
//! BTF, errors, threads, and what stays behind.
//!
//! * [`object`] reads what clang or GCC compiled: programs, maps, externs, relocations. Pure.
//! * [`static_link`] makes one object of several, as `bpftool gen object` does. Pure.
//! * [`target`] finds the kernel's side: the running kernel's BTF, a file of BTF, any ELF with `.BTF`.
//! * [`load_plan`] decides all that a load asks of a kernel. Pure, if the kernel is described; [`features`] asks the running one.
//! * [`load`] carries a plan out, and [`attach`] attaches programs.
//! * [`maps`] and [`ring`] are the data that programs and user space share.
//! * [`sys`] is bpf(2), command by command.
//!
//! What becomes of relocations is decided by `core-relo`, the engine. It can be had alone, too:
//!
//! ```
//! use core_relo::{Plan, Target};
//! use core_relo_loader::{object::Object, target::TargetFile};
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let mut types = core_relo::btf::Builder::new(core_relo::Endian::Little);
//! # types.int("long", 8, 1);
//! # let kernel_bytes = types.finish();
//! // Usually `target::kernel()?`, or `TargetFile::open(path)?`.
//! let kernel = TargetFile::from_bytes("vmlinux", kernel_bytes)?;
//! let target = Target::new("vmlinux", Arc::new(kernel.parse(None)?));
//!
//! // Usually `std::fs::read("prog.bpf.o")?`.
//! let bytes = b"\x7fELF, but truncated";
//! match Object::parse(bytes) {
//!     Ok(object) => {
//!         for program in object.programs().iter().filter(|p| !p.is_subprogram) {
//!             println!("{} {:?}", program.name.escape_ascii(), program.sec_def().map(|d| d.program_type));
//!         }
//!         let relocs = object.relocs()?;
//!         let plan = Plan::new(&relocs, &target);
//!         println!("{} relocations", plan.iter().len());
//!     }
//!     Err(error) => println!("no BPF object: {error}"),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Hostile input
//!
//! Objects and targets come from anywhere. No input makes this crate panic, and none makes it take more memory than a small
//! multiple of the input; the numbers that bound it are in [`limits`].

extern crate alloc;

mod arch;
pub mod attach;
mod elf;
pub mod features;
#[doc = include_str!("guide.md")]
pub mod guide {}
pub mod limits;
pub mod link;
#[cfg(test)]
mod live;
pub mod load;
pub mod load_plan;
mod loader;
pub mod maps;
pub mod object;
pub mod ring;
pub mod static_link;
pub mod sys;
pub mod target;

pub use loader::{Global, Loader};

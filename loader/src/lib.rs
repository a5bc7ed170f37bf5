//! BPF objects in ELF, and the kernel's types to relocate them against.
//!
//! * [`object`] reads what clang or GCC compiled: programs, maps, externs, relocations. Pure.
//! * [`static_link`] makes one object of several, as `bpftool gen object` does. Pure.
//! * [`target`] finds the kernel's side: the running kernel's BTF, a file of BTF, any ELF with `.BTF`.
//!
//! What becomes of the two is decided by `core-relo`, the engine. Nothing is loaded into the kernel here yet.
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
pub mod limits;
pub mod link;
#[cfg(test)]
mod live;
pub mod load;
pub mod load_plan;
mod loader;
#[cfg(test)]
mod made;
pub mod maps;
pub mod object;
pub mod ring;
pub mod static_link;
pub mod sys;
pub mod target;

pub use loader::{Global, Loader};

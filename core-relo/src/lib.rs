//! Decides, and explains, every CO-RE relocation of a BPF object on any kernel's BTF.
//!
//! Three inputs, each parsed once: the object's types and records ([`btf::Btf`], [`ext::BtfExt`]), its instructions
//! ([`CodeSection`]), and the kernel's types ([`Target`]). [`Relocs`] is the object's side, made without a target;
//! [`Plan`] is where the two meet. A plan never fails as a whole: each record becomes a [`plan::Decision`] or a
//! [`plan::RelocError`], with libbpf's answer to the bit, and [`explain::explain`] says why.
//!
//! ```
//! use core_relo::{
//!     CodeSection, Endian, Function, InsnIndex, Plan, Relocs, Target,
//!     btf::{Btf, Builder},
//!     ext::BtfExt,
//!     plan::Decision,
//! };
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // What the program was compiled against: a field at offset 0, which it loads.
//! let mut object = Builder::new(Endian::Little);
//! let int = object.int("unsigned int", 4, 0);
//! let task = object.structure("task_struct", 4, &[("flags", int, 0)]);
//! let code = [0x61, 0x10, 0, 0, 0, 0, 0, 0]; // r0 = *(u32 *)(r1 +0)
//! # let section = object.string("tp_btf/exec").0;
//! # let access = object.string("0:0").0;
//! # let ext: Vec<u8> = [0x0001_eb9f_u32, 32, 0, 0, 0, 0, 0, 28, 16, section, 1, 0, task.0, access, 0]
//! #     .iter().flat_map(|word| word.to_le_bytes()).collect();
//!
//! // The kernel's field has moved and become wider.
//! let mut kernel = Builder::new(Endian::Little);
//! let long = kernel.int("long unsigned int", 8, 0);
//! kernel.structure("task_struct", 24, &[("flags", long, 128)]);
//!
//! let btf = Btf::parse(object.finish())?;
//! let functions = vec![Function { name: b"on_exec", start: InsnIndex(0), len: 1 }];
//! let sections = [CodeSection { name: b"tp_btf/exec", code: &code, functions }];
//! let relocs = Relocs::collect(&btf, &BtfExt::parse(&ext)?, &sections)?;
//! let target = Target::new("vmlinux", Arc::new(Btf::parse(kernel.finish())?));
//! let plan = Plan::new(&relocs, &target);
//!
//! let planned = plan.get(0).unwrap();
//! assert!(matches!(planned.decision(), Ok(Decision::Patch { local: 0, target: 16, .. })));
//! assert_eq!(planned.after().unwrap().to_string(), "r0 = *(u64 *)(r1 +16)");
//! # Ok(())
//! # }
//! ```
//!
//! # What it does not do
//!
//! It knows no file, no ELF, no process and no kernel: bytes in, values out. `core-relo-loader` reads objects and finds
//! targets; nothing here is loaded.
//!
//! # Hostile input
//!
//! Objects and BTF come from anywhere. No input makes this crate panic, recurse without bound, or take time or memory out of
//! proportion to its size: the numbers that bound it are in [`limits`].
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod btf;
mod data;
mod endian;
pub mod escape;
pub mod explain;
pub mod ext;
mod ids;
pub mod insn;
pub mod limits;
mod name;
pub mod plan;
mod relocs;
pub mod resolve;
pub mod spec;
mod target;

pub use data::Data;
pub use endian::Endian;
pub use escape::{Escaped, EscapedLines, Text};
pub use ids::{BitOffset, ByteOffset, ByteSize, InsnIndex, StrOffset, TypeId};
pub use name::Name;
pub use plan::Plan;
pub use relocs::{CodeSection, Function, Record, Relocs, RelocsError, SourceLine};
pub use target::{Source, Target};

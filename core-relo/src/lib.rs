//! A CO-RE relocation engine: decides and explains every relocation of a BPF object on the BTF of any kernel.
//!
//! The inputs are the object's types and records ([`btf::Btf`], [`ext::BtfExt`]), the object's instructions
//! ([`CodeSection`]), and the kernel's types ([`Target`]). [`Relocs`] collects the relocations of an object
//! without a target. A [`Plan`] resolves them against a target. A plan never fails as a whole: each record
//! becomes a [`plan::Decision`] or a [`plan::RelocError`], equal to libbpf's result to the bit.
//! [`explain::explain`] gives the reason.
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
//! // The object's types: a field at offset 0, which the program loads.
//! let mut object = Builder::new(Endian::Little);
//! let int = object.int("unsigned int", 4, 0);
//! let task = object.structure("task_struct", 4, &[("flags", int, 0)]);
//! let code = [0x61, 0x10, 0, 0, 0, 0, 0, 0]; // r0 = *(u32 *)(r1 +0)
//! # let section = object.string("tp_btf/exec").0;
//! # let access = object.string("0:0").0;
//! # let ext: Vec<u8> = [0x0001_eb9f_u32, 32, 0, 0, 0, 0, 0, 28, 16, section, 1, 0, task.0, access, 0]
//! #     .iter().flat_map(|word| word.to_le_bytes()).collect();
//!
//! // The kernel's types: the field has moved and is wider.
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
//! # Features
//!
//! On by default: `minimise`, and those of [`btf`] of the same names, `c-header`, `text` and `transform`. The
//! loader needs none of them. With `serde`, [`explain::Explanation`], [`plan::Summary`] and [`btf::Type`]
//! implement `serde::Serialize`.
//!
//! # What it does not do
//!
//! This crate reads no files, parses no ELF and makes no system calls. `core-relo-loader` reads objects,
//! finds targets, and loads programs.
//!
//! # Hostile input
//!
//! Objects and BTF may be hostile. No input makes this crate panic or recurse without bound. Time and memory
//! stay in proportion to the size of the input. The limits are in [`limits`].
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod explain;
pub mod ext;
mod index;
pub mod insn;
#[doc(hidden)] // the trait is for the crates of this workspace
pub mod internal;
pub mod limits;
#[cfg(feature = "minimise")]
pub mod minimise;
pub mod plan;
mod relocs;
pub mod resolve;
mod source_lines;
pub mod spec;
mod target;

#[doc(inline)]
pub use core_relo_btf as btf;
pub use core_relo_btf::{
    BitOffset, ByteOffset, ByteSize, Data, Endian, Escaped, EscapedLines, Name, ShortName, StrOffset, Text,
    TypeId, escape,
};
#[doc(hidden)] // for the crates of this workspace
pub use core_relo_btf::{debug_as_message, error_text};
pub use index::InsnIndex;
pub use internal::InternalError;
pub use plan::Plan;
pub use relocs::{CodeSection, Function, Record, Relocs, RelocsError};
pub use source_lines::{SourceLine, SourceLines};
pub use target::{Target, TargetBtf};

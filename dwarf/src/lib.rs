//! BTF from DWARF debug information.
//!
//! [`encode_file`] reads the debug information of a kernel, a module or an object file and returns its BTF:
//! types, functions and per-CPU variables, each type once. With a base, the result is split BTF. So kernels
//! and modules that were built without BTF can be checked like others.
//!
//! ```no_run
//! use core_relo_dwarf::{EncodeSettings, encode_file};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let encoded = encode_file(std::fs::File::open("vmlinux")?, &EncodeSettings::default())?;
//! std::fs::write("vmlinux.btf", encoded.bytes)?;
//! # Ok(())
//! # }
//! ```
//!
//! # How
//!
//! | module | contents |
//! |---|---|
//! | `elf` | debug sections, decompressed and relocated, and symbols |
//! | `units` | headers of units, abbreviations, signatures of type units |
//! | `decode` | the entries of a unit |
//! | `lower` | entries as BTF records |
//! | `intern` | the records of a shard of units, each type once |
//! | `encode` | shards on threads, then deduplication across shards |
//! | `finish` | inconsistent functions, the section of per-CPU variables |
//!
//! # Hostile input
//!
//! No input makes this crate panic or recurse without bound. Time and memory stay in proportion to the size
//! of the debug sections. The limits are in [`limits`]. An error names the unit and the entry.

#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
mod elf;
mod encode;
mod error;
mod finish;
mod graph;
mod intern;
pub mod limits;
mod lower;
mod names;
mod parse_error;
mod units;

pub use encode::{EncodeSettings, Encoded, encode, encode_file};
pub use error::{DwarfOffset, EncodeError, EntryProblem, SectionProblem};
pub use parse_error::{AttributeName, DwarfProblem, ElfProblem, TagName};

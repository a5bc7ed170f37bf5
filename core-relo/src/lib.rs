//! The engine.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod btf;
mod data;
mod endian;
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
pub use ids::{BitOffset, ByteOffset, ByteSize, InsnIndex, StrOffset, TypeId};
pub use name::Name;
pub use plan::Plan;
pub use relocs::{CodeSection, Function, Record, Relocs, RelocsError, SourceLine};
pub use target::{Source, Target};

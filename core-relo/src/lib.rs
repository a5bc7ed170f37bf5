//! The engine.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod btf;
mod data;
mod endian;
mod ids;
pub mod limits;
mod name;

pub use data::Data;
pub use endian::Endian;
pub use ids::{BitOffset, ByteOffset, ByteSize, InsnIndex, StrOffset, TypeId};
pub use name::Name;

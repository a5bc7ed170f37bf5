//! Files to objects and kernels.

pub(crate) mod archive;
pub(crate) mod budget;
mod elf;
pub(crate) mod file;
pub(crate) mod folder;
pub(crate) mod global;
pub(crate) mod kernel_id;
mod lz4_legacy;
pub(crate) mod object;
pub(crate) mod shard;
mod streams;
pub(crate) mod target;
pub(crate) mod unpack;
pub(crate) mod unread;
pub(crate) mod vmlinuz;
mod zstd;

//! Decompression within limits.

pub(crate) mod budget;
pub(crate) mod decoder;
pub(crate) mod format;
mod lz4_legacy;
pub(crate) mod streams;
mod zstd;

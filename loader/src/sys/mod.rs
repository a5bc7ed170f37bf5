//! The only folder with `unsafe`.

pub(crate) mod mmap;

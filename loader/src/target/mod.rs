//! The BTF of kernels: of the running kernel, of raw BTF files, of ELF files with `.BTF`, of uncompressed
//! kernel images.
//!
//! [`kernel()`], [`modules`] and [`BtfFile::open`] read files. [`extract()`] and [`find_btf_in_image`] work
//! on bytes in memory. Callers decompress compressed kernel images. `archive`, with the crate feature
//! `btf-archive`, has the BTF of kernels that have none.

#[cfg(feature = "btf-archive")]
pub mod archive;
mod btf_file;
mod kernel;
#[cfg(any(feature = "btf-archive", feature = "stripped-binaries"))]
mod notes;
mod open;
mod read;
mod running;
#[cfg(test)]
mod tests;

pub use btf_file::BtfFile;
pub use core_relo_object::target::*;
pub use kernel::{ModuleFile, kernel, modules, release};
#[cfg(any(feature = "btf-archive", feature = "stripped-binaries"))]
pub(crate) use notes::find_build_id;
pub use open::open_file;
pub use read::{copy_bytes, read_all, read_part};
pub use running::running_kernel_btf;

//! Sources of target BTF: the running kernel, raw BTF files, ELF files with `.BTF`, uncompressed kernel images.
//!
//! [`kernel()`], [`modules`] and [`TargetFile::open`] read files. [`extract()`] and [`find_btf_in_image`] work on bytes in memory.
//! Callers decompress compressed kernel images.

mod file;
mod kernel;
mod open;
mod read;
mod running;
#[cfg(test)]
mod tests;

pub use core_relo_object::target::*;
pub use file::{TargetFile, map_kernel_btf, read};
pub use kernel::{ModuleFile, kernel, modules, release};
pub use open::open_file;
pub use read::{copy_bytes, read_all, read_part};
pub use running::running_types;

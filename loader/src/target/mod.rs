//! Where target BTF comes from: the running kernel, raw BTF, any ELF with `.BTF`, an uncompressed kernel image.
//!
//! [`extract()`] and [`find_btf_in_image`] are pure; [`kernel()`], [`modules`] and [`TargetFile::open`] read files, all of one
//! by [`read_all`]. Compressed kernel images are unpacked by whoever calls.

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
pub use read::{read_all, read_part};
pub use running::running_types;

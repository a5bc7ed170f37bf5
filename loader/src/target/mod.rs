//! Where target BTF comes from: the running kernel, raw BTF, any ELF with `.BTF`, an uncompressed kernel image.
//!
//! [`extract()`] and [`find_btf_in_image`] are pure; [`kernel()`], [`modules`] and [`TargetFile::open`] read files, all of one
//! by [`read_all`]. Compressed kernel images are unpacked by whoever calls.

mod error;
mod extract;
mod file;
mod kernel;
mod module_types;
mod open;
mod read;
#[cfg(test)]
mod tests;
mod types;

pub use crate::elf::{Class, ElfError};
pub use error::{ExtractError, TargetError};
pub use extract::{Extracted, Form, extract, find_btf_in_image};
pub use file::{TargetFile, map_kernel_btf, read};
pub use kernel::{ModuleFile, kernel, modules, release};
pub use module_types::ModuleTypes;
pub use open::open_file;
pub use read::{read_all, read_part};
pub use types::{Found, KernelTypes, TypesError};

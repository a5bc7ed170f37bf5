//! A kernel's BTF: found in the bytes of a file, and the types of a kernel and its modules.

mod error;
mod extract;
mod module_types;
mod order;
#[cfg(test)]
mod tests;
mod types;

pub use crate::elf::{Class, ElfError};
pub use error::{ExtractError, TargetError};
pub use extract::{Extracted, Form, Located, extract, find_btf_in_image, locate};
pub use module_types::ModuleTypes;
pub use order::{ORDERED, trust_kernel_order};
pub use types::{Found, KernelTypes, ReadKernelBtf, TypesCache, TypesError};

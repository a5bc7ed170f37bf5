//! Target BTF: extraction from files, and the BTF of a kernel and its modules.

mod error;
mod extract;
mod module_types;
mod order;
mod source;
#[cfg(test)]
mod tests;
mod types;

pub use crate::elf::{Class, ElfError};
pub use error::{ExtractError, TargetError};
pub use extract::{BtfLocation, ExtractedBtf, FileFormat, extract, find_btf_in_image, locate};
pub use module_types::ModuleTypes;
pub use order::{MIN_TYPES_TO_CHECK_ORDER, trust_kernel_order};
pub use source::{KernelModule, ReadKernelBtf};
pub use types::{FoundType, KernelTypes, TypesCache, TypesError};

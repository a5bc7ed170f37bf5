//! Target BTF: extraction from files, and the BTF of a kernel and its modules.

mod architecture;
mod architecture_names;
mod error;
mod extract;
mod kernel_btf;
mod module_btf;
mod order;
mod source;
#[cfg(test)]
mod tests;

pub use crate::elf::{ElfClass, ElfError};
pub use architecture::{find_architecture, find_architecture_with};
pub use architecture_names::ArchitectureNames;
pub use error::{ExtractError, TargetError};
pub use extract::{BtfLocation, ExtractedBtf, FileFormat, extract, find_btf_in_image, locate};
pub use kernel_btf::{KernelBtf, KernelBtfCache, KernelBtfError, KernelType};
pub use module_btf::ModuleBtf;
pub use order::{MIN_TYPES_TO_CHECK_ORDER, trust_kernel_order};
pub use source::{KernelModule, ReadKernelBtf};

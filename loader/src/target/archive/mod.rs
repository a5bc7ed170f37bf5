//! Archives of the BTF of many kernels, for running kernels without BTF.
//!
//! An archive is a `tar.gz` file that `core-relo btf min` writes. Its first member is an index with a row for each kernel:
//! release, architecture, distribution, version string, build id and modules. The other members are raw BTF.
//! `docs/btf-archive.md` describes the format.
//!
//! [`kernel_or_archive`] reads the running kernel's own BTF, or else the BTF that the archive has for the running kernel.

mod choose;
mod error;
mod identity;
mod index;
mod read;
mod running;
mod tar;
#[cfg(test)]
mod tests;

pub use choose::{Candidate, Choice, Evidence, Mismatch};
pub use error::ArchiveError;
pub use identity::{Distribution, KernelIdentity};
pub use index::{ArchiveEntry, INDEX_NAME, index_text, is_module_name, module_file};
pub use read::BtfArchive;
pub use running::{BtfOrigin, FoundBtf, build_id, kernel_or_archive, running_identity};

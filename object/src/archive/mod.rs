//! Archives of the BTF of many kernels, for kernels without BTF.
//!
//! An archive is a `tar.gz` file that `core-relo btf min` writes. Its first member is an index with a row for
//! each kernel: release, architecture, distribution, version string, build id and modules. The other members
//! are raw BTF. `docs/btf-archive.md` describes the format.
//!
//! [`find_in_archive`] finds the BTF that belongs to a kernel.

mod choose;
mod error;
mod found;
mod identity;
mod index;
mod read;
mod tar;
#[cfg(test)]
mod tests;

pub use choose::{ArchiveCandidate, ArchiveChoice, EntryEvidence, EntryMismatch};
pub use error::ArchiveError;
pub use found::{BtfOrigin, FoundBtf, find_in_archive};
pub use identity::{KernelIdentity, OsRelease};
pub use index::{ArchiveEntry, INDEX_NAME, index_text, is_module_name, module_file};
pub use read::BtfArchive;

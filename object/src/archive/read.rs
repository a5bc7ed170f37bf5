//! The archive: its index, and its members.

use super::{
    error::ArchiveError,
    index::{ArchiveEntry, INDEX_NAME, parse_index},
    tar::TarReader,
};
use crate::limits::{ARCHIVE_INDEX_BYTES, ARCHIVE_MEMBER_BYTES};
use core::{fmt, iter};
use core_relo::Text;
use flate2::bufread::GzDecoder;
use hashbrown::HashSet;

/// An archive of the BTF of kernels whose index has been read.
#[derive(Clone)]
pub struct BtfArchive<'a> {
    bytes: &'a [u8],
    entries: Vec<ArchiveEntry>,
}

impl<'a> BtfArchive<'a> {
    /// Reads an archive as a whole, without keeping the members.
    ///
    /// The archive must be complete, and must have the members that the index names, each once.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ArchiveError> {
        let mut tar = TarReader::new(GzDecoder::new(bytes));
        let index =
            tar.next_member()?.filter(|member| member.name == INDEX_NAME).ok_or(ArchiveError::NoIndex)?;
        let entries = parse_index(&tar.read_content(&index, ARCHIVE_INDEX_BYTES)?)?;
        let mut names: HashSet<String> = HashSet::from([index.name]);
        while let Some(member) = tar.next_member()? {
            tar.skip_content(member.len)?;
            if let Some(name) = names.replace(member.name) {
                return Err(ArchiveError::DuplicateMember { name: name.into() });
            }
        }
        let is_missing = |name: &String| name == INDEX_NAME || !names.contains(name);
        for entry in &entries {
            let modules = entry.modules.iter().map(|module| entry.module_member(module));
            if let Some(name) = iter::once(entry.content.clone()).chain(modules).find(is_missing) {
                return Err(ArchiveError::MissingMember { name: name.into() });
            }
        }
        Ok(Self { bytes, entries })
    }

    /// Returns the kernels in the archive, in the order of the index.
    pub fn entries(&self) -> &[ArchiveEntry] {
        &self.entries
    }

    /// Reads the BTF of a kernel, without its modules.
    pub fn read(&self, entry: &ArchiveEntry) -> Result<Vec<u8>, ArchiveError> {
        self.read_member(&entry.content)
    }

    /// Reads the BTF of a module. It is split BTF on top of the kernel's BTF.
    pub fn read_module(&self, entry: &ArchiveEntry, module: &str) -> Result<Vec<u8>, ArchiveError> {
        self.read_member(&entry.module_member(module))
    }

    fn read_member(&self, name: &str) -> Result<Vec<u8>, ArchiveError> {
        let mut tar = TarReader::new(GzDecoder::new(self.bytes));
        while let Some(member) = tar.next_member()? {
            if member.name == name {
                return tar.read_content(&member, ARCHIVE_MEMBER_BYTES);
            }
            tar.skip_content(member.len)?;
        }
        Err(ArchiveError::MissingMember { name: Text::from(name.to_owned()) })
    }
}

impl fmt::Debug for BtfArchive<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BtfArchive").field("entries", &self.entries).finish_non_exhaustive()
    }
}

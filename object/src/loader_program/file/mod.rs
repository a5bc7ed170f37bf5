//! The loader file: a loader program with its data, the names of the maps and programs that it loads, and a
//! signature.
//!
//! | bytes | contents |
//! |---|---|
//! | 8 | the magic number, `\x7fLOADER\n` |
//! | 1 | byte order of all numbers, instructions and data: 1 little-endian, 2 big-endian |
//! | 1 | version of the format: 1 |
//! | 6 | zeros |
//! | … | sections, in ascending order of their kinds: kind (4 bytes), size (4 bytes), contents, zeros up to a multiple of 8 |
//!
//! | kind | section | contents |
//! |---|---|---|
//! | 1 | description | flags, names, maps, programs, see `description.rs` |
//! | 2 | instructions | the loader program |
//! | 3 | data | the initial value of the loader's map |
//! | 4 | signature | optional: PKCS#7 in DER over section 2 |
//! | 5 | signature | with section 4: PKCS#7 in DER over sections 2 and 3 |

mod data_hash;
mod description;
mod error;
mod parts;
mod read;
mod signatures;
#[cfg(test)]
mod tests;
mod write;

pub use description::{LoaderMap, LoaderProgram};
pub use error::LoaderFileError;
pub use signatures::LoaderSignatures;

use crate::sha256::sha256;
use core_relo::Endian;

/// The first bytes of a file.
const MAGIC: [u8; 8] = *b"\x7fLOADER\n";
/// The version of the format.
const VERSION: u8 = 1;
/// Bytes before the first section.
const HEADER_BYTES: usize = 16;
/// The alignment of sections, and of the data in the loader's map.
const ALIGNMENT: usize = 8;

/// The kinds of sections.
mod section {
    pub(super) const DESCRIPTION: u32 = 1;
    pub(super) const INSTRUCTIONS: u32 = 2;
    pub(super) const DATA: u32 = 3;
    pub(super) const SIGNATURE: u32 = 4;
    pub(super) const SIGNATURE_WITH_DATA: u32 = 5;
}

/// A loader program with its data, the names of the maps and programs that it loads, and a signature.
///
/// Reading and writing a file yields the same bytes.
///
/// ```no_run
/// use core_relo_object::loader_program::{LoaderFile, LoaderSignatures};
///
/// # fn sign(_bytes: &[u8]) -> Vec<u8> { vec![1] }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut file = LoaderFile::read(&std::fs::read("exec.loader")?)?;
/// file.set_signatures(LoaderSignatures {
///     instructions: sign(file.instructions()),
///     instructions_and_data: sign(&file.instructions_and_data()),
/// })?;
/// std::fs::write("exec.loader", file.write()?)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoaderFile {
    pub(in crate::loader_program) endian: Endian,
    pub(in crate::loader_program) name: String,
    pub(in crate::loader_program) relocated_for: String,
    pub(in crate::loader_program) checks_data: bool,
    pub(in crate::loader_program) maps: Vec<LoaderMap>,
    pub(in crate::loader_program) programs: Vec<LoaderProgram>,
    pub(in crate::loader_program) instructions: Vec<u8>,
    pub(in crate::loader_program) data: Vec<u8>,
    pub(in crate::loader_program) signatures: Option<LoaderSignatures>,
}

impl LoaderFile {
    /// Returns the name of the object that the program loads.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the byte order of the instructions and the data.
    pub const fn endian(&self) -> Endian {
        self.endian
    }

    /// Returns the name of the kernel whose CO-RE relocations are in the instructions. Returns `None` if the
    /// kernel that executes the loader program relocates.
    pub fn relocated_for(&self) -> Option<&str> {
        (!self.relocated_for.is_empty()).then_some(&*self.relocated_for)
    }

    /// Returns whether the loader program compares the hash of its data with the hash in its instructions,
    /// and loads nothing if they differ. A signature over the instructions then also covers the data. Such a
    /// program needs Linux 6.18.
    pub const fn checks_data(&self) -> bool {
        self.checks_data
    }

    /// Returns the maps that the program creates, in the order of their descriptors in its context.
    pub fn maps(&self) -> &[LoaderMap] {
        &self.maps
    }

    /// Returns the programs that the program loads, in the order of their descriptors in its context.
    pub fn programs(&self) -> &[LoaderProgram] {
        &self.programs
    }

    /// Returns the instructions of the loader program: the bytes that Linux 6.18 to 7.2 verify.
    pub fn instructions(&self) -> &[u8] {
        &self.instructions
    }

    /// Returns the initial value of the loader's map. The length is a multiple of 8.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Returns the SHA-256 of the instructions, which the loader's map is exclusive to.
    pub fn instructions_hash(&self) -> [u8; 32] {
        sha256(&self.instructions)
    }
}

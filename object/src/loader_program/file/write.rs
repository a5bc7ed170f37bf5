//! Writes a loader file.

use super::{ALIGNMENT, LoaderFile, LoaderFileError, LoaderSignatures, MAGIC, VERSION, description, section};
use core_relo::Endian;

impl LoaderFile {
    /// Returns the bytes of the file.
    pub fn write(&self) -> Result<Vec<u8>, LoaderFileError> {
        self.check()?;
        let mut out = MAGIC.to_vec();
        let order = if self.endian == Endian::Little { 1 } else { 2 };
        out.extend_from_slice(&[order, VERSION, 0, 0, 0, 0, 0, 0]);
        let description = description::write(self)?;
        put_section(self.endian, &mut out, section::DESCRIPTION, &description)?;
        put_section(self.endian, &mut out, section::INSTRUCTIONS, &self.instructions)?;
        put_section(self.endian, &mut out, section::DATA, &self.data)?;
        if let Some(LoaderSignatures { instructions, instructions_and_data }) = &self.signatures {
            put_section(self.endian, &mut out, section::SIGNATURE, instructions)?;
            put_section(self.endian, &mut out, section::SIGNATURE_WITH_DATA, instructions_and_data)?;
        }
        Ok(out)
    }
}

/// Appends a section.
fn put_section(endian: Endian, out: &mut Vec<u8>, kind: u32, contents: &[u8]) -> Result<(), LoaderFileError> {
    let size = u32::try_from(contents.len()).map_err(|_large| LoaderFileError::SectionSize {
        section: "description",
        found: contents.len(),
        expected: "less than 4 GiB",
    })?;
    endian.put_u32(out, kind);
    endian.put_u32(out, size);
    out.extend_from_slice(contents);
    out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
    Ok(())
}

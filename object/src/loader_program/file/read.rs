//! Reads a loader file from bytes.

use super::{
    ALIGNMENT, HEADER_BYTES, LoaderFile, LoaderFileError, LoaderSignatures, MAGIC, VERSION,
    description::Description, parts::Reader, section,
};
use crate::{
    index::to_usize,
    limits::{LOADER_CONTEXT_BYTES, LOADER_DATA_BYTES, PROGRAM_INSNS},
    loader_program::context::context_bytes,
};
use core_relo::{
    Endian,
    insn::{INSN_BYTES, Slots},
};

/// The offset of the zeros in the header.
const PADDING_OFFSET: usize = 10;

impl LoaderFile {
    /// Returns whether bytes begin with the magic number of a loader file.
    pub fn is_loader_file(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// Reads a file.
    pub fn read(bytes: &[u8]) -> Result<Self, LoaderFileError> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(LoaderFileError::Magic)?;
        let Some(([order, version, padding @ ..], _)) =
            rest.split_first_chunk::<{ HEADER_BYTES - MAGIC.len() }>()
        else {
            return Err(LoaderFileError::Truncated {
                offset: 0,
                part: "the header",
                found: bytes.len(),
                expected: HEADER_BYTES,
            });
        };
        let endian = match order {
            1 => Endian::Little,
            2 => Endian::Big,
            found => return Err(LoaderFileError::ByteOrder { found: *found }),
        };
        if *version != VERSION {
            return Err(LoaderFileError::Version { found: *version });
        }
        if padding.iter().any(|byte| *byte != 0) {
            return Err(LoaderFileError::Padding { offset: PADDING_OFFSET });
        }
        let mut reader = Reader::new(endian, bytes);
        reader.bytes("the header", HEADER_BYTES)?;
        let description = reader.section(section::DESCRIPTION, "1 (description)")?;
        let instructions = reader.section(section::INSTRUCTIONS, "2 (instructions)")?;
        let data = reader.section(section::DATA, "3 (data)")?;
        let signatures = if reader.is_at_end() {
            None
        } else {
            let of_instructions = "4 (signature), or the end of the file";
            Some(LoaderSignatures {
                instructions: reader.section(section::SIGNATURE, of_instructions)?.to_vec(),
                instructions_and_data: reader
                    .section(section::SIGNATURE_WITH_DATA, "5 (signature with data)")?
                    .to_vec(),
            })
        };
        reader.finish("the file")?;
        let Description { name, relocated_for, checks_data, maps, programs } =
            Description::read(endian, description)?;
        let mut file = Self {
            endian,
            name,
            relocated_for,
            checks_data,
            maps,
            programs,
            instructions: instructions.to_vec(),
            data: data.to_vec(),
            signatures: None,
        };
        file.check()?;
        if let Some(signatures) = signatures {
            file.set_signatures(signatures)?;
        }
        Ok(file)
    }

    /// Checks the sizes of the parts, and the names of maps and programs.
    pub(in crate::loader_program) fn check(&self) -> Result<(), LoaderFileError> {
        let size_error =
            |section, found, expected| Err(LoaderFileError::SectionSize { section, found, expected });
        let (instructions, data) = (self.instructions.len(), self.data.len());
        if instructions == 0 || !instructions.is_multiple_of(INSN_BYTES) {
            return size_error("instructions", instructions, "a multiple of 8, at least 8");
        }
        if instructions / INSN_BYTES > to_usize(PROGRAM_INSNS) {
            return Err(LoaderFileError::Instructions { found: instructions / INSN_BYTES });
        }
        let mut slots = Slots::new(self.endian, &self.instructions);
        slots.by_ref().for_each(drop);
        if !slots.rest().is_empty() {
            return Err(LoaderFileError::TruncatedInstruction { found: slots.rest().len() });
        }
        if data == 0 || !data.is_multiple_of(ALIGNMENT) {
            return size_error("data", data, "a multiple of 8, at least 8");
        }
        if data > LOADER_DATA_BYTES {
            return Err(LoaderFileError::Data { found: data });
        }
        let names = self.maps.iter().map(|map| ("name of a map", &map.name));
        let mut names = names.chain(self.programs.iter().map(|program| ("name of a program", &program.name)));
        if let Some((field, _)) = names.find(|(_, name)| name.is_empty() || name.contains('\0')) {
            return Err(LoaderFileError::Name { field });
        }
        let (maps, programs) = (self.maps.len(), self.programs.len());
        if context_bytes(maps, programs).is_none_or(|bytes| bytes > LOADER_CONTEXT_BYTES) {
            return Err(LoaderFileError::Context { maps, programs });
        }
        self.signatures.as_ref().map_or(Ok(()), LoaderSignatures::check)
    }
}

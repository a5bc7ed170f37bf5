//! Reads a loader file from bytes.

use super::{
    ALIGNMENT, HEADER_BYTES, LoaderFile, LoaderFileError, LoaderSignatures, MAGIC, VERSION,
    description::Description, section,
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
        let signatures = if reader.rest.is_empty() {
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

/// A position in bytes that are read from front to back.
pub(super) struct Reader<'a> {
    endian: Endian,
    rest: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(endian: Endian, bytes: &'a [u8]) -> Self {
        Self { endian, rest: bytes, offset: 0 }
    }

    /// Fails if bytes are left.
    pub(super) fn finish(&self, part: &'static str) -> Result<(), LoaderFileError> {
        match self.rest.len() {
            0 => Ok(()),
            found => Err(LoaderFileError::Trailing { offset: self.offset, part, found }),
        }
    }

    /// Reads `count` bytes.
    pub(super) fn bytes(&mut self, part: &'static str, count: usize) -> Result<&'a [u8], LoaderFileError> {
        let (offset, found) = (self.offset, self.rest.len());
        let truncated = LoaderFileError::Truncated { offset, part, found, expected: count };
        match (self.rest.split_at_checked(count), offset.checked_add(count)) {
            (Some((bytes, rest)), Some(next)) => {
                (self.rest, self.offset) = (rest, next);
                Ok(bytes)
            }
            _ => Err(truncated),
        }
    }

    fn array<const N: usize>(&mut self, part: &'static str) -> Result<[u8; N], LoaderFileError> {
        let (offset, found) = (self.offset, self.rest.len());
        let bytes = self.bytes(part, N)?.first_chunk().copied();
        bytes.ok_or(LoaderFileError::Truncated { offset, part, found, expected: N })
    }

    pub(super) fn u32(&mut self, part: &'static str) -> Result<u32, LoaderFileError> {
        Ok(self.endian.word(self.array(part)?))
    }

    pub(super) fn u64(&mut self, part: &'static str) -> Result<u64, LoaderFileError> {
        let [b0, b1, b2, b3, b4, b5, b6, b7] = self.array(part)?;
        let (first, second) = (self.endian.word([b0, b1, b2, b3]), self.endian.word([b4, b5, b6, b7]));
        let (low, high) = if self.endian == Endian::Little { (first, second) } else { (second, first) };
        Ok((u64::from(high) << 32) | u64::from(low))
    }

    /// Reads flags of which only one is known.
    pub(super) fn flag(&mut self, field: &'static str, flag: u32) -> Result<bool, LoaderFileError> {
        match self.u32(field)? {
            0 => Ok(false),
            found if found == flag => Ok(true),
            found => Err(LoaderFileError::Field { field, found: found.into(), expected: "0 or 1" }),
        }
    }

    /// Reads a text, which may be empty.
    pub(super) fn text(&mut self, field: &'static str) -> Result<String, LoaderFileError> {
        let len = to_usize(self.u32(field)?);
        let bytes = self.bytes(field, len)?;
        match str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(text.to_owned()),
            _ => Err(LoaderFileError::Name { field }),
        }
    }

    /// Reads a name, which is not empty.
    pub(super) fn name(&mut self, field: &'static str) -> Result<String, LoaderFileError> {
        let name = self.text(field)?;
        if name.is_empty() { Err(LoaderFileError::Name { field }) } else { Ok(name) }
    }

    /// Reads a section of a kind.
    fn section(&mut self, kind: u32, expected: &'static str) -> Result<&'a [u8], LoaderFileError> {
        let offset = self.offset;
        let found = self.u32("the head of a section")?;
        if found != kind {
            return Err(LoaderFileError::Section { offset, found, expected });
        }
        let size = to_usize(self.u32("the head of a section")?);
        let contents = self.bytes("a section", size)?;
        let padding_offset = self.offset;
        let padding_bytes = size.wrapping_neg() % ALIGNMENT;
        let padding = self.bytes("the padding of a section", padding_bytes)?;
        if padding.iter().any(|byte| *byte != 0) {
            return Err(LoaderFileError::Padding { offset: padding_offset });
        }
        Ok(contents)
    }
}

//! Merges `.BTF.ext`: appends the records of each section, with their new offsets, types and names.

use super::{
    error::{SectionError, StaticLinkError},
    input::Input,
    output_object::OutputObject,
    type_map::TypeMap,
};
use crate::{
    elf::text,
    index::to_usize,
    internal::{InternalError, Invariant as _},
};
use core_relo::{
    Endian, StrOffset, TypeId,
    btf::{Btf, DedupResult, Importer},
    ext::{BtfExt, ExtBuilder, ExtPart, ExtRecord, Section},
};

/// The meaning of a word of a record.
#[derive(Clone, Copy)]
enum RecordWord {
    Type,
    Name,
}

/// The invariant of a word that every record has.
const WORD_IN_RECORD: &str = "a record of .BTF.ext has the words of its part";

/// Returns the types and names in a record, by byte offset. The first word of a record is the instruction's
/// offset.
const fn record_words(part: ExtPart) -> &'static [(usize, RecordWord)] {
    match part {
        ExtPart::FuncInfo => &[(4, RecordWord::Type)],
        ExtPart::LineInfo => &[(4, RecordWord::Name), (8, RecordWord::Name)],
        ExtPart::CoreRelo => &[(4, RecordWord::Type), (8, RecordWord::Name)],
    }
}

/// The records of a section in an input.
struct Group<'d> {
    section: StrOffset,
    record_size: u32,
    records: Vec<&'d [u8]>,
}

impl OutputObject<'_> {
    /// Adds the records of an input (libbpf: `linker_append_btf_ext`).
    pub(super) fn add_ext(&mut self, input: &Input<'_>, type_map: &TypeMap) -> Result<(), StaticLinkError> {
        let (Some(btf), Some(ext)) = (&input.btf, &input.ext) else { return Ok(()) };
        let mut importer = Importer::new(btf);
        for part in ExtPart::ALL {
            for group in groups(ext, part) {
                self.add_group(input, btf, &mut importer, part, &group, type_map)?;
            }
        }
        Ok(())
    }

    fn add_group(
        &mut self,
        input: &Input<'_>,
        btf: &Btf<'_>,
        importer: &mut Importer<'_>,
        part: ExtPart,
        group: &Group<'_>,
        type_map: &TypeMap,
    ) -> Result<(), StaticLinkError> {
        let not_found = |name| input.section_error(name, SectionError::NotFound);
        let name = btf.name(group.section).ok_or_else(|| not_found(b""))?.as_bytes();
        let section = input.find(name).ok_or_else(|| not_found(name))?;
        // An empty `.text` is not linked.
        let Some(placement) = input.sections.get(section)?.placement else { return Ok(()) };
        let output = self.sections.get_mut(placement.section)?.ext.part_mut(part);
        let expected = *output.record_size.get_or_insert(group.record_size);
        if expected != group.record_size {
            let cause = SectionError::RecordSize { expected, found: group.record_size };
            return Err(input.section_error(name, cause));
        }
        for record in &group.records {
            let start = output.bytes.len();
            output.bytes.extend_from_slice(record);
            let record = output.bytes.get_mut(start..).invariant("a record was appended")?;
            let offset = read_word(self.endian, record, 0)?;
            let too_large = || input.section_error(name, SectionError::RecordOffset { offset });
            let moved = offset.checked_add(placement.offset).ok_or_else(too_large)?;
            write_word(self.endian, record, 0, moved)?;
            for (at, word) in record_words(part) {
                let old = read_word(self.endian, record, *at)?;
                let new = match word {
                    // As in libbpf, types that are not linked become `void`.
                    RecordWord::Type => type_map.get(TypeId(old)).unwrap_or(TypeId::VOID).0,
                    RecordWord::Name => {
                        let copied = importer.copy_name(&mut self.types, StrOffset(old));
                        copied.map_err(|cause| input.type_error(cause.into()))?.0
                    }
                };
                write_word(self.endian, record, *at, new)?;
            }
        }
        Ok(())
    }

    /// Returns the `.BTF.ext` of the linked object, with the types and strings of the deduplicated BTF;
    /// `None` without records (libbpf: `finalize_btf_ext`).
    pub(super) fn finish_ext(
        &self,
        merged: &Btf<'_>,
        dedup: &mut DedupResult,
    ) -> Result<Option<Vec<u8>>, StaticLinkError> {
        let mut importer = Importer::new(merged);
        let mut ext = ExtBuilder::new(self.endian);
        for part in ExtPart::ALL {
            let mut expected = None;
            for section in self.sections.iter() {
                let records = section.ext.part(part);
                let Some(record_size) = records.record_size else { continue };
                let expected = *expected.get_or_insert(record_size);
                if expected != record_size {
                    let section = text(&section.name);
                    return Err(StaticLinkError::RecordSize { section, expected, found: record_size });
                }
                let name = dedup.builder().string_bytes(&section.name);
                let mut bytes = records.bytes.clone();
                let size = Some(to_usize(record_size)).filter(|size| *size > 0);
                for record in bytes.chunks_exact_mut(size.invariant("a record of .BTF.ext has words")?) {
                    for (at, word) in record_words(part) {
                        let old = read_word(self.endian, record, *at)?;
                        let new = match word {
                            RecordWord::Type => dedup.id(TypeId(old)).invariant("a merged type exists")?.0,
                            RecordWord::Name => {
                                let copied = importer.copy_name(dedup.builder(), StrOffset(old));
                                copied.map_err(|cause| StaticLinkError::Dedup(cause.into()))?.0
                            }
                        };
                        write_word(self.endian, record, *at, new)?;
                    }
                }
                ext.group(part, name, record_size, &bytes);
            }
        }
        Ok((!ext.is_empty()).then(|| ext.finish()))
    }
}

fn groups<'d>(ext: &BtfExt<'d>, part: ExtPart) -> Vec<Group<'d>> {
    match part {
        ExtPart::FuncInfo => ext.func_infos().map(|section| group(&section)).collect(),
        ExtPart::LineInfo => ext.line_infos().map(|section| group(&section)).collect(),
        ExtPart::CoreRelo => ext.core_relos().map(|section| group(&section)).collect(),
    }
}

fn group<'d, R: ExtRecord>(section: &Section<'d, R>) -> Group<'d> {
    let records = section.raw_records().collect();
    Group { section: section.name(), record_size: section.record_size(), records }
}

fn read_word(endian: Endian, record: &[u8], at: usize) -> Result<u32, InternalError> {
    endian.u32(record, at).invariant(WORD_IN_RECORD)
}

fn write_word(endian: Endian, record: &mut [u8], at: usize, value: u32) -> Result<(), InternalError> {
    let word = record.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<4>);
    *word.invariant(WORD_IN_RECORD)? = endian.u32_bytes(value);
    Ok(())
}

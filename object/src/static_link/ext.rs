//! `.BTF.ext` of all files in one: the records of a section after each other, at their new places, with their new types.

use super::{LinkError, SectionFault, State, input::Input, types::new_id};
use core_relo::{
    Endian, StrOffset, TypeId,
    btf::{Btf, Deduped, Import, ImportError},
    ext::{BtfExt, ExtBuilder, ExtPart},
};

/// The records of a section: for each part the size of a record, and all of them.
#[derive(Debug, Default)]
pub(super) struct ExtRecords([(u32, Vec<u8>); 3]);

/// What the words of a record are, after the instruction's offset.
#[derive(Clone, Copy)]
enum Word {
    Type,
    Name,
}

const fn words(part: ExtPart) -> &'static [(usize, Word)] {
    match part {
        ExtPart::FuncInfo => &[(4, Word::Type)],
        ExtPart::LineInfo => &[(4, Word::Name), (8, Word::Name)],
        ExtPart::CoreRelo => &[(4, Word::Type), (8, Word::Name)],
    }
}

/// A group of records as it lies in a file.
struct Group<'d> {
    section: StrOffset,
    record_size: u32,
    records: Vec<&'d [u8]>,
}

impl ExtRecords {
    const fn part(&self, part: ExtPart) -> &(u32, Vec<u8>) {
        let [func_info, line_info, core_relo] = &self.0;
        match part {
            ExtPart::FuncInfo => func_info,
            ExtPart::LineInfo => line_info,
            ExtPart::CoreRelo => core_relo,
        }
    }

    const fn part_mut(&mut self, part: ExtPart) -> &mut (u32, Vec<u8>) {
        let [func_info, line_info, core_relo] = &mut self.0;
        match part {
            ExtPart::FuncInfo => func_info,
            ExtPart::LineInfo => line_info,
            ExtPart::CoreRelo => core_relo,
        }
    }
}

impl State<'_> {
    /// libbpf: `linker_append_btf_ext`
    pub(super) fn add_ext(&mut self, input: &Input<'_>, ids: &[TypeId]) -> Result<(), LinkError> {
        let (Some(btf), Some(ext)) = (&input.btf, &input.ext) else { return Ok(()) };
        let mut import = Import::new(btf);
        for part in ExtPart::ALL {
            for group in groups(ext, part) {
                self.add_group(input, btf, &mut import, part, &group, ids)?;
            }
        }
        Ok(())
    }

    fn add_group(
        &mut self,
        input: &Input<'_>,
        btf: &Btf<'_>,
        import: &mut Import<'_>,
        part: ExtPart,
        group: &Group<'_>,
        ids: &[TypeId],
    ) -> Result<(), LinkError> {
        let types = |cause: ImportError| LinkError::Types { file: input.file.clone(), cause: cause.into() };
        let name = btf.name(group.section).unwrap_or_default().as_bytes();
        let section = input.find(name).and_then(|at| input.at(at));
        let section = section.ok_or_else(|| input.fault(name, SectionFault::NotFound))?;
        // A `.text` that is empty is not linked.
        let Some(out) = section.out.and_then(|out| self.sections.at_mut(out)) else { return Ok(()) };
        let (size, records) = out.ext.part_mut(part);
        if *size == 0 {
            *size = group.record_size;
        }
        if *size != group.record_size {
            let (expected, found) = (*size, group.record_size);
            return Err(input.fault(name, SectionFault::RecordSize { expected, found }));
        }
        let by = u32::try_from(section.offset).unwrap_or(u32::MAX);
        for record in &group.records {
            let start = records.len();
            records.extend_from_slice(record);
            let Some(record) = records.get_mut(start..) else { continue };
            change(self.endian, record, 0, |offset| offset.saturating_add(by));
            for (at, word) in words(part) {
                match word {
                    Word::Type => change(self.endian, record, *at, |id| new_id(ids, TypeId(id)).0),
                    Word::Name => {
                        let old = StrOffset(self.endian.u32(record, *at).unwrap_or_default());
                        let new = import.string(&mut self.types, old).map_err(types)?;
                        change(self.endian, record, *at, |_| new.0);
                    }
                }
            }
        }
        Ok(())
    }

    /// The records with the types and strings of the deduplicated BTF (libbpf: `finalize_btf_ext`, and what `btf__dedup` does
    /// to it). `None` if there are none.
    pub(super) fn finish_ext(
        &self,
        merged: &Btf<'_>,
        types: &mut Deduped,
    ) -> Result<Option<Vec<u8>>, LinkError> {
        let mut import = Import::new(merged);
        let mut ext = ExtBuilder::new(self.endian);
        for part in ExtPart::ALL {
            let mut expected = 0;
            for section in self.sections.iter() {
                let (size, records) = section.ext.part(part);
                if records.is_empty() {
                    continue;
                }
                expected = if expected == 0 { *size } else { expected };
                if expected != *size {
                    let (file, section) = ("the linked object".into(), crate::elf::text(&section.name));
                    let cause = SectionFault::RecordSize { expected, found: *size };
                    return Err(LinkError::Section { file, section, cause });
                }
                let name = types.builder().string_bytes(&section.name);
                let mut records = records.clone();
                let size = usize::try_from(expected.max(4)).unwrap_or(usize::MAX);
                for record in records.chunks_exact_mut(size) {
                    for (at, word) in words(part) {
                        renew(self.endian, record, *at, *word, types, &mut import)
                            .map_err(|cause| LinkError::Dedup(cause.into()))?;
                    }
                }
                ext.group(part, name, expected, &records);
            }
        }
        Ok((!ext.is_empty()).then(|| ext.finish()))
    }
}

/// A word of a record that refers to the merged types now refers to the deduplicated ones.
fn renew(
    e: Endian,
    record: &mut [u8],
    at: usize,
    word: Word,
    types: &mut Deduped,
    import: &mut Import<'_>,
) -> Result<(), ImportError> {
    let old = e.u32(record, at).unwrap_or_default();
    let new = match word {
        Word::Type => types.id(TypeId(old)).unwrap_or_default().0,
        Word::Name => import.string(types.builder(), StrOffset(old))?.0,
    };
    change(e, record, at, |_| new);
    Ok(())
}

fn groups<'d>(ext: &BtfExt<'d>, part: ExtPart) -> Vec<Group<'d>> {
    match part {
        ExtPart::FuncInfo => ext.func_infos().map(|s| group(&s)).collect(),
        ExtPart::LineInfo => ext.line_infos().map(|s| group(&s)).collect(),
        ExtPart::CoreRelo => ext.core_relos().map(|s| group(&s)).collect(),
    }
}

fn group<'d, R: core_relo::ext::ExtRecord>(s: &core_relo::ext::Section<'d, R>) -> Group<'d> {
    Group { section: s.name(), record_size: s.record_size(), records: s.raw_records().collect() }
}

fn change(e: Endian, record: &mut [u8], at: usize, new: impl FnOnce(u32) -> u32) {
    if let Some(place) = record.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<4>) {
        *place = e.u32_bytes(new(e.word(*place)));
    }
}

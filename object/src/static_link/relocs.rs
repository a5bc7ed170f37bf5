//! Relocations moved along with what they apply to and refer to.

use super::{
    LinkError, RelocationFault, SectionFault, State,
    input::{InSection, Input},
};
use crate::elf::{Section, text};
use core_relo::Endian;
use object::elf;

/// `BPF_JMP | BPF_CALL`
const CALL: u8 = 0x85;

/// A relocation as it lies in the file.
struct Record {
    offset: u64,
    symbol: u32,
    kind: u32,
}

impl State<'_> {
    /// libbpf: `linker_append_elf_relos`
    pub(super) fn add_relocations(
        &mut self,
        input: &mut Input<'_>,
        symbols: &[u32],
    ) -> Result<(), LinkError> {
        for at in 1..input.sections.len() {
            let Some((s, from)) = input.at(at).and_then(|s| Some((s, s.elf?))) else { continue };
            if s.skipped || from.sh_type != elf::SHT_REL.0 {
                continue;
            }
            let target = usize::try_from(from.info).ok().filter(|at| *at != 0).and_then(|at| input.at(at));
            let target = target.ok_or_else(|| damaged(input, &from, "what it applies to does not exist"))?;
            check(input, &from, target)?;
            // What applies to what is left out is left out.
            let Some(out) = target.out.filter(|_| !target.skipped) else { continue };
            let records = records(&from, self.endian);
            let appended = self.sections.append(s, &mut self.strings);
            let (place, _) = appended.map_err(|cause| input.fault(&s.name, cause))?;
            let mut bytes = Vec::with_capacity(from.data.len());
            for record in records {
                self.add_relocation(input, target, out, symbols, &record, &mut bytes)?;
            }
            self.replace_tail(place, out, &bytes);
            if let Some(s) = input.sections.get_mut(at) {
                s.out = Some(place);
            }
        }
        Ok(())
    }

    /// Checks one relocation, mends the instruction it applies to, and writes it anew.
    fn add_relocation(
        &mut self,
        input: &Input<'_>,
        target: &InSection<'_>,
        out: usize,
        symbols: &[u32],
        record: &Record,
        bytes: &mut Vec<u8>,
    ) -> Result<(), LinkError> {
        let (offset, e) = (record.offset, self.endian);
        let fault = |cause| LinkError::Relocation {
            file: input.file.clone(),
            section: text(&target.name),
            offset,
            cause,
        };
        let is_code = target.elf.is_some_and(|s| s.flags & elf::SHF_EXECINSTR.0 != 0);
        let size = target.elf.map_or(0, |s| s.size);
        let need = match record.kind {
            // R_BPF_64_64 and R_BPF_64_32 apply to instructions, the others to words of data.
            1 | 2 | 10 => 8,
            3 => 4,
            found => return Err(fault(RelocationFault::Type { found })),
        };
        let number = usize::try_from(record.symbol).ok().filter(|number| *number != 0);
        let found = number.and_then(|n| Some((input.symbols.get(n)?, *symbols.get(n)?)));
        let (symbol, new) = found.ok_or_else(|| fault(RelocationFault::Symbol { symbol: record.symbol }))?;
        if is_code && !offset.is_multiple_of(8) {
            return Err(fault(RelocationFault::Unaligned));
        }
        if offset.checked_add(need).is_none_or(|end| end > size) {
            return Err(fault(RelocationFault::Bounds { size }));
        }
        let moved = offset.saturating_add(target.offset);
        if symbol.is_section() {
            if !is_code {
                return Err(fault(RelocationFault::SectionSymbol));
            }
            let by = input.at(symbol.section.into()).map_or(0, |s| s.offset);
            let data = self.sections.at_mut(out).map(|out| &mut out.data);
            let place = usize::try_from(moved).ok();
            let insn = data.zip(place).and_then(|(data, at)| data.get_mut(at..)?.first_chunk_mut::<8>());
            mend(insn.ok_or_else(|| fault(RelocationFault::Bounds { size }))?, by, e);
        }
        e.put_u64(bytes, moved);
        e.put_u64(bytes, (u64::from(new) << 32) | u64::from(record.kind));
        Ok(())
    }

    /// Writes the relocations just moved over those that were appended, and says what they belong to.
    fn replace_tail(&mut self, place: usize, target: usize, bytes: &[u8]) {
        // The numbers of sections: `.symtab` is the second one.
        let info = self.sections.at(target).map_or(0, super::sections::OutSection::number);
        let Some(section) = self.sections.at_mut(place) else { return };
        let start = section.data.len().saturating_sub(bytes.len());
        section.data.truncate(start);
        section.data.extend_from_slice(bytes);
        if let Some(header) = &mut section.elf {
            (header.link, header.info) = (2, info);
        }
    }
}

/// libbpf: `linker_sanity_check_elf_relos`
fn check(input: &Input<'_>, from: &Section<'_>, target: &InSection<'_>) -> Result<(), LinkError> {
    if from.entsize != 16 || !from.size.is_multiple_of(16) {
        return Err(damaged(input, from, "its records are not of 16 bytes"));
    }
    if from.link != input.symbol_table {
        return Err(damaged(input, from, "it does not refer to the symbol table"));
    }
    if from.name.strip_prefix(b".rel") != Some(&*target.name) {
        return Err(damaged(input, from, "its name is not `.rel` and that of the section it applies to"));
    }
    let is_data =
        target.elf.is_some_and(|s| s.sh_type == elf::SHT_PROGBITS.0 || s.sh_type == elf::SHT_NOBITS.0);
    if !target.skipped && !is_data {
        return Err(damaged(input, from, "it applies neither to code nor to data"));
    }
    Ok(())
}

#[cold]
fn damaged(input: &Input<'_>, from: &Section<'_>, what: &'static str) -> LinkError {
    input.fault(from.name, SectionFault::Relocations { what })
}

fn records(from: &Section<'_>, e: Endian) -> Vec<Record> {
    let (raw, _) = from.data.as_chunks::<16>();
    let record = |raw: &[u8; 16]| {
        let info = e.u64(raw, 8)?;
        let half = |v: u64| u32::try_from(v & 0xffff_ffff).ok();
        Some(Record { offset: e.u64(raw, 0)?, symbol: half(info >> 32)?, kind: half(info)? })
    };
    raw.iter().filter_map(record).collect()
}

/// An instruction that refers to a place in a section by the section's symbol: the section's bytes are now `by` bytes further.
fn mend(insn: &mut [u8; 8], by: u64, e: Endian) {
    let [code, _, _, _, imm @ ..] = insn;
    let by = if *code == CALL { by / 8 } else { by };
    let by = u32::try_from(by & 0xffff_ffff).unwrap_or_default();
    *imm = e.u32_bytes(e.word(*imm).wrapping_add(by));
}

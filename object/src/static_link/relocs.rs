//! Moves relocations along with their sections and symbols.

use super::{
    error::{RelocationError, SectionError, StaticLinkError},
    index::{OutputSectionIndex, OutputSymbolIndex},
    input::{Input, InputSection, Placement},
    output_object::OutputObject,
};
use crate::{
    elf::{Section, text},
    index::{SectionIndex, to_usize},
    internal::{InternalError, Invariant as _},
    object::{SymbolLocation, symbols::object_endian},
};
use core_relo::{Endian, insn::opcode::CALL};
use object::{Endianness, elf, pod, read::elf::Rel as _};

/// `R_BPF_64_64`
const LOAD_64: u32 = 1;
/// `R_BPF_64_ABS64`
const ABS_64: u32 = 2;
/// `R_BPF_64_ABS32`
const ABS_32: u32 = 3;
/// `R_BPF_64_NODYLD32`: as `R_BPF_64_ABS32`. Compilers write it for words with the offset of a variable or of
/// an instruction.
const NODYLD_32: u32 = 4;
/// `R_BPF_64_32`
const CALL_32: u32 = 10;

/// The size of a relocation record in bytes.
const RECORD_BYTES: u64 = 16;

/// A relocation record: an `Elf64_Rel`.
struct Record {
    offset: u64,
    symbol: u32,
    kind: u32,
}

impl OutputObject<'_> {
    /// Adds the relocation sections of an input (libbpf: `linker_append_elf_relos`).
    pub(super) fn add_relocations(
        &mut self,
        input: &mut Input<'_>,
        symbol_map: &[OutputSymbolIndex],
    ) -> Result<(), StaticLinkError> {
        for index in input.sections.indices() {
            let section = input.sections.get(index)?;
            let Some(elf) = section.elf.filter(|elf| elf.sh_type == elf::SHT_REL.0) else { continue };
            if section.is_ignored {
                continue;
            }
            let target = input.elf_section(SectionIndex(elf.info)).filter(|_| elf.info != 0);
            let target = target
                .ok_or_else(|| damaged(input, &elf, "the section that it applies to does not exist"))?;
            check_section(input, &elf, target)?;
            // The relocations of a section that is not linked are left out.
            let Some(target_placement) = target.placement else { continue };
            let records = parse_records(&elf, self.endian)?;
            let placement = self.sections.append(input, section, &mut self.strings)?;
            let mut bytes = Vec::with_capacity(elf.data.len());
            for record in &records {
                self.add_relocation(input, target, target_placement, symbol_map, record, &mut bytes)?;
            }
            self.replace_records(placement, target_placement, &bytes)?;
            input.sections.get_mut(index)?.placement = Some(placement);
        }
        Ok(())
    }

    /// Checks a relocation, adjusts the relocated instruction, and writes the record for the linked object.
    fn add_relocation(
        &mut self,
        input: &Input<'_>,
        target: &InputSection<'_>,
        placement: Placement,
        symbol_map: &[OutputSymbolIndex],
        record: &Record,
        bytes: &mut Vec<u8>,
    ) -> Result<(), StaticLinkError> {
        let (offset, e) = (record.offset, self.endian);
        let error = |cause| {
            let (file, section) = (input.file.clone(), text(&target.name));
            StaticLinkError::Relocation { file, section, offset, cause }
        };
        let elf = target.elf.invariant("relocations apply to an ELF section")?;
        let is_code = elf.flags & elf::SHF_EXECINSTR.0 != 0;
        let field_bytes = match record.kind {
            LOAD_64 | ABS_64 | CALL_32 => 8,
            ABS_32 | NODYLD_32 => 4,
            found => return Err(error(RelocationError::Type { found })),
        };
        let index = to_usize(record.symbol);
        let symbols = input.symbols.get(index).zip(symbol_map.get(index)).filter(|_| index != 0);
        let missing = RelocationError::Symbol { symbol: record.symbol };
        let (symbol, output_symbol) = symbols.ok_or_else(|| error(missing))?;
        if is_code && !offset.is_multiple_of(8) {
            return Err(error(RelocationError::Unaligned));
        }
        let size = elf.size;
        if offset.checked_add(field_bytes).is_none_or(|end| end > size) {
            return Err(error(RelocationError::Bounds { size }));
        }
        let moved = offset.checked_add(placement.offset.into());
        let moved = moved.invariant("an offset in a linked section is less than 2^31")?;
        if symbol.is_section() {
            // Loaders find maps and programs in these sections by the name of the symbol.
            if has_names(&target.name) {
                return Err(error(RelocationError::SectionSymbol));
            }
            let distance = match symbol.location {
                SymbolLocation::Section(section) => {
                    let section = input.elf_section(section).invariant("the section of a symbol exists")?;
                    // The section of a symbol that is left out does not move.
                    section.placement.map_or(0, |placement| placement.offset)
                }
                _ => 0,
            };
            let data = &mut self.sections.get_mut(placement.section)?.data;
            let field = usize::try_from(moved).ok().and_then(|start| data.get_mut(start..));
            let field = field.ok_or_else(|| error(RelocationError::Bounds { size }))?;
            shift_field(field, Shift { kind: record.kind, is_code, distance }, e).map_err(error)?;
        }
        e.put_u64(bytes, moved);
        e.put_u64(bytes, (u64::from(output_symbol.0) << 32) | u64::from(record.kind));
        Ok(())
    }

    /// Replaces the records that were appended last, and sets `sh_link` and `sh_info` of their section.
    fn replace_records(
        &mut self,
        placement: Placement,
        target: Placement,
        records: &[u8],
    ) -> Result<(), InternalError> {
        let symtab = self.sections.get(OutputSectionIndex::SYMTAB)?.number()?;
        let target = self.sections.get(target.section)?.number()?;
        let section = self.sections.get_mut(placement.section)?;
        let appended = section.data.get_mut(to_usize(placement.offset)..);
        let appended = appended.filter(|appended| appended.len() == records.len());
        appended.invariant("rewritten relocations replace as many appended ones")?.copy_from_slice(records);
        let header = section.header.as_mut().invariant("a section of relocations has a header")?;
        (header.link, header.info) = (symtab.into(), target.into());
        Ok(())
    }
}

/// Checks a relocation section (libbpf: `linker_sanity_check_elf_relos`).
fn check_section(
    input: &Input<'_>,
    elf: &Section<'_>,
    target: &InputSection<'_>,
) -> Result<(), StaticLinkError> {
    if elf.entsize != RECORD_BYTES || !elf.size.is_multiple_of(RECORD_BYTES) {
        return Err(damaged(input, elf, "its records do not have 16 bytes"));
    }
    if SectionIndex(elf.link) != input.symbol_table {
        return Err(damaged(input, elf, "it does not refer to the symbol table"));
    }
    if elf.name.strip_prefix(b".rel") != Some(&*target.name) {
        return Err(damaged(
            input,
            elf,
            "its name is not `.rel` and the name of the section that it applies to",
        ));
    }
    if !target.is_ignored && !target.is_data() {
        return Err(damaged(input, elf, "it applies neither to code nor to data"));
    }
    Ok(())
}

#[cold]
fn damaged(input: &Input<'_>, elf: &Section<'_>, what: &'static str) -> StaticLinkError {
    input.section_error(elf.name, SectionError::Relocations { what })
}

fn parse_records(elf: &Section<'_>, endian: Endian) -> Result<Vec<Record>, InternalError> {
    let e = object_endian(endian);
    let raw = pod::slice_from_all_bytes::<elf::Rel64<Endianness>>(elf.data);
    let raw = raw.invariant("a relocation section consists of whole records")?;
    let record =
        |r: &elf::Rel64<_>| Record { offset: r.r_offset(e), symbol: r.r_sym(e), kind: r.r_type(e).0 };
    Ok(raw.iter().map(record).collect())
}

/// Returns whether the words of a section refer to maps or programs, whose names count.
fn has_names(section: &[u8]) -> bool {
    section == b".maps" || section.strip_prefix(b"?").unwrap_or(section).starts_with(b".struct_ops")
}

/// The adjustment of a field that refers to a section symbol.
#[derive(Clone, Copy)]
struct Shift {
    /// The type of the relocation.
    kind: u32,
    /// Whether the field is in a section of code.
    is_code: bool,
    /// The distance in bytes by which the symbol's section moved.
    distance: u32,
}

/// Adjusts the field at the start of `bytes`: an instruction, or a word of data, to which the distance is
/// added.
///
/// libbpf adjusts instructions only, and refuses words of data.
fn shift_field(bytes: &mut [u8], shift: Shift, e: Endian) -> Result<(), RelocationError> {
    let Shift { kind, is_code, distance } = shift;
    match kind {
        // The addend of data is signed: a pointer may lie before the start of its section's part, as
        // `array - 1`.
        LOAD_64 | ABS_64 if !is_code => {
            let field = bytes.first_chunk_mut().ok_or(RelocationError::Overflow)?;
            let addend = e.u64(field, 0).map(u64::cast_signed);
            let moved = addend.and_then(|addend| addend.checked_add(distance.into()));
            *field = e.u64_bytes(moved.ok_or(RelocationError::Overflow)?.cast_unsigned());
        }
        ABS_32 | NODYLD_32 if !is_code || kind == NODYLD_32 => {
            let field = bytes.first_chunk_mut().ok_or(RelocationError::Overflow)?;
            let moved = e.word(*field).cast_signed().checked_add_unsigned(distance);
            *field = e.u32_bytes(moved.ok_or(RelocationError::Overflow)?.cast_unsigned());
        }
        _ if is_code => shift_target(bytes.first_chunk_mut().ok_or(RelocationError::Overflow)?, distance, e),
        _ => return Err(RelocationError::SectionSymbol),
    }
    Ok(())
}

/// Adjusts an instruction that refers to a section symbol. The symbol's section moved by a distance in bytes.
fn shift_target(insn: &mut [u8; 8], distance: u32, e: Endian) {
    let [code, _, _, _, imm @ ..] = insn;
    // A call counts instructions.
    let distance = if *code == CALL { distance / 8 } else { distance };
    *imm = e.u32_bytes(e.word(*imm).wrapping_add(distance));
}

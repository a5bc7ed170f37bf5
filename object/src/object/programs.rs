//! Programs and subprograms, from function symbols.

use super::{
    error::ObjectError,
    sec_def::SecDef,
    symbols::{Linkage, SymbolKind, SymbolLocation, Symbols},
};
use crate::elf::{Elf, Section, text};
use crate::index::SectionIndex;
use core_relo::{CodeSection, Function, InsnIndex};

/// The section whose functions are all subprograms.
pub(crate) const TEXT: &[u8] = b".text";

/// The size of an instruction in bytes.
const INSN_SIZE: u64 = 8;

/// A function of an object: a program, or a subprogram that programs call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Program<'d> {
    /// The function's name.
    pub name: &'d [u8],
    /// The name of the ELF section, including a leading `?`.
    pub section: &'d [u8],
    /// The index of the ELF section.
    pub section_index: SectionIndex,
    /// The index of the first instruction in the section.
    pub start: InsnIndex,
    /// The number of instructions. A 64-bit load counts as two.
    pub len: u32,
    /// The linkage of the symbol.
    pub linkage: Linkage,
    /// Whether the symbol is hidden. libbpf makes the verifier treat hidden functions as static.
    pub is_hidden: bool,
    /// Whether the function is a subprogram, which is linked into the programs that call it.
    ///
    /// All functions in `.text` are subprograms. In other sections, a function is a subprogram if another function refers to it, and
    /// it is static or its section's name implies no program type.
    pub is_subprogram: bool,
}

impl<'d> Program<'d> {
    /// Returns the section's name without a leading `?`.
    pub fn section_name(&self) -> &'d [u8] {
        self.section.strip_prefix(b"?").unwrap_or(self.section)
    }

    /// Returns whether the program is loaded by default: its section's name does not begin with `?`.
    pub fn autoload(&self) -> bool {
        !self.section.starts_with(b"?")
    }

    /// Returns the definition of the section's name; none for a subprogram or an unknown name.
    pub fn sec_def(&self) -> Option<&'static SecDef> {
        if self.is_subprogram { None } else { SecDef::find(self.section_name()) }
    }
}

/// The code sections and functions of an object.
pub(crate) struct Code<'d> {
    pub(crate) sections: Vec<CodeSection<'d>>,
    pub(crate) indices: Vec<SectionIndex>,
    pub(crate) programs: Vec<Program<'d>>,
}

impl<'d> Code<'d> {
    /// Collects the functions, sorted by section and offset (libbpf: `bpf_object__add_programs`).
    ///
    /// libbpf refuses an object with a static function outside of `.text`. Here such a function is a subprogram if another function
    /// refers to it (`calls`). Otherwise linking refuses the object.
    pub(crate) fn collect(elf: &Elf<'d>, symbols: &Symbols<'d>) -> Result<Self, ObjectError> {
        let mut sections = Vec::new();
        let mut indices = Vec::new();
        for s in elf.sections.iter().filter(|s| s.is_code()) {
            if s.is_compressed() {
                return Err(ObjectError::Compressed { section: s.text() });
            }
            if !s.size.is_multiple_of(INSN_SIZE) || u32::try_from(s.size).is_err() {
                return Err(ObjectError::CodeSize { section: s.text(), size: s.size });
            }
            sections.push(CodeSection { name: s.name, code: s.data, functions: Vec::new() });
            indices.push(s.index);
        }
        let mut programs = Vec::new();
        for symbol in symbols.iter() {
            let symbol = symbol?;
            let SymbolLocation::Section(index) = symbol.location else { continue };
            let Some(section) = elf.section_at(index).filter(|s| s.is_code()) else { continue };
            if symbol.kind != SymbolKind::Function {
                continue;
            }
            let (start, len) = bounds(section, symbol.name, symbol.value, symbol.size)?;
            let is_subprogram = section.name == TEXT;
            programs.push(Program {
                name: symbol.name,
                section: section.name,
                section_index: index,
                start,
                len,
                linkage: symbol.linkage,
                is_hidden: symbol.is_hidden,
                is_subprogram,
            });
        }
        programs.sort_by_key(|p| (p.section_index, p.start));
        for p in &programs {
            let position = indices.binary_search(&p.section_index).ok();
            if let Some(section) = position.and_then(|position| sections.get_mut(position)) {
                section.functions.push(Function { name: p.name, start: p.start, len: p.len });
            }
        }
        Ok(Self { sections, indices, programs })
    }
}

/// Returns the start and length of a function in instructions, if it consists of whole instructions of its section.
fn bounds(
    section: &Section<'_>,
    name: &[u8],
    offset: u64,
    size: u64,
) -> Result<(InsnIndex, u32), ObjectError> {
    let (available, symbol) = (section.size, || text(name));
    if offset.checked_add(size).is_none_or(|end| end > available) {
        let section = section.text();
        return Err(ObjectError::FunctionBounds { section, symbol: symbol(), offset, size, available });
    }
    let insn_count = |bytes: u64| {
        bytes.is_multiple_of(INSN_SIZE).then(|| u32::try_from(bytes.checked_div(INSN_SIZE)?).ok()).flatten()
    };
    match (insn_count(offset), insn_count(size)) {
        (Some(start), Some(len)) if len > 0 => Ok((InsnIndex(start), len)),
        _ => Err(ObjectError::FunctionAlignment { section: section.text(), symbol: symbol(), offset, size }),
    }
}

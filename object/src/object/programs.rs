//! Function symbols to programs and subprograms.

use super::{
    error::ObjectError,
    sec_def::SecDef,
    symbols::{Linkage, Place, SymbolKind, Symbols},
};
use crate::elf::{Elf, Section, text};
use core_relo::{CodeSection, Function, InsnIndex};

/// The section of which all functions are subprograms.
pub(crate) const TEXT: &[u8] = b".text";

/// Bytes of an instruction slot.
const INSN: u64 = 8;

/// A function of an object: a program, or a subprogram that programs call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Program<'d> {
    /// The function's name.
    pub name: &'d [u8],
    /// Name of its ELF section, with a leading `?` if it has one.
    pub section: &'d [u8],
    /// The ELF section's number.
    pub section_index: u32,
    /// Its first instruction in the section.
    pub start: InsnIndex,
    /// Instructions it has (a 64-bit load counts two).
    pub len: u32,
    /// How widely its symbol is seen.
    pub linkage: Linkage,
    /// Whether its symbol is hidden: libbpf then lets the verifier treat it as static.
    pub hidden: bool,
    /// Whether it is no program of its own but part of those that call it: it lies in `.text`; or it is static, or its section's
    /// name says no program type, and another function refers to it.
    pub is_subprogram: bool,
}

impl<'d> Program<'d> {
    /// The section's name without its `?`.
    pub fn section_name(&self) -> &'d [u8] {
        self.section.strip_prefix(b"?").unwrap_or(self.section)
    }

    /// Whether it is loaded unless somebody says otherwise: its section's name does not begin with `?`.
    pub fn autoload(&self) -> bool {
        !self.section.starts_with(b"?")
    }

    /// What the section's name says about it; nothing for a subprogram or an unknown name.
    pub fn sec_def(&self) -> Option<&'static SecDef> {
        if self.is_subprogram { None } else { SecDef::find(self.section_name()) }
    }
}

/// The code of an object, and the functions in it.
pub(crate) struct Code<'d> {
    pub(crate) sections: Vec<CodeSection<'d>>,
    pub(crate) indices: Vec<u32>,
    pub(crate) programs: Vec<Program<'d>>,
}

impl<'d> Code<'d> {
    /// What libbpf's `bpf_object__add_programs` finds, in its order: by section, then by place.
    ///
    /// libbpf refuses an object with a `static` function outside of `.text`. Here one that another function refers to is a
    /// subprogram (`calls`), and one that nobody refers to is for loading to refuse.
    pub(crate) fn collect(elf: &Elf<'d>, symbols: &Symbols<'d>) -> Result<Self, ObjectError> {
        let mut sections = Vec::new();
        let mut indices = Vec::new();
        for s in elf.sections.iter().filter(|s| s.is_code()) {
            if s.is_compressed() {
                return Err(ObjectError::Compressed { section: s.text() });
            }
            if !s.size.is_multiple_of(INSN) || u32::try_from(s.size).is_err() {
                return Err(ObjectError::CodeSize { section: s.text(), size: s.size });
            }
            sections.push(CodeSection { name: s.name, code: s.data, functions: Vec::new() });
            indices.push(s.index);
        }
        let mut programs = Vec::new();
        for symbol in symbols.iter() {
            let symbol = symbol?;
            let Place::Section(index) = symbol.place else { continue };
            let Some(section) = super::section_at(elf, index).filter(|s| s.is_code()) else { continue };
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
                hidden: symbol.hidden,
                is_subprogram,
            });
        }
        programs.sort_by_key(|p| (p.section_index, p.start));
        for p in &programs {
            let at = indices.binary_search(&p.section_index).ok();
            if let Some(section) = at.and_then(|at| sections.get_mut(at)) {
                section.functions.push(Function { name: p.name, start: p.start, len: p.len });
            }
        }
        Ok(Self { sections, indices, programs })
    }
}

/// A function's place in instructions, if it is a run of them within its section.
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
    let slots = |bytes: u64| {
        bytes.is_multiple_of(INSN).then(|| u32::try_from(bytes.checked_div(INSN)?).ok()).flatten()
    };
    match (slots(offset), slots(size)) {
        (Some(start), Some(len)) if len > 0 => Ok((InsnIndex(start), len)),
        _ => Err(ObjectError::FunctionAlignment { section: section.text(), symbol: symbol(), offset, size }),
    }
}

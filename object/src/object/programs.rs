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
    /// The name and instructions of the function.
    pub function: Function<'d>,
    /// The name of the ELF section, including a leading `?`.
    pub section: &'d [u8],
    /// The index of the ELF section.
    pub section_index: SectionIndex,
    /// The linkage of the symbol.
    pub linkage: Linkage,
    /// Whether the symbol is hidden. libbpf makes the verifier treat hidden functions as static.
    pub is_hidden: bool,
    /// Whether the function is a subprogram, which is linked into the programs that call it.
    ///
    /// All functions in `.text` are subprograms. In other sections, a function is a subprogram if another
    /// function refers to it, and it is static or its section's name implies no program type.
    pub is_subprogram: bool,
}

impl<'d> Program<'d> {
    /// Returns the function's name.
    pub const fn name(&self) -> &'d [u8] {
        self.function.name
    }

    /// Returns the index of the first instruction in the section.
    pub const fn start(&self) -> InsnIndex {
        self.function.start
    }

    /// Returns the number of instructions. A 64-bit load counts as two.
    pub const fn insn_count(&self) -> u32 {
        self.function.len
    }

    /// Returns whether the instruction is one of the function's, given its index in the section.
    pub fn contains(&self, insn: u32) -> bool {
        insn.checked_sub(self.start().0).is_some_and(|offset| offset < self.insn_count())
    }

    /// Returns the program as if it were in a section of another name.
    #[must_use]
    pub const fn in_section<'s>(&self, section: &'s [u8]) -> Program<'s>
    where
        'd: 's,
    {
        Program { section, ..*self }
    }

    /// Returns the section's name without a leading `?`.
    pub fn section_name(&self) -> &'d [u8] {
        self.section.strip_prefix(b"?").unwrap_or(self.section)
    }

    /// Returns whether the program is loaded by default: its section's name does not begin with `?`.
    pub fn autoload(&self) -> bool {
        !self.section.starts_with(b"?")
    }

    /// Returns the definition of the section's name; `None` for a subprogram or an unknown name.
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
    /// libbpf refuses an object with a static function outside of `.text`. Here such a function is a
    /// subprogram if another function refers to it (`calls`), otherwise a program.
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
            let is_subprogram = section.name == TEXT;
            programs.push(Program {
                function: parse_function(section, symbol.name, symbol.value, symbol.size)?,
                section: section.name,
                section_index: index,
                linkage: symbol.linkage,
                is_hidden: symbol.is_hidden,
                is_subprogram,
            });
        }
        programs.sort_by_key(|p| (p.section_index, p.start()));
        for p in &programs {
            let position = indices.binary_search(&p.section_index).ok();
            if let Some(section) = position.and_then(|position| sections.get_mut(position)) {
                section.functions.push(p.function);
            }
        }
        Ok(Self { sections, indices, programs })
    }
}

/// Returns the function at an offset of a section, if it consists of whole instructions of the section.
fn parse_function<'d>(
    section: &Section<'_>,
    name: &'d [u8],
    offset: u64,
    size: u64,
) -> Result<Function<'d>, ObjectError> {
    let (available, symbol) = (section.size, || text(name));
    if offset.checked_add(size).is_none_or(|end| end > available) {
        let section = section.text();
        return Err(ObjectError::FunctionBounds { section, symbol: symbol(), offset, size, available });
    }
    let insn_count = |bytes: u64| {
        bytes.is_multiple_of(INSN_SIZE).then(|| u32::try_from(bytes.checked_div(INSN_SIZE)?).ok()).flatten()
    };
    match (insn_count(offset), insn_count(size)) {
        (Some(start), Some(len)) if len > 0 => Ok(Function { name, start: InsnIndex(start), len }),
        _ => Err(ObjectError::FunctionAlignment { section: section.text(), symbol: symbol(), offset, size }),
    }
}

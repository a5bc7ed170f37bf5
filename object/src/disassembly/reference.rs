//! The names of what instructions refer to.

use crate::{
    index::SectionIndex,
    object::{
        ExternKind, Object, Program, Reloc, SymbolKind, SymbolLocation,
        calls::{call_target, function_containing, functions_starting_at},
    },
};
use core::fmt;
use core_relo::{
    Name,
    insn::{Helper, Insn, Slot, opcode, pseudo},
};
use hashbrown::HashMap;

/// The map, variable, function or kernel symbol that an instruction refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reference<'d> {
    /// The kind.
    pub kind: ReferenceKind<'d>,
    /// The name; `None` if the object has none.
    pub name: Option<Name<'d>>,
    /// The offset from the start of the named object, or of the section, in bytes.
    pub offset: i64,
}

/// The kind of a [`Reference`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReferenceKind<'d> {
    /// A helper of the kernel with its number.
    Helper(u32),
    /// A function of the object: called, or its address loaded.
    Function,
    /// A function of the kernel.
    Kfunc,
    /// A map.
    Map,
    /// A global variable in a section of data.
    Variable(Name<'d>),
    /// A value of the kernel's configuration.
    Kconfig,
    /// A variable of the kernel.
    Ksym,
    /// A symbol of another kind.
    Symbol,
}

impl ReferenceKind<'_> {
    /// Returns the word for the kind: `helper`, `map` …
    pub const fn word(self) -> &'static str {
        match self {
            Self::Helper(_) => "helper",
            Self::Function => "function",
            Self::Kfunc => "kfunc",
            Self::Map => "map",
            Self::Variable(_) => "variable",
            Self::Kconfig => "kconfig",
            Self::Ksym => "ksym",
            Self::Symbol => "symbol",
        }
    }
}

impl fmt::Display for Reference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |f: &mut fmt::Formatter<'_>| match self.name {
            Some(name) => write!(f, "{}", name.shortened()),
            None => f.write_str("?"),
        };
        match self.kind {
            ReferenceKind::Helper(number) => match self.name {
                Some(name) => write!(f, "bpf_{name}"),
                None => write!(f, "helper {number}"),
            },
            ReferenceKind::Variable(section) => {
                match self.name {
                    Some(_) => {
                        write!(f, "{} ", section.shortened())?;
                        name(f)?;
                    }
                    None => write!(f, "{}", section.shortened())?,
                }
                if self.offset == 0 { Ok(()) } else { write!(f, " {:+}", self.offset) }
            }
            kind => {
                write!(f, "{} ", kind.word())?;
                name(f)
            }
        }
    }
}

/// A variable: its offset in the section, its size and its name.
type Variable<'d> = (u64, u64, &'d [u8]);

/// The relocations and symbols of an object, by place.
#[derive(Debug)]
pub(super) struct References<'o, 'd> {
    object: &'o Object<'d>,
    /// The relocations by code section and instruction.
    relocs: HashMap<(usize, u32), Reloc<'d>>,
    maps: HashMap<(SectionIndex, u64), &'d [u8]>,
    externs: HashMap<u32, ExternKind>,
    sections: HashMap<SectionIndex, &'d [u8]>,
    /// The variables of each section, sorted.
    variables: HashMap<SectionIndex, Vec<Variable<'d>>>,
}

impl<'o, 'd> References<'o, 'd> {
    pub(super) fn new(object: &'o Object<'d>) -> Self {
        let mut relocs = HashMap::new();
        for (position, section) in object.code_indices().iter().enumerate() {
            // The relocations of code have been checked.
            for reloc in object.elf_relocs_of(*section).filter_map(Result::ok) {
                if let Ok(insn) = u32::try_from(reloc.offset / 8) {
                    relocs.entry((position, insn)).or_insert(reloc);
                }
            }
        }
        let mut variables = HashMap::<_, Vec<Variable<'d>>>::new();
        for symbol in object.symbols().filter(|symbol| symbol.kind == SymbolKind::Object) {
            if let SymbolLocation::Section(section) = symbol.location {
                variables.entry(section).or_default().push((symbol.value, symbol.size, symbol.name));
            }
        }
        for variables in variables.values_mut() {
            variables.sort();
        }
        Self {
            object,
            relocs,
            maps: object.maps().iter().map(|map| ((map.section_index, map.offset), map.name)).collect(),
            externs: object.externs().iter().map(|e| (e.symbol, e.kind)).collect(),
            sections: object.data_sections().iter().map(|s| (s.section_index, s.name)).collect(),
            variables,
        }
    }

    /// Returns the reference of an instruction.
    pub(super) fn find(&self, position: usize, index: u32, slot: Slot) -> Option<Reference<'d>> {
        self.of_insn(position, (index, slot.first()), self.relocs.get(&(position, index)))
    }

    /// Returns the reference of an instruction with a relocation, or without one.
    pub(super) fn of_insn(
        &self,
        position: usize,
        (index, insn): (u32, Insn),
        reloc: Option<&Reloc<'d>>,
    ) -> Option<Reference<'d>> {
        let section = *self.object.code_indices().get(position)?;
        let location = reloc.map(|reloc| reloc.symbol.location);
        let target = match (reloc, location) {
            (None, _) => call_target(insn, (section, index), None),
            (Some(reloc), Some(SymbolLocation::Section(to))) => {
                let is_code = self.object.code_indices().binary_search(&to).is_ok();
                let target = call_target(insn, (section, index), Some((to, reloc.symbol.value)));
                target.filter(|_| is_code)
            }
            _ => None,
        };
        if let Some(target) = target {
            let function = functions_starting_at(self.object.programs(), target).next();
            let name = function.map(|(_, program): (_, &Program<'d>)| Name::new(program.name()));
            return Some(Reference { kind: ReferenceKind::Function, name, offset: 0 });
        }
        let Some(reloc) = reloc else { return call_without_symbol(insn) };
        self.of_symbol(reloc, insn.imm.into())
    }

    /// Returns the reference of a word of data.
    pub(super) fn of_data(&self, reloc: &Reloc<'d>, addend: i64) -> Option<Reference<'d>> {
        if let SymbolLocation::Section(to) = reloc.symbol.location
            && self.object.code_indices().binary_search(&to).is_ok()
        {
            let target = reloc.symbol.value.checked_add_signed(addend)?;
            let insn = u32::try_from(target / 8).ok()?;
            let function = function_containing(self.object.programs(), to, insn)?;
            let start = u64::from(function.start().0) * 8;
            let offset = i64::try_from(target.checked_sub(start)?).ok()?;
            let name = Some(Name::new(function.name()));
            return Some(Reference { kind: ReferenceKind::Function, name, offset });
        }
        self.of_symbol(reloc, addend)
    }

    /// Returns the reference to a symbol that is no function of the object.
    fn of_symbol(&self, reloc: &Reloc<'d>, addend: i64) -> Option<Reference<'d>> {
        let named = |kind, name| Reference { kind, name: Some(Name::new(name)), offset: 0 };
        if reloc.symbol.is_extern() {
            let kind = match self.externs.get(&reloc.symbol.index) {
                Some(ExternKind::Kconfig) => ReferenceKind::Kconfig,
                Some(ExternKind::Kfunc) => ReferenceKind::Kfunc,
                Some(ExternKind::Ksym) => ReferenceKind::Ksym,
                _ => ReferenceKind::Symbol,
            };
            return Some(named(kind, reloc.symbol.name));
        }
        let SymbolLocation::Section(to) = reloc.symbol.location else {
            return Some(named(ReferenceKind::Symbol, reloc.symbol.name));
        };
        if let Some(name) = self.maps.get(&(to, reloc.symbol.value)) {
            return Some(named(ReferenceKind::Map, name));
        }
        match self.sections.get(&to) {
            Some(section) => self.variable(to, Name::new(section), reloc, addend),
            None => Some(named(ReferenceKind::Symbol, reloc.symbol.name)),
        }
    }

    fn variable(
        &self,
        section: SectionIndex,
        section_name: Name<'d>,
        reloc: &Reloc<'d>,
        addend: i64,
    ) -> Option<Reference<'d>> {
        let kind = ReferenceKind::Variable(section_name);
        if reloc.symbol.kind == SymbolKind::Object {
            return Some(Reference { kind, name: Some(Name::new(reloc.symbol.name)), offset: addend });
        }
        let offset = i64::try_from(reloc.symbol.value).ok()?.checked_add(addend)?;
        let containing = u64::try_from(offset).ok().and_then(|at| self.variable_at(section, at));
        Some(match containing {
            Some((name, offset)) => Reference { kind, name: Some(name), offset: i64::try_from(offset).ok()? },
            None => Reference { kind, name: None, offset },
        })
    }

    /// Returns the variable that contains a byte of a section, and the distance of the byte from its start.
    pub(super) fn variable_at(&self, section: SectionIndex, at: u64) -> Option<(Name<'d>, u64)> {
        let variables = self.variables.get(&section).map_or(&[][..], Vec::as_slice);
        let after = variables.partition_point(|(start, ..)| *start <= at);
        let (start, size, name) = variables.get(after.checked_sub(1)?)?;
        let distance = at.checked_sub(*start).filter(|distance| distance < size)?;
        Some((Name::new(name), distance))
    }
}

/// Returns the helper or kernel function that an instruction without a relocation calls.
fn call_without_symbol(insn: Insn) -> Option<Reference<'static>> {
    if insn.code != opcode::CALL {
        return None;
    }
    match insn.src {
        0 => {
            let number = insn.imm.cast_unsigned();
            let name = Helper(number).name().map(|name| Name::new(name.as_bytes()));
            Some(Reference { kind: ReferenceKind::Helper(number), name, offset: 0 })
        }
        pseudo::KFUNC_CALL => Some(Reference { kind: ReferenceKind::Kfunc, name: None, offset: 0 }),
        _ => None,
    }
}

//! Symbols resolved: a strong definition before weak ones, any definition before externs.

use super::{
    LinkError, MapMismatch, State, SymbolFault, TypeMismatch,
    globals::Global,
    input::{InSymbol, Input},
    matching,
    names::{Described, Names},
    out_symbol::OutSymbol,
};
use crate::internal::Invariant as _;
use core_relo::btf::Kind;
use object::elf;

/// Symbols of tables of jump targets are described by no BTF.
const JUMP_TABLES: &[u8] = b".jumptables";

/// The place of an input's symbol in the linked object.
#[derive(Clone, Copy, Debug, Default)]
struct Home {
    /// The output section; `None` for absolute symbols and for externs of no section.
    out: Option<usize>,
    /// The offset of the input's section in the output section.
    offset: u64,
}

impl State<'_> {
    /// The new number of each of the input's symbols, 0 for those left out (libbpf: `linker_append_elf_syms`).
    pub(super) fn add_symbols(&mut self, input: &Input<'_>) -> Result<Vec<u32>, LinkError> {
        // An input without BTF describes nothing.
        let names = input.btf.as_ref().map_or_else(Names::default, Names::collect);
        let mut map = Vec::with_capacity(input.symbols.len());
        for (number, s) in input.symbols.iter().enumerate() {
            map.push(if number == 0 { 0 } else { self.add_symbol(input, &names, s)? });
            self.strings.check()?;
        }
        Ok(map)
    }

    /// libbpf: `linker_append_elf_sym`
    fn add_symbol(
        &mut self,
        input: &Input<'_>,
        names: &Names<'_>,
        s: &InSymbol<'_>,
    ) -> Result<u32, LinkError> {
        let mut home = Home::default();
        let mut is_described = !s.is_local();
        if !s.is_extern() && s.section < elf::SHN_LORESERVE {
            let Some(section) = input.at(s.section.into()).filter(|section| !section.skipped) else {
                return Ok(0);
            };
            // A symbol of a section that is no data (of the symbols themselves, say) has no place in the result.
            let Some(out) = section.out else { return Ok(0) };
            home = Home { out: Some(out), offset: section.offset };
            let known = self.sections.at(out).map_or(0, |out| out.symbol);
            if s.is_section() && known != 0 {
                return Ok(known);
            }
            is_described &= &*section.name != JUMP_TABLES;
        }
        if !is_described {
            return self.new_symbol(s, home);
        }
        let fault = |cause| input.symbol_fault(s.name, cause);
        let described = names.find(s.name, s.is_extern()).map_err(fault)?;
        if s.is_extern() {
            home = extern_home(input, described)?;
        }
        match self.globals.find(s.name) {
            Some(at) => self.resolve(input, s, home, described, at).map_err(fault),
            None => self.new_symbol(s, home),
        }
    }

    /// A symbol that no file before had.
    fn new_symbol(&mut self, s: &InSymbol<'_>, home: Home) -> Result<u32, LinkError> {
        let number = u32::try_from(self.symbols.len());
        let number = number.invariant("the symbols of all inputs fit 32 bits")?;
        let out = home.out.and_then(|out| self.sections.at_mut(out));
        let mut value = home.offset.wrapping_add(s.value);
        let section = match &out {
            // Undefined whatever section the BTF says it belongs to: libbpf lets it seem defined in that section.
            _ if s.is_extern() => 0,
            Some(out) => section_number(out.number()),
            None => s.section,
        };
        if let Some(out) = out.filter(|_| s.is_section()) {
            out.symbol = number;
            value = 0;
        }
        let name = self.strings.add(s.name);
        self.symbols.push(OutSymbol {
            name,
            binding: s.binding,
            kind: s.kind,
            other: s.other,
            section,
            value,
            size: s.size,
        });
        if !s.is_local() {
            let global = Global {
                symbol: number,
                section: home.out,
                is_extern: s.is_extern(),
                is_weak: s.is_weak(),
                input: self.inputs.len(),
                types: None,
                is_renewed: false,
                variable: None,
            };
            self.globals.add(s.name, global);
        }
        Ok(number)
    }

    /// A symbol that a file before had, too.
    fn resolve(
        &mut self,
        input: &Input<'_>,
        s: &InSymbol<'_>,
        home: Home,
        described: Described,
        at: usize,
    ) -> Result<u32, SymbolFault> {
        let global = self.globals.at(at).invariant("a symbol that was found is a global")?;
        let other = || self.inputs.get(global.input).unwrap_or(input).file.clone();
        if !s.is_extern() && !global.is_extern && !global.is_weak && !s.is_weak() {
            return Err(SymbolFault::Conflict { other: other() });
        }
        self.compatible(input, described, at)?;
        let global = self.globals.at_mut(at).invariant("a symbol that was found is a global")?;
        let number = global.symbol;
        let out = usize::try_from(number).ok().and_then(|index| self.symbols.get_mut(index));
        let out = out.invariant("a global has a symbol")?;
        if s.binding == elf::STB_GLOBAL.0 {
            out.binding = elf::STB_GLOBAL.0;
            global.is_weak = false;
        }
        // The stricter visibility counts, be it an extern's.
        if s.visibility() > out.other & 3 {
            out.other = (out.other & !3) | s.visibility();
        }
        if s.is_extern() || (!global.is_extern && s.is_weak()) {
            return Ok(number);
        }
        let no_section =
            || SymbolFault::NoSection { other: self.inputs.get(global.input).unwrap_or(input).file.clone() };
        let section = home.out.and_then(|section| self.sections.at(section)).ok_or_else(no_section)?;
        out.kind = s.kind;
        out.section = section_number(section.number());
        out.value = home.offset.wrapping_add(s.value);
        out.size = s.size;
        global.section = home.out;
        global.is_extern = false;
        global.input = self.inputs.len();
        self.globals.renew(at);
        self.complete(input, described, at)
            .map_err(|cause| SymbolFault::Types { other: input.file.clone(), cause })?;
        Ok(number)
    }

    /// Checks that a symbol's type agrees with the type in the files before (libbpf: `glob_syms_match`).
    fn compatible(&mut self, input: &Input<'_>, described: Described, at: usize) -> Result<(), SymbolFault> {
        let global = self.globals.at(at).invariant("a symbol that was found is a global")?;
        let known = self.inputs.get(global.input);
        let other = || known.unwrap_or(input).file.clone();
        let no_btf = || SymbolFault::Types { other: other(), cause: TypeMismatch::NoBtf };
        let types = global.types.ok_or_else(no_btf)?;
        let there = known.and_then(|known| known.btf.as_ref()).ok_or_else(no_btf)?;
        let here = input.btf.as_ref().ok_or_else(no_btf)?;
        let is_map = global.section.and_then(|s| self.sections.at(s)).is_some_and(|s| &*s.name == b".maps");
        if is_map {
            let mut definition = |of: usize, (btf, id): matching::In<'_>| {
                let is_variable = btf.ty(id).is_some_and(|ty| ty.kind() == Kind::Var);
                if !is_variable {
                    return Err(MapMismatch::NotVariable);
                }
                matching::map(self.maps.entry(of).or_default(), (btf, id))
            };
            let matched = definition(self.inputs.len(), (here, described.ty))
                .and_then(|second| Ok((definition(global.input, (there, types.source))?, second)))
                .and_then(|(first, second)| {
                    matching::maps(&mut self.steps, (there, &first), (here, &second))
                });
            return matched.map_err(|cause| SymbolFault::Maps { other: other(), cause });
        }
        matching::types(&mut self.steps, (there, types.source), (here, described.ty), true)
            .map_err(|cause| SymbolFault::Types { other: other(), cause })
    }

    /// The type known so far becomes one of a definition, with the names of parameters, which declarations lack
    /// (libbpf: `complete_extern_btf_info`).
    fn complete(&mut self, input: &Input<'_>, described: Described, at: usize) -> Result<(), TypeMismatch> {
        let Some(types) = self.globals.at(at).and_then(|global| global.types) else { return Ok(()) };
        self.types.set_linkage(types.id, 1);
        let Some(btf) = &input.btf else { return Ok(()) };
        let function = btf.ty(described.ty).filter(|ty| ty.kind() == Kind::Func);
        let Some(proto) = function.and_then(|ty| btf.ty(ty.target()?)) else { return Ok(()) };
        // The parameters themselves are paid for, as they were compared.
        for (number, param) in (0u32..).zip(proto.params()) {
            if !param.name.is_empty() {
                self.steps.take_name(param.name.as_bytes())?;
                self.types.set_param_name(types.underlying, number, param.name.as_bytes());
            }
        }
        Ok(())
    }
}

/// Returns the section of an extern that the kernel resolves (`.ksyms`, `.kconfig`) or that is a map.
fn extern_home(input: &Input<'_>, described: Described) -> Result<Home, LinkError> {
    let datasec = described.datasec.and_then(|id| input.btf.as_ref()?.ty(id));
    let Some(name) = datasec.as_ref().map(|ty| ty.name().as_bytes()) else { return Ok(Home::default()) };
    // What clang puts there is for this linker to find.
    if name == b".extern" {
        return Ok(Home::default());
    }
    let section = input.find(name).and_then(|at| input.at(at));
    let section = section.ok_or_else(|| input.fault(name, super::SectionFault::NotFound))?;
    Ok(Home { out: section.out, offset: 0 })
}

/// Returns the number of a section in a symbol. `finish` refuses an object with more sections.
fn section_number(number: u32) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

//! Symbol resolution: a strong definition takes precedence over weak definitions, and any definition over
//! externs.

use super::{
    compare::{FileMap, FileType, compare_maps, compare_types, map_definition},
    error::{StaticLinkError, SymbolError},
    globals::{Global, GlobalType},
    index::{GlobalIndex, InputIndex, OutputSymbolIndex, Table},
    input::{Input, Placement},
    input_symbol::InputSymbol,
    mismatch::{MapMismatch, TypeMismatch},
    output_object::OutputObject,
    output_symbol::OutputSymbol,
    symbol_types::{SymbolType, SymbolTypes},
};
use crate::{
    internal::{InternalError, Invariant as _},
    object::SymbolLocation,
};
use core_relo::{Text, btf::Kind};
use object::elf;

/// The section of jump tables. BTF does not describe its symbols.
const JUMP_TABLES: &[u8] = b".jumptables";

/// The linkage of a definition (`BTF_FUNC_GLOBAL`, `BTF_VAR_GLOBAL_ALLOCATED`).
const GLOBAL_LINKAGE: u8 = 1;

impl<'d> OutputObject<'d> {
    /// Adds the symbols of an input (libbpf: `linker_append_elf_syms`). Returns the output symbol of each
    /// input symbol: the null symbol for symbols of sections that are not linked.
    pub(super) fn add_symbols(
        &mut self,
        input: &Input<'d>,
    ) -> Result<Vec<OutputSymbolIndex>, StaticLinkError> {
        let types = input.btf.as_ref().map_or_else(SymbolTypes::default, SymbolTypes::collect);
        let mut symbol_map = Vec::from([OutputSymbolIndex::NULL]);
        for symbol in input.symbols.iter().skip(1) {
            symbol_map.push(self.add_symbol(input, &types, symbol)?);
        }
        Ok(symbol_map)
    }

    /// Adds a symbol, or resolves it against the symbol of the same name in an earlier file (libbpf:
    /// `linker_append_elf_sym`).
    fn add_symbol(
        &mut self,
        input: &Input<'d>,
        types: &SymbolTypes<'_>,
        symbol: &InputSymbol<'_>,
    ) -> Result<OutputSymbolIndex, StaticLinkError> {
        let mut placement = None;
        let mut needs_type = !symbol.is_local();
        if let SymbolLocation::Section(index) = symbol.location {
            let section = input.elf_section(index).invariant("the section of a symbol exists")?;
            // Only sections of code and data are part of the linked object.
            let Some(place) = section.placement else { return Ok(OutputSymbolIndex::NULL) };
            let section_symbol = self.sections.get(place.section)?.symbol;
            if let Some(known) = section_symbol.filter(|_| symbol.is_section()) {
                return Ok(known);
            }
            needs_type &= &*section.name != JUMP_TABLES;
            placement = Some(place);
        }
        if !needs_type {
            return self.push_symbol(symbol, placement);
        }
        let ty = types.find(symbol.name, symbol.is_extern()).map_err(|cause| {
            // Compilers leave common symbols out of the BTF.
            let cause = if symbol.is_common() { SymbolError::Common } else { cause };
            input.symbol_error(symbol.name, cause)
        })?;
        if symbol.is_extern() {
            placement = extern_placement(input, ty)?;
        }
        match self.globals.find(symbol.name) {
            Some(global) => self.resolve(input, symbol, placement, ty, global),
            None => self.push_symbol(symbol, placement),
        }
    }

    /// Adds a symbol that no earlier file has, or a local symbol.
    fn push_symbol(
        &mut self,
        symbol: &InputSymbol<'_>,
        placement: Option<Placement>,
    ) -> Result<OutputSymbolIndex, StaticLinkError> {
        let index = self.symbols.next_index()?;
        let section = match symbol.location {
            // An extern stays undefined, even if the BTF names its section. libbpf gives the symbol that
            // section.
            SymbolLocation::Undefined => elf::SHN_UNDEF.0,
            SymbolLocation::Reserved(number) => number,
            SymbolLocation::Section(_) => {
                let placement = placement.invariant("a defined symbol's section is linked")?;
                self.sections.get(placement.section)?.number()?
            }
        };
        let mut value = output_value(symbol, placement);
        if let Some(placement) = placement.filter(|_| symbol.is_section()) {
            self.sections.get_mut(placement.section)?.symbol = Some(index);
            value = 0;
        }
        let name = self.strings.add(symbol.name)?;
        let InputSymbol { binding, kind, other, size, .. } = *symbol;
        self.symbols.push(OutputSymbol { name, binding, kind, other, section, value, size })?;
        if !symbol.is_local() {
            let global = Global {
                symbol: index,
                section: placement.map(|placement| placement.section),
                is_extern: symbol.is_extern(),
                is_weak: symbol.is_weak(),
                input: self.current_input()?,
                ty: None,
                is_type_changed: false,
                variable: None,
            };
            self.globals.add(symbol.name, global)?;
        }
        Ok(index)
    }

    /// Resolves a symbol against the global symbol of the same name.
    fn resolve(
        &mut self,
        input: &Input<'d>,
        symbol: &InputSymbol<'_>,
        placement: Option<Placement>,
        ty: SymbolType,
        index: GlobalIndex,
    ) -> Result<OutputSymbolIndex, StaticLinkError> {
        let error = |cause| input.symbol_error(symbol.name, cause);
        let global = self.globals.get(index)?;
        if !symbol.is_extern() && !global.is_extern && !global.is_weak && !symbol.is_weak() {
            let other = file_name(&self.inputs, global.input, input)?;
            return Err(error(SymbolError::Conflict { other }));
        }
        self.check_types(input, symbol, ty, index)?;
        let current_input = self.current_input()?;
        let global = self.globals.get_mut(index)?;
        let output = self.symbols.get_mut(global.symbol)?;
        if symbol.binding == elf::STB_GLOBAL.0 {
            output.binding = elf::STB_GLOBAL.0;
            global.is_weak = false;
        }
        // The stricter visibility takes precedence, even that of an extern.
        if symbol.visibility() > output.other & 3 {
            output.other = (output.other & !3) | symbol.visibility();
        }
        let output_symbol = global.symbol;
        if symbol.is_extern() || (!global.is_extern && symbol.is_weak()) {
            return Ok(output_symbol);
        }
        let Some(section) = placement.map(|placement| placement.section) else {
            let other = file_name(&self.inputs, global.input, input)?;
            return Err(error(SymbolError::NoSection { other }));
        };
        output.kind = symbol.kind;
        output.section = self.sections.get(section)?.number()?;
        output.value = output_value(symbol, placement);
        output.size = symbol.size;
        global.section = Some(section);
        global.is_extern = false;
        global.input = current_input;
        let global_type = global.ty.invariant("a symbol whose types were compared has a type")?;
        self.globals.mark_type_changed(index)?;
        self.complete_type(input, ty, global_type)
            .map_err(|cause| error(SymbolError::Types { other: input.file.clone(), cause }))?;
        Ok(output_symbol)
    }

    /// Checks that a symbol's type matches the type in the earlier files (libbpf: `glob_syms_match`).
    fn check_types(
        &mut self,
        input: &Input<'_>,
        symbol: &InputSymbol<'_>,
        ty: SymbolType,
        index: GlobalIndex,
    ) -> Result<(), StaticLinkError> {
        let global = self.globals.get(index)?;
        let other = file_name(&self.inputs, global.input, input)?;
        let current_input = self.inputs.next_index()?;
        // A second symbol of this name in the current file has no earlier type.
        let earlier = if global.input == current_input { None } else { Some(self.inputs.get(global.input)?) };
        let expected_btf = earlier.and_then(|earlier| earlier.btf.as_ref());
        let (Some(expected_type), Some(expected_btf), Some(btf)) = (global.ty, expected_btf, &input.btf)
        else {
            let cause = TypeMismatch::NoBtf;
            return Err(input.symbol_error(symbol.name, SymbolError::Types { other, cause }));
        };
        let expected = FileType { btf: expected_btf, id: expected_type.source };
        let found = FileType { btf, id: ty.id };
        let is_map = match global.section {
            Some(section) => &*self.sections.get(section)?.name == b".maps",
            None => false,
        };
        if !is_map {
            return compare_types(&mut self.budget, expected, found)
                .map_err(|cause| input.symbol_error(symbol.name, SymbolError::Types { other, cause }));
        }
        let mut definition = |input: InputIndex, variable: FileType<'_>| {
            map_definition(self.map_definitions.entry(input).or_default(), variable)
        };
        let mut compare = || -> Result<(), MapMismatch> {
            let found_map = definition(current_input, found)?;
            let expected_map = definition(global.input, expected)?;
            let expected = FileMap { btf: expected.btf, def: &expected_map };
            compare_maps(&mut self.budget, expected, FileMap { btf: found.btf, def: &found_map })
        };
        compare().map_err(|cause| input.symbol_error(symbol.name, SymbolError::Maps { other, cause }))
    }

    /// Completes the merged type of a declaration with the linkage and the parameter names of the definition
    /// (libbpf: `complete_extern_btf_info`).
    fn complete_type(
        &mut self,
        input: &Input<'_>,
        ty: SymbolType,
        global: GlobalType,
    ) -> Result<(), TypeMismatch> {
        self.types.set_linkage(global.merged, GLOBAL_LINKAGE);
        let Some(btf) = &input.btf else { return Ok(()) };
        let function = btf.ty(ty.id).filter(|ty| ty.kind() == Kind::Func);
        let Some(proto) = function.and_then(|ty| btf.ty(ty.target()?)) else { return Ok(()) };
        // The comparison charged a step for each parameter, but not for the names.
        for (number, param) in (0u32..).zip(proto.params()).filter(|(_, param)| !param.name.is_empty()) {
            self.budget.charge_name(param.name.as_bytes())?;
            self.types.set_param_name(global.target, number, param.name.as_bytes());
        }
        Ok(())
    }
}

/// Returns the name of an earlier input, or of the current one.
fn file_name(
    inputs: &Table<InputIndex, Input<'_>>,
    index: InputIndex,
    current: &Input<'_>,
) -> Result<Text, InternalError> {
    let input = if index == inputs.next_index()? { current } else { inputs.get(index)? };
    Ok(input.file.clone())
}

/// Returns `st_value` of a symbol in the linked object. The values of a damaged object may wrap.
fn output_value(symbol: &InputSymbol<'_>, placement: Option<Placement>) -> u64 {
    placement.map_or(symbol.value, |placement| u64::from(placement.offset).wrapping_add(symbol.value))
}

/// Returns the section of an extern that the kernel resolves (`.ksyms`, `.kconfig`) or that is a map.
fn extern_placement(input: &Input<'_>, ty: SymbolType) -> Result<Option<Placement>, StaticLinkError> {
    let datasec = ty.datasec.and_then(|id| input.btf.as_ref()?.ty(id));
    let Some(name) = datasec.as_ref().map(|ty| ty.name().as_bytes()) else { return Ok(None) };
    // Another input defines the externs in this DATASEC.
    if name == b".extern" {
        return Ok(None);
    }
    let index = input.find(name).invariant("a DATASEC has a section")?;
    let placement = input.sections.get(index)?.placement;
    Ok(placement.map(|placement| Placement { offset: 0, ..placement }))
}

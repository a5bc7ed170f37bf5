//! Merges the types of all inputs, and collects the variables of the linked DATASECs.

use super::{
    error::{StaticLinkError, SymbolError, TypeError},
    globals::GlobalType,
    index::{OutputSectionIndex, TableIndex as _, VariableIndex},
    input::{Input, InputSection, Placement},
    output_object::OutputObject,
    sections::Variable,
    symbol_types::is_non_static,
    type_map::TypeMap,
};
use crate::{
    elf::text,
    internal::{InternalError, Invariant as _},
};
use core_relo::{
    TypeId,
    btf::{Btf, Importer, Kind, Type},
};

/// `BTF_VAR_GLOBAL_ALLOCATED`
const GLOBAL: u32 = 1;
/// `BTF_VAR_GLOBAL_EXTERN`
const EXTERN: u32 = 2;

impl OutputObject<'_> {
    /// Adds the types of an input. Returns the merged type of each type (libbpf: `linker_append_btf`).
    pub(super) fn add_types(&mut self, input: &Input<'_>) -> Result<TypeMap, StaticLinkError> {
        let Some(btf) = &input.btf else { return Ok(TypeMap::default()) };
        let (type_map, new_types) = self.choose_types(btf)?;
        let mut importer = Importer::new(btf);
        for ty in new_types {
            let mut missing = None;
            let map_id = |source: TypeId| {
                let merged = type_map.get(source);
                if merged.is_none() {
                    missing = missing.or(Some(source));
                }
                // The error below refuses the copy.
                merged.unwrap_or(TypeId::VOID)
            };
            let copied = importer.copy_type(&mut self.types, ty, map_id);
            copied.map_err(|cause| input.type_error(cause.into()))?;
            if let Some(to) = missing {
                return Err(input.type_error(TypeError::NotLinked { from: ty.id(), to }));
            }
        }
        self.update_globals(input, btf, &type_map)?;
        for section in input.sections.iter() {
            self.add_variables(input, btf, section, &type_map)?;
        }
        Ok(type_map)
    }

    /// Chooses the types to copy, and the merged type of each type. A global symbol that an earlier file has
    /// keeps its type.
    fn choose_types<'b>(&mut self, btf: &'b Btf<'b>) -> Result<(TypeMap, Vec<Type<'b>>), InternalError> {
        let mut type_map = TypeMap::new(btf.end_id())?;
        let mut new_types = Vec::new();
        let (current_input, mut next) = (self.current_input()?, self.types.next_id());
        for ty in btf.types().filter(|ty| ty.kind() != Kind::Datasec) {
            let mut merged = next;
            if is_non_static(ty) {
                // A variable without a symbol is in a section that an earlier file has, too, such as
                // `license`.
                let Some(index) = self.globals.find(ty.name().as_bytes()) else { continue };
                let global = self.globals.get_mut(index)?;
                let known = global.ty.map(|ty| ty.merged);
                if let Some(known) = known {
                    merged = known;
                }
                if known.is_none() || global.is_type_changed {
                    global.ty = Some(GlobalType { merged, source: ty.id(), target: TypeId::VOID });
                    global.input = current_input;
                    self.globals.mark_type_changed(index)?;
                }
            }
            if merged == next {
                new_types.push(ty);
                next = next.next();
            }
            type_map.insert(ty.id(), merged)?;
        }
        Ok((type_map, new_types))
    }

    /// Sets the targets of the global symbols whose types the input defines.
    fn update_globals(
        &mut self,
        input: &Input<'_>,
        btf: &Btf<'_>,
        type_map: &TypeMap,
    ) -> Result<(), StaticLinkError> {
        for index in self.globals.take_type_changed()? {
            let global = self.globals.get_mut(index)?;
            let ty = global.ty.as_mut().invariant("a symbol whose type changed has a type")?;
            let source = btf.ty(ty.source).and_then(Type::target);
            let source = source.invariant("a global symbol's type is a VAR or FUNC")?;
            let not_linked = TypeError::NotLinked { from: ty.source, to: source };
            ty.target = type_map.get(source).ok_or_else(|| input.type_error(not_linked))?;
            let is_set = self.types.set_target(ty.merged, ty.target);
            is_set.then_some(()).invariant("a global symbol's merged type is a VAR or FUNC")?;
        }
        Ok(())
    }

    /// Adds the variables and functions of a section's DATASEC.
    fn add_variables(
        &mut self,
        input: &Input<'_>,
        btf: &Btf<'_>,
        section: &InputSection<'_>,
        type_map: &TypeMap,
    ) -> Result<(), StaticLinkError> {
        let (Some(datasec), Some(placement)) = (section.datasec, section.placement) else { return Ok(()) };
        let datasec = btf.ty(datasec).invariant("a section's DATASEC is in the BTF")?;
        // The linked object has a DATASEC even if the section has no variables.
        self.variables(placement.section)?;
        for (entry, info) in datasec.secinfos().enumerate() {
            let offset = input.variable_offset(datasec.id(), entry, info.offset);
            let too_large = TypeError::VariableOffset { id: info.ty, offset };
            let offset = placement.offset.checked_add(offset);
            let offset = offset.ok_or_else(|| input.type_error(too_large))?;
            let ty = btf.ty(info.ty).invariant("the types of a DATASEC's entries exist")?;
            match type_map.get(info.ty).filter(|merged| *merged != TypeId::VOID) {
                Some(merged) => {
                    let variable = Variable { ty: merged, offset, size: info.size };
                    self.add_variable(input, ty, placement, variable)?;
                }
                // An extern that is not used has no symbol.
                None if ty.linkage() == Some(EXTERN) => {}
                None => {
                    let section = text(&self.sections.get(placement.section)?.name);
                    let cause = SymbolError::NoSymbol { section };
                    return Err(input.symbol_error(ty.name().as_bytes(), cause));
                }
            }
        }
        Ok(())
    }

    /// Adds a variable to an output section, unless an earlier file has the variable.
    fn add_variable(
        &mut self,
        input: &Input<'_>,
        ty: Type<'_>,
        placement: Placement,
        variable: Variable,
    ) -> Result<(), StaticLinkError> {
        let name = ty.name().as_bytes();
        let index = if is_non_static(ty) { self.globals.find(name) } else { None };
        if let Some(index) = index {
            let global = self.globals.get(index)?;
            let is_from_input = global.input == self.current_input()?;
            if global.section != Some(placement.section) {
                if ty.linkage() == Some(GLOBAL) && !global.is_extern && !is_from_input {
                    // A weak definition in another section than the definition that takes precedence.
                    return Ok(());
                }
                let found = text(&self.sections.get(placement.section)?.name);
                let other = if is_from_input { input } else { self.inputs.get(global.input)? };
                let cause = SymbolError::Section { found, other: other.file.clone() };
                return Err(input.symbol_error(name, cause));
            }
            let is_defined_here = is_from_input && !global.is_extern;
            match global.variable {
                Some((section, position)) if section == placement.section => {
                    // A definition states the offset and size. libbpf keeps the declaration's offset and
                    // takes the size of the type, which lacks the `values` of a map.
                    if is_defined_here {
                        let known = self.variable(section, position)?;
                        (known.offset, known.size) = (variable.offset, variable.size);
                    }
                    return Ok(());
                }
                // The weak definition was in another section. libbpf overwrites another variable there.
                Some((section, position)) => self.variable(section, position)?.ty = TypeId::VOID,
                None => {}
            }
        }
        let variables = self.variables(placement.section)?;
        let position = VariableIndex::from_position(variables.len());
        let position = position.invariant("every position is a variable's index")?;
        variables.push(variable);
        if let Some(index) = index {
            self.globals.get_mut(index)?.variable = Some((placement.section, position));
        }
        Ok(())
    }

    /// Returns the variables of an output section, which then gets a DATASEC.
    fn variables(&mut self, section: OutputSectionIndex) -> Result<&mut Vec<Variable>, InternalError> {
        Ok(self.sections.get_mut(section)?.variables.get_or_insert_default())
    }

    fn variable(
        &mut self,
        section: OutputSectionIndex,
        index: VariableIndex,
    ) -> Result<&mut Variable, InternalError> {
        self.variables(section)?.get_mut(index.position()).invariant(VariableIndex::IN_BOUNDS)
    }
}
